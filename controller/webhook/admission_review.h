/*
 * admission_review: decodes and encodes AdmissionReview of admission.k8s.io/v1. Pure: bytes in,
 * bytes out; the rules decide.
 *
 * Anybody on the cluster's network may send one, so its size, depth and number of values are
 * checked before a tree is built.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/json_values.h"
#include "base/str.h"

struct api_kind;
struct err;

enum {
	ADMISSION_TEXT_MAX = 3 * 1024 * 1024, /* bytes of a review */
	ADMISSION_VALUES_MAX = 64 * 1024,     /* of all types, without keys */
	ADMISSION_MESSAGE_MAX = 1024,         /* bytes of the response's message */
	ADMISSION_WARNING_MAX = 256,          /* bytes of one warning: clients cut longer ones */
	ADMISSION_WARNINGS_MAX = 16,
};

enum admission_operation {
	ADMISSION_CREATE = 1,
	ADMISSION_UPDATE,
	ADMISSION_DELETE,
	ADMISSION_CONNECT,
};

/* The request. Borrowed from the review; no string is NULL, absent ones are "". */
struct admission_request {
	const char *uid;
	const char *group; /* of resource: the one in the webhook's rule */
	const char *version;
	const char *resource; /* "pcideviceclaims" */
	const char *subresource;
	const char *name; /* "" for a creation with generateName */
	const char *ns;   /* "" for a cluster-scoped object */
	const char *user;
	enum admission_operation operation;
	bool dry_run;  /* the request must have no side effects */
	bool verified; /* sent by an API server (client certificate); else it may be forged */
	const json_t *object;     /* NULL for a deletion */
	const json_t *old_object; /* NULL for a creation */
	const json_t *user_info;  /* never NULL: username, uid, groups, extra */
};

/* The response: allowed, unless the rules refuse. Filled by the functions admission_answer_*. */
struct admission_answer {
	bool allowed;
	int code;           /* HTTP status of a refusal */
	struct str message; /* of a refusal: object, rule and solution */
	struct json_strs warnings;
	json_t *patch;     /* JSON patch (RFC 6902), an array; NULL: no change */
	const char *event; /* reason of an event with the first warning as message; NULL: none */
	char *device;      /* of a refusal: the requested device; NULL: none */
	char *resource;    /* likewise, its resource */
};

/* The rules. The functions read stores and must neither block nor call back. */
struct admission_rules {
	void (*validate)(void *arg, const struct admission_request *request,
			 struct admission_answer *answer);
	void (*mutate)(void *arg, const struct admission_request *request,
		       struct admission_answer *answer);
	/* False, with the reason in @err, while too little is known to answer. */
	bool (*ready)(void *arg, struct err *err);
	void *arg;
};

/* A decoded review. */
struct admission_review {
	struct admission_request request;
	json_t *json; /* the tree that the request borrows from */
};

/*
 * Decode the review in @text into @ret_review, which the caller releases with
 * admission_review_done(). Errors (ERR_INVALID): -EMSGSIZE if it is too large, -EINVAL if it is not
 * a v1 AdmissionReview.
 */
int admission_review_parse(const char *text, size_t len, struct admission_review *ret_review,
			   struct err *err);
void admission_review_done(struct admission_review *review);

/* True if the request is for an object of the kind @of. */
bool admission_request_is(const struct admission_request *request, const struct api_kind *of);

/* --- the answer --- */

/* "allowed", without warnings or a patch. */
void admission_answer_init(struct admission_answer *answer);
void admission_answer_done(struct admission_answer *answer);

/* Refuse with HTTP status @code (422 for an invalid object, 403, 409) and a message that names
 * the object, the rule and the solution. Several refusals are joined into one message; the first
 * one's code is used. */
void admission_answer_refuse(struct admission_answer *answer, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Add a warning, which kubectl prints: one short sentence, cut at ADMISSION_WARNING_MAX.
 * Duplicates and warnings beyond ADMISSION_WARNINGS_MAX are dropped. */
void admission_answer_warn(struct admission_answer *answer, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Also record the first warning as an event of the object, unless the request is a dry run.
 * @reason is static. */
void admission_answer_event(struct admission_answer *answer, const char *reason);

/* The device and resource that a refusal is about (copied; NULL or "": none), for the audit
 * trail. The first call wins. */
void admission_answer_about(struct admission_answer *answer, const char *device,
			    const char *resource);

/* Add a step to the JSON patch. @path is a JSON pointer, see admission_pointer_add(). Takes
 * ownership of @value; NULL for "remove". */
void admission_answer_patch(struct admission_answer *answer, const char *op, const char *path,
			    json_t *value);

/* Append "/" and @key to a JSON pointer, with '~' and '/' escaped. */
void admission_pointer_add(struct str *pointer, const char *key);

/* Append the AdmissionReview with the response to the request @uid. */
void admission_review_answer(const char *uid, const struct admission_answer *answer,
			     struct str *out);
