/*
 * dra_codec: the messages of the kubelet's DRA API. Those of v1 and v1beta1 are the same on the
 * wire.
 *
 * What a kubelet sends is checked: a UID becomes part of file names, a namespace and a name part of
 * paths.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "api/json_values.h"

struct err;
struct str;

enum {
	DRA_CLAIMS_MAX = 256,       /* claims of one request: those of one pod */
	DRA_UID_MAX = 64,           /* a UID of Kubernetes has 36 bytes        */
	DRA_MESSAGE_MAX = 4 << 20,  /* as grpc/limits.h has it                 */
	DRA_HEALTH_TEXT_MAX = 1024, /* the kubelet cuts what is longer         */
};

/* A ResourceClaim that is to be prepared or unprepared. Owns its texts. */
struct dra_claim {
	char *ns;
	char *name;
	char *uid;
};

struct dra_claims {
	struct dra_claim *items;
	size_t len, cap;
};

/* Release; the list is empty again. */
void dra_claims_done(struct dra_claims *claims);

/* Read the request of Prepare or Unprepare. -EBADMSG: it is none; -EMSGSIZE: more than
 * DRA_CLAIMS_MAX; -EINVAL: a claim is there twice, or has a UID, a namespace or a name that no
 * object can have. */
int dra_codec_read_claims(const char *data, size_t len, struct dra_claims *ret_claims,
			  struct err *err);
int dra_codec_write_claims(const struct dra_claims *claims, struct str *out, struct err *err);

/* A device that was prepared. Owns what it has. */
struct dra_result_device {
	char *request; /* without a sub-request: "a" of "a/b" */
	char *pool;
	char *device;
	struct json_strs cdi_ids;
};

/* The answer about one claim. Owns what it has. */
struct dra_result {
	char *uid;
	char *error; /* NULL: done */
	struct {
		struct dra_result_device *items;
		size_t len, cap;
	} devices; /* of Prepare */
};

struct dra_results {
	struct dra_result *items;
	size_t len, cap;
};

/* Release; the list is empty again. */
void dra_results_done(struct dra_results *results);

/* Append the response of Prepare, and of Unprepare. Error texts are sanitized. -EMSGSIZE if it is
 * longer than DRA_MESSAGE_MAX. */
int dra_codec_write_prepared(const struct dra_results *results, struct str *out, struct err *err);
int dra_codec_write_unprepared(const struct dra_results *results, struct str *out, struct err *err);
/* The same read, as a kubelet does. -EBADMSG. */
int dra_codec_read_prepared(const char *data, size_t len, struct dra_results *ret_results,
			    struct err *err);
int dra_codec_read_unprepared(const char *data, size_t len, struct dra_results *ret_results,
			      struct err *err);

/* --- the health of devices -------------------------------------------------------------------- */

/* Borrowed. */
struct dra_health {
	const char *pool;
	const char *device;
	const char *trouble; /* NULL: it is healthy */
};

/* Append the list of all devices, as it is at @now_s (since the epoch) and for @valid_s seconds. */
int dra_codec_write_health(const struct dra_health *devices, size_t len, int64_t now_s,
			   int64_t valid_s, struct str *out, struct err *err);
/* Append a line for each device, "pool/device", with " trouble" if it is not healthy. For tests.
 * -EBADMSG. */
int dra_codec_read_health(const char *data, size_t len, struct str *out, struct err *err);
