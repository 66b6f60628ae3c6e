#include "controller/admission/claimable_rule.h"

#include "api/meta.h"
#include "api/names.h"
#include "api/override.h"
#include "base/mem.h"
#include "controller/admission/known.h"
#include "controller/admission/rule.h"
#include "controller/cache/view.h"
#include "controller/cache/view_text.h"

/* What a user can do about the reasons of agent/inventory/claimable.h. */
static const struct reason_row {
	const char *reason;
	const char *way_out; /* NULL: temporary; the claim is carried out afterwards */
} reasons[] = {
	{ "HostBridge", "claim a device behind it instead" },
	{ "HostFilesystem", "move that to another disk, or claim another device" },
	{ "HostSwap", "swapoff it, or claim another device" },
	{ "GroupHostCritical", "claim a device of another group" },
	{ "WideDomain", "claim another device" },
	{ "UseUnknown", "make visible what the message names, or claim another device" },
	{ "VirtualFunctionsActive", "or claim a virtual function" },
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
	if (!override_given(claim, reason))
		return rule_refuse(
			c, RULE_FORBIDDEN,
			"%s: %s: %s; a user with the verb 'override' can set the annotation " NAMES_ANNOTATION_OVERRIDE
			": \"true\"",
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
		return rule_refuse(c, RULE_FORBIDDEN, "%s: %s: %s", reason, message, way_out);
	rule_warn(c, "waits until this ends: %s", message);
	return false;
}
