#include "controller/admission/vgpu.h"

#include "api/vgpudevice.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/admission/device_use.h"
#include "controller/admission/known.h"
#include "controller/admission/rule.h"

enum { LISTED = 8 };

static void list_types(const struct json_pairs *types, struct str *out)
{
	for (size_t i = 0; i < types->len && i < LISTED; i++) {
		auto_free char *type = rule_quote(types->items[i].key);

		str_addf(out, "%s'%s'", i ? ", " : "", type);
	}
	if (types->len > LISTED)
		str_addf(out, " and %zu more", types->len - LISTED);
}

static bool refuse_type(const struct rule_case *c, const struct vgpudevice *vgpu,
			const struct vgpudevice *old)
{
	const struct json_pairs *types = &old->status.available_types;
	auto_free char *shown = rule_quote(vgpu->spec.type_name);
	auto_str struct str list = STR_INIT;

	if (!known_empty(vgpu->spec.type_name) && json_pairs_get(types, vgpu->spec.type_name))
		return false;
	list_types(types, &list);
	if (types->len == 0)
		return rule_refuse(
			c, RULE_INVALID,
			"no type is available now (status.availableTypes is empty): check that "
			"the card is enabled and has room for another vGPU");
	if (known_empty(vgpu->spec.type_name))
		return rule_refuse(c, RULE_INVALID,
				   "spec.vGPUTypeName is missing: set it to one of %s",
				   str_cstr(&list));
	return rule_refuse(c, RULE_INVALID,
			   "spec.vGPUTypeName '%s' is not available: set it to one of %s", shown,
			   str_cstr(&list));
}

static bool refuse_claimed(const struct rule_case *c, const struct vgpudevice *vgpu)
{
	const struct view *claim = known_pciclaim(c->known, vgpu->meta.name);

	if (!claim || claim->skipped)
		return false;
	return rule_refuse(
		c, RULE_CONFLICT,
		"PCIDeviceClaim '%s' passes the virtual function itself through: delete that "
		"claim first",
		vgpu->meta.name);
}

static bool refuse_used(const struct rule_case *c, const struct vgpudevice *old)
{
	auto_free char *user = device_use(c->known, old->meta.name);
	auto_free char *request = user ? NULL : device_use_request(c->known, old->meta.name);

	if (request)
		rule_warn(c, "%s", request);
	return user && rule_refuse(c, RULE_CONFLICT, "%s", user);
}

void vgpu_update(const struct rule_case *c)
{
	const struct vgpudevice *vgpu = c->object;
	const struct vgpudevice *old = c->old;
	bool changes =
		vgpu->spec.enabled != old->spec.enabled ||
		(vgpu->spec.enabled && !known_same(vgpu->spec.type_name, old->spec.type_name));

	if (vgpu->meta.deletion_timestamp || !changes ||
	    (old->spec.enabled && refuse_used(c, old)) || !vgpu->spec.enabled)
		return;
	(void)(refuse_type(c, vgpu, old) || refuse_claimed(c, vgpu));
}

void vgpu_delete(const struct rule_case *c)
{
	const struct vgpudevice *old = c->old;

	if (!old->meta.deletion_timestamp && !known_node_gone(c->known, old->spec.node_name))
		refuse_used(c, old);
}
