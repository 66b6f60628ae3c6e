#include "agent/lookup.h"

#include <string.h>

#include "agent/claim/claim_plan.h"
#include "agent/claim/claims.h"
#include "agent/claim/on_demand_binds.h"
#include "agent/dra/on_demand_binder.h"
#include "agent/drm/drm.h"
#include "agent/gpu/gpus.h"
#include "agent/hami/hami.h"
#include "agent/mdev/mdev_type.h"
#include "agent/mdev/mdevs.h"
#include "agent/nvidia/nvidia.h"
#include "agent/plugin/device_type.h"
#include "agent/publish/publish.h"
#include "agent/publish/publish_plan.h"
#include "agent/resource/offers.h"
#include "agent/resource/pci_type.h"
#include "agent/sriov/sriov.h"
#include "agent/usb/usb.h"
#include "agent/usb/usb_type.h"
#include "agent/wiring.h"
#include "api/mediateddevice.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "base/mem.h"

bool lookup_is_moving(void *arg, const char *name)
{
	const struct wiring *w = arg;

	return claims_moving(w->claims, name);
}

const struct pcidevice_allocations *lookup_allocations(void *arg, enum inventory_kind kind,
						       const char *name)
{
	static const struct pcidevice_allocations none = { 0 };
	const struct wiring *w = arg;
	char address[NAMES_ADDRESS_SIZE];

	if (kind == INVENTORY_USB)
		return usb_allocations(w->usb, name);
	if (kind == INVENTORY_MDEV)
		return offers_allocations(w->offers, mediateddevice_uuid_of_name(name));
	if (names_pcidevice_address(w->node_name, name, address) < 0)
		return &none;
	if (nvidia_has(w->nvidia, address))
		return nvidia_allocations(w->nvidia, address);
	return offers_allocations(w->offers, address);
}

const struct pcidevice_allocations *lookup_unit_allocations(void *arg, const char *id)
{
	const struct wiring *w = arg;

	return offers_allocations(w->offers, id);
}

const char *lookup_hami_trouble(void *arg)
{
	const struct wiring *w = arg;

	return hami_trouble(w->hami);
}

const char *lookup_held_as(void *arg, const char *name)
{
	const struct wiring *w = arg;
	char address[NAMES_ADDRESS_SIZE];
	const char *resource;
	bool ours;

	if (names_pcidevice_address(w->node_name, name, address) < 0)
		return NULL;
	resource = offers_resource(w->offers, address, &ours);
	return ours ? resource : NULL;
}

static void usb_offer(const struct wiring *w, const char *name, struct publish_offer *ret_offer)
{
	const struct usb_selected *selected = NULL;

	*ret_offer = (struct publish_offer){ .known = usb_selected(w->usb, name, &selected),
					     .by = "the HostDeviceConfig" };
	if (!selected)
		return;
	ret_offer->resource = selected->resource;
	ret_offer->trouble = selected->trouble;
}

void lookup_offer(void *arg, enum inventory_kind kind, const char *name,
		  struct publish_offer *ret_offer)
{
	const struct wiring *w = arg;
	char address[NAMES_ADDRESS_SIZE];
	const struct pci_last_offer *told = NULL;
	struct drm_offered gpu;

	if (kind == INVENTORY_USB) {
		usb_offer(w, name, ret_offer);
		return;
	}
	*ret_offer = (struct publish_offer){ .known = true };
	if (names_pcidevice_address(w->node_name, name, address) < 0)
		return;
	if (nvidia_has(w->nvidia, address)) {
		ret_offer->by = "the agent (--nvidia)";
		ret_offer->known = nvidia_offered(w->nvidia, address, &ret_offer->resource,
						  &ret_offer->trouble);
		return;
	}
	if (drm_offered(w->drm, address, &gpu)) {
		*ret_offer = (struct publish_offer){ .known = true,
						     .by = gpu.by,
						     .resource = gpu.resource,
						     .trouble = gpu.trouble };
		return;
	}
	ret_offer->by = "the HostDeviceConfig";
	ret_offer->known = offers_selected(w->offers, address, &told);
	if (!told)
		return;
	ret_offer->resource = told->resource;
	ret_offer->trouble = told->trouble;
	ret_offer->group_taken = told->group_taken;
	ret_offer->on_demand = told->on_demand;
	ret_offer->bound_for = told->bound_for;
}

const char *lookup_mdev_resource(void *arg, const struct mediateddevice *device)
{
	const struct wiring *w = arg;

	return mdevs_resource(w->mdevs, device);
}

const struct api_condition_value *lookup_mdev_condition(void *arg, const char *parent)
{
	const struct wiring *w = arg;

	return mdevs_condition(w->mdevs, parent);
}

const char *lookup_parent(void *arg, const char *name, const char **ret_key)
{
	const struct wiring *w = arg;
	char address[NAMES_ADDRESS_SIZE];
	const char *card;

	*ret_key = NAMES_LABEL_PARENT_NIC;
	if (names_pcidevice_address(w->node_name, name, address) < 0)
		return NULL;
	card = gpus_parent_label(w->gpus, address);
	if (!card)
		return sriov_parent(w->sriov, address);
	*ret_key = NAMES_LABEL_PARENT_GPU;
	return card;
}

bool lookup_is_free(void *arg, const char *address, char **ret_holder)
{
	const struct wiring *w = arg;

	return offers_is_free(w->offers, address, ret_holder);
}

bool lookup_is_usb_free(void *arg, const char *port, char **ret_holder)
{
	const struct wiring *w = arg;

	return usb_is_free(w->usb, port, ret_holder);
}

char *lookup_bind_trouble(void *arg, const char *address)
{
	const struct wiring *w = arg;

	char *trouble = offers_bind_trouble(w->offers, address);

	if (!trouble)
		trouble = nvidia_bind_trouble(w->nvidia, address);
	if (!trouble && offers_is_on(w->offers))
		trouble = drm_bind_trouble(w->drm, address);
	return trouble;
}

char *lookup_card_claim(void *arg, const char *address)
{
	const struct wiring *w = arg;

	return claims_taker(w->claims, address);
}

void lookup_given(void *arg, struct json_strs *ids)
{
	const struct wiring *w = arg;

	offers_ids(w->offers, ids);
}

bool lookup_is_held(void *arg, const char *address)
{
	const struct wiring *w = arg;

	return sriov_holds(w->sriov, address);
}

void lookup_claim_offer(void *arg, const char *address, struct claim_offer *ret_offer)
{
	static const enum claim_offer_state states[] = {
		[OFFERED_BY_NOBODY] = CLAIM_OFFER_NONE,
		[OFFERED_NOT_YET] = CLAIM_OFFER_AWAITED,
		[OFFERED] = CLAIM_OFFERED,
		[OFFERED_NODE_GONE] = CLAIM_OFFER_NODE_GONE,
		[OFFERED_NODE_UNREADABLE] = CLAIM_OFFER_NODE_UNREADABLE,
	};
	const struct wiring *w = arg;
	struct offered_answer answer = offers_answer(w->offers, address);

	*ret_offer = (struct claim_offer){ .state = states[answer.state],
					   .resource = answer.resource,
					   .trouble = answer.trouble,
					   .taken = answer.owner != NULL,
					   .group_taken = answer.group_taken,
					   .held = answer.held,
					   .dra = answer.dra,
					   .denied = answer.denied };
}

char *lookup_bound_for(void *arg, const char *address)
{
	const struct wiring *w = arg;

	return offers_bound_for(w->offers, address);
}

char *lookup_on_demand_trouble(void *arg, const char *id)
{
	const struct wiring *w = arg;

	struct drm_offered gpu;

	if (nvidia_has(w->nvidia, id) || drm_offered(w->drm, id, &gpu))
		return xstrdup("the agent offers it to containers as a GPU");
	return claims_on_demand_trouble(w->claims, id);
}

bool lookup_is_on_demand_moving(void *arg, const char *id)
{
	const struct wiring *w = arg;
	auto_free char *name = names_pcidevice(w->node_name, id);

	return claims_moving(w->claims, name);
}

struct on_demand_bind *lookup_bind_on_demand(void *arg, const struct on_demand_devices *devices,
					     void (*bound)(void *arg, const struct err *err),
					     void *bound_arg)
{
	const struct wiring *w = arg;
	const struct on_demand_spec spec = { devices->ids, devices->uid, devices->to };

	return claims_bind_on_demand(w->claims, &spec, bound, bound_arg);
}

bool lookup_stop_on_demand(void *arg, struct on_demand_bind *bind, struct err *err)
{
	const struct wiring *w = arg;

	return claims_stop_on_demand(w->claims, bind, err);
}

bool lookup_is_taken(void *arg, const char *resource)
{
	const struct wiring *w = arg;
	const char *owner = offers_owner(w->offers, resource);

	return owner && strcmp(owner, mdev_device_type.name) != 0;
}

const char *lookup_vgpu_resource(void *arg, const char *uuid)
{
	const struct wiring *w = arg;

	return gpus_resource(w->gpus, uuid);
}
