/* view_kinds: the fields that are decoded to make a view. For view.c and view_kinds.c only. */
#pragma once

#include "api/condition.h"
#include "api/devicepool.h"
#include "api/meta.h"
#include "api/pcidevice.h"

struct view;

struct owned_spec {
	char *node_name;
	/* claims */
	char *user;
	bool disable_resource_pooling;
	bool include_iommu_group;
	/* cards and vGPUs */
	char *address;
	char *parent;
	bool enabled;
	int num_vfs;
};

struct owned_status {
	char *node_name;
	char *resource_name;
	char *address;
	char *group;
	char *driver;
	char *parent;
	char *port;
	char *class_id;
	int total_vfs;
	struct json_strs members;
	char *vendor_id; /* of a PCI device */
	char *device_id;
	char *usb_vendor_id;
	char *usb_product_id;
	char *type_name; /* of a mediated device */
	struct pcidevice_allocations allocations;
	struct api_conditions conditions;
};

/* Any object that belongs to a node, with the fields that its kind has. */
struct owned {
	struct api_meta meta;
	struct owned_spec spec;
	struct owned_status status;
};

struct seen_status {
	struct api_conditions conditions;
	struct json_pairs allocatable; /* of a node: resource -> quantity */
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

/* A new view with the strings of @owned (view_text.h), and all else unset. */
struct view *view_with_texts(const struct owned *owned);

/* The digests (kind.h). */
void *view_of_owned(const void *object);
void *view_of_device(const void *object);
void *view_of_pcidevice(const void *object);
void *view_of_pciclaim(const void *object);
void *view_of_usbclaim(const void *object);
void *view_of_node(const void *object);
void *view_of_agent(const void *object);
void *view_of_pool(const void *object);
