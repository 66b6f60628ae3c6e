#include "agent/plugin/device_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/plugin/plugin_codec.h"
#include "base/array.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"

static bool is_printable(const char *text)
{
	for (; *text; text++) {
		if (*text <= ' ' || *text > '~')
			return false;
	}
	return true;
}

static int id_check(const char *id, struct err *err)
{
	size_t len = strlen(id);

	if (len == 0)
		return err_set(err, ERR_INVALID, -EINVAL, "the device's ID is empty");
	if (len > PLUGIN_ID_MAX)
		return err_set(err, ERR_INVALID, -ENAMETOOLONG,
			       "the device's ID has %zu bytes; kubelets accept at most %d", len,
			       PLUGIN_ID_MAX);
	if (!is_printable(id))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "the device's ID has bytes that are not printable ASCII");
	return 0;
}

/* by_id points to where the device is now; index_all() puts that right at the end. */
static int device_add(struct device_list *list, const struct plugin_device *device, struct err *err)
{
	int r = id_check(device->id, err);

	if (r < 0)
		return r;
	if (map_get(list->by_id, device->id))
		return err_set(err, ERR_INVALID, -EEXIST, "two devices have the ID '%s'",
			       device->id);
	*array_add(list) = (struct plugin_device){
		.id = xstrdup(device->id),
		.healthy = device->healthy,
		.numa_node = device->numa_node,
		.root = xstrdup_or_null(device->root),
		.group = xstrdup_or_null(device->group),
		.card = xstrdup_or_null(device->card),
		.trouble = xstrdup_or_null(device->trouble),
	};
	map_set(list->by_id, device->id, &list->items[list->len - 1]);
	return 0;
}

/* The items have moved while the list grew. */
static void index_all(struct device_list *list)
{
	for (size_t i = 0; i < list->len; i++)
		map_set(list->by_id, list->items[i].id, &list->items[i]);
}

int device_list_new(const struct plugin_device *devices, size_t ndevices,
		    device_list_refused_fn *refused, void *arg, struct device_list **ret_list,
		    struct err *err)
{
	struct device_list *list = xcalloc(1, sizeof(*list));
	struct err trouble = { 0 };
	int r;

	list->refs = 1;
	list->by_id = map_new();
	for (size_t i = 0; i < ndevices; i++) {
		if (device_add(list, &devices[i], &trouble) < 0)
			refused(arg, devices[i].id, &trouble);
	}
	index_all(list);
	r = plugin_codec_write_list(list->items, list->len, &list->message, err);
	if (r < 0) {
		device_list_unref(list);
		return err_wrap(err, "list of %zu devices", ndevices);
	}
	*ret_list = list;
	return 0;
}

struct device_list *device_list_ref(struct device_list *list)
{
	list->refs++;
	return list;
}

/* The texts of the list's devices are its own. */
static void text_free(const char *text)
{
	union {
		const char *in;
		char *out;
	} cast = { .in = text };

	free(cast.out);
}

struct device_list *device_list_unref(struct device_list *list)
{
	if (!list || --list->refs > 0)
		return NULL;
	for (size_t i = 0; i < list->len; i++) {
		text_free(list->items[i].id);
		text_free(list->items[i].root);
		text_free(list->items[i].group);
		text_free(list->items[i].card);
		text_free(list->items[i].trouble);
	}
	array_done(list);
	map_free(list->by_id);
	str_done(&list->message);
	free(list);
	return NULL;
}

const struct plugin_device *device_list_find(const struct device_list *list, const char *id)
{
	return map_get(list->by_id, id);
}
