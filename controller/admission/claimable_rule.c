#include "controller/admission/claimable_rule.h"

#include <string.h>

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

/* The annotations that a claim may have. */
static const struct note_row {
	const char *key;
	bool usb;     /* USBDeviceClaims have it, too */
	bool is_flag; /* only "true" has an effect    */
} notes[] = {
	{ NAMES_ANNOTATION_OVERRIDE, true, true },
	{ NAMES_ANNOTATION_BY_ADDRESS, false, true },
	{ NAMES_ANNOTATION_RESOURCE_NAME, false, false },
	{ NAMES_ANNOTATION_SKIP_VFIO, false, false },
};

/* The part of a key behind its domain. */
static const char *name_part(const char *key)
{
	const char *slash = strchr(key, '/');

	return slash ? slash + 1 : key;
}

/* Also finds an annotation that is meant, but has another domain. */
static const struct note_row *find_note(const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(notes); i++) {
		if (strcmp(name_part(notes[i].key), name_part(key)) == 0)
			return &notes[i];
	}
	return NULL;
}

static void warn_note(const struct rule_case *c, const char *key, const char *value, bool usb)
{
	static const char domain[] = "hostdev.io/";
	const struct note_row *row = find_note(key);
	auto_free char *shown_key = rule_quote(key);
	auto_free char *shown = rule_quote(value);

	if (!row && strncmp(key, domain, strlen(domain)) == 0)
		rule_warn(c, "the annotation %s has no effect: a claim can have %s%s%s", shown_key,
			  NAMES_ANNOTATION_OVERRIDE, usb ? "" : " and ",
			  usb ? "" : NAMES_ANNOTATION_BY_ADDRESS);
	else if (row && usb && !row->usb)
		rule_warn(c, "the annotation %s has no effect on the claim of a USB device",
			  shown_key);
	else if (row && strcmp(row->key, key) != 0)
		rule_warn(c, "the annotation %s has no effect: set %s", shown_key, row->key);
	else if (row && row->is_flag && !known_same(value, "true") && !known_same(value, "false"))
		rule_warn(c, "the annotation %s is '%s' and has no effect: set it to \"true\"",
			  shown_key, shown);
	else if (row && strcmp(key, NAMES_ANNOTATION_SKIP_VFIO) == 0 && !known_same(value, "true"))
		rule_warn(c,
			  "the annotation %s is '%s' and has its effect nevertheless: remove it to "
			  "have the device bound",
			  shown_key, shown);
}

void claimable_rule_annotations(const struct rule_case *c, const struct api_meta *claim,
				const struct api_meta *old, bool usb)
{
	for (size_t i = 0; i < claim->annotations.len; i++) {
		const char *key = claim->annotations.items[i].key;
		const char *value = claim->annotations.items[i].value;

		if (!old || !known_same(api_meta_annotation(old, key), value))
			warn_note(c, key, value, usb);
	}
}
