#include "controller/admission/rule.h"

#include "api/json_map.h"
#include "api/migconfiguration.h"
#include "api/sriovgpudevice.h"
#include "api/vgpudevice.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/admission/device_use.h"
#include "controller/admission/known.h"
#include "controller/cache/view.h"

/* --- SRIOVGPUDevices --- */

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
static bool card_refuse_used(const struct rule_case *c, const struct sriovgpudevice *card)
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
		card_refuse_used(c, old);
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

/* --- VGPUDevices --- */

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

static bool vgpu_refuse_used(const struct rule_case *c, const struct vgpudevice *old)
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
	    (old->spec.enabled && vgpu_refuse_used(c, old)) || !vgpu->spec.enabled)
		return;
	(void)(refuse_type(c, vgpu, old) || refuse_claimed(c, vgpu));
}

void vgpu_delete(const struct rule_case *c)
{
	const struct vgpudevice *old = c->old;

	if (!old->meta.deletion_timestamp && !known_node_gone(c->known, old->spec.node_name))
		vgpu_refuse_used(c, old);
}

/* --- MigConfigurations; the schema limits the number of instances --- */

static const struct mig_profile *find_profile(const struct mig_profiles *list,
					      const struct mig_request *request)
{
	for (size_t i = 0; i < list->len; i++) {
		const struct mig_profile *profile = &list->items[i];

		if (request->id >= 0 ? profile->id == request->id
				     : known_same(profile->name, request->name))
			return profile;
	}
	return NULL;
}

/* A card may list no profiles before its mode is on; then nothing can be checked. */
static bool refuse_unavailable(const struct rule_case *c, const struct migconfiguration *mig)
{
	const struct mig_profiles *has = &mig->status.profiles;

	for (size_t i = 0; has->len > 0 && i < mig->spec.profiles.len; i++) {
		const struct mig_request *request = &mig->spec.profiles.items[i];
		const struct mig_profile *profile = find_profile(has, request);
		auto_free char *name = NULL;

		if (request->requested <= 0)
			continue;
		name = rule_quote(request->name);
		if (!profile)
			return rule_refuse(c, RULE_INVALID,
					   "spec.profileSpec requests '%s' (id %d), which the card "
					   "does not have: status.profileStatus lists what it has",
					   name, request->id);
		if (request->requested > profile->available)
			return rule_refuse(
				c, RULE_INVALID,
				"spec.profileSpec requests %d of '%s', but %d are available: "
				"request that or fewer",
				request->requested, name, profile->available);
	}
	return false;
}

static bool same_requests(const struct mig_requests *a, const struct mig_requests *b)
{
	bool same = a->len == b->len;

	for (size_t i = 0; same && i < a->len; i++)
		same = a->items[i].id == b->items[i].id &&
		       a->items[i].requested == b->items[i].requested &&
		       known_same(a->items[i].name, b->items[i].name);
	return same;
}

static bool is_made(const struct migconfiguration *mig)
{
	return known_same(mig->status.status, MIGCONFIGURATION_SYNCED) ||
	       known_same(mig->status.status, MIGCONFIGURATION_OUT_OF_SYNC);
}

static bool refuse_frozen(const struct rule_case *c, const struct migconfiguration *mig,
			  const struct migconfiguration *old)
{
	if (!is_made(old) || !mig->spec.enabled ||
	    same_requests(&mig->spec.profiles, &old->spec.profiles))
		return false;
	return rule_refuse(
		c, RULE_CONFLICT,
		"spec.profileSpec cannot change while its instances exist (status.status "
		"is '%s'): set spec.enabled to false, and change it then",
		old->status.status);
}

static bool mig_refuse_used(const struct rule_case *c, const struct migconfiguration *old)
{
	const struct view *vgpu;
	const char *name;
	size_t cursor = 0;

	while ((vgpu = known_next(c->known, VIEW_VGPU, &cursor, &name))) {
		bool labelled = known_same(view_text(vgpu, VIEW_TEXT_CARD), old->meta.name);
		bool behind =
			!known_empty(old->spec.gpu_address) &&
			known_same(view_text(vgpu, VIEW_TEXT_PARENT), old->spec.gpu_address) &&
			known_same(view_text(vgpu, VIEW_TEXT_NODE), old->spec.node_name);

		if (vgpu->enabled && (labelled || behind))
			return rule_refuse(
				c, RULE_CONFLICT,
				"VGPUDevice '%s' is enabled on this card: set spec.enabled "
				"of that to false first",
				name);
	}
	return false;
}

void mig_update(const struct rule_case *c)
{
	const struct migconfiguration *mig = c->object;
	const struct migconfiguration *old = c->old;

	if (mig->meta.deletion_timestamp)
		return;
	if (refuse_frozen(c, mig, old))
		return;
	if (mig->spec.enabled && !old->spec.enabled)
		refuse_unavailable(c, mig);
	else if (!mig->spec.enabled && old->spec.enabled)
		mig_refuse_used(c, old);
}
