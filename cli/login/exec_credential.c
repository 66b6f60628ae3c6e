#include "cli/login/exec_credential.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "kube/config.h"
#include "kube/credentials.h"

enum { CA_MAX = 1 << 20 };

/* --- its input -------------------------------------------------------------------------------- */

static void set_text(json_t *object, const char *key, const char *text)
{
	if (text)
		json_object_set_new(object, key, json_string(text));
}

static int set_ca(json_t *cluster, const struct kube_pem *ca, struct err *err)
{
	auto_free char *read = NULL;
	auto_free char *base64 = NULL;
	const char *data = ca->data;
	size_t len = ca->len;
	int r;

	if (!data && ca->path) {
		r = file_read(AT_FDCWD, ca->path, CA_MAX, &read, &len, err);
		if (r < 0)
			return err_wrap(err, "certificate-authority");
		data = read;
	}
	if (!data)
		return 0;
	base64 = base64_encode(data, len);
	set_text(cluster, "certificate-authority-data", base64);
	return 0;
}

static int set_cluster(json_t *spec, const struct kube_config *config, struct err *err)
{
	json_t *cluster = json_object();
	json_t *extension = NULL;

	json_object_set_new(spec, "cluster", cluster);
	set_text(cluster, "server", config->server);
	set_text(cluster, "tls-server-name", config->tls_server_name);
	set_text(cluster, "proxy-url", config->proxy);
	if (config->insecure)
		json_object_set_new(cluster, "insecure-skip-tls-verify", json_true());
	if (config->exec_config &&
	    json_map_load(config->exec_config, strlen(config->exec_config), &extension, NULL) == 0)
		json_object_set_new(cluster, "config", extension);
	return set_ca(cluster, &config->ca, err);
}

int exec_credential_ask(const struct kube_config *config, bool interactive, char **ret_text,
			struct err *err)
{
	json_t *spec = json_pack("{sb}", "interactive", interactive);
	auto_json json_t *all = json_pack("{ss,ss,so}", "kind", "ExecCredential", "apiVersion",
					  config->exec->api_version, "spec", spec);
	int r = config->exec->cluster_info ? set_cluster(spec, config, err) : 0;

	if (r < 0)
		return r;
	*ret_text = json_map_text(all);
	return 0;
}

/* --- what it says ----------------------------------------------------------------------------- */

static int bad(struct err *err, const char *what)
{
	return err_set(err, ERR_RETRY, -ENOKEY, "it printed %s", what);
}

static int check_kind(const json_t *object, const char *api_version, struct err *err)
{
	const char *kind = json_get_nonempty(object, "kind");
	const char *version = json_get_nonempty(object, "apiVersion");

	if (!kind || strcmp(kind, "ExecCredential") != 0)
		return bad(err, "no ExecCredential");
	if (!version || strcmp(version, api_version) != 0)
		return err_set(err, ERR_RETRY, -ENOKEY,
			       "it printed an ExecCredential of '%.60s', not of '%s'",
			       version ? version : "", api_version);
	return 0;
}

static int check_pem(const char *cert, const char *key, struct err *err)
{
	if (!cert != !key)
		return bad(err, "a certificate without its key, or a key without its certificate");
	if (cert && (!strstr(cert, "-----BEGIN ") || !strstr(key, "-----BEGIN ")))
		return bad(err, "a certificate or key that is not PEM");
	return 0;
}

static int read_status(const json_t *status, struct exec_credential *ret_credential,
		       struct err *err)
{
	const char *token = json_get_nonempty(status, "token");
	const char *cert = json_get_nonempty(status, "clientCertificateData");
	const char *key = json_get_nonempty(status, "clientKeyData");
	const char *expires = json_get_nonempty(status, "expirationTimestamp");
	int64_t expires_ms = INT64_MAX;
	int r = check_pem(cert, key, err);

	if (r < 0)
		return r;
	if (!token && !cert)
		return bad(err, "neither a token nor a certificate");
	if (token && !credentials_is_token(token))
		return bad(err, "a token with characters that no token has");
	if (expires && !timefmt_parse(expires, &expires_ms))
		return bad(err, "an expirationTimestamp that is no time");
	*ret_credential = (struct exec_credential){
		.token = xstrdup_or_null(token),
		.cert = xstrdup_or_null(cert),
		.key = xstrdup_or_null(key),
		.expires_ms = expires_ms,
	};
	return 0;
}

int exec_credential_read(const char *text, size_t len, const char *api_version,
			 struct exec_credential *ret_credential, struct err *err)
{
	auto_json json_t *object = NULL;
	const json_t *status;
	int r;

	if (len == 0)
		return bad(err, "nothing");
	if (json_map_load(text, len, &object, NULL) < 0)
		return bad(err, "what is not JSON");
	r = check_kind(object, api_version, err);
	if (r < 0)
		return r;
	status = json_object_get(object, "status");
	if (!json_is_object(status))
		return bad(err, "an ExecCredential without a status");
	return read_status(status, ret_credential, err);
}

static void wipe(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void exec_credential_done(struct exec_credential *credential)
{
	wipe(credential->token);
	wipe(credential->cert);
	wipe(credential->key);
	*credential = (struct exec_credential){ 0 };
}
