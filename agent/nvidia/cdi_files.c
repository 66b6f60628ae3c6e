#include "agent/nvidia/cdi_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "base/file.h"
#include "base/mem.h"
#include "kube/yaml.h"

/* The later one goes before the earlier one: pkg/cdi/spec-dirs.go of container-device-interface. */
static const char *const folders[] = { "/etc/cdi", "/var/run/cdi" };

static bool ends_in(const char *name, const char *end)
{
	size_t len = strlen(name);

	return len > strlen(end) && strcmp(name + len - strlen(end), end) == 0;
}

/* NULL: it is none, or cannot be read. The caller releases. */
static json_t *read_spec(const char *path)
{
	auto_free char *text = NULL;
	json_t *spec = NULL;
	size_t len;
	int r;

	if (file_read(AT_FDCWD, path, CDI_FILE_MAX, &text, &len, NULL) < 0)
		return NULL;
	if (ends_in(path, ".json"))
		r = json_map_load(text, len, &spec, NULL);
	else
		r = yaml_parse(path, text, len, &spec, NULL);
	return r < 0 ? NULL : spec;
}

static void take_spec(const json_t *spec, const char *kind, struct cdi_files *found)
{
	const char *own = json_string_value(json_object_get(spec, "kind"));
	const json_t *device;
	size_t i;

	if (!own || strcmp(own, kind) != 0)
		return;
	json_array_foreach (json_object_get(spec, "devices"), i, device) {
		const char *name = json_string_value(json_object_get(device, "name"));

		if (name && !json_strs_add_new(&found->devices, name))
			(void)json_strs_add_new(&found->conflicts, name);
	}
}

static void read_folder(const char *path, const char *kind, struct cdi_files *found)
{
	auto_dir DIR *dir = opendir(path);
	const struct dirent *entry;
	unsigned files = 0;

	while (dir && files < CDI_FILES_MAX && (entry = readdir(dir))) {
		auto_free char *file = xasprintf("%s/%s", path, entry->d_name);
		json_t *spec;

		if (!ends_in(entry->d_name, ".json") && !ends_in(entry->d_name, ".yaml"))
			continue;
		files++;
		spec = read_spec(file);
		if (spec)
			take_spec(spec, kind, found);
		json_decref(spec);
	}
}

void cdi_files_read(const char *root, const char *kind, struct cdi_files *ret_files)
{
	struct cdi_files files = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		auto_free char *path = xasprintf("%s%s", root ? root : "", folders[i]);
		struct cdi_files found = { 0 };

		read_folder(path, kind, &found);
		for (size_t j = 0; j < found.devices.len; j++) {
			(void)json_strs_add_new(&files.devices, found.devices.items[j]);
			(void)json_strs_remove(&files.conflicts, found.devices.items[j]);
		}
		for (size_t j = 0; j < found.conflicts.len; j++)
			(void)json_strs_add_new(&files.conflicts, found.conflicts.items[j]);
		cdi_files_done(&found);
	}
	json_strs_sort(&files.devices);
	json_strs_sort(&files.conflicts);
	*ret_files = files;
}

void cdi_files_done(struct cdi_files *files)
{
	json_strs_done(&files->devices);
	json_strs_done(&files->conflicts);
}

bool cdi_files_equal(const struct cdi_files *a, const struct cdi_files *b)
{
	return json_strs_equal(&a->devices, &b->devices) &&
	       json_strs_equal(&a->conflicts, &b->conflicts);
}

const char *cdi_files_trouble(const struct cdi_files *files, const char *name)
{
	if (json_strs_has(&files->conflicts, name))
		return "two CDI files of one folder describe it; remove one of them from /etc/cdi "
		       "or /var/run/cdi";
	if (!json_strs_has(&files->devices, name))
		return "no CDI file in /etc/cdi or /var/run/cdi describes it; run nvidia-ctk cdi "
		       "generate with --device-name-strategy=uuid";
	return NULL;
}
