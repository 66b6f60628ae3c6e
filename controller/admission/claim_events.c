#include "controller/admission/claim_events.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/pcidevice.h"
#include "api/usbdevice.h"
#include "base/mem.h"
#include "kube/events.h"
#include "kube/store.h"

/* The kinds of claims and their devices. */
static const struct claimed {
	enum view_kind claims;
	enum view_kind devices;
	const struct api_kind *kind;
} claimeds[] = {
	{ VIEW_PCICLAIM, VIEW_PCIDEVICE, &pcidevice_kind },
	{ VIEW_USBCLAIM, VIEW_USBDEVICE, &usbdevice_kind },
};

/* The text of the event, without the user (events.h). */
struct claim_action {
	const char *reason;
	const char *message;
};

static const struct claim_action claimed = { "Claimed", "a claim of the device was created" };
static const struct claim_action changed = { "ClaimChanged",
					     "the claim of the device was changed" };
static const struct claim_action unclaimed = { "Unclaimed", "the claim of the device was deleted" };

/* The claim; NULL: there is none, it is being deleted, or it is unreadable. */
static const struct view *claim_of(const struct entry *entry)
{
	const struct view *view = entry ? entry->object : NULL;

	return view && !view->deleting ? view : NULL;
}

/* NULL: not a change made by a user. */
static const struct claim_action *action_of(const struct entry *before, const struct entry *after)
{
	const struct view *was = claim_of(before);
	const struct view *is = claim_of(after);
	bool same = before && after && strcmp(before->uid, after->uid) == 0;

	if (was && is && same)
		return was->spec_hash != is->spec_hash ? &changed : NULL;
	if (is && !same)
		return &claimed;
	return was ? &unclaimed : NULL;
}

void claim_events_on_change(struct events *events, const struct store *const *stores,
			    enum view_kind kind, const char *name, const struct entry *before,
			    const struct entry *after)
{
	const struct claim_action *action = action_of(before, after);
	const struct claimed *row = claimeds;
	const struct entry *device;
	struct api_meta meta = { 0 };

	while (row < claimeds + ARRAY_LEN(claimeds) && row->claims != kind)
		row++;
	if (row == claimeds + ARRAY_LEN(claimeds) || !action)
		return;
	device = store_get(stores[row->devices], name);
	if (!device || !*device->uid)
		return;
	meta.name = xstrdup(name);
	meta.uid = xstrdup(device->uid);
	events_record(events, &(struct events_about){ row->kind, &meta }, EVENTS_NORMAL,
		      action->reason, "%s", action->message);
	free(meta.name);
	free(meta.uid);
}
