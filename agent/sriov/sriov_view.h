/* sriov_view: all that is known of one object and its card, as sriov_plan wants it. */
#pragma once

#include "agent/sriov/sriov_plan.h"
#include "agent/sriov/sriov_use.h"

struct kube_response;
struct err;
struct sriov_context;
struct sriov_past;

/* What the case borrows beside what lives longer. */
struct sriov_view {
	struct sriov_case c;
	struct sriov_use use;
	char *claimed;
};

/* @object: the newest of @name that is known; NULL: there is none. The caller sets c.fresh and
 * c.stuck, and releases the view. */
void sriov_view_init(struct sriov_view *view, const struct sriov_context *context, const char *name,
		     const struct sriovnetworkdevice *object, const struct sriov_past *past);
void sriov_view_done(struct sriov_view *view);

/* Are settings still to be put in place, by a run that will come? */
bool sriov_view_holds(const struct sriov_view *view);

/* The object @name as the answer shows it, for the caller to free with api_object_free(); NULL with
 * @err (ERR_RETRY, -EBADMSG) if it shows something else. */
struct sriovnetworkdevice *sriov_view_decode(const struct kube_response *response, const char *name,
					     struct err *err);
