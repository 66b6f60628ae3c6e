/*
 * reason: what the code has to know of the reasons in conditions, in one table. docs/reasons.md
 * says what they mean to people.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Properties of a reason. */
enum reason_flag {
	REASON_PCI_CLAIM = 1,  /* Ready of a PCIDeviceClaim may give it                         */
	REASON_USB_CLAIM = 2,  /* ... of a USBDeviceClaim                                       */
	REASON_PROGRESS = 4,   /* a step on the way: no event says so                           */
	REASON_USE = 8,        /* the host uses the device or another of its group, or may      */
	REASON_CRITICAL = 16,  /* ... and the node needs it                                     */
	REASON_LIFTED = 32,    /* a PCIDeviceClaim may override it (override.h)                 */
	REASON_LIFTED_USB = 64 /* a USBDeviceClaim may                                          */
};

struct reason {
	const char *name;
	const char
		*state; /* of a claim: "ready", "waiting", "refused", "held", "stuck", "failed" */
	unsigned flags; /* enum reason_flag */
};

/* The table's row of @name (NULL: none); NULL if the table does not have it. */
const struct reason *reason_find(const char *name);

/* Has the reason @name one of @flags? */
bool reason_is(const char *name, unsigned flags);

/* Walk over the rows that have one of @flags, from *@cursor = 0; NULL at the end. */
const struct reason *reason_next(unsigned flags, size_t *cursor);
