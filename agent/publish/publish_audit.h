/*
 * publish_audit: tells in the audit trail which pods were given a device, and which gave it back.
 *
 * Told is what a write of the object's status has changed in its allocations, so that an agent that begins anew tells
 * nothing twice.
 */
#pragma once

#include <jansson.h>

struct api_meta;
struct events;
struct pcidevice_allocations;

/* Borrowed. */
struct publish_audit {
	struct events *events; /* may be NULL */
	const struct api_kind *kind;
	const char *name;
	const struct api_meta *meta; /* of the object; NULL: it is not seen yet, or not any more */
	const char *node_name;
	const char *user; /* whose claim it is; NULL: nobody's, or not known */
};

/* The list as JSON, [] for NULL, for the caller to json_decref(). */
json_t *publish_audit_list(const struct pcidevice_allocations *list);

/* @before: as publish_audit_list(); @status: the status that was written, NULL: the object was deleted. */
void publish_audit_tell(const struct publish_audit *audit, const json_t *before,
			const json_t *status);
