#include "unit/folder.h"

#include <errno.h>
#include <jansson.h>

#include "api/json_map.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/login/exec_credential.h"
#include "kube/config.h"
#include "unit/made_json.h"

#define V1                 "client.authentication.k8s.io/v1"
#define CREDENTIAL(status) "{'kind':'ExecCredential','apiVersion':'" V1 "','status':" status "}"
#define PEM                "-----BEGIN X-----"

static struct read_case {
	const char *name;
	const char *text;  /* with ' for " */
	const char *error; /* NULL: good */
	const char *token;
	const char *cert;
	int64_t expires_ms;
} reads[] = {
	{ "a token", CREDENTIAL("{'token':'abc'}"), NULL, "abc", NULL, INT64_MAX },
	{ "a token for a while",
	  CREDENTIAL("{'token':'abc','expirationTimestamp':'1970-01-01T00:00:10Z'}"), NULL, "abc",
	  NULL, 10000 },
	{ "a certificate",
	  CREDENTIAL("{'clientCertificateData':'" PEM "c','clientKeyData':'" PEM "k'}"), NULL, NULL,
	  PEM "c", INT64_MAX },
	{ "both",
	  CREDENTIAL("{'token':'t','clientCertificateData':'" PEM "c','clientKeyData':'" PEM "k'}"),
	  NULL, "t", PEM "c", INT64_MAX },
	{ "fields that nobody knows, and null",
	  CREDENTIAL("{'token':'t','more':1,'clientKeyData':null}"), NULL, "t", NULL, INT64_MAX },
	{ "nothing", "", "it printed nothing", NULL, NULL, 0 },
	{ "a text", "Please log in.\n", "it printed what is not JSON", NULL, NULL, 0 },
	{ "a JSON text", "'token'", "it printed no ExecCredential", NULL, NULL, 0 },
	{ "JSON and more", CREDENTIAL("{'token':'abc'}") " tail", "it printed what is not JSON",
	  NULL, NULL, 0 },
	{ "another kind", "{'kind':'Token','apiVersion':'" V1 "','status':{'token':'t'}}",
	  "it printed no ExecCredential", NULL, NULL, 0 },
	{ "another version",
	  "{'kind':'ExecCredential','apiVersion':'" V1 "beta1','status':{'token':'t'}}",
	  "it printed an ExecCredential of '" V1 "beta1', not of '" V1 "'", NULL, NULL, 0 },
	{ "no version", "{'kind':'ExecCredential','status':{'token':'t'}}",
	  "it printed an ExecCredential of '', not of '" V1 "'", NULL, NULL, 0 },
	{ "no status", "{'kind':'ExecCredential','apiVersion':'" V1 "'}",
	  "it printed an ExecCredential without a status", NULL, NULL, 0 },
	{ "an empty status", CREDENTIAL("{}"), "it printed neither a token nor a certificate", NULL,
	  NULL, 0 },
	{ "an empty token", CREDENTIAL("{'token':''}"),
	  "it printed neither a token nor a certificate", NULL, NULL, 0 },
	{ "a token that would forge a header", CREDENTIAL("{'token':'a\\r\\nX: y'}"),
	  "it printed a token with characters that no token has", NULL, NULL, 0 },
	{ "a certificate without its key", CREDENTIAL("{'clientCertificateData':'" PEM "'}"),
	  "it printed a certificate without its key, or a key without its certificate", NULL, NULL,
	  0 },
	{ "a key without its certificate", CREDENTIAL("{'token':'t','clientKeyData':'" PEM "'}"),
	  "it printed a certificate without its key, or a key without its certificate", NULL, NULL,
	  0 },
	{ "a certificate that is none",
	  CREDENTIAL("{'clientCertificateData':'c','clientKeyData':'k'}"),
	  "it printed a certificate or key that is not PEM", NULL, NULL, 0 },
	{ "a time that is none", CREDENTIAL("{'token':'t','expirationTimestamp':'soon'}"),
	  "it printed an expirationTimestamp that is no time", NULL, NULL, 0 },
};

static void assert_text(const char *is, const char *wanted)
{
	if (wanted)
		assert_string_equal(is, wanted);
	else
		assert_null(is);
}

static void what_it_says_is_read(void **state)
{
	const struct read_case *c = *state;
	auto_free char *text = made_json(c->text);
	struct exec_credential credential = { 0 };
	struct err err = { 0 };
	int r = exec_credential_read(text, strlen(text), V1, &credential, &err);

	if (c->error) {
		assert_int_equal(r, -ENOKEY);
		assert_int_equal(err.kind, ERR_RETRY);
		assert_string_equal(err.msg, c->error);
		return;
	}
	assert_int_equal(r, 0);
	assert_text(credential.token, c->token);
	assert_text(credential.cert, c->cert);
	assert_int_equal(credential.expires_ms, c->expires_ms);
	exec_credential_done(&credential);
	assert_null(credential.token);
}

static void assert_asked(const struct kube_config *config, bool interactive, const char *wanted)
{
	auto_free char *expected = made_json(wanted);
	auto_free char *text = NULL;
	auto_json json_t *is = NULL;
	auto_json json_t *should = NULL;

	assert_int_equal(exec_credential_ask(config, interactive, &text, NULL), 0);
	assert_int_equal(json_map_load(text, strlen(text), &is, NULL), 0);
	assert_int_equal(json_map_load(expected, strlen(expected), &should, NULL), 0);
	if (!json_equal(is, should))
		fail_msg("%s", text);
}

static void it_is_told_of_the_cluster_if_it_wants(void **state)
{
	char version[] = V1;
	char server[] = "https://h:1";
	char proxy[] = "http://p";
	char name[] = "n";
	char extension[] = "{\"a\":1}";
	char ca[] = "CA";
	struct kube_exec exec = { .api_version = version };
	struct kube_config config = {
		.exec = &exec,
		.server = server,
		.proxy = proxy,
		.tls_server_name = name,
		.exec_config = extension,
		.ca = { .data = ca, .len = 2 },
	};

	assert_asked(&config, false,
		     "{'kind':'ExecCredential','apiVersion':'" V1
		     "','spec':{'interactive':false}}");
	exec.cluster_info = true;
	assert_asked(
		&config, true,
		"{'kind':'ExecCredential','apiVersion':'" V1 "','spec':{'interactive':true,"
		"'cluster':{'server':'https://h:1','proxy-url':'http://p','tls-server-name':'n',"
		"'config':{'a':1},'certificate-authority-data':'Q0E='}}}");
	config = (struct kube_config){ .exec = &exec, .server = server, .insecure = true };
	assert_asked(&config, false,
		     "{'kind':'ExecCredential','apiVersion':'" V1 "','spec':{'interactive':false,"
		     "'cluster':{'server':'https://h:1','insecure-skip-tls-verify':true}}}");
}

static void it_is_told_what_is_in_the_cas_file(void **state)
{
	char version[] = V1;
	char server[] = "https://h:1";
	struct kube_exec exec = { .api_version = version, .cluster_info = true };
	struct kube_config config = { .exec = &exec, .server = server };
	auto_free char *text = NULL;
	struct err err = { 0 };
	struct folder *folder = *state;

	config.ca.path = folder_path(folder, "ca");
	assert_true(exec_credential_ask(&config, false, &text, &err) < 0);
	assert_non_null(strstr(err.msg, "certificate-authority: "));
	folder_put(folder, "ca", "CA");
	assert_int_equal(exec_credential_ask(&config, false, &text, &err), 0);
	assert_non_null(strstr(text, "\"certificate-authority-data\":\"Q0E=\""));
	free(config.ca.path);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, reads, what_it_says_is_read);
	suite_add(&suite, "it is told of the cluster if it wants",
		  it_is_told_of_the_cluster_if_it_wants, NULL);
	suite_fixture(&suite, &folder_fixture);
	suite_add(&suite, "it is told what is in the CA's file", it_is_told_what_is_in_the_cas_file,
		  NULL);
	return suite_run(&suite, "exec_credential");
}
