#include "kube/kubeconfig.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "kube/credentials.h"
#include "kube/url.h"
#include "kube/yaml.h"

enum { FILES_MAX = 32 };

/* One file of the list, in the list's order. */
struct file {
	char *path;
	json_t *doc;
};

struct files {
	ARRAY(struct file) list;
};

/* One entry of clusters, users or contexts: what it is called, and where it was found. */
struct entry {
	const char *what; /* "cluster"                                  */
	const char *name;
	const char *path;   /* of its file                                */
	const json_t *body; /* the mapping below the key of the same name */
};

static void files_done(struct files *files)
{
	for (size_t i = 0; i < files->list.len; i++) {
		free(files->list.items[i].path);
		json_decref(files->list.items[i].doc);
	}
	array_done(&files->list);
}

static int read_file(struct files *files, const char *path, struct err *err)
{
	auto_free char *text = NULL;
	json_t *doc = NULL;
	size_t len;
	int r;

	r = file_read(AT_FDCWD, path, YAML_TEXT_MAX, &text, &len, err);
	if (r < 0)
		return err_wrap(err, "kubeconfig");
	r = yaml_parse(path, text, len, &doc, err);
	explicit_bzero(text, len);
	if (r < 0)
		return err_wrap(err, "kubeconfig");
	if (!json_is_object(doc) && !json_is_null(doc)) {
		json_decref(doc);
		return err_set(err, ERR_INVALID, -EINVAL, "kubeconfig '%s' is not a mapping", path);
	}
	*array_add(&files->list) = (struct file){ .path = xstrdup(path), .doc = doc };
	return 0;
}

/* Read every file of the colon list; one that does not exist is passed over. */
static int read_files(struct files *files, const char *paths, struct err *err)
{
	const char *at = paths;
	size_t n = 0;

	while (*at) {
		size_t len = strcspn(at, ":");
		auto_free char *path = xstrndup(at, len);
		int r;

		at += len + (at[len] == ':');
		if (len == 0)
			continue;
		if (++n > FILES_MAX)
			return err_set(err, ERR_INVALID, -EINVAL, "more than %d kubeconfig files",
				       FILES_MAX);
		r = read_file(files, path, err);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	if (files->list.len > 0)
		return 0;
	return err_set(err, ERR_INVALID, -ENOENT,
		       "kubeconfig '%s' does not exist: check --kubeconfig or KUBECONFIG", paths);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && *text ? text : NULL;
}

static const json_t *find_named(const json_t *list, const char *name)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item) {
		const char *has = text_of(item, "name");

		if (has && strcmp(has, name) == 0)
			return item;
	}
	return NULL;
}

/* Find the entry called @name below @plural in the first file that has it. */
static int find_entry(const struct files *files, const char *plural, const char *what,
		      const char *name, struct entry *ret_entry, struct err *err)
{
	for (size_t i = 0; i < files->list.len; i++) {
		const struct file *file = &files->list.items[i];
		const json_t *item = find_named(json_object_get(file->doc, plural), name);

		if (!item)
			continue;
		*ret_entry = (struct entry){
			.what = what,
			.name = name,
			.path = file->path,
			.body = json_object_get(item, what),
		};
		if (json_is_object(ret_entry->body))
			return 0;
		return err_set(err, ERR_INVALID, -EINVAL, "kubeconfig '%s': %s '%s' has no '%s:'",
			       file->path, what, name, what);
	}
	return err_set(err, ERR_INVALID, -ENOENT, "kubeconfig '%s': there is no %s '%s'",
		       files->list.items[0].path, what, name);
}

static int entry_error(const struct entry *entry, const char *key, const char *why, struct err *err)
{
	return err_set(err, ERR_INVALID, -EINVAL, "kubeconfig '%s': %s '%s': %s %s", entry->path,
		       entry->what, entry->name, key, why);
}

/* Relative paths are relative to the file that holds them. */
static char *resolve_path(const char *file, const char *path)
{
	const char *slash;

	assert(file);
	slash = strrchr(file, '/');
	if (*path == '/' || !slash)
		return xstrdup(path);
	return xasprintf("%.*s/%s", (int)(slash - file), file, path);
}

/* Read @key or @key-data; the data wins, as in kubectl. */
static int read_pem(const struct entry *entry, const char *key, struct kube_pem *pem,
		    struct err *err)
{
	auto_free char *data_key = xasprintf("%s-data", key);
	const char *data = text_of(entry->body, data_key);
	const char *path = text_of(entry->body, key);

	if (!data) {
		if (path)
			pem->path = resolve_path(entry->path, path);
		return 0;
	}
	if (!base64_decode(data, strlen(data), &pem->data, &pem->len))
		return entry_error(entry, data_key, "is not base64", err);
	if (!strstr(pem->data, "-----BEGIN "))
		return entry_error(entry, data_key, "holds no PEM block", err);
	return 0;
}

static int read_cluster(const struct entry *entry, struct kube_config *config, struct err *err)
{
	const char *server = text_of(entry->body, "server");
	struct url_server parts = { 0 };
	int r;

	if (!server)
		return entry_error(entry, "server", "is missing: give https://HOST:PORT", err);
	r = url_server_parse(server, &parts, err);
	if (r < 0)
		return err_wrap(err, "kubeconfig '%s': cluster '%s'", entry->path, entry->name);
	config->server =
		xasprintf("%s://%s:%u%s", parts.scheme, parts.host, parts.port, parts.prefix);
	url_server_done(&parts);
	config->insecure = json_is_true(json_object_get(entry->body, "insecure-skip-tls-verify"));
	config->tls_server_name = xstrdup_or_null(text_of(entry->body, "tls-server-name"));
	r = read_pem(entry, "certificate-authority", &config->ca, err);
	if (r == 0 && config->insecure && (config->ca.path || config->ca.data))
		return entry_error(entry, "insecure-skip-tls-verify",
				   "and certificate-authority exclude each other", err);
	return r;
}

static int read_user(const struct entry *entry, struct kube_config *config, struct err *err)
{
	static const char *const unsupported[] = { "exec",      "auth-provider",
						   "username",  "password",
						   "as",        "as-uid",
						   "as-groups", "as-user-extra" };
	const char *path = text_of(entry->body, "tokenFile");
	const char *token = text_of(entry->body, "token");
	int r;

	for (size_t i = 0; i < ARRAY_LEN(unsupported); i++) {
		if (json_object_get(entry->body, unsupported[i]))
			return entry_error(entry, unsupported[i],
					   "is not supported: use token, tokenFile or "
					   "client-certificate with client-key",
					   err);
	}
	if (token && !credentials_is_token(token))
		return entry_error(entry, "token", "has characters that no token has", err);
	config->token = xstrdup_or_null(token);
	if (path)
		config->token_path = resolve_path(entry->path, path);
	r = read_pem(entry, "client-certificate", &config->cert, err);
	if (r == 0)
		r = read_pem(entry, "client-key", &config->key, err);
	if (r == 0 &&
	    (config->cert.path || config->cert.data) != (config->key.path || config->key.data))
		return entry_error(entry, "client-certificate", "and client-key go together", err);
	return r;
}

static int choose_context(const struct files *files, const char *wanted, struct entry *ret_entry,
			  struct err *err)
{
	const char *name = wanted && *wanted ? wanted : NULL;

	assert(files->list.len > 0); /* read_files() saw to it */
	for (size_t i = 0; !name && i < files->list.len; i++)
		name = text_of(files->list.items[i].doc, "current-context");
	if (!name)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "kubeconfig '%s' has no current-context: choose one with --context "
			       "NAME",
			       files->list.items[0].path);
	return find_entry(files, "contexts", "context", name, ret_entry, err);
}

static int read_context(const struct files *files, const char *wanted, struct kube_config *config,
			struct err *err)
{
	struct entry context = { 0 };
	struct entry entry = { 0 };
	const char *name;
	int r;

	r = choose_context(files, wanted, &context, err);
	if (r < 0)
		return r;
	name = text_of(context.body, "namespace");
	config->ns = xstrdup(name ? name : "default");
	config->origin = xasprintf("%s, context '%s'", context.path, context.name);

	name = text_of(context.body, "cluster");
	if (!name)
		return entry_error(&context, "cluster", "is missing", err);
	r = find_entry(files, "clusters", "cluster", name, &entry, err);
	if (r == 0)
		r = read_cluster(&entry, config, err);
	name = text_of(context.body, "user");
	if (r < 0 || !name)
		return r;
	r = find_entry(files, "users", "user", name, &entry, err);
	return r < 0 ? r : read_user(&entry, config, err);
}

int kubeconfig_load(const char *paths, const char *context, struct kube_config *config,
		    struct err *err)
{
	struct kube_config loaded = { 0 };
	struct files files = { 0 };
	int r;

	r = read_files(&files, paths, err);
	if (r == 0)
		r = read_context(&files, context, &loaded, err);
	files_done(&files);
	if (r < 0)
		kube_config_done(&loaded);
	else
		*config = loaded;
	return r;
}
