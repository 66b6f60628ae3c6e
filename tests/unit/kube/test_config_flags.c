/* What a command line and a person's kubeconfig say: overrides, impersonation, programs for
 * credentials. */
#include "unit/folder.h"

#include <errno.h>

#include "base/err.h"
#include "base/str.h"
#include "kube/config.h"

#define FILE_OF(user)                                                                        \
	"clusters: [{name: c, cluster: {server: 'https://h:1', certificate-authority: ca}}," \
	" {name: d, cluster: {server: 'https://d:2', proxy-url: 'http://p:3'}}]\n"           \
	"contexts: [{name: x, context: {cluster: c, user: u}}]\n"                            \
	"users: [{name: u, user: " user "}, {name: v, user: {token: second}}]\n"             \
	"current-context: x\n"
#define EXEC(more) \
	FILE_OF("{exec: {apiVersion: client.authentication.k8s.io/v1, command: get, " more "}}")
#define V1BETA1 "client.authentication.k8s.io/v1beta1"

struct scene {
	struct folder folder;
	struct kube_config config;
	struct err err;
	int result;
};

/* Loaded as kubectl-hostdev does. @text NULL: there is no kubeconfig. */
static void scene_load(struct scene *scene, const char *text, const struct kube_config_flags *flags)
{
	auto_free char *path = NULL;

	*scene = (struct scene){ 0 };
	folder_init(&scene->folder);
	if (text) {
		folder_put(&scene->folder, "config", text);
		path = folder_path(&scene->folder, "config");
	}
	scene->result = kube_config_load(
		&(struct kube_config_source){
			.path = path,
			.account_dir = "/nonexistent",
			.flags = flags,
			.person = true,
		},
		&scene->config, &scene->err);
}

static void scene_done(struct scene *scene)
{
	kube_config_done(&scene->config);
	folder_done(&scene->folder);
}

SUITE_CLOSING(scene, struct scene, scene_done);

/* "server ca token cert key tls-name insecure proxy", of what is set. */
static char *summary(const struct kube_config *config, const char *folder)
{
	struct str to = STR_INIT;
	const char *ca = config->ca.path;

	str_add(&to, config->server);
	if (ca)
		str_addf(&to, " ca=%s",
			 strncmp(ca, folder, strlen(folder)) == 0 ? ca + strlen(folder) + 1 : ca);
	if (config->token)
		str_addf(&to, " token=%s", config->token);
	if (config->cert.path)
		str_addf(&to, " cert=%s,%s", config->cert.path, config->key.path);
	if (config->tls_server_name)
		str_addf(&to, " name=%s", config->tls_server_name);
	if (config->insecure)
		str_add(&to, " insecure");
	if (config->proxy)
		str_addf(&to, " proxy=%s", config->proxy);
	if (config->exec)
		str_addf(&to, " exec=%s", config->exec->command);
	return str_detach(&to);
}

static struct flag_case {
	const char *name;
	const char *text; /* NULL: no kubeconfig */
	struct kube_config_flags flags;
	const char *summary; /* NULL: refused */
	const char *error;
} flag_cases[] = {
	{ "without flags the file counts",
	  FILE_OF("{token: t}"),
	  { 0 },
	  "https://h:1 ca=ca token=t",
	  NULL },
	{ "another server",
	  FILE_OF("{token: t}"),
	  { .server = "https://other/" },
	  "https://other:443 ca=ca token=t",
	  NULL },
	{ "a server that is none",
	  FILE_OF("{token: t}"),
	  { .server = "other" },
	  NULL,
	  "--server: server 'other' does not begin with https:// (or http://)" },
	{ "another cluster",
	  FILE_OF("{token: t}"),
	  { .cluster = "d" },
	  "https://d:2 token=t proxy=http://p:3",
	  NULL },
	{ "a cluster that is not there",
	  FILE_OF("{}"),
	  { .cluster = "e" },
	  NULL,
	  "there is no cluster 'e'" },
	{ "another user",
	  FILE_OF("{token: t}"),
	  { .user = "v" },
	  "https://h:1 ca=ca token=second",
	  NULL },
	{ "a user that is not there",
	  FILE_OF("{}"),
	  { .user = "w" },
	  NULL,
	  "there is no user 'w'" },
	{ "a token takes the place of a certificate",
	  FILE_OF("{client-certificate: /c, client-key: /k}"),
	  { .token = "mine" },
	  "https://h:1 ca=ca token=mine",
	  NULL },
	{ "a token takes the place of a program",
	  EXEC("interactiveMode: Never"),
	  { .token = "mine" },
	  "https://h:1 ca=ca token=mine",
	  NULL },
	{ "a token takes the place of a program that is wrong",
	  EXEC("args: 7"),
	  { .token = "mine" },
	  "https://h:1 ca=ca token=mine",
	  NULL },
	{ "a token that would forge a header",
	  FILE_OF("{}"),
	  { .token = "a\nX: y" },
	  NULL,
	  "--token has characters that no token has" },
	{ "a certificate takes the place of a token",
	  FILE_OF("{token: t}"),
	  { .cert = "/c", .key = "/k" },
	  "https://h:1 ca=ca cert=/c,/k",
	  NULL },
	{ "a certificate without its key",
	  FILE_OF("{token: t}"),
	  { .cert = "/c" },
	  NULL,
	  "--client-certificate and --client-key go together" },
	{ "another CA",
	  FILE_OF("{}"),
	  { .ca = "/ca", .tls_server_name = "n" },
	  "https://h:1 ca=/ca name=n",
	  NULL },
	{ "any certificate", FILE_OF("{}"), { .insecure = true }, "https://h:1 insecure", NULL },
	{ "any certificate, and a CA",
	  FILE_OF("{}"),
	  { .insecure = true, .ca = "/ca" },
	  NULL,
	  "--insecure-skip-tls-verify and --certificate-authority exclude each other" },
	{ "a server needs no kubeconfig",
	  NULL,
	  { .server = "https://h", .token = "t" },
	  "https://h:443 token=t",
	  NULL },
	{ "a server needs no context",
	  "users: [{name: v, user: {token: t}}]",
	  { .server = "https://h", .user = "v" },
	  "https://h:443 token=t",
	  NULL },
	{ "nor does a cluster",
	  "clusters: [{name: c, cluster: {server: 'https://h'}}]",
	  { .cluster = "c" },
	  "https://h:443",
	  NULL },
	{ "a token alone reaches nothing",
	  NULL,
	  { .token = "t" },
	  NULL,
	  "no cluster is configured" },
	{ "a token of the file needs no program",
	  FILE_OF("{token: t, exec: {command: get}}"),
	  { 0 },
	  "https://h:1 ca=ca token=t",
	  NULL },
};

static void flag_counts_over_the_file(void **state)
{
	const struct flag_case *c = suite_row(state);
	auto_free char *is = NULL;
	struct scene *scene = *state;

	scene_load(scene, c->text, &c->flags);
	assert_int_equal(scene->result == 0, c->summary != NULL);
	if (c->summary) {
		is = summary(&scene->config, scene->folder.path);
		assert_string_equal(is, c->summary);
	} else if (!strstr(scene->err.msg, c->error)) {
		fail_msg("%s", scene->err.msg);
	}
}

static const char *const two_groups[] = { "g,1", "h" };
static const char *const forged[] = { "g\r\nX: y" };

static struct as_case {
	const char *name;
	const char *text;
	struct kube_config_flags flags;
	const char *headers; /* parted by ";"; NULL: refused */
} as_cases[] = {
	{ "nobody", FILE_OF("{}"), { 0 }, "" },
	{ "the file's",
	  FILE_OF("{as: jane, as-uid: '7', as-groups: [g, h], as-user-extra: {'a/b c': [x, z]}}"),
	  { 0 },
	  "Impersonate-User: jane;Impersonate-Uid: 7;Impersonate-Group: g;Impersonate-Group: h;"
	  "Impersonate-Extra-a%2Fb%20c: x;Impersonate-Extra-a%2Fb%20c: z;" },
	{ "the command line's",
	  FILE_OF("{}"),
	  { .as = "jane", .as_uid = "7", .as_groups = two_groups, .as_groups_len = 2 },
	  "Impersonate-User: jane;Impersonate-Uid: 7;Impersonate-Group: g,1;Impersonate-Group: h;" },
	{ "the command line's, with nothing of the file's",
	  FILE_OF("{as: joe, as-groups: [admins]}"),
	  { .as = "jane" },
	  "Impersonate-User: jane;" },
	{ "a group without a user",
	  FILE_OF("{}"),
	  { .as_groups = two_groups, .as_groups_len = 2 },
	  NULL },
	{ "a uid of the file without a user", FILE_OF("{as-uid: '7'}"), { 0 }, NULL },
	{ "a group that would forge a header",
	  FILE_OF("{}"),
	  { .as = "jane", .as_groups = forged, .as_groups_len = 1 },
	  NULL },
	{ "extra that would forge a header",
	  FILE_OF("{as: jane, as-user-extra: {a: [\"x\\r\\nY: z\"]}}"),
	  { 0 },
	  NULL },
};

static void acts_as(void **state)
{
	const struct as_case *c = suite_row(state);
	auto_str struct str to = STR_INIT;
	struct json_strs headers = { 0 };
	struct scene *scene = *state;

	scene_load(scene, c->text, &c->flags);
	assert_int_equal(scene->result == 0, c->headers != NULL);
	if (c->headers) {
		impersonate_headers(&scene->config.as, &headers);
		for (size_t i = 0; i < headers.len; i++)
			str_addf(&to, "%s;", headers.items[i]);
		assert_string_equal(str_cstr(&to), c->headers);
		json_strs_done(&headers);
	} else {
		assert_non_null(strstr(scene->err.msg, "impersonation"));
	}
}

static struct exec_case {
	const char *name;
	const char *text;
	const char *error; /* NULL: good */
	enum kube_exec_stdin input;
} exec_cases[] = {
	{ "never asks", EXEC("interactiveMode: Never"), NULL, KUBE_STDIN_NEVER },
	{ "asks if it can", EXEC("interactiveMode: IfAvailable"), NULL, KUBE_STDIN_IF_AVAILABLE },
	{ "must ask", EXEC("interactiveMode: Always"), NULL, KUBE_STDIN_ALWAYS },
	{ "v1 has to say whether it asks", EXEC("args: []"),
	  "user 'u': exec.interactiveMode is none of Never, IfAvailable, Always", 0 },
	{ "v1beta1 need not", FILE_OF("{exec: {apiVersion: " V1BETA1 ", command: get}}"), NULL,
	  KUBE_STDIN_IF_AVAILABLE },
	{ "asks in another way", EXEC("interactiveMode: Sometimes"),
	  "exec.interactiveMode is none of Never, IfAvailable, Always", 0 },
	{ "no command", FILE_OF("{exec: {apiVersion: " V1BETA1 "}}"), "exec.command is missing",
	  0 },
	{ "no version", FILE_OF("{exec: {command: get}}"), "exec.apiVersion is missing", 0 },
	{ "an older version",
	  FILE_OF("{exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: get}}"),
	  "exec.apiVersion is not client.authentication.k8s.io/v1 or v1beta1", 0 },
	{ "args that are no list", EXEC("interactiveMode: Never, args: a"),
	  "exec.args is not a list", 0 },
	{ "an argument that is no text", EXEC("interactiveMode: Never, args: [7]"),
	  "exec.args has what is not a text: quote it", 0 },
	{ "env that is no list", EXEC("interactiveMode: Never, env: {a: b}"),
	  "exec.env is not a list", 0 },
	{ "env without a value", EXEC("interactiveMode: Never, env: [{name: A}]"),
	  "exec.env has an item without name and value", 0 },
	{ "env with a name that is none",
	  EXEC("interactiveMode: Never, env: [{name: A=B, value: c}]"),
	  "exec.env has an item without name and value", 0 },
	{ "null lists", EXEC("interactiveMode: Never, args: null, env: null"), NULL,
	  KUBE_STDIN_NEVER },
};

static void program_is_read(void **state)
{
	const struct exec_case *c = suite_row(state);
	struct scene *scene = *state;

	scene_load(scene, c->text, NULL);
	if (c->error) {
		assert_true(scene->result < 0);
		if (!strstr(scene->err.msg, c->error))
			fail_msg("%s", scene->err.msg);
	} else {
		assert_int_equal(scene->result, 0);
		assert_int_equal(scene->config.exec->input, c->input);
	}
}

static void all_of_a_program_is_read(void **state)
{
	static const char text[] =
		"clusters: [{name: c, cluster: {server: 'https://h:1', extensions: [{name: other, "
		"extension: 1}, {name: client.authentication.k8s.io/exec, extension: {a: [1]}}]}}]\n"
		"contexts: [{name: x, context: {cluster: c, user: u}}]\n"
		"current-context: x\n"
		"users: [{name: u, user: {exec: {apiVersion: " V1BETA1 ", command: ./bin/get, "
		"args: [--a, 'b c', ''], env: [{name: A, value: 'b=c'}], provideClusterInfo: true, "
		"installHint: Get it.}}}]\n";
	const struct kube_exec *exec;
	auto_free char *command = NULL;
	struct scene *scene = *state;

	scene_load(scene, text, NULL);
	assert_int_equal(scene->result, 0);
	exec = scene->config.exec;
	command = folder_path(&scene->folder, "./bin/get");
	assert_string_equal(exec->command, command);
	assert_string_equal(exec->user, "u");
	assert_string_equal(exec->api_version, V1BETA1);
	assert_int_equal(exec->args.len, 3);
	assert_string_equal(exec->args.items[1], "b c");
	assert_string_equal(exec->args.items[2], "");
	assert_int_equal(exec->env.len, 1);
	assert_string_equal(exec->env.items[0], "A=b=c");
	assert_string_equal(exec->install_hint, "Get it.");
	assert_true(exec->cluster_info);
	assert_string_equal(scene->config.exec_config, "{\"a\":[1]}");
	assert_true(scene->config.proxy_env);
}

static void names_are_listed_once(void **state)
{
	struct json_strs names = { 0 };
	auto_free char *paths = NULL;
	struct folder *folder = *state;

	folder_put(folder, "a", "contexts: [{name: x}, {name: w}]");
	folder_put(folder, "b", "contexts: [{name: w}, {name: z}, {}]");
	paths = xasprintf("%s/a:%s/none:%s/b", folder->path, folder->path, folder->path);
	kube_config_names(&(struct kube_config_source){ .kubeconfig = paths }, "contexts", &names);
	assert_int_equal(names.len, 3);
	assert_string_equal(names.items[2], "z");
	json_strs_done(&names);
	kube_config_names(&(struct kube_config_source){ .path = "/nonexistent" }, "users", &names);
	assert_int_equal(names.len, 0);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_rows(&suite, flag_cases, flag_counts_over_the_file);
	suite_rows(&suite, as_cases, acts_as);
	suite_rows(&suite, exec_cases, program_is_read);
	suite_add(&suite, "all of a program is read", all_of_a_program_is_read, NULL);
	suite_fixture(&suite, &folder_fixture);
	suite_add(&suite, "names are listed once", names_are_listed_once, NULL);
	return suite_run(&suite, "config_flags");
}
