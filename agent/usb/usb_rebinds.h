/*
 * usb_rebinds: the helpers that end what pods have still open of a released USB device, one for
 * each claim that is being deleted, and what the last one came to.
 *
 * Owns the tasks. Decides nothing: usb_claim_plan does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct task_outcome;
struct this_node;
struct usb_rebinds;
struct usbdevice;
struct usbdeviceclaim;

struct usb_rebinds_deps {
	/* The helper for the claim @name has ended, or is stuck. */
	void (*on_end)(void *arg, const char *name);
	/* It takes longer than its deadline. */
	void (*on_late)(void *arg, const char *name);
	/* One that was stuck has ended. */
	void (*on_gone)(void *arg, const char *name);
	void *arg;
};

/* What is known of one claim. {0} is: nothing has been tried. */
struct usb_rebind_state {
	bool done;                          /* no descriptor is left                             */
	char *stuck;                        /* what the helper does that is stuck; NULL: none is */
	const struct task_outcome *failure; /* of the last try; NULL: none, or it was done       */
	uint64_t hold_ms;                   /* the next may not begin before this has gone by    */
};

/* @node is borrowed. */
struct usb_rebinds *usb_rebinds_new(const struct this_node *node,
				    const struct usb_rebinds_deps *deps);
/* Gives up what runs. Takes NULL, returns NULL. */
struct usb_rebinds *usb_rebinds_free(struct usb_rebinds *rebinds);

/* Begin to rebind @device for @claim, which has no helper running. True: on_end is called later,
 * after this function has returned. False: it could not be started; the state says why. */
bool usb_rebinds_start(struct usb_rebinds *rebinds, const struct usbdeviceclaim *claim,
		       const struct usbdevice *device);

/* The state of @claim; valid until the next call. The caller calls usb_rebind_state_done(). */
void usb_rebinds_state(const struct usb_rebinds *rebinds, const struct usbdeviceclaim *claim,
		       struct usb_rebind_state *ret_state);
void usb_rebind_state_done(struct usb_rebind_state *state);

/* There is no claim @name any more. What is stuck is remembered until it has ended. */
void usb_rebinds_forget(struct usb_rebinds *rebinds, const char *name);
