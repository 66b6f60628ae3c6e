/*
 * device_identity: what tells a device from others of its model, as one text such as
 * "mac=52:54:00:12:34:56,slot=3". No I/O.
 *
 * What a device has with it (the serial number of its disk, the address of its network card) counts more
 * than what belongs to its place (slot, and the firmware's index and label), which counts where the
 * other is not known on both sides.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct str;

enum { DEVICE_IDENTITY_MAX = 255 };

enum device_identity_match {
	DEVICE_IDENTITY_UNKNOWN, /* nothing is known on both sides */
	DEVICE_IDENTITY_SAME,
	DEVICE_IDENTITY_OTHER,
};

/* Append @key (nvme, mac, slot, index, label) with @value, cut and cleaned; nothing if it is empty or
 * there is no room. */
void device_identity_add(struct str *out, const char *key, const char *value);

/* Append @known, and of @seen what @known does not have. Either may be NULL. */
void device_identity_merge(struct str *out, const char *known, const char *seen);

bool device_identity_valid(const char *text, size_t len);

/* Either may be NULL. */
enum device_identity_match device_identity_compare(const char *left, const char *right);
