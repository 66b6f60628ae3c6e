/* claim: what the webhook does for PCI and USB claims alike: checks the owner, the device's
 * condition Claimable and a deletion, and fills in what is missing. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "controller/admission/known.h"

struct api_meta;
struct rule_case;
struct view;

/* Refuse an owner that is a device (VIEW_PCIDEVICE, VIEW_USBDEVICE) other than the one with the
 * claim's name; true if refused. */
bool claim_owner_refused(const struct rule_case *c, enum view_kind kind,
			 const struct api_meta *claim);

/* Refuse the deletion of a claim whose device a pod uses; warn if a virtual machine names it.
 * @node is the claim's. */
void claim_deletion(const struct rule_case *c, const struct api_meta *claim, const char *node);

/* Check the condition Claimable of @device; true if refused. The agent checks again with current
 * facts; this gives the user an immediate answer. The annotation of @claim, the claim's metadata,
 * may override the reasons that @lifts allows (api/override.h). A temporary reason only gives a
 * warning. */
bool claimable_rule(const struct rule_case *c, const struct api_meta *claim,
		    bool (*lifts)(const char *reason), const struct view *device);

/*
 * For a mutation: fill missing fields of a claim: address and node of its device, user, owner.
 *
 * Existing values of any type are kept; the rules check them. On an update the previous value is
 * kept, so that applying the same short manifest again changes nothing.
 */
void claim_fill_pci(const struct rule_case *c, const json_t *object);
void claim_fill_usb(const struct rule_case *c, const json_t *object);
