/* mig: rules for MigConfigurations (gpu_card.h). The schema limits the number of instances. */

#include "api/json_map.h"
#include "api/migconfiguration.h"
#include "base/mem.h"
#include "controller/admission/gpu_card.h"
#include "controller/admission/known.h"
#include "controller/admission/rule.h"
#include "controller/cache/view_text.h"

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

static bool refuse_used(const struct rule_case *c, const struct migconfiguration *old)
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
		refuse_used(c, old);
}
