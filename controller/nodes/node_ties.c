#include "controller/nodes/node_ties.h"

#include "kube/store.h"

bool node_ties_is_claim(enum view_kind kind)
{
	return kind == VIEW_PCICLAIM || kind == VIEW_USBCLAIM;
}

const char *node_ties_node(const struct node_ties *ties, enum view_kind kind, const char *name,
			   const struct view *view)
{
	enum view_kind of = kind == VIEW_PCICLAIM ? VIEW_PCIDEVICE : VIEW_USBDEVICE;
	const struct view *device;

	if (view->node[0] || !node_ties_is_claim(kind))
		return view->node;
	device = store_object(ties->stores[of], name);
	return device ? device->node : "";
}
