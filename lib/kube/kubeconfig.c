#include "kube/kubeconfig.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/kubeconfig_files.h"
#include "kube/kubeconfig_user.h"
#include "kube/url.h"

/* What to take of the files. */
struct choice {
	const struct kubeconfig_files *files;
	const struct kube_config_source *source;
	const struct kube_config_flags *flags; /* never NULL */
};

static const char *set_or_null(const char *text)
{
	return text && *text ? text : NULL;
}

/* The only parts of the cluster's entry that programs which print credentials may see beside its address
 * (client.authentication.k8s.io). */
static void read_exec_config(const struct kubeconfig_entry *entry, struct kube_config *config)
{
	const json_t *list = json_object_get(entry->body, "extensions");
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item) {
		const char *name = kubeconfig_text(item, "name");

		if (name && strcmp(name, "client.authentication.k8s.io/exec") == 0)
			config->exec_config =
				json_dumps(json_object_get(item, "extension"), JSON_COMPACT);
	}
}

static int read_proxy(const struct kubeconfig_entry *entry, struct kube_config *config,
		      struct err *err)
{
	static const char *const schemes[] = { "http://", "https://", "socks5://" };
	const char *proxy = kubeconfig_text(entry->body, "proxy-url");

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
	const char *server = kubeconfig_text(entry->body, "server");
	int r = 0;

	if (!server && !set_or_null(choice->flags->server))
		return kubeconfig_error(entry, "server", "is missing: give https://HOST:PORT", err);
	if (server)
		r = url_server_normal(server, &config->server, err);
	if (r < 0)
		return err_wrap(err, "kubeconfig '%s': cluster '%s'", entry->path, entry->name);
	config->insecure = json_is_true(json_object_get(entry->body, "insecure-skip-tls-verify"));
	config->tls_server_name = xstrdup_or_null(kubeconfig_text(entry->body, "tls-server-name"));
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
		name = kubeconfig_text(files->items[i].doc, "current-context");
	return name;
}

/* A command line that says which server needs no context. */
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

/* Of @context the names of cluster and user, unless the command line has others. */
static int read_entries(const struct choice *choice, const struct kubeconfig_entry *context,
			struct kube_config *config, struct err *err)
{
	const struct kube_config_flags *flags = choice->flags;
	const char *cluster = set_or_null(flags->cluster);
	const char *user = set_or_null(flags->user);
	struct kubeconfig_entry entry = { 0 };
	int r = 0;

	if (!cluster && context->body)
		cluster = kubeconfig_text(context->body, "cluster");
	if (!user && context->body)
		user = kubeconfig_text(context->body, "user");
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
	ns = context.body ? kubeconfig_text(context.body, "namespace") : NULL;
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
