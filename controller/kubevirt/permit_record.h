/*
 * permit_record: which entries of permittedHostDevices are ours, stored in an annotation of the
 * KubeVirt:
 *
 *	{"pciHostDevices":["8086:10d3=intel.com/X"],"usb":["kubevirt.io/node1-0951-1666-001002"],"created":true}
 *
 * Pure. Malformed text counts as no entries.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "controller/kubevirt/permit_desired.h"

struct map;

struct permit_record {
	struct map *keys[PERMIT_LISTS]; /* of entries -> a non-NULL value */
	bool created;                   /* we created permittedHostDevices itself */
};

/* @text may be NULL. Release with permit_record_done(). */
struct permit_record permit_record_read(const char *text);
/* A record without entries. */
struct permit_record permit_record_new(void);
void permit_record_done(struct permit_record *record);

void permit_record_add(struct permit_record *record, enum permit_list list, const char *key);
bool permit_record_has(const struct permit_record *record, enum permit_list list, const char *key);
bool permit_record_empty(const struct permit_record *record);

/* The annotation's text, the same for the same entries; NULL: no entries. The caller frees it. */
char *permit_record_text(const struct permit_record *record);
