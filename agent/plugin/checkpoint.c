#include "agent/plugin/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/plugin/plugin_codec.h"
#include "api/json_map.h"
#include "api/json_values.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"

/* The kubelet replaces the file by a rename. */
struct stamp {
	ino_t inode;
	off_t size;
	struct timespec written;
};

struct checkpoint {
	char *path;
	struct stamp stamp;
	uint64_t version;      /* of the stamp                           */
	uint64_t versions;     /* that there have been                   */
	uint64_t read_version; /* that `ids` are of; 0: of none          */
	bool missing;          /* there is no such file                  */
	struct map *ids;       /* ID -> struct holder *; NULL: not known */
};

struct holder {
	char *pod; /* its UID; "": of several pods    */
	char *resource;
	struct json_strs nodes; /* that its containers get */
};

/* One container's devices of a resource. */
struct entry {
	const char *pod;
	const char *resource;
	struct json_strs nodes;
};

static bool same_stamp(const struct stamp *a, const struct stamp *b)
{
	return a->inode == b->inode && a->size == b->size &&
	       a->written.tv_sec == b->written.tv_sec && a->written.tv_nsec == b->written.tv_nsec;
}

uint64_t checkpoint_version(struct checkpoint *checkpoint)
{
	struct stamp now;
	struct stat st;

	checkpoint->missing = false;
	if (stat(checkpoint->path, &st) < 0) {
		checkpoint->missing = errno == ENOENT;
		return checkpoint->version = 0;
	}
	if (!S_ISREG(st.st_mode))
		return checkpoint->version = 0;
	now = (struct stamp){ .inode = st.st_ino, .size = st.st_size, .written = st.st_mtim };
	if (checkpoint->version == 0 || !same_stamp(&now, &checkpoint->stamp))
		checkpoint->version = ++checkpoint->versions;
	checkpoint->stamp = now;
	return checkpoint->version;
}

static struct map *ids_free(struct map *ids)
{
	size_t cursor = 0;
	void *value;

	while (ids && map_next(ids, &cursor, NULL, &value)) {
		struct holder *holder = value;

		free(holder->pod);
		free(holder->resource);
		json_strs_done(&holder->nodes);
		free(holder);
	}
	return map_free(ids);
}

static void add_holder(struct map *ids, const char *id, const struct entry *entry)
{
	struct holder *holder = map_get(ids, id);

	if (!holder) {
		holder = xcalloc(1, sizeof(*holder));
		holder->pod = xstrdup(entry->pod);
		holder->resource = xstrdup(entry->resource);
		map_set(ids, id, holder);
	} else if (strcmp(holder->pod, entry->pod) != 0) {
		*holder->pod = '\0';
	}
	for (size_t i = 0; i < entry->nodes.len; i++)
		json_strs_add_new(&holder->nodes, entry->nodes.items[i]);
}

static void add_id(struct map *ids, const char *id, const struct entry *entry)
{
	auto_free char *copy = xstrdup(id);
	char *rest = copy;
	const char *part;

	while ((part = strsep(&rest, ",")))
		add_holder(ids, part, entry);
}

/* The plugin's answer to Allocate, as it came. */
static void read_nodes(const char *text, struct json_strs *nodes)
{
	auto_free char *data = NULL;
	size_t len = 0;

	if (text && base64_decode(text, strlen(text), &data, &len))
		(void)plugin_codec_read_nodes(data, len, nodes, NULL);
}

/* {"<NUMA node>": ["ID", ...]}; kubelets up to 1.19 wrote the bare list. */
static void add_entry(struct map *ids, const json_t *json)
{
	const char *uid = json_string_value(json_object_get(json, "PodUID"));
	const char *name = json_string_value(json_object_get(json, "ResourceName"));
	struct entry entry = { .pod = uid ? uid : "", .resource = name ? name : "" };
	json_t *numa_nodes = json_object_get(json, "DeviceIDs");
	const char *key;
	json_t *list;
	json_t *id;
	size_t i;

	read_nodes(json_string_value(json_object_get(json, "AllocResp")), &entry.nodes);
	json_object_foreach (numa_nodes, key, list) {
		json_array_foreach (list, i, id) {
			if (json_is_string(id))
				add_id(ids, json_string_value(id), &entry);
		}
	}
	json_array_foreach (numa_nodes, i, id) {
		if (json_is_string(id))
			add_id(ids, json_string_value(id), &entry);
	}
	json_strs_done(&entry.nodes);
}

/* NULL: it is no checkpoint. Where no container has anything the list is null. */
static struct map *parse(const char *text, size_t len)
{
	auto_json json_t *json = json_loadb(text, len, 0, NULL);
	const json_t *data = json_object_get(json, "Data");
	json_t *entries = json_object_get(data, "PodDeviceEntries");
	struct map *ids;
	json_t *entry;
	size_t i;

	if (!json_is_array(entries) && !json_is_null(entries))
		return NULL;
	ids = map_new();
	json_array_foreach (entries, i, entry)
		add_entry(ids, entry);
	return ids;
}

/* Tells of a file that is not understood once for each that was written. */
static void read_again(struct checkpoint *checkpoint, uint64_t version)
{
	auto_free char *text = NULL;
	struct err err = { 0 };
	size_t len = 0;

	if (checkpoint->read_version == version)
		return;
	checkpoint->read_version = version;
	checkpoint->ids = ids_free(checkpoint->ids);
	if (version == 0)
		return;
	if (file_read(AT_FDCWD, checkpoint->path, CHECKPOINT_MAX, &text, &len, &err) == 0)
		checkpoint->ids = parse(text, len);
	if (!checkpoint->ids)
		log_warn("the kubelet's checkpoint is not understood",
			 log_str("path", checkpoint->path),
			 log_str("reason", *err.msg ? err.msg : "it has no Data.PodDeviceEntries"));
}

enum checkpoint_answer checkpoint_find(struct checkpoint *checkpoint, const char *id)
{
	read_again(checkpoint, checkpoint_version(checkpoint));
	if (!checkpoint->ids)
		return checkpoint->missing ? CHECKPOINT_MISSING : CHECKPOINT_UNKNOWN;
	return map_get(checkpoint->ids, id) ? CHECKPOINT_ALLOCATED : CHECKPOINT_FREE;
}

static const struct holder *holder_of(struct checkpoint *checkpoint, const char *id)
{
	return checkpoint_find(checkpoint, id) == CHECKPOINT_ALLOCATED
		       ? map_get(checkpoint->ids, id)
		       : NULL;
}

const char *checkpoint_pod(struct checkpoint *checkpoint, const char *id)
{
	const struct holder *holder = holder_of(checkpoint, id);

	return holder && *holder->pod ? holder->pod : NULL;
}

const char *checkpoint_resource(struct checkpoint *checkpoint, const char *id)
{
	const struct holder *holder = holder_of(checkpoint, id);

	return holder && *holder->resource ? holder->resource : NULL;
}

void checkpoint_nodes(struct checkpoint *checkpoint, const char *resource,
		      const struct json_strs *ids, struct json_strs *nodes)
{
	for (size_t i = 0; i < ids->len; i++) {
		auto_free char *first = xstrndup(ids->items[i], strcspn(ids->items[i], ","));
		const struct holder *holder = holder_of(checkpoint, first);

		for (size_t k = 0;
		     holder && strcmp(holder->resource, resource) == 0 && k < holder->nodes.len;
		     k++)
			json_strs_add_new(nodes, holder->nodes.items[k]);
	}
}

void checkpoint_ids(struct checkpoint *checkpoint, struct json_strs *ids)
{
	const char *id;
	size_t cursor = 0;

	read_again(checkpoint, checkpoint_version(checkpoint));
	while (checkpoint->ids && map_next(checkpoint->ids, &cursor, &id, NULL))
		json_strs_add(ids, id);
}

struct checkpoint *checkpoint_new(const char *path)
{
	struct checkpoint *checkpoint = xcalloc(1, sizeof(*checkpoint));

	checkpoint->path = xstrdup(path);
	return checkpoint;
}

struct checkpoint *checkpoint_free(struct checkpoint *checkpoint)
{
	if (!checkpoint)
		return NULL;
	ids_free(checkpoint->ids);
	free(checkpoint->path);
	free(checkpoint);
	return NULL;
}
