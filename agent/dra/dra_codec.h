/*
 * dra_codec: encodes and decodes the messages of the kubelet's DRA API. v1 and v1beta1 are the same
 * on the wire.
 *
 * Requests of the kubelet are validated, because the UID becomes part of file names, and the
 * namespace and name become part of URL paths.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "api/json_values.h"

struct err;
struct str;

enum {
	DRA_CLAIMS_MAX = 256,       /* in one request, which is for one pod */
	DRA_UID_MAX = 64,           /* Kubernetes' UIDs have 36 bytes       */
	DRA_MESSAGE_MAX = 4 << 20,  /* as in grpc/limits.h                  */
	DRA_HEALTH_TEXT_MAX = 1024, /* the kubelet truncates longer texts   */
};

/* A ResourceClaim to prepare or unprepare. Owns its strings. */
struct dra_claim {
	char *ns;
	char *name;
	char *uid;
};

struct dra_claims {
	struct dra_claim *items;
	size_t len, cap;
};

/* Release the items and leave an empty list. */
void dra_claims_done(struct dra_claims *claims);

/* Decode a request of NodePrepareResources or NodeUnprepareResources, which are the same message.
 * -EBADMSG: not such a message; -EMSGSIZE: more than DRA_CLAIMS_MAX claims; -EINVAL: a claim occurs
 * twice, or its UID, namespace or name is not valid in Kubernetes. */
int dra_codec_read_claims(const char *data, size_t len, struct dra_claims *ret_claims,
			  struct err *err);

/* A prepared device. Owns its members. */
struct dra_result_device {
	char *request; /* without a sub-request: "a" of "a/b" */
	char *pool;
	char *device;
	struct json_strs cdi_ids;
};

/* The result for one claim. Owns its members. */
struct dra_result {
	char *uid;
	char *error; /* NULL: success */
	struct {
		struct dra_result_device *items;
		size_t len, cap;
	} devices; /* of Prepare */
};

struct dra_results {
	struct dra_result *items;
	size_t len, cap;
};

/* Release the items and leave an empty list. */
void dra_results_done(struct dra_results *results);

/* Append the response of NodePrepareResources, and of NodeUnprepareResources. Error texts are
 * sanitized. -EMSGSIZE: longer than DRA_MESSAGE_MAX. */
int dra_codec_write_prepared(const struct dra_results *results, struct str *out, struct err *err);
int dra_codec_write_unprepared(const struct dra_results *results, struct str *out, struct err *err);

/* --- the health of devices -------------------------------------------------------------------- */

/* Borrowed. */
struct dra_health {
	const char *pool;
	const char *device;
	const char *trouble; /* NULL: it is healthy */
};

/* Append a message with the health of all devices at @now_s (seconds since the epoch), valid for
 * @valid_s seconds. */
int dra_codec_write_health(const struct dra_health *devices, size_t len, int64_t now_s,
			   int64_t valid_s, struct str *out, struct err *err);
