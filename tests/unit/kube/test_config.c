#include "unit/folder.h"

#include <errno.h>

#include "base/err.h"
#include "kube/config.h"
#include "kube/kubeconfig.h"

#define CLUSTER  "clusters: [{name: c, cluster: {server: 'https://h:1'}}]\n"
#define CONTEXT  "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n"
#define USER(u)  "users: [{name: u, user: " u "}]\n"
#define PEM_DATA "LS0tLS1CRUdJTiBYLS0tLS0K"

static const struct kube_config_source plain = { 0 };

static struct good_case {
	const char *name;
	const char *context; /* NULL: the file's */
	const char *text;
	const char *server;
	const char *ns;
	const char *token;
	const char *token_path; /* "~" stands for the folder, here and below */
	const char *ca_path;
	const char *ca_data;
	const char *cert_path;
	bool insecure;
} goods[] = {
	{ "a token and a CA file beside the kubeconfig", NULL,
	  "clusters: [{name: c, cluster: {server: 'https://h:6443/', certificate-authority: pki/ca}}]\n" CONTEXT
		  USER("{token: abc}"),
	  "https://h:6443", "default", "abc", NULL, "~/pki/ca", NULL, NULL, false },
	{ "inline data wins over a path", NULL,
	  "clusters: [{name: c, cluster: {server: 'https://h', certificate-authority: ca,"
	  " certificate-authority-data: " PEM_DATA "}}]\n" CONTEXT USER("{}"),
	  "https://h:443", "default", NULL, NULL, NULL, "-----BEGIN X-----\n", NULL, false },
	{ "a client certificate with absolute paths", NULL,
	  CLUSTER CONTEXT USER("{client-certificate: /a/crt, client-key: /a/key}"), "https://h:1",
	  "default", NULL, NULL, NULL, NULL, "/a/crt", false },
	{ "a token file", NULL, CLUSTER CONTEXT USER("{tokenFile: t}"), "https://h:1", "default",
	  NULL, "~/t", NULL, NULL, NULL, false },
	{ "a context without a user", NULL,
	  CLUSTER
	  "contexts: [{name: x, context: {cluster: c, namespace: n}}]\ncurrent-context: x\n",
	  "https://h:1", "n", NULL, NULL, NULL, NULL, NULL, false },
	{ "another context than the current one", "y",
	  "clusters: [{name: c, cluster: {server: 'https://h:1'}},"
	  " {name: d, cluster: {server: 'https://[::1]:2/p', insecure-skip-tls-verify: true}}]\n"
	  "contexts: [{name: y, context: {cluster: d}}, {name: x, context: {cluster: c}}]\n"
	  "current-context: x\n",
	  "https://[::1]:2/p", "default", NULL, NULL, NULL, NULL, NULL, true },
	{ "kubectl's own fields are passed over", NULL,
	  "apiVersion: v1\nkind: Config\npreferences: {}\n" CLUSTER CONTEXT USER(
		  "{token: abc, extensions: []}"),
	  "https://h:1", "default", "abc", NULL, NULL, NULL, NULL, false },
};

static void assert_text(const struct folder *folder, const char *is, const char *wanted)
{
	auto_free char *path = NULL;

	if (!wanted) {
		assert_null(is);
		return;
	}
	if (*wanted == '~')
		path = folder_path(folder, wanted + 2);
	assert_non_null(is);
	assert_string_equal(is, path ? path : wanted);
}

static void good_file_is_read(void **state)
{
	const struct good_case *c = suite_row(state);
	auto_kube_config struct kube_config config = { 0 };
	struct folder *folder = *state;
	auto_free char *path = NULL;
	struct err err = { 0 };

	folder_put(folder, "config", c->text);
	path = folder_path(folder, "config");
	if (kubeconfig_load(path, &(struct kube_config_source){ .context = c->context }, &config,
			    &err) < 0)
		fail_msg("%s", err.msg);
	assert_text(folder, config.server, c->server);
	assert_text(folder, config.ns, c->ns);
	assert_text(folder, config.token, c->token);
	assert_text(folder, config.token_path, c->token_path);
	assert_text(folder, config.ca.path, c->ca_path);
	assert_text(folder, config.ca.data, c->ca_data);
	assert_text(folder, config.cert.path, c->cert_path);
	assert_int_equal(config.insecure, c->insecure);
}

static struct bad_case {
	const char *name;
	const char *context;
	const char *text;
	const char *error; /* after "kubeconfig 'PATH'" */
} bads[] = {
	{ "no current context", NULL, CLUSTER,
	  " has no current-context: choose one with --context NAME" },
	{ "no current context, of several", NULL,
	  CLUSTER "contexts: [{name: x, context: {cluster: c}}, {name: y, context: {cluster: c}}]",
	  " has no current-context: choose one with --context NAME of x, y" },
	{ "a context that is not there", "z", CLUSTER CONTEXT USER("{}"),
	  ": there is no context 'z'" },
	{ "a cluster that is not there", NULL, CONTEXT USER("{}"), ": there is no cluster 'c'" },
	{ "a user that is not there", NULL, CLUSTER CONTEXT, ": there is no user 'u'" },
	{ "a context without a cluster", NULL,
	  "contexts: [{name: x, context: {user: u}}]\ncurrent-context: x",
	  ": context 'x': cluster is missing" },
	{ "an entry without a body", NULL, "clusters: [{name: c}]\n" CONTEXT,
	  ": cluster 'c' has no 'cluster:'" },
	{ "no server", NULL, "clusters: [{name: c, cluster: {}}]\n" CONTEXT,
	  ": cluster 'c': server is missing: give https://HOST:PORT" },
	{ "a server that is none", NULL, "clusters: [{name: c, cluster: {server: h}}]\n" CONTEXT,
	  ": cluster 'c': server 'h' does not begin with https:// (or http://)" },
	{ "data that is not base64", NULL,
	  "clusters: [{name: c, cluster: {server: 'https://h', certificate-authority-data: '?'}}]\n" CONTEXT,
	  ": cluster 'c': certificate-authority-data is not base64" },
	{ "data that is not PEM", NULL,
	  "clusters: [{name: c, cluster: {server: 'https://h', certificate-authority-data: TWFu}}]\n" CONTEXT,
	  ": cluster 'c': certificate-authority-data holds no PEM block" },
	{ "a CA and no verification", NULL,
	  "clusters: [{name: c, cluster: {server: 'https://h', certificate-authority: ca, "
	  "insecure-skip-tls-verify: true}}]\n" CONTEXT,
	  ": cluster 'c': insecure-skip-tls-verify and certificate-authority exclude each other" },
	{ "a program for credentials, in what is no person's", NULL,
	  CLUSTER CONTEXT USER("{exec: {command: aws}}"),
	  ": user 'u': exec is for people, this program runs no other for credentials: use token, "
	  "tokenFile or client-certificate with client-key" },
	{ "a password", NULL, CLUSTER CONTEXT USER("{username: a, password: b}"),
	  ": user 'u': username is not supported, no API server takes passwords since 1.19: use exec, a "
	  "token or a client certificate" },
	{ "a password alone", NULL, CLUSTER CONTEXT USER("{password: b}"),
	  ": user 'u': password is not supported, no API server takes passwords since 1.19: use exec, a "
	  "token or a client certificate" },
	{ "an auth-provider", NULL, CLUSTER CONTEXT USER("{auth-provider: {name: gcp}}"),
	  ": user 'u': auth-provider is not supported, kubectl has none since 1.26: use exec, a token "
	  "or a client certificate" },
	{ "a token that is a number", NULL, CLUSTER CONTEXT USER("{token: 7}"),
	  ": user 'u': token is not a text: quote it" },
	{ "groups that are no list", NULL, CLUSTER CONTEXT USER("{as: a, as-groups: b}"),
	  ": user 'u': as-groups is not a list" },
	{ "a proxy of another kind", NULL,
	  "clusters: [{name: c, cluster: {server: 'https://h', proxy-url: 'ftp://p'}}]\n" CONTEXT,
	  ": cluster 'c': proxy-url does not begin with http://, https:// or socks5://" },
	{ "a certificate without its key", NULL, CLUSTER CONTEXT USER("{client-certificate: c}"),
	  ": user 'u': client-certificate and client-key go together" },
	{ "a token that would forge a header", NULL, CLUSTER CONTEXT USER("{token: \"a\\nX: y\"}"),
	  ": user 'u': token has characters that no token has" },
	{ "a list", NULL, "[]", " is not a mapping" },
	{ "an empty file", NULL, "", " has no current-context: choose one with --context NAME" },
};

static void bad_file_is_explained(void **state)
{
	const struct bad_case *c = suite_row(state);
	auto_kube_config struct kube_config config = { 0 };
	struct folder *folder = *state;
	auto_free char *path = NULL;
	auto_free char *error = NULL;
	struct err err = { 0 };

	folder_put(folder, "config", c->text);
	path = folder_path(folder, "config");
	error = xasprintf("kubeconfig '%s'%s", path, c->error);
	assert_true(kubeconfig_load(path, &(struct kube_config_source){ .context = c->context },
				    &config, &err) < 0);
	assert_string_equal(err.msg, error);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_null(config.server);
}

static void what_is_not_yaml_has_a_line(void **state)
{
	auto_kube_config struct kube_config config = { 0 };
	struct folder *folder = *state;
	auto_free char *path = NULL;
	auto_free char *error = NULL;
	struct err err = { 0 };

	folder_put(folder, "config", "a: 1\nb: 2\na: 3\n");
	path = folder_path(folder, "config");
	error = xasprintf("kubeconfig: %s:3: key 'a' is there twice", path);
	assert_true(kubeconfig_load(path, &plain, &config, &err) < 0);
	assert_string_equal(err.msg, error);
}

static void of_several_files_the_first_counts(void **state)
{
	auto_kube_config struct kube_config config = { 0 };
	auto_free char *paths = NULL;
	struct folder *folder = *state;
	struct err err = { 0 };

	folder_put(folder, "one/config", "current-context: x\n" USER("{tokenFile: first}"));
	folder_put(folder, "two/config",
		   CLUSTER "contexts: [{name: x, context: {cluster: c, user: u}}]\n" USER(
			   "{tokenFile: second}") "current-context: y\n");
	paths = xasprintf("%s/none::%s/one/config:%s/two/config:", folder->path, folder->path,
			  folder->path);
	if (kubeconfig_load(paths, &plain, &config, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(config.server, "https://h:1");
	assert_text(folder, config.token_path, "~/one/first");
}

static void all_files_missing_is_an_error(void **state)
{
	auto_kube_config struct kube_config config = { 0 };
	struct err err = { 0 };

	assert_int_equal(kubeconfig_load("/nonexistent/a:/nonexistent/b", &plain, &config, &err),
			 -ENOENT);
	assert_string_equal(err.msg,
			    "kubeconfig '/nonexistent/a:/nonexistent/b' does not exist: check "
			    "--kubeconfig or KUBECONFIG");
}

static struct place_case {
	const char *name;
	bool path;
	bool kubeconfig;
	bool in_cluster;
	bool home;
	const char *server; /* NULL: none is found */
} places[] = {
	{ "an explicit path comes first", true, true, true, true, "https://path:443" },
	{ "then KUBECONFIG", false, true, true, true, "https://env:443" },
	{ "then the pod's service account", false, false, true, true, "https://10.96.0.1:443" },
	{ "then the home folder", false, false, false, true, "https://home:443" },
	{ "nothing is an error", false, false, false, false, NULL },
};

static void put_config(const struct folder *folder, const char *name, const char *host)
{
	auto_free char *text = xasprintf("clusters: [{name: c, cluster: {server: 'https://%s'}}]\n"
					 "contexts: [{name: x, context: {cluster: c}}]\n"
					 "current-context: x\n",
					 host);

	folder_put(folder, name, text);
}

static void config_is_found(void **state)
{
	const struct place_case *c = suite_row(state);
	auto_kube_config struct kube_config config = { 0 };
	auto_free char *path = NULL;
	auto_free char *env = NULL;
	auto_free char *account = NULL;
	struct folder *folder = *state;
	struct err err = { 0 };
	int r;

	put_config(folder, "path", "path");
	put_config(folder, "env", "env");
	put_config(folder, ".kube/config", "home");
	folder_put(folder, "account/token", "t");
	folder_put(folder, "account/ca.crt", "c");
	path = folder_path(folder, "path");
	env = folder_path(folder, "env");
	account = folder_path(folder, "account");
	r = kube_config_load(
		&(struct kube_config_source){
			.path = c->path ? path : "",
			.kubeconfig = c->kubeconfig ? env : NULL,
			.home = c->home ? folder->path : "/nonexistent",
			.service_host = "10.96.0.1",
			.service_port = "443",
			.account_dir = c->in_cluster ? account : "/nonexistent",
		},
		&config, &err);
	assert_int_equal(r, c->server ? 0 : -ENOENT);
	if (c->server)
		assert_string_equal(config.server, c->server);
	else
		assert_non_null(
			strstr(err.msg, "no cluster is configured: give --kubeconfig FILE"));
}

static struct pod_case {
	const char *name;
	const char *host;
	const char *port;
	const char *ns;     /* the file's content */
	const char *server; /* NULL: refused */
	const char *ns_read;
	const char *error;
} pods[] = {
	{ "IPv4", "10.96.0.1", "443", "kube-system\n", "https://10.96.0.1:443", "kube-system",
	  NULL },
	{ "IPv6 gets brackets", "fd00::1", "6443", "a", "https://[fd00::1]:6443", "a", NULL },
	{ "brackets stay", "[fd00::1]", "6443", "a", "https://[fd00::1]:6443", "a", NULL },
	{ "a namespace may lack", "10.96.0.1", "443", NULL, "https://10.96.0.1:443", "default",
	  NULL },
	{ "a port is a number", "10.96.0.1", "tcp://x", "a", NULL, NULL,
	  "KUBERNETES_SERVICE_PORT is 'tcp://x', which is not a port" },
	{ "outside of a pod", "", "443", "a", NULL, NULL,
	  "or run in a pod with a service account" },
};

static void pod_is_read(void **state)
{
	const struct pod_case *c = suite_row(state);
	auto_kube_config struct kube_config config = { 0 };
	struct kube_config_source source = { .service_host = c->host, .service_port = c->port };
	struct folder *folder = *state;
	struct err err = { 0 };

	source.account_dir = folder->path;
	folder_put(folder, "token", "t");
	folder_put(folder, "ca.crt", "c");
	if (c->ns)
		folder_put(folder, "namespace", c->ns);
	assert_int_equal(kube_config_load(&source, &config, &err) == 0, c->server != NULL);
	if (c->server) {
		assert_string_equal(config.server, c->server);
		assert_string_equal(config.ns, c->ns_read);
		assert_text(folder, config.token_path, "~/token");
		assert_text(folder, config.ca.path, "~/ca.crt");
	} else {
		assert_non_null(strstr(err.msg, c->error));
	}
}

static void a_pod_without_a_ca_is_explained(void **state)
{
	auto_kube_config struct kube_config config = { 0 };
	struct kube_config_source source = { .service_host = "h", .service_port = "1" };
	struct folder *folder = *state;
	struct err err = { 0 };

	source.account_dir = folder->path;
	folder_put(folder, "token", "t");
	assert_int_equal(kube_config_load(&source, &config, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "the API server's CA '"));
	assert_non_null(strstr(err.msg, "automountServiceAccountToken"));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "all files missing is an error", all_files_missing_is_an_error, NULL);
	suite_fixture(&suite, &folder_fixture);
	suite_rows(&suite, goods, good_file_is_read);
	suite_rows(&suite, bads, bad_file_is_explained);
	suite_add(&suite, "what is not YAML has a line", what_is_not_yaml_has_a_line, NULL);
	suite_add(&suite, "of several files the first counts", of_several_files_the_first_counts,
		  NULL);
	suite_add(&suite, "a pod without a CA is explained", a_pod_without_a_ca_is_explained, NULL);
	suite_rows(&suite, places, config_is_found);
	suite_rows(&suite, pods, pod_is_read);
	return suite_run(&suite, "config");
}
