/*
 * usb_claim_plan: the next step for one USBDeviceClaim.
 *
 * Pure: it decides from the claim, the node's devices, the other claims and the device's holder,
 * and returns one step with the body to write. It keeps no state, so a crash between two steps is
 * just another case.
 *
 *	live:    ADD_FINALIZER -> PATCH_STATUS -> REST   offered once the status names the device
 *	deleted: READ -> REBIND -> REMOVE_FINALIZER      (in use or failed: PATCH_STATUS -> REST)
 *
 * REBIND closes descriptors that earlier pods passed on to other processes. It is skipped for a
 * device that is gone, or that the node uses.
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
	USB_CLAIM_ADD_FINALIZER, /* body: finalizer and owner */
	USB_CLAIM_PATCH_STATUS,  /* body: the status */
	USB_CLAIM_READ,   /* read the claim again: the next step cannot be undone             */
	USB_CLAIM_REBIND, /* end what processes still have open of the device in its port     */
	USB_CLAIM_REMOVE_FINALIZER, /* restores the node's owner first */
};

/* All borrowed. */
struct usb_claim_case {
	const char *node_name;
	/* The newest that is known */
	const struct usbdeviceclaim *claim;
	bool fresh; /* read from the API server in this run */
	const struct inventory
		*inventory;             /* with the names of usb_names.h                        */
	const struct store *claims;     /* USBDeviceClaims, of all nodes                        */
	const struct store *pci_claims; /* PCIDeviceClaims; NULL: not known yet */
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
	uint64_t again_ms; /* REST: plan again after this; 0: not before a change */

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
