/*
 * dra: what Dynamic Resource Allocation says of the cluster's devices: ResourceSlices list those
 * that hostdev offers, and ResourceClaims have them.
 *
 * A ResourceSlice is here as its reader needs it. The agent, which writes slices, keeps only their
 * metadata (api/resourceslice.h). Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/kind.h"
#include "api/meta.h"
#include "api/resourceclaim.h"
#include "cli/model/state.h"

struct api_condition;
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

/* A DeviceClass, and how a ResourceClaimTemplate shows that it is there. */
struct dra_class {
	struct api_meta meta;
	struct resourceclaim_exactly spec; /* its selectors */
};

extern const struct api_kind dra_slice_kind;
extern const struct api_kind dra_class_kind;
extern const struct api_kind dra_template_kind;

/* Has a container got @device by @claim? The kubelet lists that once the claim is prepared. */
bool dra_is_prepared(const struct cluster_device *device, const struct resourceclaim *claim);

/* The condition by which hostdev says that it cannot prepare @device for @claim (docs/dra.md,
 * "Status of the claim"); NULL: it says nothing. Borrowed from @claim. */
const struct api_condition *dra_refusal(const struct cluster_device *device,
					const struct resourceclaim *claim);

/* Why no container has got @device by @claim, to which it is allocated: pending, with what hostdev
 * says in the claim's status, if it refuses to prepare it. Borrows from @claim. */
struct state_verdict dra_judge(const struct cluster_device *device,
			       const struct resourceclaim *claim);

/* The name of the device in a ResourceSlice, for the caller to free; NULL: it can have none. */
char *dra_name_of(const struct cluster_device *device);

/* The node of a pool by its name alone, for the caller to free: "vm1" of "vm1/usb". */
char *dra_pool_node(const char *pool);

/* "default/a,default/b": the pods that may use the claim, for the caller to free. */
char *dra_pod_names(const struct resourceclaim *claim);

/* "pod default/a, pod default/b" that may use the claim, for the caller to free; "": none does. */
char *dra_pods(const struct resourceclaim *claim);
