/*
 * permit_record: which entries of permittedHostDevices are ours, as an annotation of the KubeVirt says it:
 *
 *	{"pciHostDevices":["8086:10d3=intel.com/X"],"usb":["kubevirt.io/node1-0951-1666-001002"],"created":true}
 *
 * Pure. Text that is nothing of the kind says that none is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "controller/kubevirt/permit_wish.h"

struct map;

struct permit_record {
	struct map *keys[PERMIT_LISTS]; /* of entries -> something that is not NULL */
	bool created;                   /* permittedHostDevices itself was made by us */
};

/* @text may be NULL. Release with permit_record_done(). */
struct permit_record permit_record_read(const char *text);
/* The same without any entry. */
struct permit_record permit_record_new(void);
void permit_record_done(struct permit_record *record);

void permit_record_add(struct permit_record *record, enum permit_list list, const char *key);
bool permit_record_has(const struct permit_record *record, enum permit_list list, const char *key);
bool permit_record_empty(const struct permit_record *record);

/* As an annotation, the same text for the same entries; NULL: there is nothing to say. The caller frees. */
char *permit_record_text(const struct permit_record *record);
