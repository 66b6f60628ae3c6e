#include "kube/config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "kube/credentials.h"
#include "kube/kubeconfig.h"
#include "kube/url.h"

static void wipe(char **text, size_t len)
{
	if (*text)
		explicit_bzero(*text, len);
	free(*text);
	*text = NULL;
}

void kube_pem_done(struct kube_pem *pem)
{
	free(pem->path);
	wipe(&pem->data, pem->len);
	*pem = (struct kube_pem){ 0 };
}

struct kube_exec *kube_exec_free(struct kube_exec *exec)
{
	if (!exec)
		return NULL;
	free(exec->user);
	free(exec->command);
	json_strs_done(&exec->args);
	json_strs_done(&exec->env);
	free(exec->api_version);
	free(exec->install_hint);
	free(exec);
	return NULL;
}

void kube_as_done(struct kube_as *as)
{
	free(as->user);
	free(as->uid);
	json_strs_done(&as->groups);
	json_strs_done(&as->extra);
	*as = (struct kube_as){ 0 };
}

void kube_config_forget_user(struct kube_config *config)
{
	kube_pem_done(&config->cert);
	kube_pem_done(&config->key);
	wipe(&config->token, config->token ? strlen(config->token) : 0);
	free(config->token_path);
	config->token_path = NULL;
	config->exec = kube_exec_free(config->exec);
}

void kube_config_done(struct kube_config *config)
{
	free(config->server);
	kube_pem_done(&config->ca);
	kube_config_forget_user(config);
	free(config->tls_server_name);
	free(config->proxy);
	free(config->exec_config);
	kube_as_done(&config->as);
	free(config->ns);
	free(config->origin);
	*config = (struct kube_config){ 0 };
}

/* --- impersonation --- */

/* Characters not allowed in a header name are %-escaped (client-go transport: headerKeyEscape). */
static void add_key(struct str *header, const char *key)
{
	for (; *key; key++) {
		unsigned char c = (unsigned char)*key;

		if (isascii(c) && (isalnum(c) || strchr("!#$&'*+-.^_`|~", c)))
			str_add_char(header, (char)c);
		else
			str_addf(header, "%%%02X", c);
	}
}

void impersonate_extra(struct kube_as *as, const char *key, const char *value)
{
	auto_str struct str header = STR_INIT;

	str_add(&header, "Impersonate-Extra-");
	add_key(&header, key);
	str_addf(&header, ": %s", value);
	json_strs_add(&as->extra, str_cstr(&header));
}

static bool is_value(const char *text)
{
	while ((unsigned char)*text >= ' ' && *text != 0x7f)
		text++;
	return *text == '\0';
}

static bool are_values(const struct json_strs *list)
{
	for (size_t i = 0; i < list->len; i++) {
		if (!is_value(list->items[i]))
			return false;
	}
	return true;
}

int impersonate_check(const struct kube_as *as, struct err *err)
{
	bool more = as->uid || as->groups.len > 0 || as->extra.len > 0;

	if (!as->user && more)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "impersonation of a group or uid needs a user, too (--as NAME)");
	if ((as->user && !is_value(as->user)) || (as->uid && !is_value(as->uid)) ||
	    !are_values(&as->groups) || !are_values(&as->extra))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "impersonation: names must not contain control characters");
	return 0;
}

static void add_header(struct json_strs *headers, const char *name, const char *value)
{
	auto_free char *header = xasprintf("%s: %s", name, value);

	json_strs_add(headers, header);
}

void impersonate_headers(const struct kube_as *as, struct json_strs *headers)
{
	if (!as->user)
		return;
	add_header(headers, "Impersonate-User", as->user);
	if (as->uid)
		add_header(headers, "Impersonate-Uid", as->uid);
	for (size_t i = 0; i < as->groups.len; i++)
		add_header(headers, "Impersonate-Group", as->groups.items[i]);
	for (size_t i = 0; i < as->extra.len; i++)
		json_strs_add(headers, as->extra.items[i]);
}

/* --- finding the configuration --- */

enum { NAMESPACE_MAX = 253 };

static bool is_set(const char *text)
{
	return text && *text;
}

static int override_server(struct kube_config *config, const struct kube_config_flags *flags,
			   struct err *err)
{
	char *server = NULL;
	int r;

	if (!is_set(flags->server))
		return 0;
	r = url_server_normal(flags->server, &server, err);
	if (r < 0)
		return err_wrap(err, "--server");
	free(config->server);
	config->server = server;
	return 0;
}

/* As in client-go, each of these two flags replaces both settings (clientcmd: getCluster). */
static int override_trust(struct kube_config *config, const struct kube_config_flags *flags,
			  struct err *err)
{
	if (is_set(flags->tls_server_name))
		str_set(&config->tls_server_name, flags->tls_server_name);
	if (!flags->insecure && !is_set(flags->ca))
		return 0;
	if (flags->insecure && is_set(flags->ca))
		return err_set(
			err, ERR_INVALID, -EINVAL,
			"--insecure-skip-tls-verify and --certificate-authority exclude each "
			"other");
	kube_pem_done(&config->ca);
	config->insecure = flags->insecure;
	if (is_set(flags->ca))
		config->ca.path = xstrdup(flags->ca);
	return 0;
}

/* kubectl sends a kubeconfig's client certificate along with --token, and the API server then
 * uses the certificate. Here --token replaces the certificate. */
static int override_proof(struct kube_config *config, const struct kube_config_flags *flags,
			  struct err *err)
{
	bool cert = is_set(flags->cert);

	if (cert != is_set(flags->key))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "--client-certificate and --client-key go together");
	if (is_set(flags->token) && !credentials_is_token(flags->token))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "--token has characters that no token has");
	if (!cert && !is_set(flags->token))
		return 0;
	kube_config_forget_user(config);
	if (is_set(flags->token))
		config->token = xstrdup(flags->token);
	if (cert) {
		config->cert.path = xstrdup(flags->cert);
		config->key.path = xstrdup(flags->key);
	}
	return 0;
}

/* If the command line impersonates anybody, the kubeconfig's impersonation is replaced as a
 * whole. */
static void override_as(struct kube_config *config, const struct kube_config_flags *flags)
{
	struct kube_as *as = &config->as;

	if (!is_set(flags->as) && !is_set(flags->as_uid) && flags->as_groups_len == 0)
		return;
	kube_as_done(as);
	if (is_set(flags->as))
		as->user = xstrdup(flags->as);
	if (is_set(flags->as_uid))
		as->uid = xstrdup(flags->as_uid);
	for (size_t i = 0; i < flags->as_groups_len; i++)
		json_strs_add(&as->groups, flags->as_groups[i]);
}

/* Apply @flags to @config. A token or certificate replaces all other credentials; a CA replaces
 * all other TLS verification settings. If @config has no server, @flags must have one. On error
 * the caller still releases @config. */
static int kube_config_override(struct kube_config *config, const struct kube_config_flags *flags,
				struct err *err)
{
	int r = override_server(config, flags, err);

	if (r == 0)
		r = override_trust(config, flags, err);
	if (r == 0)
		r = override_proof(config, flags, err);
	if (r < 0)
		return r;
	override_as(config, flags);
	return 0;
}

void kube_config_source_env(struct kube_config_source *source)
{
	source->kubeconfig = getenv("KUBECONFIG");
	source->home = getenv("HOME");
	source->service_host = getenv("KUBERNETES_SERVICE_HOST");
	source->service_port = getenv("KUBERNETES_SERVICE_PORT");
}

static const char *account_dir(const struct kube_config_source *source)
{
	return is_set(source->account_dir) ? source->account_dir : KUBE_ACCOUNT_DIR;
}

/* In a pod, the environment names the API server and the service account's token is mounted. */
static bool is_in_cluster(const struct kube_config_source *source)
{
	auto_free char *token = xasprintf("%s/token", account_dir(source));

	return is_set(source->service_host) && is_set(source->service_port) &&
	       access(token, F_OK) == 0;
}

/* "https://host:port", with brackets around an IPv6 address. */
static int server_url(const struct kube_config_source *source, char **ret_url, struct err *err)
{
	const char *host = source->service_host;
	uint64_t port;

	if (!str_to_u64(source->service_port, &port) || port == 0 || port > 65535)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "KUBERNETES_SERVICE_PORT is '%s', which is not a port",
			       source->service_port);
	*ret_url =
		xasprintf(strchr(host, ':') && *host != '[' ? "https://[%s]:%u" : "https://%s:%u",
			  host, (unsigned)port);
	return 0;
}

static int check_readable(const char *path, const char *what, struct err *err)
{
	if (access(path, R_OK) == 0)
		return 0;
	return err_set(err, ERR_RETRY, -errno,
		       "%s '%s': %s (is automountServiceAccountToken off for this pod?)", what,
		       path, strerror(errno));
}

/* The configuration of the pod we run in, if is_in_cluster(). */
static int load_in_cluster(const struct kube_config_source *source, struct kube_config *config,
			   struct err *err)
{
	const char *dir = account_dir(source);
	struct kube_config loaded = {
		.token_path = xasprintf("%s/token", dir),
		.ca.path = xasprintf("%s/ca.crt", dir),
		.origin = xasprintf("service account in %s", dir),
	};
	auto_free char *ns_path = xasprintf("%s/namespace", dir);
	int r;

	r = server_url(source, &loaded.server, err);
	if (r == 0)
		r = check_readable(loaded.token_path, "service account token", err);
	if (r == 0)
		r = check_readable(loaded.ca.path, "the API server's CA", err);
	if (r < 0) {
		kube_config_done(&loaded);
		return r;
	}
	if (file_read(AT_FDCWD, ns_path, NAMESPACE_MAX, &loaded.ns, NULL, NULL) < 0)
		loaded.ns = xstrdup("default");
	*config = loaded;
	return 0;
}

/* Load from files or the pod's service account. Neither is needed if the command line names a
 * server. */
static int find_config(const struct kube_config_source *source, struct kube_config *config,
		       struct err *err)
{
	auto_free char *path = NULL;

	if (is_set(source->path))
		return kubeconfig_load(source->path, source, config, err);
	if (is_set(source->kubeconfig))
		return kubeconfig_load(source->kubeconfig, source, config, err);
	if (is_in_cluster(source))
		return load_in_cluster(source, config, err);
	if (is_set(source->home)) {
		path = xasprintf("%s/.kube/config", source->home);
		if (access(path, F_OK) == 0)
			return kubeconfig_load(path, source, config, err);
	}
	if (source->flags && is_set(source->flags->server)) {
		*config = (struct kube_config){
			.ns = xstrdup("default"),
			.origin = xstrdup("the command line"),
		};
		return 0;
	}
	return err_set(err, ERR_INVALID, -ENOENT,
		       "no cluster is configured: give --kubeconfig FILE, set KUBECONFIG, create "
		       "~/.kube/config, or run in a pod with a service account");
}

int kube_config_load(const struct kube_config_source *source, struct kube_config *config,
		     struct err *err)
{
	struct kube_config loaded = { 0 };
	int r = find_config(source, &loaded, err);

	if (r < 0)
		return r;
	loaded.proxy_env = source->person;
	if (source->flags)
		r = kube_config_override(&loaded, source->flags, err);
	if (r == 0)
		r = impersonate_check(&loaded.as, err);
	if (r < 0)
		kube_config_done(&loaded);
	else
		*config = loaded;
	return r;
}

void kube_config_names(const struct kube_config_source *source, const char *plural,
		       struct json_strs *names)
{
	auto_free char *home =
		xasprintf("%s/.kube/config", is_set(source->home) ? source->home : "");
	const char *paths = is_set(source->path) ? source->path : source->kubeconfig;

	kubeconfig_list(is_set(paths) ? paths : home, plural, names);
}
