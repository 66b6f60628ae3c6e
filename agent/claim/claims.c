#include "agent/claim/claims.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agent/claim/claim_attempts.h"
#include "agent/claim/claim_audit.h"
#include "agent/claim/claim_foreign.h"
#include "agent/claim/claim_group.h"
#include "agent/claim/claim_plan.h"
#include "agent/claim/on_demand_binds.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/inventory/use_log.h"
#include "agent/node/node_reconcile.h"
#include "agent/node/this_node.h"
#include "agent/process/pid_watch.h"
#include "api/condition.h"
#include "api/json_values.h"
#include "api/names.h"
#include "api/pcideviceclaim.h"
#include "api/reason.h"
#include "base/err.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"
#include "kube/informer.h"
#include "kube/metrics.h"
#include "kube/reason_count.h"
#include "kube/reconcile.h"
#include "kube/store.h"

/* --- pods in the way -------------------------------------------------------------------------- */

/* A function of the IOMMU group of @address (NULL: none) that a pod was given, and which pod in
 * *@ret_holder, NULL if that is not known yet; NULL: no pod has any. The caller frees both. */
static char *claim_pods_find(const struct claims_deps *deps, const struct inventory *inventory,
			     const char *address, char **ret_holder)
{
	struct json_strs members = { 0 };
	char *found = NULL;

	if (!address || !deps->is_free)
		return NULL;
	claim_group_add_members(inventory, address, &members);
	for (size_t i = 0; i < members.len && !found; i++) {
		if (!deps->is_free(deps->arg, members.items[i], ret_holder))
			found = xstrdup(members.items[i]);
	}
	json_strs_done(&members);
	return found;
}

/* The ResourceClaim for which a function of the IOMMU group of @address (NULL: none) is bound;
 * NULL: none. The caller frees. */
static char *claim_pods_bound_for(const struct claims_deps *deps, const struct inventory *inventory,
				  const char *address)
{
	struct json_strs members = { 0 };
	char *bound_for = NULL;

	if (!address || !deps->bound_for)
		return NULL;
	claim_group_add_members(inventory, address, &members);
	for (size_t i = 0; i < members.len && !bound_for; i++)
		bound_for = deps->bound_for(deps->arg, members.items[i]);
	json_strs_done(&members);
	return bound_for;
}

static void add_usb(const struct claims_deps *deps, const struct usb_facts *usb, bool on_demand,
		    struct json_pairs *pods)
{
	auto_free char *holder = NULL;
	auto_free char *text = NULL;

	if (json_pairs_get(pods, usb->pci_address) ||
	    deps->is_usb_free(deps->arg, usb->port, &holder))
		return;
	text = holder ? xasprintf("%s has the device in port %s: delete the pod%s", holder,
				  usb->port, on_demand ? "" : ", or this claim")
		      : xasprintf("it is not known yet whether a pod has the device in port %s",
				  usb->port);
	json_pairs_set(pods, usb->pci_address, text);
}

/* For each USB controller in the IOMMU group of @address (NULL: none) that pods have devices of,
 * the first of these: "pod default/vm has that in socket 1-2: ..." by the controller's address.
 * @on_demand: as struct claim_case has it. The caller releases. */
static void claim_pods_usb(const struct claims_deps *deps, const struct inventory *inventory,
			   const char *address, bool on_demand, struct json_pairs *ret_pods)
{
	const struct facts *facts = inventory->facts;
	struct json_strs members = { 0 };

	if (!address || !deps->is_usb_free)
		return;
	claim_group_add_members(inventory, address, &members);
	for (size_t i = 0; i < facts->usb.len; i++) {
		const struct usb_facts *usb = &facts->usb.items[i];

		if (usb->port && !usb->hub && usb->pci_address &&
		    json_strs_has(&members, usb->pci_address))
			add_usb(deps, usb, on_demand, ret_pods);
	}
	json_strs_done(&members);
}

/* --- claims ----------------------------------------------------------------------------------- */

enum {
	RUNS_AT_A_TIME = 16,
	WAITS = -1, /* decision.detail: the next scan or the end of a task enqueues it again */
};

struct claims {
	const struct this_node *node;
	struct claims_deps deps;
	const struct informer *needs[3];
	struct binder *binder;
	struct claim_attempts *attempts;
	struct reconcile *reconcile;
	struct map *works; /* name of the claim -> struct work */
	struct claim_foreign *foreign;
	struct on_demand_binds *binds;
	struct reason_count *count;
	struct metric *seconds; /* {verb}, may be NULL */
};

/* The work for a claim that is not at rest, and the process that it waits for. */
struct work {
	struct claims *claims;
	char *name;
	uint64_t began_ms; /* time of the first step since it was at rest; 0: it is at rest */
	char *lead;        /* a function that the transition moves; NULL: none is under way */
	enum binder_verb verb;
	bool moved; /* a transition has succeeded since it was at rest */

	int pid;                 /* of the process that it waits for; 0: none */
	struct pid_watch *watch; /* NULL: it ended, or cannot be watched      */
};

/* decision.job */
struct job {
	struct binder_job binder;
	int watch_pid; /* REST: run again when this process ends; 0: none */
	char *bound;   /* as claim_decision has it */
};

/* Failpoints before and after each step that others can see. */
static const struct {
	const char *before;
	const char *after;
} failpoints[] = {
	[CLAIM_MARK] = { "agent-mark-before", "agent-mark-after" },
	[CLAIM_TELL] = { "agent-tell-before", "agent-tell-after" },
	[CLAIM_READ] = { NULL, NULL },
	[CLAIM_BIND] = { "agent-bind-before", "agent-bind-after" },
	[CLAIM_RELEASE] = { "agent-release-before", "agent-release-after" },
	[CLAIM_UNMARK] = { "agent-unmark-before", "agent-unmark-after" },
};

static const struct metric_desc seconds_desc = {
	.name = "hostdev_claim_seconds",
	.help = "Time from the first reconciliation of a claim to the one that bound or released "
		"it.",
	.type = METRIC_SECONDS,
	.labels = { "verb" },
	.buckets_ms = { 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000 },
};

static uint64_t now_ms(const struct claims *claims)
{
	return clock_now_ms(claims->node->clock);
}

/* Nothing is decided before all of this has been read. */
static bool is_informed(const struct claims *claims)
{
	const struct this_node *node = claims->node;
	const struct informer *usb_claims = node->claims[INVENTORY_USB];

	return node->inventory && informer_synced(node->claims[INVENTORY_PCI]) &&
	       informer_synced(node->devices[INVENTORY_PCI]) &&
	       (!usb_claims || informer_synced(usb_claims));
}

/* The function of the claim @name; NULL: none of this node. The caller frees. */
static char *address_of(const struct claims *claims, const char *name)
{
	return claim_group_address(claims->node->name, claims->node->inventory, name);
}

static struct claim_view view_of(const struct claims *claims, const char *address,
				 const struct reconcile_view *view)
{
	struct claim_view known = { 0 };

	if (address)
		claim_attempts_view(claims->attempts, address, view->key, view->object,
				    now_ms(claims), &known);
	return known;
}

/* --- what is under way ------------------------------------------------------------------------ */

static void work_free(struct work *work)
{
	if (!work)
		return;
	pid_watch_free(work->watch);
	free(work->lead);
	free(work->name);
	free(work);
}

static struct work *work_of(struct claims *claims, const char *name)
{
	struct work *work = map_get(claims->works, name);

	if (work)
		return work;
	work = xcalloc(1, sizeof(*work));
	*work = (struct work){ .claims = claims, .name = xstrdup(name) };
	map_set(claims->works, name, work);
	return work;
}

/* Keep the pid: another watch on the same number would fire at once if the process is in another
 * pid namespace. */
static void on_holder_gone(void *arg)
{
	struct work *work = arg;
	struct claims *claims = work->claims;
	auto_free char *address = address_of(claims, work->name);

	log_debug("holder ended", log_str("claim", work->name), log_int("pid", work->pid));
	work->watch = pid_watch_free(work->watch);
	if (address)
		claim_attempts_wake(claims->attempts, address);
	reconcile_enqueue(claims->reconcile, work->name);
}

static void watch_holder(struct work *work, int pid)
{
	struct err err = { 0 };

	if (work->pid == pid)
		return;
	work->watch = pid_watch_free(work->watch);
	work->pid = pid > 0 ? pid : 0;
	if (work->pid == 0)
		return;
	work->watch = pid_watch_new(work->claims->node->loop, pid, on_holder_gone, work, &err);
	if (!work->watch)
		log_debug("holder cannot be watched, looking by time", log_str("claim", work->name),
			  log_str("reason", err.msg));
}

/* --- what is decided -------------------------------------------------------------------------- */

/* How long the group does not count as free yet. Functions in use now are judged elsewhere. */
static uint64_t unproven_ms(const struct claims *claims, const char *address,
			    const struct pcideviceclaim *claim)
{
	bool refused = claim && use_log_was_refused(&claim->status.conditions);
	struct json_strs members = { 0 };
	uint64_t longest_ms = 0;

	if (address)
		claim_group_add_members(claims->node->inventory, address, &members);
	for (size_t i = 0; i < members.len; i++) {
		uint64_t ms = claim_attempts_unproven_ms(claims->attempts, members.items[i],
							 refused, now_ms(claims));

		if (ms > longest_ms)
			longest_ms = ms;
	}
	json_strs_done(&members);
	return longest_ms;
}

/* Why a function that the claim of @address (NULL: none) would bind must not get a VFIO node; NULL:
 * all may. The caller frees. */
static char *bind_trouble_of(const struct claims *claims, const char *address,
			     const struct pcideviceclaim *claim)
{
	const struct claims_deps *deps = &claims->deps;
	struct json_strs members = { 0 };
	char *trouble = NULL;

	if (!address || !deps->bind_trouble)
		return NULL;
	if (claim && claim->spec.include_iommu_group)
		claim_group_add_members(claims->node->inventory, address, &members);
	else
		json_strs_add(&members, address);
	for (size_t i = 0; i < members.len && !trouble; i++)
		trouble = deps->bind_trouble(deps->arg, members.items[i]);
	json_strs_done(&members);
	return trouble;
}

/* A case, with the texts that it owns. */
struct looked {
	struct claim_case c;
	char *holder, *given, *bind_trouble, *bound_for;
	struct json_pairs usb_pods;
};

/* What is to be decided on. Borrowed. */
struct subject {
	const char *name;                   /* of the claim                  */
	const struct pcideviceclaim *claim; /* NULL: there is none           */
	const char *address;                /* of its function; NULL: none   */
	bool on_demand;                     /* as struct claim_case has it   */
};

/* Fill what the plans of claims and of binds on demand have in common. */
static void look(const struct claims *claims, const struct subject *subject,
		 const struct claim_view *known, struct looked *ret_looked)
{
	const struct claims_deps *deps = &claims->deps;
	const struct this_node *node = claims->node;
	const struct informer *usb_claims = node->claims[INVENTORY_USB];
	const char *lead = known->lead ? known->lead : subject->address;

	*ret_looked = (struct looked){ 0 };
	ret_looked->c = (struct claim_case){
		.node_name = node->name,
		.name = subject->name,
		.claim = subject->claim,
		.on_demand = subject->on_demand,
		.inventory = node->inventory,
		.claims = informer_store(node->claims[INVENTORY_PCI]),
		.usb_claims = usb_claims ? informer_store(usb_claims) : NULL,
		.usb_pods = &ret_looked->usb_pods,
		.device = store_object(informer_store(node->devices[INVENTORY_PCI]), subject->name),
		.last = known->last,
		.unproven_ms = unproven_ms(claims, subject->address, subject->claim),
		.vfio_drivers = &node->vfio_drivers,
		.driverless = deps->driverless,
	};
	if (lead)
		ret_looked->c.state = binder_look(claims->binder, lead, &ret_looked->c.trouble);
	claim_pods_usb(deps, node->inventory, subject->address, subject->on_demand,
		       &ret_looked->usb_pods);
}

static void looked_done(struct looked *looked)
{
	free(looked->holder);
	free(looked->given);
	free(looked->bind_trouble);
	free(looked->bound_for);
	json_pairs_done(&looked->usb_pods);
}

static void decide(const struct claims *claims, const struct reconcile_view *view,
		   const char *address, const struct claim_view *known,
		   struct claim_decision *ret_decision)
{
	const struct claims_deps *deps = &claims->deps;
	const struct inventory *inventory = claims->node->inventory;
	struct looked looked;
	struct claim_case *c = &looked.c;

	look(claims,
	     &(struct subject){ .name = view->key, .claim = view->object, .address = address },
	     known, &looked);
	looked.bind_trouble = bind_trouble_of(claims, address, view->object);
	looked.given = claim_pods_find(deps, inventory, address, &looked.holder);
	looked.bound_for = claim_pods_bound_for(deps, inventory, address);
	c->fresh = view->fresh;
	c->bind_trouble = looked.bind_trouble;
	c->allocated = looked.given;
	c->allocated_to = looked.holder;
	c->bound_for = looked.bound_for;
	c->now_wall_ms = view->now_wall_ms;
	if (address && deps->ask_offer)
		deps->ask_offer(deps->arg, address, &c->offer);
	claim_plan(c, ret_decision);
	looked_done(&looked);
}

static void job_free(void *arg)
{
	struct job *job = arg;

	binder_job_done(&job->binder);
	free(job->bound);
	free(job);
}

/* Takes the texts of @from. */
static void hand_over(struct claim_decision *from, const struct reconcile_view *view,
		      struct decision *ret_decision)
{
	static const enum step steps[] = {
		[CLAIM_REST] = STEP_REST,         [CLAIM_MARK] = STEP_PATCH,
		[CLAIM_TELL] = STEP_PATCH_STATUS, [CLAIM_READ] = STEP_READ,
		[CLAIM_BIND] = STEP_ACT,          [CLAIM_RELEASE] = STEP_ACT,
		[CLAIM_UNMARK] = STEP_PATCH,
	};
	struct job *job;

	job = xcalloc(1, sizeof(*job));
	*job = (struct job){ .binder = from->job, .watch_pid = from->watch_pid };
	from->job = (struct binder_job){ 0 };
	*ret_decision = (struct decision){
		.step = steps[from->step],
		.detail = (int)from->step,
		.body = take_ptr(from->body),
		.again_ms = from->again_ms,
		.job = job,
		.job_free = job_free,
	};
	if (view->acting)
		return;
	job->bound = take_ptr(from->bound);
	ret_decision->warning = from->warning;
	ret_decision->event_reason = xstrdup_or_null(from->event_reason);
	ret_decision->event_message = take_ptr(from->event_message);
}

/* Add the time of the next attempt, and the failure of the last one if it has not been reported to
 * the queue. */
static void add_past(const struct claims *claims, const char *address, const char *name,
		     uint64_t hold_ms, struct decision *decision)
{
	if (hold_ms > 0 && hold_ms < UINT64_MAX &&
	    (decision->again_ms == 0 || hold_ms < decision->again_ms))
		decision->again_ms = hold_ms;
	if (address)
		(void)claim_attempts_failure(claims->attempts, address, name, now_ms(claims),
					     &decision->failure);
}

/* Is its device still being set up? A release does not wait for that. */
static bool is_held(const struct claims *claims, const char *address,
		    const struct pcideviceclaim *claim)
{
	return claims->deps.is_held && claim && !claim->meta.deletion_timestamp && address &&
	       claims->deps.is_held(claims->deps.arg, address);
}

/* The end of the transition, or the next inventory, enqueues the claim again. The result of a
 * bind for a ResourceClaim does not count for the claim, also if the ResourceClaim was
 * unprepared since. */
static bool must_wait(const struct claim_view *known, const struct pcideviceclaim *claim)
{
	return known->running || known->unsure ||
	       (known->last.newer && (!claim || known->on_demand));
}

/* --- as struct reconcile_spec has them -------------------------------------------------------- */

static bool has_inventory(void *arg)
{
	const struct claims *claims = arg;

	return claims->node->inventory != NULL;
}

static bool is_ours(void *arg, const char *name, const void *object)
{
	const struct claims *claims = arg;

	return claim_group_is_recorded(claims->node->inventory, name) ||
	       (object && claim_is_ours(claims->node->name, name, object));
}

static void plan_claim(void *arg, const struct reconcile_view *view, struct decision *ret_decision)
{
	const struct claims *claims = arg;
	auto_free char *address = address_of(claims, view->key);
	struct claim_view known = view_of(claims, address, view);
	struct claim_decision decision;

	if (!view->acting &&
	    (must_wait(&known, view->object) || is_held(claims, address, view->object))) {
		ret_decision->detail = WAITS;
		return;
	}
	decide(claims, view, address, &known, &decision);
	hand_over(&decision, view, ret_decision);
	claim_decision_done(&decision);
	if (ret_decision->step == STEP_REST && !view->acting)
		add_past(claims, address, view->key, known.hold_ms, ret_decision);
}

static void reach(const char *point)
{
	if (point)
		failpoint(point);
}

static void before_step(void *arg, const struct reconcile_view *view,
			const struct decision *decision)
{
	struct claims *claims = arg;
	struct work *work = work_of(claims, view->key);

	if (work->began_ms == 0)
		work->began_ms = now_ms(claims);
	if (decision->step != STEP_ACT) /* which may not begin: act() */
		reach(failpoints[decision->detail].before);
}

static void after_step(void *arg, const struct reconcile_view *view,
		       const struct decision *decision)
{
	struct claims *claims = arg;
	const struct job *job = decision->job;

	auto_free char *address = address_of(claims, view->key);
	struct claim_view known = view_of(claims, address, view);

	if (decision->step == STEP_ACT) {
		if (work_of(claims, view->key)->moved)
			claim_audit_moved(claims->node, view, &job->binder, &known.last);
		return;
	}
	claim_audit_step(claims->node, view, decision, job ? job->bound : NULL, &known.last);
	reach(failpoints[decision->detail].after);
}

static void measure(const struct claims *claims, struct work *work)
{
	static const char *const verbs[] = { [BINDER_BIND] = "bind", [BINDER_RELEASE] = "release" };

	if (work->moved)
		metric_observe(claims->seconds, now_ms(claims) - work->began_ms,
			       &verbs[work->verb]);
	work->moved = false;
	work->began_ms = 0;
}

static void on_rest(void *arg, const char *name, const void *object,
		    const struct decision *decision)
{
	struct claims *claims = arg;
	const struct pcideviceclaim *claim = object;
	const struct job *job = decision ? decision->job : NULL;
	struct work *work = work_of(claims, name);
	auto_free char *address = address_of(claims, name);

	measure(claims, work);
	reason_count_set(claims->count, name, claim ? &claim->status.conditions : NULL);
	if (!decision || decision->detail != WAITS)
		watch_holder(work, job ? job->watch_pid : 0);
	if (decision && decision->failure.kind != ERR_NONE && address)
		claim_attempts_report(claims->attempts, address);
	if (work->pid == 0)
		work_free(map_remove(claims->works, name));
}

/* --- tasks ------------------------------------------------------------------------------------ */

/* Enqueue the claims that a function of @members concerns, but not @except. */
static void enqueue_members(struct claims *claims, const struct json_strs *members,
			    const char *except)
{
	struct json_strs names = { 0 };

	for (size_t i = 0; i < members->len; i++)
		claim_group_add_claims(claims->node->name, claims->node->inventory,
				       members->items[i], &names);
	for (size_t i = 0; i < names.len; i++) {
		if (!except || strcmp(names.items[i], except) != 0)
			reconcile_enqueue(claims->reconcile, names.items[i]);
	}
	json_strs_done(&names);
}

/* The functions @members have moved: their claims and binds on demand may go on, and only a scan
 * shows the new state. */
static void on_members_moved(struct claims *claims, const struct json_strs *members,
			     const char *except)
{
	enqueue_members(claims, members, except);
	on_demand_binds_wake(claims->binds);
	claims->deps.on_moved(claims->deps.arg);
}

static enum claim_step step_of(enum binder_verb verb)
{
	return verb == BINDER_BIND ? CLAIM_BIND : CLAIM_RELEASE;
}

static void on_transition_end(void *arg, const struct binder_outcome *outcome)
{
	struct work *work = arg;
	struct claims *claims = work->claims;
	auto_free char *lead = take_ptr(work->lead);

	reach(failpoints[step_of(work->verb)].after);
	claim_attempts_end(claims->attempts, lead, outcome);
	work->moved = outcome->task.result == TASK_DONE;
	on_members_moved(claims, claim_attempts_members(claims->attempts, lead), work->name);
	reconcile_acted(claims->reconcile, work->name);
}

/* The helper of a transition that was stuck has ended. */
static void on_free(void *arg, const char *group)
{
	struct claims *claims = arg;
	struct json_strs members = { 0 };

	log_info("stuck helper has ended", log_str("group", group));
	claim_attempts_unstick(claims->attempts, claims->binder, now_ms(claims), &members);
	on_members_moved(claims, &members, NULL);
	json_strs_done(&members);
}

static void on_late(void *arg, const char *address)
{
	const struct claims *claims = arg;
	size_t cursor = 0;
	void *value;

	while (map_next(claims->works, &cursor, NULL, &value)) {
		const struct work *work = value;

		if (work->lead && strcmp(work->lead, address) == 0)
			reconcile_report(claims->reconcile, work->name);
	}
}

static bool act(void *arg, const struct reconcile_view *view, const struct decision *decision)
{
	struct claims *claims = arg;
	const struct binder_job *job = &((const struct job *)decision->job)->binder;
	struct work *work = work_of(claims, view->key);
	struct json_strs members = { 0 };
	bool idle;

	for (size_t i = 0; i < job->len; i++)
		claim_group_add_members(claims->node->inventory, job->items[i].address, &members);
	idle = claim_attempts_idle(claims->attempts, claims->binder, &members);
	if (idle)
		claim_attempts_begin(claims->attempts,
				     &(struct claim_begin){ .job = job,
							    .members = &members,
							    .name = view->key,
							    .claim = view->object },
				     now_ms(claims));
	json_strs_done(&members);
	if (!idle)
		return false; /* the end of what is in the way enqueues it */
	work->lead = xstrdup(job->items[0].address);
	work->verb = job->verb;
	reach(failpoints[step_of(job->verb)].before);
	binder_start(claims->binder, job, on_transition_end, work);
	return true;
}

/* --- binds on demand -------------------------------------------------------------------------- */

static void wait_on_demand(struct claim_on_demand_decision *decision, const char *what)
{
	*decision = (struct claim_on_demand_decision){ .step = CLAIM_ON_DEMAND_WAIT,
						       .message = xstrdup(what) };
}

/* As struct on_demand_binds_deps has it. The number of the future VFIO node is only checked before
 * a bind: the check is slow, and it seldom finds anything. */
static void plan_on_demand(void *arg, const char *address, const struct pcideviceclaim *claim,
			   bool may_bind, struct claim_on_demand_decision *ret_decision)
{
	const struct claims *claims = arg;
	const char *name = claim->meta.name;
	struct claim_view known;
	struct looked looked;

	if (!is_informed(claims)) {
		wait_on_demand(ret_decision, "the devices of this node have not been read yet");
		return;
	}
	claim_attempts_view(claims->attempts, address, name, claim, now_ms(claims), &known);
	if (known.running) {
		wait_on_demand(ret_decision, "a transition of its IOMMU group is under way");
	} else if (known.unsure) {
		wait_on_demand(ret_decision, "the node's devices have to be read again");
	} else if (is_held(claims, address, claim)) {
		wait_on_demand(ret_decision, "the device is still being set up");
	} else {
		look(claims,
		     &(struct subject){
			     .name = name, .claim = claim, .address = address, .on_demand = true },
		     &known, &looked);
		looked.bind_trouble = may_bind ? bind_trouble_of(claims, address, claim) : NULL;
		looked.c.bind_trouble = looked.bind_trouble;
		claim_plan_on_demand(&looked.c, ret_decision);
		looked_done(&looked);
	}
}

static void on_demand_ended(void *arg, const struct json_strs *members)
{
	on_members_moved(arg, members, NULL);
}

char *claims_on_demand_trouble(const struct claims *claims, const char *address)
{
	return on_demand_binds_trouble(claims->binds, address);
}

struct on_demand_bind *claims_bind_on_demand(struct claims *claims,
					     const struct on_demand_spec *spec,
					     void (*bound)(void *arg, const struct err *err),
					     void *arg)
{
	return on_demand_binds_begin(claims->binds, spec, bound, arg);
}

bool claims_stop_on_demand(struct claims *claims, struct on_demand_bind *bind, struct err *err)
{
	return on_demand_binds_stop(claims->binds, bind, err);
}

/* --- changes ---------------------------------------------------------------------------------- */

static void enqueue_all(struct claims *claims)
{
	const struct facts *facts = claims->node->inventory->facts;
	const char *name;
	size_t cursor = 0;

	while (map_next(claims->works, &cursor, &name, NULL))
		reconcile_enqueue(claims->reconcile, name);
	reconcile_enqueue_all(claims->reconcile);
	for (size_t i = 0; i < facts->records.len; i++) {
		if (facts->records.items[i].claim)
			reconcile_enqueue(claims->reconcile, facts->records.items[i].claim);
	}
}

void claims_enqueue_all(struct claims *claims)
{
	if (!is_informed(claims))
		return;
	enqueue_all(claims);
	on_demand_binds_wake(claims->binds);
	claim_foreign_look(claims->foreign);
}

/* A pod may have lost its device since a helper was started, so that the new VFIO node could get a
 * number that the pod may open. Cancel binds that have not begun. */
static void cancel_troubled(struct claims *claims)
{
	const struct claims_deps *deps = &claims->deps;
	const char *name;
	size_t cursor = 0;

	while (deps->bind_trouble && map_next(claims->works, &cursor, &name, NULL)) {
		auto_free char *address = address_of(claims, name);
		auto_free char *trouble = address ? deps->bind_trouble(deps->arg, address) : NULL;

		if (trouble)
			binder_cancel(claims->binder, name, NULL);
	}
}

void claims_update_attempts(struct claims *claims)
{
	claim_attempts_update(claims->attempts);
	cancel_troubled(claims);
}

/* A claim that is gone needs no bind any more. Cancel one that has not begun, so that it need not
 * be undone. */
static void cancel_bind(struct claims *claims, const char *name)
{
	const struct entry *entry =
		store_get(informer_store(claims->node->claims[INVENTORY_PCI]), name);
	const struct pcideviceclaim *claim = entry ? entry->object : NULL;

	if (entry && !claim)
		return; /* it cannot be read, so nothing is known */
	binder_cancel(claims->binder, name,
		      claim && !claim->meta.deletion_timestamp ? claim->meta.uid : NULL);
}

void claims_enqueue(struct claims *claims, const char *name)
{
	struct json_strs members = { 0 };
	auto_free char *address = NULL;
	bool informed = is_informed(claims);

	if (informed)
		cancel_bind(claims, name);
	reconcile_changed(claims->reconcile, name);
	on_demand_binds_wake(claims->binds);
	if (!informed)
		return; /* claims_enqueue_all() enqueues the others */
	claim_foreign_hear(claims->foreign, name);
	address = address_of(claims, name);
	if (!address)
		return;
	claim_group_add_members(claims->node->inventory, address, &members);
	enqueue_members(claims, &members, name);
	json_strs_done(&members);
}

void claims_set_node_address(struct claims *claims, const char *address)
{
	binder_set_node_address(claims->binder, address);
}

/* A claim that is Held waits for the function; a claim without conditions may get it at once. */
static bool takes(const struct pcideviceclaim *claim)
{
	const struct api_condition *accepted =
		api_conditions_find(&claim->status.conditions, "Accepted");

	return !claim->meta.deletion_timestamp && !pcideviceclaim_is_skipped(claim) &&
	       (!accepted || !str_equal(accepted->status, "False") ||
		str_equal(accepted->reason, "Held"));
}

char *claims_taker(const struct claims *claims, const char *address)
{
	const struct this_node *node = claims->node;
	const struct store *store = informer_store(node->claims[INVENTORY_PCI]);
	struct json_strs members = { 0 };
	char *taker = NULL;

	claim_group_add_members(node->inventory, address, &members);
	for (size_t i = 0; i < members.len && !taker; i++) {
		auto_free char *name = names_pcidevice(node->name, members.items[i]);
		const struct pcideviceclaim *claim = store_object(store, name);

		if (claim && takes(claim) &&
		    (claim->spec.include_iommu_group || strcmp(members.items[i], address) == 0))
			taker = take_ptr(name);
	}
	json_strs_done(&members);
	return taker;
}

bool claims_moving(const struct claims *claims, const char *name)
{
	char address[NAMES_ADDRESS_SIZE];

	return names_pcidevice_address(claims->node->name, name, address) == 0 &&
	       claim_attempts_moving(claims->attempts, address);
}

/* --- life ------------------------------------------------------------------------------------- */

static struct reconcile *new_reconcile(struct claims *claims)
{
	const struct reconcile_spec spec = {
		.name = "pcideviceclaims",
		.kind = &pcideviceclaim_kind,
		.objects = claims->node->claims[INVENTORY_PCI],
		.needs = claims->needs,
		.max_running = RUNS_AT_A_TIME,
		.is_ready = has_inventory,
		.is_ours = is_ours,
		.plan = plan_claim,
		.before = before_step,
		.after = after_step,
		.act = act,
		.rested = on_rest,
		.arg = claims,
	};

	return node_reconcile_new(claims->node, &spec);
}

struct claims *claims_new(const struct this_node *node, const struct claims_deps *deps)
{
	const struct binder_options binder = {
		.helper = node->helper,
		.deadline_ms = node->deadline_ms,
		.metrics = node->metrics,
	};
	struct claims *claims = xcalloc(1, sizeof(*claims));

	claims->node = node;
	claims->deps = *deps;
	claims->needs[0] = node->devices[INVENTORY_PCI];
	claims->needs[1] = node->claims[INVENTORY_USB];
	claims->works = map_new();
	claims->count = reason_count_of(node->metrics, pcideviceclaim_kind.kind, REASON_PCI_CLAIM);
	claims->binder = binder_new(node->loop, &binder, on_free, claims);
	binder_set_late(claims->binder, on_late);
	claims->attempts = claim_attempts_new(node);
	claims->foreign = claim_foreign_new(node, claims->attempts);
	claims->binds =
		on_demand_binds_new(&(struct on_demand_binds_deps){ .node = node,
								    .binder = claims->binder,
								    .attempts = claims->attempts,
								    .plan = plan_on_demand,
								    .ended = on_demand_ended,
								    .arg = claims });
	claims->seconds = metrics_family(node->metrics, &seconds_desc);
	metric_show(claims->seconds, (const char *const[]){ "bind" });
	metric_show(claims->seconds, (const char *const[]){ "release" });
	claims->reconcile = new_reconcile(claims);
	return claims;
}

struct claims *claims_free(struct claims *claims)
{
	size_t cursor = 0;
	void *work;

	if (!claims)
		return NULL;
	on_demand_binds_free(claims->binds);
	binder_free(claims->binder);
	reconcile_free(claims->reconcile);
	while (map_next(claims->works, &cursor, NULL, &work))
		work_free(work);
	map_free(claims->works);
	claim_foreign_free(claims->foreign);
	reason_count_free(claims->count);
	claim_attempts_free(claims->attempts);
	free(claims);
	return NULL;
}
