#include "agent/nvidia/nvidia_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#define DEFAULT_NAME "default"

void nvidia_file_done(struct nvidia_file *file)
{
	free(file->label);
	free(file->given_name);
	free(file->given);
	free(file->name);
	free(file->text);
	nvidia_config_done(&file->config);
}

bool nvidia_file_set_label(struct nvidia_file *file, const char *value)
{
	/* A folder's file, and nothing else. */
	const char *name = value && *value ? value : NULL;
	bool differs = !file->is_labelled || !str_equal(file->label, name);

	file->is_labelled = true;
	if (differs)
		str_set(&file->label, name);
	return differs;
}

bool nvidia_file_give(struct nvidia_file *file, const char *name, const char *text)
{
	bool differs = !file->is_given || !str_equal(file->given_name, name) ||
		       !str_equal(file->given, text);

	file->is_given = true;
	if (differs) {
		free(file->given_name);
		free(file->given);
		file->given_name = xstrdup_or_null(name);
		file->given = xstrdup_or_null(text);
	}
	return differs;
}

/* The only file of the folder; NULL: there are none or several. The caller frees. A volume of a
 * ConfigMap has names with a dot beside its files. */
static char *only_file(const char *folder)
{
	auto_dir DIR *dir = opendir(folder);
	auto_free char *found = NULL;
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (found)
			return NULL;
		found = xasprintf("%s/%s", folder, entry->d_name);
	}
	return take_ptr(found);
}

/* *@ret_path: the caller frees; NULL: no file, so that nothing is configured. */
static int choose(const struct nvidia_file *file, char **ret_path, struct err *err)
{
	auto_free char *path = NULL;

	if (file->path) {
		*ret_path = xstrdup(file->path);
		return 0;
	}
	path = xasprintf("%s/%s", file->folder, file->label ? file->label : DEFAULT_NAME);
	if (file->label && (file->label[0] == '.' || strchr(file->label, '/')))
		return err_set(err, ERR_INVALID, -EINVAL, "label %s: not a file's name: '%s'",
			       NVIDIA_CONFIG_LABEL, file->label);
	if (file->label && access(path, F_OK) < 0)
		return err_set(err, ERR_INVALID, -errno,
			       "label %s names '%s', which is not in %s: %s", NVIDIA_CONFIG_LABEL,
			       file->label, file->folder, strerror(errno));
	*ret_path =
		file->label || access(path, F_OK) == 0 ? take_ptr(path) : only_file(file->folder);
	return 0;
}

/* The text that was read last is good. */
static int adopt(struct nvidia_file *file, struct err *err)
{
	struct nvidia_config config = { 0 };

	if (file->name && file->text &&
	    nvidia_config_parse(file->name, file->text, strlen(file->text), &config, err) < 0)
		return err->code;
	nvidia_config_done(&file->config);
	file->config = config;
	file->is_good = file->is_read = true;
	return NVIDIA_FILE_NEW;
}

static int take(struct nvidia_file *file, char *path, char *text, struct err *err)
{
	bool is_new = !str_equal(file->name, path) || !str_equal(file->text, text);

	if (!is_new && file->is_good) {
		free(path);
		free(text);
		return NVIDIA_FILE_SAME;
	}
	free(file->name);
	free(file->text);
	file->name = path;
	file->text = text;
	file->is_good = false;
	return is_new && file->is_read ? NVIDIA_FILE_UNSETTLED : adopt(file, err);
}

int nvidia_file_look(struct nvidia_file *file, struct err *err)
{
	auto_free char *path = NULL;
	auto_free char *text = NULL;
	size_t len = 0;

	if (!file->path && (file->folder ? !file->is_labelled : !file->is_given))
		return NVIDIA_FILE_SAME;
	if (!file->path && !file->folder)
		return take(file, xstrdup_or_null(file->given_name), xstrdup_or_null(file->given),
			    err);
	if (choose(file, &path, err) < 0)
		return err->code;
	if (path && file_read(AT_FDCWD, path, NVIDIA_CONFIG_MAX, &text, &len, err) < 0)
		return err->code;
	if (text && strlen(text) != len)
		return err_set(err, ERR_INVALID, -EINVAL, "%s: not text", path);
	return take(file, take_ptr(path), take_ptr(text), err);
}
