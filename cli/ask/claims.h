/*
 * claims: what is asked of the API server about the claim of one device: make it, delete it, read it.
 */
#pragma once

#include <stdbool.h>

#include "cli/ask/session.h"
#include "cli/model/cluster.h"

struct err;

/* The claim that a device is claimed by. */
struct claim_target {
	enum device_type type; /* DEVICE_PCI or DEVICE_USB */
	char *name;
	char *node;    /* "" if not known */
	char *address; /* likewise        */
};

/* What a claim is to say; NULL and false leave a field out. */
struct claim_spec {
	const char *user;
	const char *driver; /* of PCI functions */
	bool include_group; /* likewise         */
	bool driverless;    /* likewise: no driver after the claim */
};

enum cluster_kind claim_kind(enum device_type type);

void claim_target_init(struct claim_target *target, const struct cluster_device *device);
void claim_target_done(struct claim_target *target);

/* The claim that would be made, as JSON for the caller to free. */
char *claim_text(const struct claim_target *target, const struct claim_spec *spec);

/* Why @spec cannot be for a device of that type: "it is a USB device: --driver applies only to PCI devices"; NULL:
 * nothing. Static. */
const char *claim_misfit(enum device_type type, const struct claim_spec *spec);

/* How the claim that @device has compares with what @spec asks for. What @spec leaves out is not compared. */
enum claim_change {
	CLAIM_SAME,
	CLAIM_PATCH, /* *@ret_text is a merge patch that makes it so   */
	CLAIM_OTHER, /* it cannot become so; *@ret_text says what differs */
};

/* *@ret_text is the caller's to free; NULL with CLAIM_SAME. Pure. */
enum claim_change claim_compare(const struct cluster_device *device, const struct claim_spec *spec,
				char **ret_text);

/* The results of these are session_ask()'s; the answer has the object, and the warnings. */
int claim_create(struct session *session, const struct claim_target *target,
		 const struct claim_spec *spec, bool dry_run, struct session_answer *ret_answer,
		 struct err *err);
/* @patch is a merge patch. */
int claim_patch(struct session *session, const struct claim_target *target, const char *patch,
		bool dry_run, struct session_answer *ret_answer, struct err *err);
int claim_delete(struct session *session, const struct claim_target *target, bool dry_run,
		 struct session_answer *ret_answer, struct err *err);
int claim_read(struct session *session, const struct claim_target *target,
	       struct session_answer *ret_answer, struct err *err);

/* Who the caller is to the API server, for the caller of this to free; NULL if that cannot be told (older
 * than Kubernetes 1.28). */
char *claims_caller(struct session *session);

/* The warnings of @answer, on standard error as kubectl does it. */
void claims_warn(const struct session_answer *answer);

/* In full what the API server said about an error, or else err.msg, cleaned; the caller frees. */
char *claims_refusal(const struct session_answer *answer, const struct err *err);
