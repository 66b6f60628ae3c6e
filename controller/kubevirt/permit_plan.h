/*
 * permit_plan: what to write into a KubeVirt object so that its permittedHostDevices have our
 * entries, without touching those of others.
 *
 * Pure. The three lists are atomic in KubeVirt's schema (x-kubernetes-list-type), so server-side
 * apply does not track the owner of a single entry: a manager that applies a list owns all of it,
 * and one that gives it up removes all of it. So the lists are replaced as a whole, with
 * metadata.resourceVersion as precondition, and an annotation in the same write records which
 * entries are ours.
 *
 *	existing entry   | needed                        | not needed
 *	-----------------+-------------------------------+-----------
 *	ours             | kept, and corrected           | removed
 *	somebody else's  | kept, and sufficient          | kept
 *	none             | added as ours                 |
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "controller/kubevirt/permit_desired.h"

struct map;

#define PERMIT_ANNOTATION "hostdev.io/permitted-host-devices"

struct permit_plan {
	json_t *patch; /* JSON merge patch; NULL: no change */
	size_t added;
	size_t removed;
	size_t mended;
	/* A resource that we offer but that KubeVirt serves with a plugin of its own because of
	 * somebody else's entry; NULL: none. */
	char *clash;
};

/*
 * Plan for @object, a KubeVirt as returned by the API server. Without permittedHostDevices KubeVirt
 * permits every resource (pkg/virt-controller/services/renderresources.go,
 * validatePermittedHostDevices); after the first entry it permits only listed ones. So
 * permittedHostDevices is created only if @create is set, and then removed with our last entry.
 */
void permit_plan(const json_t *object, const struct permit_desired *desired, bool create,
		 struct permit_plan *ret_plan);
void permit_plan_done(struct permit_plan *plan);

/*
 * Which entries of permittedHostDevices are ours, as the annotation records it:
 *
 *	{"pciHostDevices":["8086:10d3=intel.com/X"],
 *	 "usb":["kubevirt.io/node1-0951-1666-001002"],"created":true}
 *
 * Malformed text counts as no entries.
 */
struct permit_record {
	struct map *keys[PERMIT_LISTS]; /* of entries -> a non-NULL value */
	bool created;                   /* we created permittedHostDevices itself */
};

/* @text may be NULL. Release with permit_record_done(). */
struct permit_record permit_record_read(const char *text);
void permit_record_done(struct permit_record *record);

bool permit_record_has(const struct permit_record *record, enum permit_list list, const char *key);
