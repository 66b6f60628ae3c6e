#include "agent/inventory/id_names.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/limits.h"
#include "api/json_map.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"

/* More ids than any machine has; devices that pretend to be ever new ones stay without names. */
enum { NAMES_MAX = 16384 };

struct id_names {
	struct map *map; /* id -> struct id_name */
};

struct id_names *id_names_new(void)
{
	struct id_names *names = xcalloc(1, sizeof(*names));

	names->map = map_new();
	return names;
}

static void name_free(void *arg)
{
	struct id_name *name = arg;

	if (!name)
		return;
	free(name->first);
	free(name->second);
	free(name);
}

struct id_names *id_names_free(struct id_names *names)
{
	if (!names)
		return NULL;
	map_free_with(names->map, name_free);
	free(names);
	return NULL;
}

static bool is_id(const char *text)
{
	return text && limit_is_id(text, 4);
}

/* Takes @id. */
static void need(const struct id_names *names, struct map *asked, struct json_strs *ids, char *id)
{
	auto_free char *owned = id;

	if (map_get(names->map, owned) || map_set(asked, owned, asked))
		return;
	json_strs_add(ids, owned);
}

static void need_pci(const struct id_names *names, struct map *asked, struct json_strs *ids,
		     const struct pci_facts *pci)
{
	auto_free char *class_id = pci->class_code ? xstrndup(pci->class_code, 4) : NULL;

	if (is_id(pci->vendor) && is_id(pci->device))
		need(names, asked, ids, xasprintf("pci:%s:%s", pci->vendor, pci->device));
	if (is_id(class_id))
		need(names, asked, ids, xasprintf("pciclass:%s", class_id));
}

void id_names_missing(const struct id_names *names, const struct facts *facts,
		      struct json_strs *ret_ids)
{
	struct map *asked = map_new();

	for (size_t i = 0; i < facts->pci.len; i++)
		need_pci(names, asked, ret_ids, &facts->pci.items[i]);
	for (size_t i = 0; i < facts->usb.len; i++) {
		const struct usb_facts *usb = &facts->usb.items[i];

		if (is_id(usb->vendor) && is_id(usb->product))
			need(names, asked, ret_ids,
			     xasprintf("usb:%s:%s", usb->vendor, usb->product));
	}
	map_free(asked);
}

static const char *text_of(const json_t *json, const char *key)
{
	return json_string_value(json_object_get(json, key));
}

static void learn(struct id_names *names, const char *id, const char *first, const char *second)
{
	struct id_name *name;

	if (map_len(names->map) >= NAMES_MAX && !map_get(names->map, id))
		return;
	name = xcalloc(1, sizeof(*name));
	name->first = xstrdup_or_null(first);
	name->second = xstrdup_or_null(second);
	name_free(map_set(names->map, id, name));
}

int id_names_add_line(struct id_names *names, const char *line, size_t len, struct err *err)
{
	auto_json json_t *json = NULL;
	const char *kind;
	const char *id;

	if (json_map_load(line, len, &json, err) < 0)
		return err_wrap(err, "names line of the helper");
	kind = text_of(json, "kind");
	id = text_of(json, "id");
	if (kind && strcmp(kind, "problem") == 0) {
		log_warn("names of devices are incomplete",
			 log_str("reason", text_of(json, "message")));
		return 0;
	}
	if (!kind || strcmp(kind, "name") != 0)
		return 0;
	if (!id)
		return err_set(err, ERR_INVALID, -EINVAL, "names line of the helper has no id");
	if (strncmp(id, "pciclass:", 9) == 0)
		learn(names, id, text_of(json, "class"), text_of(json, "subclass"));
	else
		learn(names, id, text_of(json, "vendor"), text_of(json, "product"));
	return 0;
}

void id_names_resolve(struct id_names *names, const struct json_strs *ids)
{
	for (size_t i = 0; i < ids->len; i++) {
		if (!map_get(names->map, ids->items[i]))
			learn(names, ids->items[i], NULL, NULL);
	}
}

const struct id_name *id_names_get(const struct id_names *names, const char *id)
{
	static const struct id_name unknown = { 0 };
	const struct id_name *name = map_get(names->map, id);

	return name ? name : &unknown;
}
