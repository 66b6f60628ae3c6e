#include "kube/kubeconfig.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/json_values.h"
#include "base/array.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/config.h"
#include "kube/credentials.h"
#include "kube/url.h"
#include "kube/yaml.h"

/* One file of $KUBECONFIG. */
struct kubeconfig_file {
	char *path;
	json_t *doc;
};

/* In the order of the list; zeroed: empty. */
struct kubeconfig_files {
	struct kubeconfig_file *items;
	size_t len;
	size_t cap;
};

/* A named entry of clusters, users or contexts, and where it was found. Borrowed from the files. */
struct kubeconfig_entry {
	const char *what; /* "cluster" */
	const char *name;
	const char *path;   /* of its file */
	const json_t *body; /* the mapping below the key of the same name */
};

enum { FILES_MAX = 32 };

static void kubeconfig_files_done(struct kubeconfig_files *files)
{
	for (size_t i = 0; i < files->len; i++) {
		free(files->items[i].path);
		json_decref(files->items[i].doc);
	}
	array_done(files);
}

static int read_file(struct kubeconfig_files *files, const char *path, struct err *err)
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
	*array_add(files) = (struct kubeconfig_file){ .path = xstrdup(path), .doc = doc };
	return 0;
}

/* Read every file of the colon-separated list. Missing files are skipped, unless all are missing
 * (-ENOENT). In either case the caller calls kubeconfig_files_done(). */
static int kubeconfig_files_read(struct kubeconfig_files *files, const char *paths, struct err *err)
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
	if (files->len > 0)
		return 0;
	err_set(err, ERR_INVALID, -ENOENT,
		"kubeconfig '%s' does not exist: check --kubeconfig or KUBECONFIG", paths);
	return -ENOENT;
}

static const json_t *find_named(const json_t *list, const char *name)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item) {
		const char *has = json_get_nonempty(item, "name");

		if (has && strcmp(has, name) == 0)
			return item;
	}
	return NULL;
}

/* Find the entry called @name below @plural; the first file that has it wins. @what is a
 * literal. */
static int kubeconfig_find(const struct kubeconfig_files *files, const char *plural,
			   const char *what, const char *name, struct kubeconfig_entry *ret_entry,
			   struct err *err)
{
	for (size_t i = 0; i < files->len; i++) {
		const struct kubeconfig_file *file = &files->items[i];
		const json_t *item = find_named(json_object_get(file->doc, plural), name);

		if (!item)
			continue;
		*ret_entry = (struct kubeconfig_entry){
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
		       files->items[0].path, what, name);
}

/* "kubeconfig 'FILE': user 'u': KEY WHY". */
static int kubeconfig_error(const struct kubeconfig_entry *entry, const char *key, const char *why,
			    struct err *err)
{
	return err_set(err, ERR_INVALID, -EINVAL, "kubeconfig '%s': %s '%s': %s %s", entry->path,
		       entry->what, entry->name, key, why);
}

/* @path; if relative, resolved against the folder of the entry's file. The caller frees it. */
static char *kubeconfig_path(const struct kubeconfig_entry *entry, const char *path)
{
	const char *slash = strrchr(entry->path, '/');

	if (*path == '/' || !slash)
		return xstrdup(path);
	return xasprintf("%.*s/%s", (int)(slash - entry->path), entry->path, path);
}

/* Append the names below @plural to @names without duplicates. */
static void kubeconfig_names(const struct kubeconfig_files *files, const char *plural,
			     struct json_strs *names)
{
	for (size_t i = 0; i < files->len; i++) {
		const json_t *list = json_object_get(files->items[i].doc, plural);

		for (size_t j = 0; j < json_array_size(list); j++) {
			const char *name = json_get_nonempty(json_array_get(list, j), "name");

			if (name)
				json_strs_add_new(names, name);
		}
	}
}

enum { WORDS_MAX = 256 };

static int exec_error(const struct kubeconfig_entry *entry, const char *key, const char *why,
		      struct err *err)
{
	auto_free char *path = xasprintf("exec.%s", key);

	return kubeconfig_error(entry, path, why, err);
}

static int check_list(const struct kubeconfig_entry *entry, const char *key, const json_t *list,
		      struct err *err)
{
	if (list && !json_is_null(list) && !json_is_array(list))
		return exec_error(entry, key, "is not a list", err);
	if (json_array_size(list) > WORDS_MAX)
		return exec_error(entry, key, "has more than 256 items", err);
	return 0;
}

static int read_args(const struct kubeconfig_entry *entry, const json_t *body,
		     struct kube_exec *exec, struct err *err)
{
	const json_t *list = json_object_get(body, "args");
	const json_t *item;
	size_t i;
	int r = check_list(entry, "args", list, err);

	json_array_foreach (list, i, item) {
		if (r == 0 && !json_is_string(item))
			r = exec_error(entry, "args", "has what is not a text: quote it", err);
		if (r < 0)
			return r;
		json_strs_add(&exec->args, json_string_value(item));
	}
	return r;
}

static int read_env(const struct kubeconfig_entry *entry, const json_t *body,
		    struct kube_exec *exec, struct err *err)
{
	const json_t *list = json_object_get(body, "env");
	const json_t *item;
	size_t i;
	int r = check_list(entry, "env", list, err);

	json_array_foreach (list, i, item) {
		const char *name = json_get_nonempty(item, "name");
		const char *value = json_string_value(json_object_get(item, "value"));
		auto_free char *line = NULL;

		if (r == 0 && (!name || strchr(name, '=') || !value))
			r = exec_error(entry, "env", "has an item without name and value", err);
		if (r < 0)
			return r;
		line = xasprintf("%s=%s", name, value);
		json_strs_add(&exec->env, line);
	}
	return r;
}

static int read_version(const struct kubeconfig_entry *entry, const json_t *body,
			struct kube_exec *exec, struct err *err)
{
	const char *version = json_get_nonempty(body, "apiVersion");

	if (!version)
		return exec_error(entry, "apiVersion",
				  "is missing: client.authentication.k8s.io/v1, or v1beta1", err);
	if (strcmp(version, "client.authentication.k8s.io/v1") != 0 &&
	    strcmp(version, "client.authentication.k8s.io/v1beta1") != 0)
		return exec_error(
			entry, "apiVersion",
			"is not client.authentication.k8s.io/v1 or v1beta1: create the kubeconfig "
			"again with the tool that created it",
			err);
	exec->api_version = xstrdup(version);
	return 0;
}

/* Older entries may omit it (client-go's v1beta1 defaults). */
static int read_mode(const struct kubeconfig_entry *entry, const json_t *body,
		     struct kube_exec *exec, struct err *err)
{
	static const char *const modes[] = {
		[KUBE_STDIN_NEVER] = "Never",
		[KUBE_STDIN_IF_AVAILABLE] = "IfAvailable",
		[KUBE_STDIN_ALWAYS] = "Always",
	};
	const char *mode = json_get_nonempty(body, "interactiveMode");

	exec->input = KUBE_STDIN_IF_AVAILABLE;
	if (!mode && strcmp(exec->api_version, "client.authentication.k8s.io/v1beta1") == 0)
		return 0;
	for (size_t i = 0; mode && i < ARRAY_LEN(modes); i++) {
		if (strcmp(mode, modes[i]) != 0)
			continue;
		exec->input = (enum kube_exec_stdin)i;
		return 0;
	}
	return exec_error(entry, "interactiveMode", "is none of Never, IfAvailable, Always", err);
}

static int read_exec(const struct kubeconfig_entry *entry, const json_t *body,
		     struct kube_exec *exec, struct err *err)
{
	const char *command = json_get_nonempty(body, "command");
	int r;

	if (!command)
		return exec_error(entry, "command", "is missing", err);
	exec->user = xstrdup(entry->name);
	exec->command = strchr(command, '/') ? kubeconfig_path(entry, command) : xstrdup(command);
	exec->install_hint = xstrdup_or_null(json_get_nonempty(body, "installHint"));
	exec->cluster_info = json_is_true(json_object_get(body, "provideClusterInfo"));
	r = read_version(entry, body, exec, err);
	if (r == 0)
		r = read_mode(entry, body, exec, err);
	if (r == 0)
		r = read_args(entry, body, exec, err);
	if (r == 0)
		r = read_env(entry, body, exec, err);
	return r;
}

/* Read @entry's exec. On success *@ret_exec is the caller's, by kube_exec_free(). */
static int kubeconfig_exec(const struct kubeconfig_entry *entry, struct kube_exec **ret_exec,
			   struct err *err)
{
	struct kube_exec *exec = xcalloc(1, sizeof(*exec));
	int r = read_exec(entry, json_object_get(entry->body, "exec"), exec, err);

	if (r < 0) {
		kube_exec_free(exec);
		return r;
	}
	*ret_exec = exec;
	return 0;
}

/* Read @key or @key-data; @key-data wins, as in kubectl. */
static int kubeconfig_pem(const struct kubeconfig_entry *entry, const char *key,
			  struct kube_pem *pem, struct err *err)
{
	auto_free char *data_key = xasprintf("%s-data", key);
	const char *data = json_get_nonempty(entry->body, data_key);
	const char *path = json_get_nonempty(entry->body, key);

	if (!data) {
		if (path)
			pem->path = kubeconfig_path(entry, path);
		return 0;
	}
	if (!base64_decode(data, strlen(data), &pem->data, &pem->len))
		return kubeconfig_error(entry, data_key, "is not base64", err);
	if (!strstr(pem->data, "-----BEGIN "))
		return kubeconfig_error(entry, data_key, "holds no PEM block", err);
	return 0;
}

/* A list of strings; @max bounds the memory that a file can make us use. */
static int read_as_groups(const struct kubeconfig_entry *entry, struct kube_as *as, struct err *err)
{
	const json_t *list = json_object_get(entry->body, "as-groups");
	const json_t *item;
	size_t i;

	if (list && !json_is_null(list) && !json_is_array(list))
		return kubeconfig_error(entry, "as-groups", "is not a list", err);
	json_array_foreach (list, i, item) {
		if (!json_is_string(item))
			return kubeconfig_error(entry, "as-groups", "has what is not a text", err);
		json_strs_add(&as->groups, json_string_value(item));
	}
	return 0;
}

/* key: [value, ...] */
static int read_as_extra(const struct kubeconfig_entry *entry, struct kube_as *as, struct err *err)
{
	json_t *map = json_object_get(entry->body, "as-user-extra");
	const char *key;
	json_t *list;
	json_t *item;
	size_t i;

	json_object_foreach (map, key, list) {
		json_array_foreach (list, i, item) {
			if (!json_is_string(item))
				return kubeconfig_error(entry, "as-user-extra",
							"has what is not a text", err);
			impersonate_extra(as, key, json_string_value(item));
		}
	}
	return 0;
}

static int read_as(const struct kubeconfig_entry *entry, struct kube_as *as, struct err *err)
{
	int r;

	as->user = xstrdup_or_null(json_get_nonempty(entry->body, "as"));
	as->uid = xstrdup_or_null(json_get_nonempty(entry->body, "as-uid"));
	r = read_as_groups(entry, as, err);
	return r < 0 ? r : read_as_extra(entry, as, err);
}

/* Refuse settings that kubectl or the API server no longer support. */
static int refuse_old(const struct kubeconfig_entry *entry, struct err *err)
{
	static const char basic[] =
		"is not supported, no API server takes passwords since 1.19: use "
		"exec, a token or a client certificate";

	if (json_object_get(entry->body, "auth-provider"))
		return kubeconfig_error(
			entry, "auth-provider",
			"is not supported, kubectl has none since 1.26: use exec, a "
			"token or a client certificate",
			err);
	if (json_get_nonempty(entry->body, "username"))
		return kubeconfig_error(entry, "username", basic, err);
	if (json_get_nonempty(entry->body, "password"))
		return kubeconfig_error(entry, "password", basic, err);
	return 0;
}

static int read_certificate(const struct kubeconfig_entry *entry, struct kube_config *config,
			    struct err *err)
{
	int r = kubeconfig_pem(entry, "client-certificate", &config->cert, err);

	if (r == 0)
		r = kubeconfig_pem(entry, "client-key", &config->key, err);
	if (r == 0 &&
	    (config->cert.path || config->cert.data) != (config->key.path || config->key.data))
		return kubeconfig_error(entry, "client-certificate", "and client-key go together",
					err);
	return r;
}

/* YAML turns unquoted strings such as numbers into other types. As in kubectl, this is an error
 * and the field is not ignored. */
static int check_texts(const struct kubeconfig_entry *entry, struct err *err)
{
	static const char *const keys[] = {
		"token",
		"tokenFile",
		"client-certificate-data",
		"client-certificate",
		"client-key",
		"client-key-data",
		"username",
		"password",
		"as",
		"as-uid",
	};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const json_t *value = json_object_get(entry->body, keys[i]);

		if (value && !json_is_string(value) && !json_is_null(value))
			return kubeconfig_error(entry, keys[i], "is not a text: quote it", err);
	}
	return 0;
}

/* The exec plugin is ignored if the entry has a token, as in kubectl. */
static int read_program(const struct kubeconfig_entry *entry,
			const struct kube_config_source *source, struct kube_config *config,
			struct err *err)
{
	const json_t *exec = json_object_get(entry->body, "exec");
	bool has_token = config->token || config->token_path ||
			 (source->flags && source->flags->token && source->flags->token[0]);

	if (!exec || json_is_null(exec) || has_token)
		return 0;
	if (!source->person)
		return kubeconfig_error(
			entry, "exec",
			"is for people, this program runs no other for credentials: "
			"use token, tokenFile or client-certificate with client-key",
			err);
	return kubeconfig_exec(entry, &config->exec, err);
}

/* Read @entry into @config. Exec plugins are used only if @source allows them. Unknown fields
 * are an error, except those that kubectl ignores. */
static int kubeconfig_user(const struct kubeconfig_entry *entry,
			   const struct kube_config_source *source, struct kube_config *config,
			   struct err *err)
{
	const char *path = json_get_nonempty(entry->body, "tokenFile");
	const char *token = json_get_nonempty(entry->body, "token");
	int r = check_texts(entry, err);

	if (r == 0)
		r = refuse_old(entry, err);
	if (r < 0)
		return r;
	if (token && !credentials_is_token(token))
		return kubeconfig_error(entry, "token", "has characters that no token has", err);
	config->token = xstrdup_or_null(token);
	if (path)
		config->token_path = kubeconfig_path(entry, path);
	r = read_certificate(entry, config, err);
	if (r == 0)
		r = read_as(entry, &config->as, err);
	return r < 0 ? r : read_program(entry, source, config, err);
}

/* Which entries to use. */
struct choice {
	const struct kubeconfig_files *files;
	const struct kube_config_source *source;
	const struct kube_config_flags *flags; /* never NULL */
};

static const char *set_or_null(const char *text)
{
	return text && *text ? text : NULL;
}

/* The only parts of the cluster entry, besides its address, that exec plugins may see
 * (client.authentication.k8s.io). */
static void read_exec_config(const struct kubeconfig_entry *entry, struct kube_config *config)
{
	const json_t *list = json_object_get(entry->body, "extensions");
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item) {
		const char *name = json_get_nonempty(item, "name");

		if (name && strcmp(name, "client.authentication.k8s.io/exec") == 0)
			config->exec_config =
				json_dumps(json_object_get(item, "extension"), JSON_COMPACT);
	}
}

static int read_proxy(const struct kubeconfig_entry *entry, struct kube_config *config,
		      struct err *err)
{
	static const char *const schemes[] = { "http://", "https://", "socks5://" };
	const char *proxy = json_get_nonempty(entry->body, "proxy-url");

	for (size_t i = 0; proxy && i < ARRAY_LEN(schemes); i++) {
		if (strncmp(proxy, schemes[i], strlen(schemes[i])) == 0)
			config->proxy = xstrdup(proxy);
	}
	if (proxy && !config->proxy)
		return kubeconfig_error(entry, "proxy-url",
					"does not begin with http://, https:// or socks5://", err);
	return 0;
}

static int read_cluster(const struct kubeconfig_entry *entry, const struct choice *choice,
			struct kube_config *config, struct err *err)
{
	const char *server = json_get_nonempty(entry->body, "server");
	int r = 0;

	if (!server && !set_or_null(choice->flags->server))
		return kubeconfig_error(entry, "server", "is missing: give https://HOST:PORT", err);
	if (server)
		r = url_server_normal(server, &config->server, err);
	if (r < 0)
		return err_wrap(err, "kubeconfig '%s': cluster '%s'", entry->path, entry->name);
	config->insecure = json_is_true(json_object_get(entry->body, "insecure-skip-tls-verify"));
	config->tls_server_name =
		xstrdup_or_null(json_get_nonempty(entry->body, "tls-server-name"));
	read_exec_config(entry, config);
	r = read_proxy(entry, config, err);
	if (r == 0)
		r = kubeconfig_pem(entry, "certificate-authority", &config->ca, err);
	if (r == 0 && config->insecure && (config->ca.path || config->ca.data))
		return kubeconfig_error(entry, "insecure-skip-tls-verify",
					"and certificate-authority exclude each other", err);
	return r;
}

static const char *current_context(const struct kubeconfig_files *files)
{
	const char *name = NULL;

	for (size_t i = 0; !name && i < files->len; i++)
		name = json_get_nonempty(files->items[i].doc, "current-context");
	return name;
}

/* No context is needed if the command line names a server. */
static bool needs_context(const struct choice *choice)
{
	return !set_or_null(choice->flags->server) && !set_or_null(choice->flags->cluster);
}

static int no_context(const struct kubeconfig_files *files, struct err *err)
{
	struct json_strs names = { 0 };
	auto_str struct str list = STR_INIT;

	kubeconfig_names(files, "contexts", &names);
	for (size_t i = 0; i < names.len; i++)
		str_addf(&list, "%s%s", i > 0 ? ", " : " of ", names.items[i]);
	json_strs_done(&names);
	return err_set(
		err, ERR_INVALID, -EINVAL,
		"kubeconfig '%s' has no current-context: choose one with --context NAME%.80s",
		files->items[0].path, str_cstr(&list));
}

/* Get the names of cluster and user from @context, unless the command line names others. */
static int read_entries(const struct choice *choice, const struct kubeconfig_entry *context,
			struct kube_config *config, struct err *err)
{
	const struct kube_config_flags *flags = choice->flags;
	const char *cluster = set_or_null(flags->cluster);
	const char *user = set_or_null(flags->user);
	struct kubeconfig_entry entry = { 0 };
	int r = 0;

	if (!cluster && context->body)
		cluster = json_get_nonempty(context->body, "cluster");
	if (!user && context->body)
		user = json_get_nonempty(context->body, "user");
	if (!cluster && !set_or_null(flags->server))
		return kubeconfig_error(context, "cluster", "is missing", err);
	if (cluster)
		r = kubeconfig_find(choice->files, "clusters", "cluster", cluster, &entry, err);
	if (r == 0 && cluster)
		r = read_cluster(&entry, choice, config, err);
	if (r < 0 || !user)
		return r;
	r = kubeconfig_find(choice->files, "users", "user", user, &entry, err);
	return r < 0 ? r : kubeconfig_user(&entry, choice->source, config, err);
}

static int read_context(const struct choice *choice, struct kube_config *config, struct err *err)
{
	const char *name = set_or_null(choice->source->context);
	struct kubeconfig_entry context = { 0 };
	const char *ns;
	int r = 0;

	if (!name)
		name = current_context(choice->files);
	if (!name && needs_context(choice))
		return no_context(choice->files, err);
	if (name)
		r = kubeconfig_find(choice->files, "contexts", "context", name, &context, err);
	if (r < 0)
		return r;
	ns = context.body ? json_get_nonempty(context.body, "namespace") : NULL;
	config->ns = xstrdup(ns ? ns : "default");
	config->origin = name ? xasprintf("%s, context '%s'", context.path, context.name)
			      : xstrdup(choice->files->items[0].path);
	return read_entries(choice, &context, config, err);
}

int kubeconfig_load(const char *paths, const struct kube_config_source *source,
		    struct kube_config *config, struct err *err)
{
	static const struct kube_config_flags no_flags = { 0 };
	struct kube_config loaded = { 0 };
	struct kubeconfig_files files = { 0 };
	const struct choice choice = {
		.files = &files,
		.source = source,
		.flags = source->flags ? source->flags : &no_flags,
	};
	int r;

	r = kubeconfig_files_read(&files, paths, err);
	if (r == 0)
		r = read_context(&choice, &loaded, err);
	kubeconfig_files_done(&files);
	if (r < 0)
		kube_config_done(&loaded);
	else
		*config = loaded;
	return r;
}

void kubeconfig_list(const char *paths, const char *plural, struct json_strs *names)
{
	struct kubeconfig_files files = { 0 };
	struct err err = { 0 };

	if (kubeconfig_files_read(&files, paths, &err) == 0)
		kubeconfig_names(&files, plural, names);
	kubeconfig_files_done(&files);
}
