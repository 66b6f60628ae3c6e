/* claim_owner: rules common to PCI and USB claims: the owner, and when a claim may be deleted. */
#pragma once

#include <stdbool.h>

#include "controller/admission/known.h"

struct api_meta;
struct rule_case;

/* Refuse an owner that is a device (VIEW_PCIDEVICE, VIEW_USBDEVICE) other than the one with the
 * claim's name; true if refused. */
bool claim_owner_refused(const struct rule_case *c, enum view_kind kind,
			 const struct api_meta *claim);

/* Refuse the deletion of a claim whose device a pod uses; warn if a virtual machine names it.
 * @node is the claim's. */
void claim_deletion(const struct rule_case *c, const struct api_meta *claim, const char *node);
