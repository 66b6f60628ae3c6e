/*
 * resourceclaim: ResourceClaim of resource.k8s.io/v1 (since Kubernetes 1.34): what it requests, the
 * devices that the scheduler allocated to it, and who may use it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"

struct err;

#define RESOURCECLAIM_FROM_CLASS "FromClass"

/* On a claim that was made from a template: its name in the pod. */
#define RESOURCECLAIM_ANNOTATION_POD_CLAIM "resource.kubernetes.io/pod-claim-name"

struct resourceclaim_cel {
	char *expression;
};

struct resourceclaim_selector {
	struct resourceclaim_cel cel;
};

/* Which devices, and how many. */
struct resourceclaim_exactly {
	char *device_class; /* NULL: the request is a list of alternatives */
	struct {
		struct resourceclaim_selector *items;
		size_t len, cap;
	} selectors;
	char *allocation_mode; /* NULL: ExactCount */
	int64_t count;         /* 0: 1             */
};

struct resourceclaim_request {
	char *name;
	struct resourceclaim_exactly exactly;
};

struct resourceclaim_requests {
	struct {
		struct resourceclaim_request *items;
		size_t len, cap;
	} requests;
};

struct resourceclaim_spec {
	struct resourceclaim_requests devices;
};

/* A device that is allocated to the claim. */
struct resourceclaim_result {
	char *request; /* "gpu"; "gpu/large" if the request has alternatives */
	char *driver;
	char *pool;
	char *device;
	bool admin_access; /* beside the claim that has the device; not supported by hostdev */
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

/* A pod, as a rule, that may use the claim. */
struct resourceclaim_consumer {
	char *resource; /* "pods" */
	char *name;
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
		struct resourceclaim_consumer *items;
		size_t len, cap;
	} reserved_for;
	struct {
		struct resourceclaim_device *items;
		size_t len, cap;
	} devices;
};

struct resourceclaim {
	struct api_meta meta;
	struct resourceclaim_spec spec;
	struct resourceclaim_status status;
};

extern const struct api_kind resourceclaim_kind;
extern const struct json_row resourceclaim_exactly_map[];

/* Parse @len bytes of text into *@ret_claim, which the caller frees with resourceclaim_free().
 * Errors are those of json_map_load() and api_object_decode(). */
int resourceclaim_parse(const char *text, size_t len, struct resourceclaim **ret_claim,
			struct err *err);
/* Takes NULL, returns NULL. */
struct resourceclaim *resourceclaim_free(struct resourceclaim *claim);

/* The request without a sub-request, which the caller frees: "gpu" of "gpu/large". */
char *resourceclaim_base_request(const char *request);
