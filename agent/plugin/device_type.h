/*
 * device_type: the functions that a kind of device implements to be offered to pods. agent/plugin
 * does everything else (gRPC, registration, sockets).
 *
 * docs/add-a-device-type.md shows a whole one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json_values.h"

struct err;

/* The kubelet's rule for a device's ID. */
enum { PLUGIN_ID_MAX = 63 };

/* One device of a resource; its texts are borrowed. */
struct plugin_device {
	const char *id; /* stable over restarts: an address, a UUID, a port path */
	bool healthy;
	int numa_node;       /* -1: none                                            */
	const char *root;    /* the PCIe root that it hangs below; NULL: none       */
	const char *group;   /* devices that best go to one container; NULL: none   */
	const char *card;    /* the device of which it is a share; NULL: a whole device */
	const char *trouble; /* why it is not healthy, for messages; NULL: not known */
	bool group_taken;    /* the trouble: a pod has another device of its group      */
	bool dra;            /* offered by DRA: in no list of the kubelet               */
	bool on_demand;      /* likewise; bound when it is prepared for a ResourceClaim  */
};

/* --- the allocation of a container ------------------------------------------------------------ */

struct device_spec {
	char *container_path;
	char *host_path;
	char *permissions; /* of "rwm" */
};

struct device_mount {
	char *container_path;
	char *host_path;
	bool read_only;
};

/* Owns all of it; zero at first. */
struct allocation {
	struct json_pairs envs;
	struct json_pairs annotations; /* of the container, for the container runtime */
	struct json_strs cdi_devices;  /* added by allocation_add_cdi_device()        */
	struct device_specs {
		struct device_spec *items;
		size_t len, cap;
	} devices;
	struct device_mounts {
		struct device_mount *items;
		size_t len, cap;
	} mounts;
};

/* The node @path, under the same path; once, however often it is added. */
void allocation_add_device(struct allocation *allocation, const char *path,
			   const char *permissions);
/* The same under another path in the container. A second one with the same @container_path changes
 * nothing. */
void allocation_add_device_as(struct allocation *allocation, const char *container_path,
			      const char *host_path, const char *permissions);
void allocation_add_mount(struct allocation *allocation, const char *container_path,
			  const char *host_path, bool read_only);
/* A device that a CDI file of the node describes, by its qualified name: "vendor.com/class=device".
 * -EINVAL if @name is none: the container runtime would not start the container. A second one of
 * the same name changes nothing. */
int allocation_add_cdi_device(struct allocation *allocation, const char *name, struct err *err);
/* Add the paths on the host of all its device nodes. */
void allocation_add_nodes(const struct allocation *allocation, struct json_strs *nodes);
/* Nothing for the container in it. */
bool allocation_is_empty(const struct allocation *allocation);
/* Release; the allocation is empty again. */
void allocation_done(struct allocation *allocation);

/* --- which devices a container should get ----------------------------------------------------- */

/* Whatever the rule, the devices that a container must have come first. */
enum device_choice {
	CHOICE_NEAR,    /* of one NUMA node, PCIe root and group; then in the order of `prefer` */
	CHOICE_WEIGHTS, /* those that belong together by `weight` (preferred_set.h)             */
	CHOICE_DISTRIBUTED, /* one by one, of the card with the fewest allocated shares */
	CHOICE_PACKED,      /* of the cards with the most allocated shares */
};

/* --- an answer that comes later --------------------------------------------------------------- */

enum { DEFERRED_MS = 10000 };

/* A container that waits for its allocation. The device type has it until it calls, from the loop,
 * one of the next two functions; this frees it. It stays valid if nobody waits any more, and the
 * answer changes nothing then. */
struct deferred;

/* Answer with @allocation, which is empty afterwards. */
void deferred_answer(struct deferred *deferred, struct allocation *allocation);
/* The pod fails, with @err as `allocate` fills it in. */
void deferred_refuse(struct deferred *deferred, const struct err *err);
/* False: the deadline has passed, the kubelet has ended its call, another container of the call was
 * refused, or the resource is withdrawn. */
bool deferred_is_wanted(const struct deferred *deferred);

/* --- the table -------------------------------------------------------------------------------- */

/* Static; @arg is what came with plugins_set(). Nothing here may block: a pod's admission waits,
 * and with it every other pod of the node. */
struct device_type {
	const char *name; /* in messages: "pci" */

	/*
	 * Fill @allocation, which is empty, with what a container needs for the devices @ids of
	 * @resource. All of them are in the list, healthy, in the order asked for, none twice. Look
	 * at each again and fail with a reason if it cannot be used now: < 0 and @err filled. An
	 * allocation that stays empty counts as a failure.
	 */
	int (*allocate)(void *arg, const char *resource, const struct json_strs *ids,
			struct allocation *allocation, struct err *err);

	/*
	 * Replaces `allocate` for a type that has to wait, for example for the answer of a child
	 * process. The answer goes through @deferred, now or later. @ids are valid during this
	 * call. Other requests may come before the answer, but none for one of these devices;
	 * containers of one request may share them. The devices are looked up in the list again at
	 * the answer; before it, check everything else that may have changed, for example other
	 * allocations of a group.
	 */
	void (*allocate_later)(void *arg, const char *resource, const struct json_strs *ids,
			       struct deferred *deferred);
	unsigned later_ms; /* the kubelet gets an error after this; 0: DEFERRED_MS */

	/*
	 * Optional: a container with the device @id starts, perhaps not for the first time. The
	 * kubelet gives it the nodes of its allocation each time without asking. Add the device's
	 * current nodes to @nodes; other nodes are refused. Fail as `allocate` does if the device
	 * is gone, and with ERR_RETRY if the container may not start yet; the call is then repeated
	 * for some seconds.
	 */
	int (*nodes)(void *arg, const char *id, struct json_strs *nodes, struct err *err);

	/* Optional: does a process of a pod that has gone still have the device @id, which the
	 * kubelet counts as free? It is not proposed: the kubelet takes it only if there is no
	 * other. */
	bool (*is_busy)(void *arg, const char *id);

	/* Optional: sort @ids by preference for a container that also gets @musts. Add none, and
	 * remove those that `allocate` would refuse. The order decides where the rule leaves a
	 * choice. NULL: the order of the list. */
	void (*prefer)(void *arg, const char *resource, const struct json_strs *musts,
		       struct json_strs *ids);

	/* Optional: the rule for the devices of @resource. NULL: CHOICE_NEAR. */
	enum device_choice (*choose)(void *arg, const char *resource);
	/* With CHOICE_WEIGHTS: how much better the devices @a and @b are in one container than
	 * apart, for example by their NVLinks. The same for @b and @a. */
	uint16_t (*weight)(void *arg, const char *resource, const char *a, const char *b);
};
