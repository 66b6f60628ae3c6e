/*
 * device_identity: distinguishes a device from others of the same model, as a string such as
 * "mac=52:54:00:12:34:56,slot=3". No I/O.
 *
 * Properties of the device itself (serial number of its disk, address of its network card) count
 * more than properties of its place (slot, and the firmware's index and label). The latter are
 * compared only if the former are not known on both sides.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct str;

enum { DEVICE_IDENTITY_MAX = 255 };

enum device_identity_match {
	DEVICE_IDENTITY_UNKNOWN, /* no property is known on both sides */
	DEVICE_IDENTITY_SAME,
	DEVICE_IDENTITY_OTHER,
};

/* Append @key (nvme, mac, slot, index, label) with @value, cut and sanitized; nothing if it is
 * empty or there is no room. */
void device_identity_add(struct str *out, const char *key, const char *value);

/* Append @known, and the properties of @seen that @known lacks. Either may be NULL. */
void device_identity_merge(struct str *out, const char *known, const char *seen);

bool device_identity_valid(const char *text, size_t len);

/* Either may be NULL. */
enum device_identity_match device_identity_compare(const char *left, const char *right);
