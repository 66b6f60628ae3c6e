/*
 * admission_review: AdmissionReview of admission.k8s.io/v1, what the API server asks and what it is
 * answered. Pure: bytes in, bytes out; what the answer is say the rules.
 *
 * Everybody on the cluster's network may send one, so its size, depth and number of values are
 * bounded before a tree is made of it.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/json_values.h"
#include "base/str.h"

struct err;

enum {
	ADMISSION_TEXT_MAX = 3 * 1024 * 1024, /* bytes of a review               */
	ADMISSION_VALUES_MAX = 64 * 1024,     /* of all types, keys not counted  */
	ADMISSION_MESSAGE_MAX = 1024,         /* bytes of an answer's message    */
	ADMISSION_WARNING_MAX = 256,          /* bytes of one warning: clients cut longer ones */
	ADMISSION_WARNINGS_MAX = 16,
};

enum admission_operation {
	ADMISSION_CREATE = 1,
	ADMISSION_UPDATE,
	ADMISSION_DELETE,
	ADMISSION_CONNECT,
};

/* What is asked. All is borrowed from the review; no text is NULL, absent ones are "". */
struct admission_request {
	const char *uid;
	const char *group; /* of resource: as the rule that called us names it */
	const char *version;
	const char *resource; /* "pcideviceclaims"                                */
	const char *subresource;
	const char *name; /* "" for a creation by generateName                    */
	const char *ns;   /* "" for what is cluster-scoped                        */
	const char *user;
	enum admission_operation operation;
	bool dry_run;  /* nothing may be written on behalf of it       */
	bool verified; /* an API server asks, by its certificate; else all of it may be made up */
	const json_t *object;     /* NULL for a deletion                          */
	const json_t *old_object; /* NULL for a creation                          */
	const json_t *user_info;  /* never NULL: username, uid, groups, extra     */
};

/* What is answered: allowed, unless the rules say otherwise. Filled by admission_answer.h. */
struct admission_answer {
	bool allowed;
	int code;           /* HTTP's, of a refusal                               */
	struct str message; /* of a refusal: object, rule and way out             */
	struct json_strs warnings;
	json_t *patch; /* JSON patch (RFC 6902), an array; NULL: as it is         */
	const char *
		event; /* reason of an event on the object, which says the first warning; NULL: none */
	char *device; /* of a refusal: name of the device that the object asks for; NULL: not said */
	char *resource; /* likewise, as which                                                      */
};

/* Who decides. The functions look into stores and must neither block nor call back. */
struct admission_rules {
	void (*validate)(void *arg, const struct admission_request *request,
			 struct admission_answer *answer);
	void (*mutate)(void *arg, const struct admission_request *request,
		       struct admission_answer *answer);
	/* False with @err saying what is missing, while answers would be made of half the facts. */
	bool (*ready)(void *arg, struct err *err);
	void *arg;
};

/* A review that was read. */
struct admission_review {
	struct admission_request request;
	json_t *json; /* what the request borrows from */
};

/*
 * Read the review in @text into @ret_review, which admission_review_done() releases. Errors:
 * -EMSGSIZE and -EINVAL (ERR_INVALID) for what is too large or is no v1 AdmissionReview.
 */
int admission_review_parse(const char *text, size_t len, struct admission_review *ret_review,
			   struct err *err);
void admission_review_done(struct admission_review *review);

/* Append the AdmissionReview that answers the request @uid. */
void admission_review_answer(const char *uid, const struct admission_answer *answer,
			     struct str *out);
