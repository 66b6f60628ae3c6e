#include "cli/show/tree_roots.h"

#include <stdlib.h>
#include <string.h>

#include "api/pcidevice.h"
#include "base/mem.h"
#include "cli/model/address.h"
#include "cli/model/cluster.h"

size_t tree_bridges(const struct cluster_device *device, char *const **ret_bridges)
{
	const struct pcidevice *pci = device->type == DEVICE_PCI ? device->object : NULL;

	*ret_bridges = pci ? pci->status.bridges.items : NULL;
	if (!pci)
		return 0;
	return pci->status.bridges.len < TREE_BRIDGES_MAX ? pci->status.bridges.len
							  : TREE_BRIDGES_MAX;
}

/* The step @at on the way from the root bus to @device: a bridge, at last the device; then NULL. */
static const char *step_of(const struct cluster_device *device, size_t at)
{
	char *const *bridges;
	size_t len = tree_bridges(device, &bridges);

	if (at < len)
		return bridges[at];
	return at == len ? device->address : NULL;
}

/* In the order of lspci: what is behind a bridge stands where the bridge does. */
static int compare_ways(const void *a, const void *b)
{
	const struct cluster_device *x = *(const struct cluster_device *const *)a;
	const struct cluster_device *y = *(const struct cluster_device *const *)b;

	if (x->type != DEVICE_PCI || y->type != DEVICE_PCI)
		return x->type != y->type ? (x->type > y->type) - (x->type < y->type)
					  : (x > y) - (x < y);
	for (size_t i = 0;; i++) {
		const char *step = step_of(x, i);
		const char *other = step_of(y, i);
		int order = step && other ? strcmp(step, other) : 0;

		if (!step || !other)
			return step ? 1 : other ? -1 : (x > y) - (x < y);
		if (order)
			return order;
	}
}

char *tree_branch(const struct cluster_device *device)
{
	const char *first = step_of(device, 0);
	size_t bus = address_bus_len(first);

	switch (device->type) {
	case DEVICE_PCI:
		return bus > 0 ? xstrndup(first, bus) : xstrdup("PCI, address not known");
	case DEVICE_USB:
		return xstrdup("USB, controller not listed");
	case DEVICE_MDEV:
		break;
	}
	return xstrdup("mdev, parent not listed");
}

void tree_roots_find(struct tree_roots *roots, const struct cluster_node *node)
{
	*roots = (struct tree_roots){ .items = xcalloc(node->len + 1,
						       sizeof(struct cluster_device *)) };
	for (size_t i = 0; i < node->len; i++) {
		if (!node->devices[i].parent)
			roots->items[roots->len++] = &node->devices[i];
	}
	if (roots->len > 0)
		qsort(roots->items, roots->len, sizeof(struct cluster_device *), compare_ways);
}

size_t tree_next_branch(const struct tree_roots *roots, size_t at)
{
	auto_free char *branch = tree_branch(roots->items[at]);
	size_t next = at + 1;
	bool same = true;

	while (same && next < roots->len) {
		auto_free char *other = tree_branch(roots->items[next]);

		same = strcmp(branch, other) == 0;
		next += same;
	}
	return next;
}

size_t tree_next_way(const struct tree_roots *roots, size_t at, size_t end, size_t level)
{
	const char *bridge = step_of(roots->items[at], level);
	char *const *bridges;
	size_t next = at + 1;

	while (next < end && tree_bridges(roots->items[next], &bridges) > level &&
	       strcmp(bridges[level], bridge) == 0)
		next++;
	return next;
}

void tree_roots_done(struct tree_roots *roots)
{
	free(roots->items);
	*roots = (struct tree_roots){ 0 };
}
