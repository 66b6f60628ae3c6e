/*
 * resourceclaim: the parts of a ResourceClaim (resource.k8s.io/v1) that a DRA driver needs on the
 * pod's node.
 */
#pragma once

#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"

struct err;

#define RESOURCECLAIM_FROM_CLASS "FromClass"

/* On a claim that was made from a template: its name in the pod. */
#define RESOURCECLAIM_ANNOTATION_POD_CLAIM "resource.kubernetes.io/pod-claim-name"

/* A device that is allocated to the claim. */
struct resourceclaim_result {
	char *request; /* "gpu"; "gpu/large" if the request has alternatives */
	char *driver;
	char *pool;
	char *device;
	bool admin_access;
};

struct resourceclaim_opaque {
	char *driver;
	char *parameters; /* JSON text; NULL: none */
};

/* A configuration for devices of the claim. */
struct resourceclaim_config {
	char *source;              /* RESOURCECLAIM_FROM_CLASS; else it is from the claim */
	struct json_strs requests; /* which it applies to; empty: all                     */
	struct resourceclaim_opaque opaque;
};

struct resourceclaim_devices {
	struct {
		struct resourceclaim_result *items;
		size_t len, cap;
	} results;
	struct {
		struct resourceclaim_config *items;
		size_t len, cap;
	} config;
};

struct resourceclaim_allocation {
	struct resourceclaim_devices devices; /* without results the claim is not allocated */
};

/* What a driver says of an allocated device (KEP-4817). Anybody who may write the status may write
 * this, so each member can be NULL. */
struct resourceclaim_device {
	char *driver;
	char *pool;
	char *device;
	struct api_conditions conditions;
};

struct resourceclaim_status {
	struct resourceclaim_allocation allocation;
	struct {
		struct resourceclaim_device *items;
		size_t len, cap;
	} devices;
};

struct resourceclaim {
	struct api_meta meta;
	struct resourceclaim_status status;
};

extern const struct api_kind resourceclaim_kind;

/* Parse @len bytes of text into *@ret_claim, which the caller frees with resourceclaim_free().
 * Errors are those of json_map_load() and api_object_decode(). */
int resourceclaim_parse(const char *text, size_t len, struct resourceclaim **ret_claim,
			struct err *err);
/* Takes NULL, returns NULL. */
struct resourceclaim *resourceclaim_free(struct resourceclaim *claim);

/* The request without a sub-request, which the caller frees: "gpu" of "gpu/large". */
char *resourceclaim_base_request(const char *request);
