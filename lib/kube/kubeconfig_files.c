#include "kube/kubeconfig_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "api/json_values.h"
#include "base/array.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "kube/yaml.h"

enum { FILES_MAX = 32 };

void kubeconfig_files_done(struct kubeconfig_files *files)
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

int kubeconfig_files_read(struct kubeconfig_files *files, const char *paths, struct err *err)
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
	return err_set(err, ERR_INVALID, -ENOENT,
		       "kubeconfig '%s' does not exist: check --kubeconfig or KUBECONFIG", paths);
}

const char *kubeconfig_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && *text ? text : NULL;
}

static const json_t *find_named(const json_t *list, const char *name)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item) {
		const char *has = kubeconfig_text(item, "name");

		if (has && strcmp(has, name) == 0)
			return item;
	}
	return NULL;
}

int kubeconfig_find(const struct kubeconfig_files *files, const char *plural, const char *what,
		    const char *name, struct kubeconfig_entry *ret_entry, struct err *err)
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

int kubeconfig_error(const struct kubeconfig_entry *entry, const char *key, const char *why,
		     struct err *err)
{
	return err_set(err, ERR_INVALID, -EINVAL, "kubeconfig '%s': %s '%s': %s %s", entry->path,
		       entry->what, entry->name, key, why);
}

/* Relative paths are relative to the file that holds them. */
char *kubeconfig_path(const struct kubeconfig_entry *entry, const char *path)
{
	const char *slash = strrchr(entry->path, '/');

	if (*path == '/' || !slash)
		return xstrdup(path);
	return xasprintf("%.*s/%s", (int)(slash - entry->path), entry->path, path);
}

void kubeconfig_names(const struct kubeconfig_files *files, const char *plural,
		      struct json_strs *names)
{
	for (size_t i = 0; i < files->len; i++) {
		const json_t *list = json_object_get(files->items[i].doc, plural);

		for (size_t j = 0; j < json_array_size(list); j++) {
			const char *name = kubeconfig_text(json_array_get(list, j), "name");

			if (name)
				json_strs_add_new(names, name);
		}
	}
}
