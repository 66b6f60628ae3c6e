/*
 * usb_claim_plan: the next single step for one USBDeviceClaim, from what is true now.
 *
 * Pure: the claim, the devices of the node, the other claims and who has the device go in; one step
 * comes out, with the text to write. Nothing is remembered: a crash between two steps is just
 * another case.
 *
 * 	live:    MARK -> TELL -> REST      offered as soon as the status names the device
 * 	deleted: READ -> REBIND -> UNMARK  (a pod has it, or REBIND failed: TELL -> REST, looked at again)
 *
 * REBIND ends what pods that had the device have passed on to others. There is none for a device
 * that is gone, nor for one that the node uses by now: the claim is released without.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/usb/usb_rebinds.h"

struct api_meta;
struct inventory;
struct store;
struct usbdeviceclaim;

enum usb_claim_step {
	USB_CLAIM_REST, /* as it should be, or waits for a change                           */
	USB_CLAIM_ADD_FINALIZER, /* write finalizer and owner (decision->body)                       */
	USB_CLAIM_PATCH_STATUS, /* write the status (decision->body)                                */
	USB_CLAIM_READ,   /* read the claim again: the next step cannot be undone             */
	USB_CLAIM_REBIND, /* end what processes still have open of the device in its port     */
	USB_CLAIM_REMOVE_FINALIZER, /* give the device's node back, then remove the finalizer (body)    */
};

/* All borrowed. */
struct usb_claim_case {
	const char *node_name;
	const struct usbdeviceclaim
		*claim; /* the newest that is known                             */
	bool fresh;     /* the API server itself said so since this work began  */
	const struct inventory
		*inventory;             /* with the names of usb_names.h                        */
	const struct store *claims;     /* USBDeviceClaims, of all nodes                        */
	const struct store *pci_claims; /* PCIDeviceClaims, likewise                            */
	const struct api_meta *owner;   /* its USBDevice at the API server; NULL: none          */
	bool held;                      /* a pod has the device in its socket, or may have it   */
	const char *holder;             /* "pod default/vm-1"; NULL: not known yet              */
	bool taken;                     /* claimed devices of another kind have its resource    */
	bool not_offered;               /* the Node or its kubelet does not list it             */
	bool out_of_reach;              /* its node is not QEMU's, and cannot be made so        */
	uint64_t unproven_ms;           /* until it counts as free: use_log.h; 0: it does       */
	bool acting;                    /* REBIND is under way, and takes long                  */
	struct usb_rebind_state rebind; /* what the last one came to                            */
	int64_t now_wall_ms;
};

struct usb_claim_decision {
	enum usb_claim_step step;
	json_t *body;      /* a merge patch with uid and resourceVersion                    */
	uint64_t again_ms; /* REST: look again after this; 0: not before a change           */

	/* An event that goes with the step; NULL reason: none. On the claim. */
	bool warning;
	const char *event_reason; /* static, or the inventory's */
	char *event_message;
};

/* The claim is one of usb_claim_is_ours(). The caller releases *@ret_decision. */
void usb_claim_plan(const struct usb_claim_case *c, struct usb_claim_decision *ret_decision);
void usb_claim_decision_done(struct usb_claim_decision *decision);

/* Is it a claim that the agent of @node_name has to do with? */
bool usb_claim_is_ours(const char *node_name, const struct usbdeviceclaim *claim);
