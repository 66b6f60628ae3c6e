/* view_kinds: what is read of an object before its view is made. For view.c and view_kinds.c. */
#pragma once

#include "api/condition.h"
#include "api/devicepool.h"
#include "api/meta.h"
#include "api/pcidevice.h"

struct owned_spec {
	char *node_name;
	bool disable_resource_pooling;
};

struct owned_status {
	char *node_name;
	char *resource_name;
	struct pcidevice_allocations allocations;
	struct api_conditions conditions;
};

/* Of anything that belongs to a node, as far as its kind has it. */
struct owned {
	struct api_meta meta;
	struct owned_spec spec;
	struct owned_status status;
};

struct seen_status {
	struct api_conditions conditions;
};

struct seen_node {
	struct api_meta meta;
	struct seen_status status;
};

struct seen_pod_spec {
	char *node_name;
};

struct seen_pod {
	struct api_meta meta;
	struct seen_pod_spec spec;
	struct seen_status status;
};

/* The digests (kind.h). */
void *view_of_owned(const void *object);
void *view_of_device(const void *object);
void *view_of_pcidevice(const void *object);
void *view_of_pciclaim(const void *object);
void *view_of_usbclaim(const void *object);
void *view_of_node(const void *object);
void *view_of_agent(const void *object);
void *view_of_pool(const void *object);
