#include "controller/kubevirt/permit_desired.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "base/array.h"
#include "base/mem.h"

static const struct {
	const char *name;
	const char *selector; /* NULL: identified by the resource alone */
} lists[PERMIT_LISTS] = {
	[PERMIT_PCI] = { "pciHostDevices", "pciVendorSelector" },
	[PERMIT_MEDIATED] = { "mediatedDevices", "mdevNameSelector" },
	[PERMIT_USB] = { "usb", NULL },
};

const char *permit_list_name(enum permit_list list)
{
	return lists[list].name;
}

char *permit_key(enum permit_list list, const json_t *entry)
{
	const char *resource = json_string_value(json_object_get(entry, "resourceName"));
	const char *selector = NULL;
	char *key;

	if (!resource)
		return NULL;
	if (!lists[list].selector)
		return xstrdup(resource);
	selector = json_string_value(json_object_get(entry, lists[list].selector));
	if (!selector)
		return NULL;
	key = xasprintf("%s=%s", selector, resource);
	for (char *c = key; list == PERMIT_PCI && *c && *c != '='; c++)
		*c = (char)tolower((unsigned char)*c);
	return key;
}

static void entry_add(struct permit_desired *desired, enum permit_list list, json_t *entry)
{
	struct permit_entry *added = array_add(&desired->lists[list]);

	added->json = entry;
	added->key = permit_key(list, entry);
}

void permit_desired_add(struct permit_desired *desired, enum permit_list list, const char *selector,
			const char *resource)
{
	entry_add(desired, list,
		  json_pack("{s:b, s:s, s:s}", "externalResourceProvider", true,
			    lists[list].selector, selector, "resourceName", resource));
}

void permit_desired_add_usb(struct permit_desired *desired, const char *resource, json_t *selectors)
{
	entry_add(desired, PERMIT_USB,
		  json_pack("{s:b, s:s, s:o}", "externalResourceProvider", true, "resourceName",
			    resource, "selectors", selectors));
}

/* A total order, so that the first of several entries with one key does not depend on their
 * input order. */
static int compare(const void *a, const void *b)
{
	const struct permit_entry *x = a;
	const struct permit_entry *y = b;
	int order = strcmp(x->key, y->key);
	auto_free char *x_text = NULL;
	auto_free char *y_text = NULL;

	if (order != 0)
		return order;
	x_text = json_map_text(x->json);
	y_text = json_map_text(y->json);
	return strcmp(x_text, y_text);
}

static void entry_done(struct permit_entry *entry)
{
	free(entry->key);
	json_decref(entry->json);
}

static void sort(struct permit_desired *desired, enum permit_list list)
{
	struct permit_entry *items = desired->lists[list].items;
	size_t len = desired->lists[list].len;
	size_t kept = 0;

	if (len == 0)
		return;
	qsort(items, len, sizeof(*items), compare);
	for (size_t i = 0; i < len; i++) {
		if (kept > 0 && strcmp(items[kept - 1].key, items[i].key) == 0)
			entry_done(&items[i]);
		else
			items[kept++] = items[i];
	}
	desired->lists[list].len = kept;
}

void permit_desired_sort(struct permit_desired *desired)
{
	for (int i = 0; i < PERMIT_LISTS; i++)
		sort(desired, (enum permit_list)i);
}

static int compare_key(const void *key, const void *entry)
{
	return strcmp(key, ((const struct permit_entry *)entry)->key);
}

const struct permit_entry *permit_desired_find(const struct permit_desired *desired,
					       enum permit_list list, const char *key)
{
	size_t len = desired->lists[list].len;

	if (len == 0)
		return NULL;
	return bsearch(key, desired->lists[list].items, len, sizeof(struct permit_entry),
		       compare_key);
}

void permit_desired_done(struct permit_desired *desired)
{
	for (int i = 0; i < PERMIT_LISTS; i++) {
		for (size_t j = 0; j < desired->lists[i].len; j++)
			entry_done(&desired->lists[i].items[j]);
		array_done(&desired->lists[i]);
	}
}
