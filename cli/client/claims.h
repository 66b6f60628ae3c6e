/*
 * claims: requests to the API server about the claim of one device: create, patch, delete, read.
 */
#pragma once

#include <stdbool.h>

#include "cli/client/session.h"
#include "cli/model/cluster.h"

struct err;

/* Identifies the claim of one device. */
struct claim_target {
	enum device_type type; /* DEVICE_PCI or DEVICE_USB */
	char *name;
	char *node;    /* "" if not known */
	char *address; /* likewise        */
};

/* The fields of a new claim. NULL and false leave a field out. */
struct claim_spec {
	const char *user;
	const char *driver; /* of PCI functions */
	bool include_group; /* likewise         */
	bool driverless;    /* likewise: no driver after the claim */
};

enum cluster_kind claim_kind(enum device_type type);

void claim_target_init(struct claim_target *target, const struct cluster_device *device);
void claim_target_done(struct claim_target *target);

/* The JSON of the claim that claim_create() would send. The caller frees. */
char *claim_text(const struct claim_target *target, const struct claim_spec *spec);

/* Why @spec cannot apply to a device of this type: "it is a USB device: --driver applies only to
 * PCI devices". NULL: it can. The text is static. */
const char *claim_misfit(enum device_type type, const struct claim_spec *spec);

/* The driver of a claim with this spec.driver: vfio-pci if it names none. */
const char *claims_driver(const char *driver);

/* How the existing claim of @device compares with @spec. Fields that @spec leaves out are not
 * compared. */
enum claim_change {
	CLAIM_SAME,
	CLAIM_PATCH, /* *@ret_text is the merge patch to apply */
	CLAIM_OTHER, /* fields differ that cannot change; *@ret_text says which */
};

/* The caller frees *@ret_text, which is NULL with CLAIM_SAME. Pure. */
enum claim_change claim_compare(const struct cluster_device *device, const struct claim_spec *spec,
				char **ret_text);

/* These return what session_ask() returns. The answer has the object and the warnings. While the
 * API server gets no answer from hostdev's webhook, they repeat the request until the time of
 * session_set_end(), and say so on standard error; without such a time they ask once. */
int claim_create(struct session *session, const struct claim_target *target,
		 const struct claim_spec *spec, bool dry_run, struct session_answer *ret_answer,
		 struct err *err);
/* @patch is a merge patch. */
int claim_patch(struct session *session, const struct claim_target *target, const char *patch,
		bool dry_run, struct session_answer *ret_answer, struct err *err);
int claim_delete(struct session *session, const struct claim_target *target, bool dry_run,
		 struct session_answer *ret_answer, struct err *err);
/* Delete only the claim with this uid. */
int claim_delete_own(struct session *session, const struct claim_target *target, const char *uid,
		     struct session_answer *ret_answer, struct err *err);
int claim_read(struct session *session, const struct claim_target *target,
	       struct session_answer *ret_answer, struct err *err);

/* Ask by dry runs whether @spec, or the claim that exists, may include the IOMMU group. Returns why
 * not; NULL if it may, or if that could not be found out. The caller frees. */
char *claims_group_refusal(struct session *session, const struct claim_target *target,
			   const struct claim_spec *spec);

/* Is the claim of @device the caller's, or that of the user whom @spec names? True, too, for a
 * claim without an owner, and if the API server does not say who the caller is (SelfSubjectReview,
 * since Kubernetes 1.28). */
bool claims_mine(struct session *session, const struct cluster_device *device,
		 const struct claim_spec *spec);

/* Print the warnings of @answer on standard error, as kubectl does, broken where the terminal
 * ends. */
void claims_warn(const struct session_answer *answer);

/* Take out of @answer the webhook's warning that the claim waits for the rest of its IOMMU
 * group. */
void claims_forget_group(struct session_answer *answer);

/* Did the API server get no answer from hostdev's webhook? Pure. */
bool claims_unchecked(const struct session_answer *answer);

/* The whole message of the API server about an error, or else err.msg; cleaned. Of a refusal by
 * hostdev's webhook, only its words, without the name of the device. Of a webhook that does not
 * answer, the cause and where to look. The caller frees. */
char *claims_refusal(const struct session_answer *answer, const struct err *err);
