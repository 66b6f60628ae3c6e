/*
 * drm: the GPUs of AMD and Intel for containers, under the names and with the answers of these
 * vendors' device plugins. What hostdev-helper finds in sysfs is enough for them: no library of a
 * vendor is needed.
 *
 * AMD: "amd.com/gpu", by PCI address, and the parts of a divided GPU by their names
 * ("amdgpu_xcp_1"). Intel: "gpu.intel.com/i915" and "gpu.intel.com/xe", by "card0-0", "card0-1" and
 * so on.
 *
 * While the vendor's plugin runs on the node, nothing is offered. A GPU that a PCIDeviceClaim takes
 * is withdrawn, and bound when no container has it any more.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct device_type;
struct drm;
struct plugins;
struct this_node;

enum {
	DRM_CHECK_MS = 5000,   /* for another plugin     */
	DRM_SHARES_MAX = 1000, /* of one GPU of Intel    */
};

struct drm_options {
	bool amd, intel;       /* is it on?                                                    */
	bool amd_mixed;        /* parts of GPUs are named by how the GPU is divided            */
	uint64_t intel_shares; /* containers that may have one GPU at a time; 0 counts as 1    */
};

struct drm_deps {
	/* What is offered changed: have drm_offer() called soon. */
	void (*changed)(void *arg);
	/* As those of struct nvidia_deps. When what claim_of() answers changes, drm_offer() is to
	 * follow. */
	char *(*claim_of)(void *arg, const char *address);
	bool (*is_free)(void *arg, const char *id, char **ret_holder);
	void *arg;
};

/* @node and what @deps names are borrowed. */
struct drm *drm_new(const struct this_node *node, const struct drm_options *options,
		    const struct drm_deps *deps);
/* After the plugins. Takes NULL, returns NULL. */
struct drm *drm_free(struct drm *drm);

/* Make what @plugins offer what there is: a offers_type's offer(). Nothing is offered before the
 * GPUs have been read and the claims are known. */
void drm_offer(void *arg, struct plugins *plugins);

/* What the GPU at an address is offered as. */
struct drm_offered {
	const char *resource; /* of the GPU or its first part; NULL: it is not offered          */
	const char *trouble;  /* why containers do not get it; NULL: they do                    */
	const char *by;       /* the flag                                                       */
};

/* False: it has no GPU that may be offered. Valid until the next drm_offer(). */
bool drm_offered(const struct drm *drm, const char *address, struct drm_offered *ret_offered);

/* As nvidia_bind_trouble(), on a node with a kubelet. */
char *drm_bind_trouble(const struct drm *drm, const char *address);

/* Their `arg` is the struct drm. */
extern const struct device_type drm_amd_type, drm_intel_type;
