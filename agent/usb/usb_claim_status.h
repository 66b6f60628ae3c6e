/*
 * usb_claim_status: what is written on a USBDeviceClaim: the mark, and the status.
 *
 * Pure. Conditions: Accepted, Ready; those of others are kept. A status that says all of it already
 * gives no text: this is where "an unchanged claim writes nothing" is decided.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct usb_claim_case;
struct usb_claim_decision;
struct usb_claim_verdict;
struct usbdeviceclaim;

/* Is our finalizer, which is Harvester's, on it? */
bool usb_claim_is_marked(const struct usbdeviceclaim *claim);

/* The patch that puts finalizer and owner on the claim; NULL if they are there. */
json_t *usb_claim_mark(const struct usb_claim_case *c);

/* The patch that takes the finalizer off. */
json_t *usb_claim_unmark(const struct usbdeviceclaim *claim);

/* The step that makes the status say @verdict or, where that is NULL, that the claim is being deleted
 * while somebody has its device. False, with @decision as it was, if it does. */
bool usb_claim_tell(const struct usb_claim_case *c, const struct usb_claim_verdict *verdict,
		    struct usb_claim_decision *decision);
