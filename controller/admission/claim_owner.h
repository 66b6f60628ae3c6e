/* claim_owner: what PCI and USB claims have in common: their owner, and when they may be deleted. */
#pragma once

#include <stdbool.h>

#include "controller/admission/known.h"

struct api_meta;
struct rule_case;

/* Refuse an owner that is a device (VIEW_PCIDEVICE, VIEW_USBDEVICE) and not the one of the claim's
 * name; true if it was refused. */
bool claim_owner_refused(const struct rule_case *c, enum view_kind kind,
			 const struct api_meta *claim);

/* Refuse the deletion of a claim whose device a pod has; a machine that names it gives a warning. @node is the claim's. */
void claim_deletion(const struct rule_case *c, const struct api_meta *claim, const char *node);
