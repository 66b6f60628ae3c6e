#include "agent/claim/claim_status.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agent/claim/claim_group.h"
#include "agent/claim/claim_judge.h"
#include "agent/claim/claim_native.h"
#include "agent/claim/claim_plan.h"
#include "agent/inventory/limits.h"
#include "api/json_map.h"
#include "api/names.h"
#include "api/offered_resource.h"
#include "api/patch.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/reason.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"

/* --- the finalizer ---------------------------------------------------------------------------- */

static const char finalizer[] = NAMES_FINALIZER_HARVESTER_PCI;

bool claim_is_marked(const struct pcideviceclaim *claim)
{
	return api_meta_has_finalizer(&claim->meta, finalizer);
}

static bool is_empty(const char *text)
{
	return !text || !*text;
}

static bool needs_owner(const struct claim_case *c)
{
	return c->device && !is_empty(c->device->meta.uid) &&
	       !api_meta_owner(&c->claim->meta, pcidevice_kind.kind);
}

static json_t *spec_of(const struct claim_case *c, const struct claim_group *group)
{
	json_t *spec = json_object();

	if (is_empty(c->claim->spec.address))
		json_put_text(spec, "address", group->address);
	if (is_empty(c->claim->spec.node_name))
		json_put_text(spec, "nodeName", c->node_name);
	return spec;
}

json_t *claim_mark(const struct claim_case *c, const struct claim_group *group)
{
	auto_json json_t *spec = spec_of(c, group);
	bool owner = needs_owner(c);
	json_t *body;

	if (claim_is_marked(c->claim) && !owner && json_object_size(spec) == 0)
		return NULL;
	body = patch_new(&c->claim->meta);
	if (!claim_is_marked(c->claim))
		patch_add_finalizer(body, &c->claim->meta, finalizer);
	if (owner) /* the first: Harvester's controller reads no other */
		patch_add_owner(body, &c->claim->meta, &pcidevice_kind, &c->device->meta,
				PATCH_FIRST);
	if (json_object_size(spec) > 0)
		json_object_set(body, "spec", spec);
	return body;
}

json_t *claim_unmark(const struct pcideviceclaim *claim)
{
	json_t *body = patch_new(&claim->meta);

	patch_remove_finalizer(body, &claim->meta, finalizer);
	return body;
}

/* --- what the schema takes -------------------------------------------------------------------- */

/* As in crds/devices.harvesterhci.io_pcideviceclaims.yaml. */
enum {
	DRIVER_MAX = 255,
	GROUP_MAX = 10,
	MEMBERS_MAX = 1024,
	ADDRESS_MAX = 16,
	STEP_MAX = 64,
	HOLDER_MAX = 1024,
};

#define S struct pcideviceclaim_status
static const struct limit limits[] = {
	LIMIT(S, kernel_driver_to_unbind, DRIVER_MAX, NULL),
	LIMIT(S, iommu_group, GROUP_MAX, limit_is_number),
	LIMIT(S, step, STEP_MAX, NULL),
	LIMIT(S, holder, HOLDER_MAX, NULL),
};
#undef S

void claim_limits_apply(struct pcideviceclaim_status *status)
{
	limits_apply(limits, ARRAY_LEN(limits), status);
	limit_list(&status->iommu_group_members, MEMBERS_MAX, ADDRESS_MAX, limit_is_address);
	if (status->observed_generation < 0)
		status->observed_generation = 0;
}

/* --- the status ------------------------------------------------------------------------------- */

enum {
	LISTED = 8,
	NAME_SHOWN = 80,
};

static const char *const our_types[] = { "Accepted", "GroupViable", "DriverBound", "Offered",
					 "Ready" };

/* A status under construction. */
struct sketch {
	const struct claim_case *c;
	const struct claim_group *group;
	const struct claim_news *news;
	struct pcideviceclaim_status want;
	struct patch_status status; /* builds @want */
	bool bound;
	bool viable;           /* meant only if it is bound */
	const char *unoffered; /* why Ready waits for the kubelet; NULL: it does not */
	bool lapsed;           /* a claim that was Ready stays Ready */
};

static void say(struct sketch *s, const char *type, enum api_truth truth, const char *reason,
		const char *message)
{
	patch_status_condition(&s->status, type, truth, reason, message);
}

static void set_group(struct sketch *s)
{
	struct json_strs *members = &s->want.iommu_group_members;
	const struct claim_function *self = claim_group_self(s->group);

	json_strs_done(members);
	str_set_nonempty(&s->want.iommu_group, self->group);
	for (size_t i = 0; self->group && i < s->group->len; i++) {
		const struct claim_function *f = &s->group->items[i];

		if (claim_group_member(s->group, f))
			json_strs_add(members, f->address);
	}
	json_strs_sort(members);
}

/* Only for a bound device: the others have no driver to return to. */
static void set_native(struct sketch *s)
{
	const struct claim_function *self = claim_group_self(s->group);
	const struct claim_verdict *verdict = s->news->verdict;
	bool passthrough = self->recorded || (s->bound && !self->vendor) ||
			   (verdict && verdict->ok && !pcideviceclaim_is_skipped(s->c->claim));

	str_set_nonempty(&s->want.kernel_driver_to_unbind,
			 passthrough ? claim_native(s->c, self) : NULL);
}

/* The functions of the group on drivers that prevent passthrough. */
static void list_natives(const struct sketch *s, struct str *out)
{
	size_t len = 0;

	for (size_t i = 1; i < s->group->len; i++) {
		const struct claim_function *f = &s->group->items[i];

		if (!claim_group_member(s->group, f) || claim_function_is_port(f) || !f->driver ||
		    claim_driver_is_passthrough(s->c, f->driver) || len++ >= LISTED)
			continue;
		str_addf(out, "%s%s is bound to %s", out->len ? ", " : "", f->address, f->driver);
	}
	if (len > LISTED)
		str_addf(out, " and %zu more", len - LISTED);
}

static void say_accepted(struct sketch *s)
{
	const struct claim_verdict *v = s->news->verdict;

	if (v)
		say(s, "Accepted", v->ok ? API_TRUE : API_FALSE, v->reason, v->message);
}

static void say_viable(struct sketch *s, const char *natives)
{
	s->viable = *natives == '\0';
	if (!s->bound)
		say(s, "GroupViable", API_UNKNOWN, "NotBound", "the device is not bound");
	else if (!s->viable)
		say(s, "GroupViable", API_FALSE, "SiblingBound", natives);
	else
		say(s, "GroupViable", API_TRUE, "Viable", "nothing in the group hinders it");
}

static void say_bound(struct sketch *s)
{
	const struct claim_function *self = claim_group_self(s->group);
	auto_free char *message = NULL;

	if (!s->bound) {
		say(s, "DriverBound", API_FALSE, s->news->reason ? s->news->reason : "Waiting",
		    s->news->message);
		return;
	}
	message = xasprintf("bound to %s", self->driver);
	say(s, "DriverBound", API_TRUE, "Bound", message);
}

static char *ready_message(const struct sketch *s)
{
	const struct claim_function *self = claim_group_self(s->group);
	const struct api_meta *seen = s->c->device ? &s->c->device->meta : NULL;
	const char *refused = offered_resource_refused(seen, s->c->claim);
	auto_str struct str message = STR_INIT;

	str_addf(&message, "bound to %s, IOMMU group %s", self->driver,
		 self->group ? self->group : "none");
	if (refused) {
		str_addf(&message,
			 "; the annotation " NAMES_ANNOTATION_RESOURCE_NAME
			 " is ignored, since %s: '",
			 offered_resource_reason(refused));
		str_add_clean(&message, refused, strnlen(refused, NAME_SHOWN));
		str_add(&message, "'");
	}
	return xstrdup(str_cstr(&message));
}

static bool says_true(const struct claim_case *c, const char *type)
{
	return api_conditions_status(&c->claim->status.conditions, type) == API_TRUE;
}

static const struct api_condition *old_offered(const struct sketch *s)
{
	return api_conditions_find(&s->c->claim->status.conditions, "Offered");
}

static char *offered_message(const struct sketch *s)
{
	const struct claim_offer *offer = &s->c->offer;
	const struct api_condition *old = old_offered(s);

	if (offer->resource)
		return xasprintf("node %s offers it as %s%s", s->c->node_name, offer->resource,
				 offer->dra ? ", by DRA" : "");
	return xstrdup(old && old->message ? old->message : "");
}

/* Was the device offered under a name that it no longer has? */
static bool is_renamed(const struct sketch *s, const char *message)
{
	const struct api_condition *old = old_offered(s);

	return says_true(s->c, "Offered") && strcmp(old->message ? old->message : "", message) != 0;
}

/* Why the kubelet lists the device as unhealthy. NULL: it is healthy, or a pod of this claim has
 * it, or it is unhealthy only because the claim does not say yet that the device is bound. */
static const char *trouble_of(const struct sketch *s)
{
	const struct claim_offer *offer = &s->c->offer;

	return !offer->held && pcideviceclaim_is_ready_to_offer(s->c->claim) ? offer->trouble
									     : NULL;
}

static const char *offered_reason(const struct sketch *s)
{
	const struct api_meta *seen = s->c->device ? &s->c->device->meta : NULL;

	return offered_resource_refused(seen, s->c->claim) ? "NameIgnored" : "Offered";
}

/* Does Ready wait for something else? Then the kubelet lists the device as unhealthy. */
static bool is_blocked(const struct sketch *s)
{
	const struct claim_verdict *v = s->news->verdict;

	return (v && !v->ok) || !s->viable || s->news->reason;
}

/* Takes @message. */
static void say_awaited(struct sketch *s, enum api_truth truth, const char *reason, char *message)
{
	s->unoffered = reason;
	say(s, "Offered", truth, reason, message);
	free(message);
}

static void say_not_listed(struct sketch *s)
{
	say_awaited(s, API_FALSE, "NotOffered",
		    xasprintf("the kubelet does not list the device in the allocatable resources "
			      "of node %s yet; it updates them every 10 s",
			      s->c->node_name));
}

static void say_trouble(struct sketch *s, const char *trouble)
{
	if (s->c->offer.group_taken)
		say_awaited(s, API_FALSE, "GroupInUse", xstrdup(trouble));
	else
		say_awaited(s, API_FALSE, "Unhealthy",
			    xasprintf("the kubelet is told that the device is not healthy: %s",
				      trouble));
}

static void say_taken(struct sketch *s)
{
	say_awaited(
		s, API_FALSE, "NameTaken",
		xasprintf("claimed devices of another type already have the resource %s on this "
			  "node: give those another resource name (see the "
			  "annotation " NAMES_ANNOTATION_RESOURCE_NAME ")",
			  s->c->offer.resource));
}

static void say_no_node(struct sketch *s)
{
	s->lapsed = true;
	say_awaited(s, API_UNKNOWN, "NodeGone",
		    xasprintf("the cluster has no Node %s that could offer it: has it been "
			      "deleted? A kubelet that is restarted creates it again",
			      s->c->node_name));
}

static void say_unreadable(struct sketch *s)
{
	s->lapsed = true;
	say_awaited(s, API_UNKNOWN, "NodeUnreadable",
		    xasprintf("the agent cannot read Node %s (%s): give the agent's ClusterRole "
			      "get, list and watch of nodes",
			      s->c->node_name, s->c->offer.denied ? s->c->offer.denied : "denied"));
}

/* At its start an agent does not know yet what it will offer to the kubelet, so the last reason is
 * kept. */
static bool keep_trouble(struct sketch *s)
{
	const struct api_condition *old = old_offered(s);
	const char *reason = old && old->reason ? old->reason : "";

	if (s->c->offer.state != CLAIM_OFFER_AWAITED || s->c->offer.resource ||
	    (strcmp(reason, "Unhealthy") != 0 && strcmp(reason, "GroupInUse") != 0))
		return false;
	say_awaited(s, API_FALSE, reason, xstrdup(old->message ? old->message : ""));
	return true;
}

/* A device stays Offered while the kubelet restarts, or while the kubelet does not count another
 * device of the resource yet. A device that the kubelet must not allocate, and that no pod has, is
 * not Offered any more. */
static void say_bound_offered(struct sketch *s)
{
	const struct claim_offer *offer = &s->c->offer;
	auto_free char *message = offered_message(s);
	bool renamed = is_renamed(s, message);

	if (keep_trouble(s))
		return;
	if (offer->state == CLAIM_OFFER_NODE_GONE)
		say_no_node(s);
	else if (offer->taken)
		say_taken(s);
	else if (offer->state != CLAIM_OFFER_NONE && trouble_of(s))
		say_trouble(s, trouble_of(s));
	else if (offer->state == CLAIM_OFFERED || (says_true(s->c, "Offered") && !renamed))
		say(s, "Offered", API_TRUE, offered_reason(s), message);
	else if (offer->state == CLAIM_OFFER_NONE)
		say(s, "Offered", API_UNKNOWN, "NoKubelet",
		    "no kubelet offers devices on this node");
	else if (offer->state == CLAIM_OFFER_NODE_UNREADABLE)
		say_unreadable(s);
	else {
		s->lapsed = !renamed;
		say_not_listed(s);
	}
}

static void say_offered(struct sketch *s)
{
	if (!s->bound)
		say(s, "Offered", API_FALSE, "NotBound", "the device is not bound");
	else if (s->c->claim->meta.deletion_timestamp)
		say(s, "Offered", API_FALSE, "Releasing", "the claim is being deleted");
	else if (is_blocked(s))
		say(s, "Offered", API_FALSE, "Waiting",
		    "the device is offered when Ready waits for nothing else");
	else
		say_bound_offered(s);
}

static void say_unoffered(struct sketch *s)
{
	const struct api_condition *offered = api_conditions_find(&s->want.conditions, "Offered");
	auto_free char *message = xstrdup(offered->message);

	say(s, "Ready", API_FALSE, s->unoffered, message);
}

/* The first condition that is missing gives the reason. A claim that was Ready stays Ready while
 * the kubelet or the Node is not there. */
static void say_ready(struct sketch *s, const char *natives)
{
	const struct claim_verdict *v = s->news->verdict;
	auto_free char *message = NULL;

	if (v && !v->ok) {
		say(s, "Ready", API_FALSE, v->reason, v->message);
	} else if (s->bound && v && !s->viable) {
		say(s, "Ready", API_FALSE, "SiblingBound", natives);
	} else if (s->news->reason) {
		say(s, "Ready", API_FALSE, s->news->reason, s->news->message);
	} else if (s->unoffered && !(s->lapsed && says_true(s->c, "Ready"))) {
		say_unoffered(s);
	} else {
		message = ready_message(s);
		say(s, "Ready", API_TRUE, "Ready", message);
	}
}

static void fill(struct sketch *s)
{
	const struct claim_function *self = claim_group_self(s->group);
	auto_str struct str natives = STR_INIT;

	s->bound =
		!s->news->unclear && (self->vendor || claim_function_on_driver(self, s->c->claim));
	list_natives(s, &natives);
	api_conditions_make_room(&s->want.conditions, our_types, ARRAY_LEN(our_types));
	s->want.observed_generation = s->c->claim->meta.generation;
	s->want.passthrough_enabled = s->bound;
	set_group(s);
	set_native(s);
	str_set_nonempty(&s->want.step, s->news->step);
	str_set_nonempty(&s->want.holder, s->news->holder);
	claim_limits_apply(&s->want);
	say_accepted(s);
	say_viable(s, str_cstr(&natives));
	say_bound(s);
	say_offered(s);
	say_ready(s, str_cstr(&natives));
}

static bool is_true(const struct api_conditions *list, const char *type)
{
	return api_conditions_status(list, type) == API_TRUE;
}

static bool is_reason(const struct api_condition *condition, const char *reason)
{
	return condition && condition->reason && strcmp(condition->reason, reason) == 0;
}

/* Has the event Bound been recorded? A warning about a claim that is not deleted hides it. */
static bool is_bound_told(const struct sketch *s, bool warning)
{
	const struct pcideviceclaim *claim = s->c->claim;

	if (claim->meta.deletion_timestamp)
		return says_true(s->c, "DriverBound") || claim->status.passthrough_enabled;
	return says_true(s->c, "DriverBound") &&
	       (warning || pcideviceclaim_is_ready_to_offer(claim));
}

/* A device that was on the driver before its claim counts when it is recorded, and never for a
 * claim in another owner's group. */
static bool is_bound_now(const struct sketch *s, bool warning)
{
	const struct claim_function *self = claim_group_self(s->group);
	const struct claim_verdict *verdict = s->news->verdict;

	return s->bound && !(verdict && verdict->other_owner) &&
	       (self->vendor || claim_function_recorded_for(self, s->c->claim)) &&
	       !is_bound_told(s, warning);
}

static const char *reason_of_ready(const struct sketch *s)
{
	const struct api_conditions *old = &s->c->claim->status.conditions;

	if (is_bound_now(s, false))
		return "Bound";
	return is_reason(api_conditions_find(old, "Ready"), "Unhealthy") ? "Healthy" : NULL;
}

static const char *reason_of_unready(const struct sketch *s, const struct api_condition *ready)
{
	const struct claim_verdict *v = s->news->verdict;

	if (v && !v->ok)
		return v->reason;
	if (strcmp(ready->reason, "SiblingBound") == 0)
		return "SiblingBound";
	return s->news->reason ? s->news->reason : s->unoffered;
}

/* The event of a step before the claim is Ready. */
static void tell_progress(const struct sketch *s, struct claim_change *change)
{
	const struct api_conditions *old = &s->c->claim->status.conditions;

	if (s->news->verdict && is_true(old, "DriverBound") && !s->bound)
		*change = (struct claim_change){ .warning = true, .reason = "DriverLost" };
	else if (is_bound_now(s, false))
		change->reason = "Bound";
	else if (s->unoffered && is_reason(api_conditions_find(old, "Ready"), "Unhealthy"))
		change->reason = "Healthy";
}

/* An event for each change of the reason or message of Ready, and one when the device is bound. */
static void tell_change(const struct sketch *s, struct claim_change *change)
{
	const struct api_conditions *old = &s->c->claim->status.conditions;
	const struct api_condition *ready = api_conditions_find(&s->want.conditions, "Ready");

	if (is_true(&s->want.conditions, "Ready")) {
		if (!is_true(old, "Ready"))
			change->reason = reason_of_ready(s);
	} else if (reason_is(ready->reason, REASON_PROGRESS)) {
		tell_progress(s, change);
	} else {
		if (is_bound_now(s, true))
			change->bound = ready_message(s);
		if (!is_reason(api_conditions_find(old, "Ready"), ready->reason)) {
			change->warning = true;
			change->reason = reason_of_unready(s, ready);
		}
	}
	if (str_equal(change->reason, "Bound"))
		change->message = ready_message(s);
	else if (str_equal(change->reason, "Healthy"))
		change->message = xstrdup("what kept the device from pods is gone");
	else if (str_equal(change->reason, "DriverLost"))
		change->message = xasprintf("something took %s from %s: %s", s->c->name,
					    claim_driver(s->c->claim), ready->message);
	else if (change->reason)
		change->message = xstrdup(ready->message);
}

bool claim_status_awaits_device(const struct claim_case *c, const struct claim_group *group)
{
	const struct claim_function *self = claim_group_self(group);
	const char *shown = c->device ? c->device->status.kernel_driver_in_use : NULL;

	if (!c->device || !self->driver || !claim_function_on_driver(self, c->claim) ||
	    says_true(c, "DriverBound"))
		return false;
	return !shown || strcmp(shown, self->driver) != 0;
}

json_t *claim_status_patch(const struct claim_case *c, const struct claim_group *group,
			   const struct claim_news *news, struct claim_change *ret_change)
{
	struct sketch s = { .c = c, .group = group, .news = news };
	json_t *body;

	*ret_change = (struct claim_change){ 0 };
	json_map_copy(pcideviceclaim_status_map, &s.want, &c->claim->status);
	s.status = (struct patch_status){
		.meta = &c->claim->meta,
		.map = pcideviceclaim_status_map,
		.have = &c->claim->status,
		.want = &s.want,
		.conditions = &s.want.conditions,
		.now_wall_ms = c->now_wall_ms,
	};
	fill(&s);
	body = patch_status_body(&s.status);
	if (body)
		tell_change(&s, ret_change);
	json_map_done(pcideviceclaim_status_map, &s.want);
	return body;
}
