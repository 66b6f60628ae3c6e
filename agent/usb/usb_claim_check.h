/* usb_claim_check: which device does a claim mean, may it be offered, and if not, why not? Pure. */
#pragma once

#include <stdbool.h>

#include "agent/usb/usb_identity.h"

struct usb_claim_case;
struct usbdevice;
struct usbdeviceclaim;

struct usb_claim_verdict {
	bool ok;
	const char *reason; /* of the condition Accepted; static, or the inventory's */
	char *message;
	struct usb_sighting seen;
	/* The device of the claim: HERE, MOVED, or, if the status names none yet, the device with
	 * the claim's name. */
	const struct usbdevice *device;
};

/* Can the node spare @device, or does @claim override what speaks against it? */
bool usb_claim_spares(const struct usbdeviceclaim *claim, const struct usbdevice *device);

/* The caller releases *@ret_verdict. */
void usb_claim_check(const struct usb_claim_case *c, struct usb_claim_verdict *ret_verdict);
void usb_claim_verdict_done(struct usb_claim_verdict *verdict);
