#include "controller/admission/gpu_card.h"

#include "api/sriovgpudevice.h"
#include "base/mem.h"
#include "controller/admission/device_use.h"
#include "controller/admission/known.h"
#include "controller/admission/rule.h"
#include "controller/cache/view_text.h"

static bool is_part_of(const struct view *vgpu, const struct sriovgpudevice *card)
{
	if (known_same(view_text(vgpu, VIEW_TEXT_CARD), card->meta.name))
		return true;
	return !known_empty(card->spec.address) &&
	       known_same(view_text(vgpu, VIEW_TEXT_PARENT), card->spec.address) &&
	       known_same(view_text(vgpu, VIEW_TEXT_NODE), card->spec.node_name);
}

/* Disabling the card removes its virtual functions. A vGPU in use prevents that; an enabled but
 * unused one only delays it. */
static bool refuse_used(const struct rule_case *c, const struct sriovgpudevice *card)
{
	const struct view *vgpu;
	const char *name;
	size_t cursor = 0;

	while ((vgpu = known_next(c->known, VIEW_VGPU, &cursor, &name))) {
		auto_free char *user = NULL;
		auto_free char *request = NULL;

		if (!is_part_of(vgpu, card))
			continue;
		user = device_use(c->known, name);
		if (user)
			return rule_refuse(c, RULE_CONFLICT, "VGPUDevice '%s' is a part of it: %s",
					   name, user);
		request = device_use_request(c->known, name);
		if (request)
			rule_warn(c, "VGPUDevice '%s' is a part of it: %s", name, request);
		if (vgpu->enabled)
			rule_warn(c,
				  "VGPUDevice '%s' is still enabled: set spec.enabled of that to "
				  "false",
				  name);
	}
	return false;
}

void gpu_card_update(const struct rule_case *c)
{
	const struct sriovgpudevice *card = c->object;
	const struct sriovgpudevice *old = c->old;

	if (card->meta.deletion_timestamp || card->spec.enabled == old->spec.enabled)
		return;
	if (old->spec.enabled)
		refuse_used(c, old);
	else if (known_pciclaim(c->known, card->meta.name))
		rule_refuse(c, RULE_CONFLICT,
			    "PCIDeviceClaim '%s' passes the whole card through: delete that claim "
			    "first",
			    card->meta.name);
}

void gpu_card_delete(const struct rule_case *c)
{
	const struct sriovgpudevice *old = c->old;

	if (old->meta.deletion_timestamp || known_node_gone(c->known, old->spec.node_name) ||
	    !old->spec.enabled)
		return;
	rule_refuse(c, RULE_CONFLICT, "it is enabled: set spec.enabled to false first");
}
