#include "agent/publish/publish_view.h"

#include <stddef.h>

#include "agent/publish/publish.h"
#include "api/mediateddeviceparent.h"
#include "api/pcidevice.h"
#include "kube/clock.h"
#include "kube/informer.h"
#include "kube/store.h"

static const struct pcidevice_allocations *
allocations_of(const struct publish_deps *deps, enum inventory_kind kind, const char *name)
{
	static const struct pcidevice_allocations none = { 0 };

	return deps->allocations ? deps->allocations(deps->arg, kind, name) : &none;
}

/* What others know of a mediated device, or of a parent of them. */
static void fill_mdev(const struct publish_deps *deps, struct publish_case *c)
{
	if (c->kind == INVENTORY_MDEV && c->wanted && deps->resource)
		c->resource = deps->resource(deps->arg, c->wanted);
	if (c->kind == INVENTORY_MDEV_PARENT && c->wanted && deps->condition) {
		const struct mediateddeviceparent *parent = c->wanted;

		c->condition = deps->condition(deps->arg, parent->status.parent);
	}
}

struct publish_case publish_view(const struct publish_deps *deps, const struct inventory *inventory,
				 enum inventory_kind kind, const char *name,
				 const struct entry *entry)
{
	const struct informer *claims = deps->claims[kind];
	const struct entry *claim = claims ? store_get(informer_store(claims), name) : NULL;
	struct publish_case c = {
		.kind = kind,
		.wanted = inventory_find(inventory, kind, name),
		.seen = entry ? entry->object : NULL,
		.claimed = claim != NULL,
		.allocations = allocations_of(deps, kind, name),
		.now_wall_ms = clock_wall_ms(deps->clock),
	};

	if (kind == INVENTORY_PCI && deps->parent)
		c.parent = deps->parent(deps->arg, name, &c.parent_key);
	if (kind == INVENTORY_PCI && deps->held_as)
		c.resource = deps->held_as(deps->arg, name);
	if (kind == INVENTORY_PCI)
		c.claim = claim ? claim->object : NULL;
	else if (kind == INVENTORY_USB)
		c.usb_claim = claim ? claim->object : NULL;
	fill_mdev(deps, &c);
	return c;
}
