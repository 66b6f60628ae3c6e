#include "controller/admission/known.h"

#include <string.h>

#include "api/names.h"
#include "base/mem.h"
#include "kube/store.h"

static const void *object_of(const struct entry *entry, const char **ret_name)
{
	if (entry && ret_name)
		*ret_name = entry->name;
	return entry ? entry->object : NULL;
}

static const struct view *find_view(const struct known *known, enum view_kind kind,
				    const char *name)
{
	return name ? store_object(known->stores[kind], name) : NULL;
}

const struct view *known_pcidevice(const struct known *known, const char *name)
{
	return find_view(known, VIEW_PCIDEVICE, name);
}

const struct view *known_usbdevice(const struct known *known, const char *name)
{
	return find_view(known, VIEW_USBDEVICE, name);
}

const struct view *known_pciclaim(const struct known *known, const char *name)
{
	return find_view(known, VIEW_PCICLAIM, name);
}

const struct view *known_usbclaim(const struct known *known, const char *name)
{
	return find_view(known, VIEW_USBCLAIM, name);
}

const struct view *known_gpu(const struct known *known, const char *name)
{
	return find_view(known, VIEW_GPU, name);
}

const struct view *known_vgpu(const struct known *known, const char *name)
{
	return find_view(known, VIEW_VGPU, name);
}

const char *known_uid(const struct known *known, enum view_kind kind, const char *name)
{
	const struct entry *entry = store_get(known->stores[kind], name);

	return entry ? entry->uid : "";
}

const struct view_node *known_node(const struct known *known, const char *name)
{
	return known_empty(name) ? NULL : store_object(known->stores[VIEW_NODE], name);
}

bool known_node_gone(const struct known *known, const char *name)
{
	const struct entry *entry =
		known_empty(name) ? NULL : store_get(known->stores[VIEW_NODE], name);
	const struct view_node *node = entry ? entry->object : NULL;

	return !entry || (node && node->deleting);
}

const void *known_next(const struct known *known, enum view_kind kind, size_t *cursor,
		       const char **ret_name)
{
	const struct entry *entry;

	while ((entry = store_next(known->stores[kind], cursor))) {
		if (entry->object)
			return object_of(entry, ret_name);
	}
	return NULL;
}

static const struct entry *find_view_at(const struct known *known, enum view_kind kind,
					const char *node, const char *address)
{
	auto_free char *name = NULL;

	if (known_empty(node) || known_empty(address))
		return NULL;
	name = names_pcidevice(node, address);
	return store_get(known->stores[kind], name);
}

const struct view *known_pci_at(const struct known *known, const char *node, const char *address)
{
	return object_of(find_view_at(known, VIEW_PCIDEVICE, node, address), NULL);
}

const struct view *known_pciclaim_at(const struct known *known, const char *node,
				     const char *address, const char **ret_name)
{
	return object_of(find_view_at(known, VIEW_PCICLAIM, node, address), ret_name);
}

bool known_same(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

bool known_empty(const char *text)
{
	return !text || !*text;
}
