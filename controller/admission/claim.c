#include "controller/admission/claim.h"

#include <stdio.h>
#include <string.h>

#include "api/json_map.h"
#include "api/kind.h"
#include "api/meta.h"
#include "api/names.h"
#include "api/override.h"
#include "api/vgpudevice.h"
#include "base/mem.h"
#include "controller/admission/device_use.h"
#include "controller/admission/known.h"
#include "controller/admission/rule.h"
#include "controller/cache/view.h"
#include "controller/webhook/admission_review.h"

/* --- owner and deletion --- */

/* Harvester's own controller, if both are installed. */
static const char harvester[] =
	"system:serviceaccount:harvester-system:harvester-pcidevices-controller";

bool claim_owner_refused(const struct rule_case *c, enum view_kind kind,
			 const struct api_meta *claim)
{
	const char *device = view_whole(kind)->kind;
	const struct api_owner_ref *owner = api_meta_owner(claim, device);
	const char *uid = known_uid(c->known, kind, claim->name);
	auto_free char *name = NULL;

	if (!owner)
		return false;
	name = rule_quote(owner->name);
	if (!known_same(owner->name, claim->name))
		return rule_refuse(
			c, RULE_INVALID,
			"metadata.ownerReferences names %s '%s': a claim has the name of "
			"its device; leave ownerReferences out, it is filled in",
			device, name);
	if (*uid && !known_same(owner->uid, uid))
		return rule_refuse(c, RULE_INVALID,
				   "metadata.ownerReferences has the uid of an earlier %s '%s', so "
				   "that the claim would be deleted at once: leave ownerReferences "
				   "out, it is filled in",
				   device, name);
	return false;
}

/* A vGPU's claim has the vGPU's name and is deleted with it. Without this check, anybody could
 * name any vGPU as owner of his claim and block the deletion of another device's claim. */
static bool refuse_vgpu(const struct rule_case *c, const struct api_meta *claim)
{
	const struct api_owner_ref *owner = api_meta_owner(claim, vgpudevice_kind.kind);
	const struct view *vgpu = owner && known_same(owner->name, claim->name)
					  ? known_vgpu(c->known, owner->name)
					  : NULL;

	if (!vgpu || vgpu->deleting || !vgpu->enabled || known_same(c->request->user, harvester))
		return false;
	return rule_refuse(c, RULE_CONFLICT,
			   "it belongs to VGPUDevice '%s', which is enabled: set spec.enabled of "
			   "that to false, and the claim goes with it",
			   owner->name);
}

void claim_deletion(const struct rule_case *c, const struct api_meta *claim, const char *node)
{
	auto_free char *user = NULL;
	auto_free char *request = NULL;

	if (claim->deletion_timestamp || known_node_gone(c->known, node) || refuse_vgpu(c, claim))
		return;
	user = device_use(c->known, claim->name);
	request = user ? NULL : device_use_request(c->known, claim->name);
	if (user)
		rule_refuse(c, RULE_CONFLICT, "%s", user);
	else if (request)
		rule_warn(c, "%s", request);
}

/* --- the condition Claimable, and annotations --- */

/* What a user can do about the reasons of agent/inventory/claimable.h. */
static const struct reason_row {
	const char *reason;
	/* NULL: temporary; the claim is carried out afterwards. "": the message says it */
	const char *way_out;
} reasons[] = {
	{ "HostBridge", "claim a device behind it instead" },
	{ "HostFilesystem", "move that to another disk, or claim another device" },
	{ "HostSwap", "swapoff it, or claim another device" },
	{ "GroupHostCritical", "claim a device of another group" },
	{ "WideDomain", "claim another device" },
	{ "UseUnknown", "make visible what the message names, or claim another device" },
	{ "VirtualFunctionsActive", "" },
	{ "NoIOMMU", "only devices in an IOMMU group can be claimed" },
	{ "Hub", "claim the devices behind it" },
	{ "DeviceGone", "put it back and create the claim then" },
	{ "InUse", NULL },
};

static const struct reason_row *find_reason(const char *reason)
{
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		if (known_same(reasons[i].reason, reason))
			return &reasons[i];
	}
	return NULL;
}

static bool refuse_critical(const struct rule_case *c, const struct api_meta *claim,
			    const char *reason, const char *message, const char *way_out)
{
	if (!override_applies(claim, reason))
		return rule_refuse(c, RULE_FORBIDDEN,
				   "%s: %s: %s; a user with the verb 'override' can set the "
				   "annotation " NAMES_ANNOTATION_OVERRIDE ": \"true\"",
				   reason, message, way_out);
	if (known_same(reason, "WideDomain"))
		rule_warn(c, "no virtual machine can have the device: %s: %s", reason, message);
	else
		rule_warn(c, "the node loses the device with this claim, and needs it: %s: %s",
			  reason, message);
	return false;
}

bool claimable_rule(const struct rule_case *c, const struct api_meta *claim,
		    bool (*lifts)(const char *reason), const struct view *device)
{
	const char *reason = view_text(device, VIEW_TEXT_REASON);
	const struct reason_row *row = find_reason(reason);
	const char *way_out = row ? row->way_out : "claim another device";
	auto_free char *message = rule_quote_words(view_text(device, VIEW_TEXT_MESSAGE));

	if (!*reason)
		return false;
	if (lifts(reason))
		return refuse_critical(c, claim, reason, message, way_out);
	if (way_out)
		return rule_refuse(c, RULE_FORBIDDEN, "%s: %s%s%s", reason, message,
				   *way_out ? ": " : "", way_out);
	rule_warn(c, "waits until this ends: %s", message);
	return false;
}

/* --- filling in --- */

/* A field of the spec and its default. */
struct fill {
	const char *key;
	const char *value; /* NULL: unknown */
};

enum { FILLS_MAX = 3 };

/* True for absent, null and "". */
static bool is_absent(const json_t *value)
{
	return !value || json_is_null(value) ||
	       (json_is_string(value) && json_string_length(value) == 0);
}

static const char *spec_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(json_object_get(object, "spec"), key));

	return text && *text ? text : NULL;
}

/* The claim's previous value is preferred to a new default. */
static const char *old_value(const struct rule_case *c, const char *key, const char *otherwise)
{
	const char *had = spec_text(c->request->old_object, key);

	return had ? had : otherwise;
}

static void fill_spec(const struct rule_case *c, const json_t *object, const struct fill *fills)
{
	json_t *spec = json_object_get(object, "spec");
	json_t *whole = json_object();

	if (!is_absent(spec) && !json_is_object(spec)) {
		json_decref(whole);
		return;
	}
	for (size_t i = 0; i < FILLS_MAX; i++) {
		char path[64];

		if (!fills[i].key || !fills[i].value ||
		    !is_absent(json_object_get(spec, fills[i].key)))
			continue;
		json_put_text(whole, fills[i].key, fills[i].value);
		(void)snprintf(path, sizeof(path), "/spec/%s", fills[i].key);
		if (!is_absent(spec))
			admission_answer_patch(c->answer, "add", path, json_string(fills[i].value));
	}
	if (is_absent(spec) && json_object_size(whole) > 0)
		admission_answer_patch(c->answer, "add", "/spec", json_incref(whole));
	json_decref(whole);
}

static bool has_owner(const json_t *owners, const char *kind)
{
	for (size_t i = 0; i < json_array_size(owners); i++) {
		const char *is =
			json_string_value(json_object_get(json_array_get(owners, i), "kind"));

		if (is && strcmp(is, kind) == 0)
			return true;
	}
	return false;
}

static void fill_owner(const struct rule_case *c, const json_t *object, enum view_kind known)
{
	const char *kind = view_whole(known)->kind;
	const char *uid = known_uid(c->known, known, c->request->name);
	const json_t *meta = json_object_get(object, "metadata");
	const json_t *owners = json_object_get(meta, "ownerReferences");
	json_t *ours;

	if (!*uid || !json_is_object(meta) || (!is_absent(owners) && !json_is_array(owners)) ||
	    has_owner(owners, kind) || !is_absent(json_object_get(meta, "deletionTimestamp")))
		return;
	ours = json_object();
	json_put_text(ours, "apiVersion", NAMES_GROUP "/" NAMES_VERSION);
	json_put_text(ours, "kind", kind);
	json_put_text(ours, "name", c->request->name);
	json_put_text(ours, "uid", uid);
	if (is_absent(owners))
		admission_answer_patch(c->answer, "add", "/metadata/ownerReferences", json_array());
	admission_answer_patch(c->answer, "add", "/metadata/ownerReferences/-", ours);
}

/* Only the creator of a claim is its user. */
static const char *user_of(const struct rule_case *c)
{
	bool creates = c->request->operation == ADMISSION_CREATE;

	return old_value(c, "userName", creates && *c->request->user ? c->request->user : NULL);
}

void claim_fill_pci(const struct rule_case *c, const json_t *object)
{
	const struct view *device = known_pcidevice(c->known, c->request->name);
	const struct fill fills[FILLS_MAX] = {
		{ "address",
		  old_value(c, "address", device ? view_text(device, VIEW_TEXT_ADDRESS) : NULL) },
		{ "nodeName",
		  old_value(c, "nodeName", device ? view_text(device, VIEW_TEXT_NODE) : NULL) },
		{ "userName", user_of(c) },
	};

	fill_spec(c, object, fills);
	fill_owner(c, object, VIEW_PCIDEVICE);
}

void claim_fill_usb(const struct rule_case *c, const json_t *object)
{
	const struct fill fills[FILLS_MAX] = { { "userName", user_of(c) } };

	fill_spec(c, object, fills);
	fill_owner(c, object, VIEW_USBDEVICE);
}
