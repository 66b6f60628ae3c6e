/*
 * reason: a table of the properties of condition reasons. docs/reasons.md describes them for users.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Properties of a reason. */
enum reason_flag {
	REASON_PCI_CLAIM = 1, /* used in Ready of a PCIDeviceClaim */
	REASON_USB_CLAIM = 2, /* ... of a USBDeviceClaim */
	REASON_PROGRESS = 4,  /* an intermediate step, without an event */
	REASON_USE = 8, /* the host uses, or may use, the device or another one of its group */
	REASON_CRITICAL = 16,  /* ... and the node needs it */
	REASON_LIFTED = 32,    /* a PCIDeviceClaim may override it (override.h) */
	REASON_LIFTED_USB = 64 /* a USBDeviceClaim may override it */
};

struct reason {
	const char *name;
	/* Of a claim: "ready", "waiting", "refused", "held", "stuck", "failed" */
	const char *state;
	unsigned flags; /* enum reason_flag */
};

/* The row of @name; NULL if @name is NULL or not in the table. */
const struct reason *reason_find(const char *name);

/* True if the reason @name has one of @flags. */
bool reason_is(const char *name, unsigned flags);

/* Iterate over the rows that have one of @flags, starting with *@cursor = 0; NULL at the end. */
const struct reason *reason_next(unsigned flags, size_t *cursor);
