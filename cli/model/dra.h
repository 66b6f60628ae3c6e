/*
 * dra: what Dynamic Resource Allocation says of the cluster's devices: ResourceSlices list those that
 * hostdev offers, and ResourceClaims have them.
 *
 * The kinds here are those of a reader. The agent's, of lib/api, have no more than an agent needs.
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/kind.h"
#include "api/meta.h"

struct cluster_device;

#define DRA_DRIVER "hostdev.io" /* hostdev's driver */

struct dra_pool {
	char *name;
};

struct dra_slice_device {
	char *name; /* as names_dra_device() */
};

struct dra_slice_spec {
	char *driver;
	char *node_name;
	struct dra_pool pool;
	struct {
		struct dra_slice_device *items;
		size_t len, cap;
	} devices;
};

struct dra_slice {
	struct api_meta meta;
	struct dra_slice_spec spec;
};

struct dra_cel {
	char *expression;
};

struct dra_selector {
	struct dra_cel cel;
};

/* Which devices, and how many. */
struct dra_exactly {
	char *device_class; /* NULL: the request is a list of alternatives */
	struct {
		struct dra_selector *items;
		size_t len, cap;
	} selectors;
	char *allocation_mode; /* NULL: ExactCount */
	int64_t count;         /* 0: 1 */
};

struct dra_request {
	char *name;
	struct dra_exactly exactly;
};

struct dra_requests {
	struct {
		struct dra_request *items;
		size_t len, cap;
	} requests;
};

struct dra_claim_spec {
	struct dra_requests devices;
};

/* A device that is allocated. */
struct dra_result {
	char *request;
	char *driver;
	char *pool;
	char *device;
	bool admin_access; /* beside the claim that has the device; not supported by hostdev */
};

struct dra_results {
	struct {
		struct dra_result *items;
		size_t len, cap;
	} results;
};

struct dra_allocation {
	struct dra_results devices;
};

/* A pod, as a rule, that may use the claim. */
struct dra_consumer {
	char *resource; /* "pods" */
	char *name;
};

struct dra_claim_status {
	struct dra_allocation allocation;
	struct {
		struct dra_consumer *items;
		size_t len, cap;
	} reserved_for;
};

struct dra_claim {
	struct api_meta meta;
	struct dra_claim_spec spec;
	struct dra_claim_status status;
};

/* A DeviceClass, and how a ResourceClaimTemplate shows that it is there. */
struct dra_class {
	struct api_meta meta;
	struct dra_exactly spec; /* its selectors */
};

extern const struct api_kind dra_slice_kind;
extern const struct api_kind dra_claim_kind;
extern const struct api_kind dra_class_kind;
extern const struct api_kind dra_template_kind;

/* Has a container got @device by @claim? The kubelet lists that once the claim is prepared. */
bool dra_is_prepared(const struct cluster_device *device, const struct dra_claim *claim);

/* The name of the device in a ResourceSlice, for the caller to free; NULL: it can have none. */
char *dra_name_of(const struct cluster_device *device);

/* The node of a pool by its name alone, for the caller to free: "vm1" of "vm1/usb". */
char *dra_pool_node(const char *pool);

/* "pod default/a, pod default/b" that may use the claim, for the caller to free; "": none does. */
char *dra_pods(const struct dra_claim *claim);
