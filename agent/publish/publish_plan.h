/*
 * publish_plan: what, if anything, must be written so that one object says what it should.
 *
 * Pure: what the node should have, what the API server has and whether somebody claims it go in;
 * the next step and the text of the write come out. An object that is as it should be gives no
 * step: this is where "an unchanged node writes nothing" is decided.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/inventory/inventory.h"

struct api_condition_value;
struct pcidevice_allocations;
struct pcideviceclaim;
struct usbdeviceclaim;

enum publish_step {
	PUBLISH_NOTHING,
	PUBLISH_OBJECT, /* apply labels and annotations (and so create it), then look again */
	PUBLISH_STATUS, /* apply the status                                                 */
	PUBLISH_DELETE, /* the device is gone and has no claim                              */
};

/* How a PCI or USB device is offered without a claim. */
struct publish_offer {
	bool known;            /* else the status keeps it                                    */
	const char *by;        /* "the HostDeviceConfig"; NULL: nobody offers it              */
	const char *resource;  /* NULL: nobody offers it; with a trouble: another plugin does */
	const char *trouble;   /* why it is listed as unhealthy; NULL: it is healthy          */
	bool group_taken;      /* the trouble: a pod has another function of its IOMMU group  */
	bool on_demand;        /* by DRA: it is bound when a ResourceClaim is prepared         */
	const char *bound_for; /* the ResourceClaim for which it is bound then; NULL: none     */
};

struct publish_case {
	enum inventory_kind kind;
	const void *wanted; /* the inventory's object; NULL: the node has no such device */
	const void *seen;   /* the API server's object; NULL: there is none              */
	bool claimed;       /* a claim of the same name exists                           */
	const struct pcideviceclaim *claim;     /* of a PCI device; NULL: none, or unreadable */
	const struct usbdeviceclaim *usb_claim; /* of a USB device; likewise                */
	/* The allocations of the device; NULL: not known, the status keeps them. */
	const struct pcidevice_allocations *allocations;
	/* The resource that offers a mediated device, NULL: none; or under which a pod has a PCI
	 * device, NULL: no pod has it. */
	const char *resource;
	struct publish_offer offer;
	/* Of a parent of mediated devices; NULL: not known, the status keeps it. */
	const struct api_condition_value *condition;
	const char *parent; /* a label of a PCI device, beside those of @wanted; NULL: none */
	const char *parent_key;
	int64_t now_wall_ms;
};

/* *@ret_body is what to apply (the caller's to json_decref), NULL for NOTHING and DELETE. */
enum publish_step publish_plan(const struct publish_case *c, json_t **ret_body);

/* The status of an object that the API server has nothing of, as a body; for the caller to
 * json_decref(). */
json_t *publish_first_status(const struct publish_case *c);

/*
 * What an apply of @body's status could not remove: fields of ours that @body leaves out and that
 * @answer, the object as it is now, still has, because somebody else wrote them. As a body for
 * apply_merge(), for the caller to json_decref(); NULL if there is none.
 */
json_t *publish_left_over(enum inventory_kind kind, const json_t *body, const json_t *answer);

/* The whole object as the steps above would make it, for the caller to json_decref(). */
json_t *publish_object(enum inventory_kind kind, const void *wanted);

/* Who has the device, as its object @object (may be NULL) tells; NULL: none, or the kind has no
 * such list. */
const struct pcidevice_allocations *publish_allocations(enum inventory_kind kind,
							const void *object);
