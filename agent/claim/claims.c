#include "agent/claim/claims.h"

#include <stdlib.h>
#include <string.h>

#include "agent/claim/claim_foreign.h"
#include "agent/claim/claim_history.h"
#include "agent/claim/claim_plan.h"
#include "agent/claim/claim_run.h"
#include "agent/claim/claim_ties.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/process/pid_watch.h"
#include "api/names.h"
#include "api/pcideviceclaim.h"
#include "api/reason.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "kube/clock.h"
#include "kube/echoes.h"
#include "kube/informer.h"
#include "kube/metrics.h"
#include "kube/reason_count.h"
#include "kube/store.h"
#include "kube/workq_run.h"

enum {
	RUNS_AT_A_TIME = 16,
	INSTALL_MS = 2000, /* how often to look whether the kinds have been installed */
};

struct claims {
	struct claims_deps deps;
	struct claim_context context;
	struct workq_run *queue;
	struct claim_run *runs[RUNS_AT_A_TIME];
	size_t running;
	struct map *holders; /* name of the claim -> struct holder */
	struct claim_foreign *foreign;
	struct reason_count *count;
};

/* The process that a claim waits for. */
struct holder {
	struct claims *claims;
	char *name;
	int pid;
	struct pid_watch *watch; /* NULL: it ended, or cannot be watched */
};

static const struct metric_desc seconds_desc = {
	.name = "hostdev_claim_seconds",
	.help = "Time from the first reconciliation of a claim to the one that bound or released it.",
	.type = METRIC_SECONDS,
	.labels = { "verb" },
	.buckets_ms = { 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000 },
};

static void holder_free(struct holder *holder)
{
	if (!holder)
		return;
	pid_watch_free(holder->watch);
	free(holder->name);
	free(holder);
}

/* Nothing can be decided before all of it is there. */
static bool informed(const struct claims *claims)
{
	return claims->context.inventory && informer_synced(claims->deps.claims) &&
	       informer_synced(claims->deps.devices) &&
	       (!claims->deps.usb_claims || informer_synced(claims->deps.usb_claims));
}

static void wake(struct claims *claims, const char *name)
{
	auto_free char *address =
		claim_ties_address(claims->deps.node_name, claims->context.inventory, name);

	if (address)
		claim_history_wake(claims->context.history, address);
	workq_run_add(claims->queue, name);
}

/* The holder stays known: a watch on the same number would fire at once again if it is a process of
 * another pid namespace. */
static void on_holder_gone(void *arg)
{
	struct holder *holder = arg;

	log_debug("holder ended", log_str("claim", holder->name), log_int("pid", holder->pid));
	holder->watch = pid_watch_free(holder->watch);
	wake(holder->claims, holder->name);
}

static void watch_holder(struct claims *claims, const char *name, int pid)
{
	struct holder *holder = map_get(claims->holders, name);
	struct err err = { 0 };

	if (holder && holder->pid == pid)
		return;
	holder_free(map_remove(claims->holders, name));
	if (pid <= 0)
		return;
	holder = xcalloc(1, sizeof(*holder));
	*holder = (struct holder){ .claims = claims, .name = xstrdup(name), .pid = pid };
	holder->watch = pid_watch_new(claims->deps.loop, pid, on_holder_gone, holder, &err);
	if (!holder->watch)
		log_debug("holder cannot be watched, looking by time", log_str("claim", name),
			  log_str("reason", err.msg));
	map_set(claims->holders, name, holder);
}

static void on_rest(void *arg, const char *name, const struct claim_rest *rest)
{
	struct claims *claims = arg;

	reason_count_set(claims->count, name, rest->claim ? &rest->claim->status.conditions : NULL);
	watch_holder(claims, name, rest->watch_pid);
	if (rest->again_ms != UINT64_MAX)
		workq_run_add_after(claims->queue, name, rest->again_ms);
}

static void on_gone(void *arg, const struct claim_run *run)
{
	struct claims *claims = arg;

	for (size_t i = 0; i < claims->running; i++) {
		if (claims->runs[i] == run)
			claims->runs[i] = claims->runs[--claims->running];
	}
}

/* All claims that have to do with a function of @members, but for @except. */
static void touch_members(struct claims *claims, const struct json_strs *members,
			  const char *except)
{
	struct json_strs names = { 0 };

	for (size_t i = 0; i < members->len; i++)
		claim_ties_claims(claims->deps.node_name, claims->context.inventory,
				  members->items[i], &names);
	for (size_t i = 0; i < names.len; i++) {
		if (!except || strcmp(names.items[i], except) != 0)
			workq_run_add(claims->queue, names.items[i]);
	}
	json_strs_done(&names);
}

static void on_moved(void *arg, const char *address, const char *name)
{
	struct claims *claims = arg;

	touch_members(claims, claim_history_members(claims->context.history, address), name);
	claims->deps.on_moved(claims->deps.arg);
}

static void on_free(void *arg, const char *group)
{
	struct claims *claims = arg;
	struct json_strs members = { 0 };

	log_info("stuck helper has ended", log_str("group", group));
	claim_history_unstick(claims->context.history, claims->context.binder,
			      clock_now_ms(claims->deps.clock), &members);
	touch_members(claims, &members, NULL);
	json_strs_done(&members);
	claims->deps.on_moved(claims->deps.arg);
}

static void on_late(void *arg, const char *address)
{
	struct claims *claims = arg;

	for (size_t i = 0; i < claims->running; i++)
		claim_run_late(claims->runs[i], address);
}

/* Is its device still being set up? Giving one back never waits for that. */
static bool is_held(const struct claims *claims, const char *name,
		    const struct pcideviceclaim *claim)
{
	auto_free char *address = NULL;

	if (!claims->deps.is_held || !claim || claim->meta.deletion_timestamp)
		return false;
	address = claim_ties_address(claims->deps.node_name, claims->context.inventory, name);
	return address && claims->deps.is_held(claims->deps.arg, address);
}

/* True if there is something to decide on @name, now. */
static bool to_be_decided(struct claims *claims, const char *name)
{
	const struct entry *entry = store_get(informer_store(claims->deps.claims), name);
	const struct pcideviceclaim *claim = entry ? entry->object : NULL;
	bool recorded;
	uint64_t wait_ms;

	if (!informed(claims) || (entry && !entry->object))
		return false; /* a change of it adds it again */
	if (!claim)
		reason_count_set(claims->count, name, NULL);
	recorded = claim_ties_has_record(claims->context.inventory, name);
	if (!recorded && !(claim && claim_is_ours(claims->deps.node_name, name, claim))) {
		reason_count_set(claims->count, name, NULL);
		watch_holder(claims, name, 0);
		return false;
	}
	if (is_held(claims, name, claim))
		return false;
	wait_ms = echoes_wait_ms(claims->context.echoes, name, entry,
				 clock_now_ms(claims->deps.clock));
	if (wait_ms == 0 && !informer_installed(claims->deps.claims))
		wait_ms = INSTALL_MS;
	if (wait_ms > 0)
		workq_run_add_after(claims->queue, name, wait_ms);
	return wait_ms == 0;
}

static void work(void *arg, const char *name, work_end_fn *end, void *end_arg)
{
	struct claims *claims = arg;
	struct claim_run *run;

	if (!to_be_decided(claims, name)) {
		end(end_arg, 0, NULL);
		return;
	}
	run = claim_run_new(&claims->context, name, end, end_arg);
	claims->runs[claims->running++] = run;
	claim_run_start(run);
}

struct claims *claims_new(const struct claims_deps *deps)
{
	struct claims *claims = xcalloc(1, sizeof(*claims));

	claims->deps = *deps;
	claims->holders = map_new();
	claims->foreign = claim_foreign_new(&claims->deps);
	claims->count = reason_count_of(deps->metrics, pcideviceclaim_kind.kind, REASON_PCI_CLAIM);
	claims->context = (struct claim_context){
		.deps = &claims->deps,
		.binder = binder_new(deps->loop, &deps->binder, on_free, claims),
		.history = claim_history_new(),
		.echoes = echoes_new(),
		.seconds = metrics_family(deps->metrics, &seconds_desc),
		.on_moved = on_moved,
		.on_rest = on_rest,
		.on_gone = on_gone,
		.arg = claims,
	};
	binder_set_late(claims->context.binder, on_late);
	metric_show(claims->context.seconds, (const char *const[]){ "bind" });
	metric_show(claims->context.seconds, (const char *const[]){ "release" });
	claims->queue = workq_run_new(&(struct workq_run_spec){
		.name = "pcideviceclaims",
		.max_running = RUNS_AT_A_TIME,
		.work = work,
		.arg = claims,
		.clock = deps->clock,
		.metrics = deps->metrics,
	});
	return claims;
}

struct claims *claims_free(struct claims *claims)
{
	size_t cursor = 0;
	void *holder;

	if (!claims)
		return NULL;
	binder_free(claims->context.binder);
	while (claims->running > 0)
		claim_run_free(claims->runs[--claims->running]);
	workq_run_free(claims->queue);
	while (map_next(claims->holders, &cursor, NULL, &holder))
		holder_free(holder);
	map_free(claims->holders);
	claim_foreign_free(claims->foreign);
	reason_count_free(claims->count);
	echoes_free(claims->context.echoes);
	claim_history_free(claims->context.history);
	free(claims);
	return NULL;
}

static void touch_all(struct claims *claims)
{
	const struct store *store = informer_store(claims->deps.claims);
	const struct facts *facts = claims->context.inventory->facts;
	const struct entry *entry;
	size_t cursor = 0;
	const char *waiting;

	while (map_next(claims->holders, &cursor, &waiting, NULL))
		workq_run_add(claims->queue, waiting);
	cursor = 0;
	while ((entry = store_next(store, &cursor))) {
		if (entry->object &&
		    claim_is_ours(claims->deps.node_name, entry->name, entry->object))
			workq_run_add(claims->queue, entry->name);
	}
	for (size_t i = 0; i < facts->records.len; i++) {
		if (facts->records.items[i].claim)
			workq_run_add(claims->queue, facts->records.items[i].claim);
	}
}

void claims_synced(struct claims *claims)
{
	if (!informed(claims))
		return;
	touch_all(claims);
	claim_foreign_look(claims->foreign, claims->context.inventory);
}

void claims_set(struct claims *claims, const struct inventory *inventory)
{
	claims->context.inventory = inventory;
	claim_history_set(claims->context.history, inventory);
	claims_synced(claims);
}

/* A claim that is gone wants nothing bound any more: what is not begun need not be taken back. */
static void cancel_bind(struct claims *claims, const char *name)
{
	const struct entry *entry = store_get(informer_store(claims->deps.claims), name);
	const struct pcideviceclaim *claim = entry ? entry->object : NULL;

	if (entry && !claim)
		return; /* it cannot be read: that says nothing */
	binder_cancel(claims->context.binder, name,
		      claim && !claim->meta.deletion_timestamp ? claim->meta.uid : NULL);
}

void claims_touch(struct claims *claims, const char *name)
{
	const struct store *store = informer_store(claims->deps.claims);
	struct json_strs members = { 0 };
	auto_free char *address = NULL;

	echoes_hear(claims->context.echoes, name, store_get(store, name));
	if (!informed(claims))
		return; /* claims_set() or claims_synced() looks at all of them */
	cancel_bind(claims, name);
	claim_foreign_hear(claims->foreign, name);
	address = claim_ties_address(claims->deps.node_name, claims->context.inventory, name);
	if (!address) {
		workq_run_add(claims->queue, name);
		return;
	}
	claim_ties_members(claims->context.inventory, address, &members);
	touch_members(claims, &members, NULL);
	json_strs_done(&members);
}

void claims_touch_controller(struct claims *claims, const char *address)
{
	auto_free char *name = names_pcidevice(claims->deps.node_name, address);

	claims_touch(claims, name);
}

void claims_set_node_address(struct claims *claims, const char *address)
{
	binder_set_node_address(claims->context.binder, address);
}

bool claims_moving(const struct claims *claims, const char *name)
{
	char address[NAMES_ADDRESS_SIZE];

	return names_pcidevice_address(claims->deps.node_name, name, address) == 0 &&
	       claim_history_moving(claims->context.history, address);
}
