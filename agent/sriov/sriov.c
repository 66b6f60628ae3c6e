#include "agent/sriov/sriov.h"

#include <stdlib.h>
#include <string.h>

#include "agent/inventory/claimable.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/node/node_reconcile.h"
#include "agent/node/this_node.h"
#include "agent/sriov/sriov_card.h"
#include "agent/sriov/sriov_check.h"
#include "agent/sriov/sriov_plan.h"
#include "agent/task/attempt.h"
#include "agent/task/task.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "api/sriovnetworkdevice.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/audit.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/metrics.h"
#include "kube/reconcile.h"
#include "kube/store.h"

enum {
	RUNS_AT_A_TIME = 8,
	DEADLINES = 4, /* a card may make its virtual functions one by one */
};

/* What is remembered of the card of one object. */
struct card {
	struct sriov *sriov;
	char *name;        /* of the object        */
	struct task *task; /* NULL: none, see act() */
	struct attempt attempt;
};

struct sriov {
	const struct this_node *node;
	struct sriov_deps deps;
	const struct informer *needs[2];
	struct reconcile *reconcile; /* of the SRIOVNetworkDevices of this node */
	struct metric *runs;         /* {result}, may be NULL */
	char *node_address;          /* NULL: not known       */
	char *label;                 /* the last that was asked for */
	struct map *cards;           /* name of the object -> struct card              */
	struct map *above;           /* address of a virtual function -> that of its card */
};

static const struct attempt_backoff backoff = {
	.held_ms = 5000,
	.refused_ms = 30000,
	.first_ms = 1000,
	.max_ms = 64000,
};

static const struct metric_desc runs_desc = {
	.name = "hostdev_sriov_runs_total",
	.help = "Helper runs for virtual functions of network cards, by result.",
	.type = METRIC_COUNTER,
	.labels = { "result" },
};

static uint64_t now_ms(const struct sriov *sriov)
{
	return clock_now_ms(sriov->node->clock);
}

/* --- users of a function ---------------------------------------------------------------------- */

/* Find the claim of the function at @address, or the record of one, which outlives the claim until
 * the device is released; NULL: none, unless *@ret_unknown is set: the inventory is older than the
 * release, so wait for the next one. The caller frees. */
static char *claim_of(const struct sriov *sriov, const char *address, bool *ret_unknown)
{
	const struct sriov_deps *deps = &sriov->deps;
	auto_free char *name = names_pcidevice(sriov->node->name, address);
	const struct facts *facts = sriov->node->inventory->facts;

	if (store_get(informer_store(sriov->node->claims[INVENTORY_PCI]), name))
		return take_ptr(name);
	for (size_t i = 0; i < facts->records.len; i++) {
		const struct record_facts *record = &facts->records.items[i];

		if (strcmp(record->address, address) != 0)
			continue;
		if (!deps->is_moving || !deps->is_moving(deps->arg, name))
			return xstrdup(record->claim ? record->claim : name);
		*ret_unknown = true;
	}
	return NULL;
}

/* What the node does with it itself; NULL: nothing. The caller frees. */
static char *use_of_node(const struct sriov *sriov, const char *address)
{
	const struct verdict *verdict = sriov_card_verdict(sriov->node->inventory, address);

	if (verdict && strcmp(verdict->reason, "UseUnknown") == 0)
		return xasprintf("%s may be in use by the node: %s", address, verdict->message);
	if (!verdict || (strcmp(verdict->reason, "InUse") != 0 && !sriov_card_critical(verdict)))
		return NULL;
	return xasprintf("%s is in use by the node: %s", address, verdict->message);
}

/* Why the virtual function at @address cannot be removed; NULL: it can, unless *@ret_unknown is
 * set: whether a claim or a pod has it will be known in a moment. The caller frees. */
static char *use_of(const struct sriov *sriov, const char *address, bool *ret_unknown)
{
	const struct sriov_deps *deps = &sriov->deps;
	auto_free char *claim = claim_of(sriov, address, ret_unknown);
	auto_free char *holder = NULL;

	if (claim)
		return xasprintf("%s is claimed by %s", address, claim);
	if (!deps->is_free || deps->is_free(deps->arg, address, &holder))
		return use_of_node(sriov, address);
	if (holder)
		return xasprintf("%s was allocated to %s", address, holder);
	*ret_unknown = true;
	return NULL;
}

/* --- what is known of one object -------------------------------------------------------------- */

/* A case, and what it borrows beside what lives longer. */
struct view {
	struct sriov_case c;
	char *user;
	char *claimed;
	char *stuck;
};

static const struct card *card_of(const struct sriov *sriov, const char *name)
{
	static const struct card none = { 0 };
	const struct card *card = map_get(sriov->cards, name);

	return card ? card : &none;
}

static struct attempt_object attempt_object(const struct sriovnetworkdevice *object)
{
	return (struct attempt_object){
		.uid = object->meta.uid ? object->meta.uid : "",
		.generation = object->meta.generation,
	};
}

/* The users matter only in this case. */
static bool number_changes(const struct sriov_case *c)
{
	return c->object && c->pf && !sriov_is_as_found(c->object) &&
	       c->object->spec.num_vfs != (int)c->pf->virtual_functions.len;
}

static void find_users(const struct sriov *sriov, struct view *view)
{
	struct sriov_case *c = &view->c;
	const struct json_strs *functions = &c->pf->virtual_functions;

	for (size_t i = 0; i < functions->len && !view->user; i++)
		view->user = use_of(sriov, functions->items[i], &c->unknown);
	view->claimed = claim_of(sriov, c->pf->address, &c->unknown);
	c->user = view->user;
	c->claimed = view->claimed;
}

static char *describe_stuck(const struct task *task)
{
	auto_free char *what = task_describe(task);

	return xasprintf("%s; the agent waits until it ends: end what uses the virtual functions, "
			 "or see the node's kernel log",
			 what);
}

/* The PCIDevice at @address; NULL: it is not known. */
static const struct api_meta *device_of(const struct sriov *sriov, const char *address)
{
	const struct informer *devices = sriov->node->devices[INVENTORY_PCI];
	auto_free char *name = address ? names_pcidevice(sriov->node->name, address) : NULL;

	return name && devices ? store_object(informer_store(devices), name) : NULL;
}

static size_t count_unpublished(const struct sriov *sriov, const struct pci_facts *pf)
{
	size_t count = 0;

	for (size_t i = 0; pf && i < pf->virtual_functions.len; i++)
		count += !device_of(sriov, pf->virtual_functions.items[i]);
	return count;
}

/* @object: the newest of @name that is known; NULL: there is none. The caller sets c.fresh, and
 * releases the view. */
static void view_init(struct view *view, const struct sriov *sriov, const char *name,
		      const struct sriovnetworkdevice *object)
{
	const struct this_node *node = sriov->node;
	const struct card *card = card_of(sriov, name);
	struct sriov_case *c = &view->c;

	*view = (struct view){ 0 };
	if (card->task && task_is_stuck(card->task))
		view->stuck = describe_stuck(card->task);
	*c = (struct sriov_case){
		.node_name = node->name,
		.name = name,
		.object = object,
		.inventory = node->inventory,
		.objects = reconcile_store(sriov->reconcile),
		.pf = sriov_card_find(node->name, node->inventory, name, object),
		.stuck = view->stuck,
		.now_wall_ms = clock_wall_ms(node->clock),
	};
	if (object) {
		const struct attempt_object of = attempt_object(object);

		c->failure = attempt_failure(&card->attempt, &of, now_ms(sriov), &c->hold_ms);
		c->verified = attempt_is_done(&card->attempt, &of, node->inventory->began_ms);
	}
	c->unpublished = node->devices[INVENTORY_PCI] ? count_unpublished(sriov, c->pf) : 0;
	if (number_changes(c))
		find_users(sriov, view);
}

static void view_done(struct view *view)
{
	free(view->user);
	free(view->claimed);
	free(view->stuck);
	*view = (struct view){ 0 };
}

/* Will a task come that puts settings in place? */
static bool awaits_settings(const struct sriov_case *c)
{
	struct sriov_verdict verdict;
	bool awaits;

	if (!c->object || !c->pf || !c->pf->vendor || !c->pf->device)
		return false;
	sriov_check(c, &verdict);
	awaits = verdict.ok && verdict.settings && !c->verified && !c->failure;
	sriov_verdict_done(&verdict);
	return awaits;
}

/* --- as struct reconcile_spec has them -------------------------------------------------------- */

static bool has_inventory(void *arg)
{
	const struct sriov *sriov = arg;

	return sriov->node->inventory != NULL;
}

/* The plan does nothing for another node's object, and on_rest() reports it. */
static bool is_ours(void *arg, const char *name, const void *object)
{
	const struct sriov *sriov = arg;

	return object || sriov_card_find(sriov->node->name, sriov->node->inventory, name, NULL);
}

static void job_free(void *job)
{
	sriov_job_done(job);
	free(job);
}

/* Takes what @from has. */
static void hand_over(struct sriov_decision *from, struct decision *ret_decision)
{
	static const enum step steps[] = {
		[SRIOV_REST] = STEP_REST,     [SRIOV_CREATE] = STEP_CREATE,
		[SRIOV_PATCH] = STEP_PATCH,   [SRIOV_PATCH_STATUS] = STEP_PATCH_STATUS,
		[SRIOV_READ] = STEP_READ,     [SRIOV_APPLY] = STEP_ACT,
		[SRIOV_DELETE] = STEP_DELETE,
	};
	struct sriov_job *job;

	*ret_decision = (struct decision){
		.step = steps[from->step],
		.detail = (int)from->step,
		.body = take_ptr(from->body),
		.again_ms = from->again_ms,
		.warning = from->warning,
		.event_reason = xstrdup_or_null(from->event_reason),
		.event_message = take_ptr(from->event_message),
	};
	if (from->step != SRIOV_APPLY)
		return;
	job = xcalloc(1, sizeof(*job));
	*job = from->job;
	from->job = (struct sriov_job){ 0 };
	ret_decision->job = job;
	ret_decision->job_free = job_free;
}

static void plan_card(void *arg, const struct reconcile_view *view, struct decision *ret_decision)
{
	const struct sriov *sriov = arg;
	struct sriov_decision decision;
	struct view known;

	/* Only the next inventory shows the result. */
	if (attempt_is_newer(&card_of(sriov, view->key)->attempt, sriov->node->inventory->began_ms))
		return;
	view_init(&known, sriov, view->key, view->object);
	known.c.fresh = view->fresh;
	sriov_plan(&known.c, &decision);
	hand_over(&decision, ret_decision);
	sriov_decision_done(&decision);
	view_done(&known);
}

static void audit_step(void *arg, const struct reconcile_view *view,
		       const struct decision *decision)
{
	const struct sriov *sriov = arg;
	const struct sriovnetworkdevice *object = view->object;

	if (!decision->event_reason)
		return;
	audit_record(
		sriov->node->events,
		&(struct events_about){ &pcidevice_kind, device_of(sriov, object->spec.address) },
		&(struct audit){
			.action = "configure",
			.result = audit_result(decision->event_reason, decision->warning),
			.kind = sriovnetworkdevice_kind.kind,
			.device = view->key,
			.node = sriov->node->name,
			.reason = decision->event_reason,
			.message = decision->event_message,
			.warning = decision->warning,
		});
}

static void card_free(void *arg)
{
	struct card *card = arg;

	if (!card)
		return;
	task_abandon(card->task);
	attempt_done(&card->attempt);
	free(card->name);
	free(card);
}

/* What is neither at the API server nor on the node is nothing to remember anything of. */
static void forget_card(struct sriov *sriov, const char *name)
{
	const struct card *card = map_get(sriov->cards, name);

	if (card && !card->task)
		card_free(map_remove(sriov->cards, name));
}

/* The name is taken by an object without our label, of another node. The cache never shows it, so
 * only the log can report it. */
static void warn_of_another(const struct sriov *sriov, const char *name,
			    const struct sriovnetworkdevice *object)
{
	const char *node = object->spec.node_name;

	if (node && strcmp(node, sriov->node->name) != 0 &&
	    !store_get(reconcile_store(sriov->reconcile), name))
		log_warn("an object that this node needs is another node's: correct or delete it",
			 log_str("kind", sriovnetworkdevice_kind.kind), log_str("object", name),
			 log_str("nodeName", node));
}

static void on_rest(void *arg, const char *name, const void *object,
		    const struct decision *decision)
{
	struct sriov *sriov = arg;

	(void)decision;
	if (object)
		warn_of_another(sriov, name, object);
	else if (!is_ours(sriov, name, NULL))
		forget_card(sriov, name);
}

/* --- tasks ------------------------------------------------------------------------------------ */

static void on_task_end(void *arg, struct task_outcome *outcome)
{
	struct card *card = arg;
	struct sriov *sriov = card->sriov;
	const struct sriov_deps *deps = &sriov->deps;

	if (outcome) {
		card->task = NULL;
		metric_count(sriov->runs, outcome->result == TASK_DONE ? "Done" : outcome->reason);
		if (attempt_end(&card->attempt, outcome, &backoff, now_ms(sriov)))
			deps->on_moved(deps->arg);
		deps->on_free(deps->arg);
	}
	reconcile_acted(sriov->reconcile, card->name);
}

static void on_task_gone(void *arg)
{
	struct card *card = arg;
	struct sriov *sriov = card->sriov;

	card->task = NULL;
	attempt_end_unknown(&card->attempt, now_ms(sriov));
	sriov->deps.on_moved(sriov->deps.arg);
	reconcile_enqueue(sriov->reconcile, card->name);
}

static struct card *new_card(struct sriov *sriov, const char *name)
{
	struct card *card = map_get(sriov->cards, name);

	if (card)
		return card;
	card = xcalloc(1, sizeof(*card));
	*card = (struct card){ .sriov = sriov, .name = xstrdup(name) };
	map_set(sriov->cards, name, card);
	return card;
}

static bool act(void *arg, const struct reconcile_view *view, const struct decision *decision)
{
	struct sriov *sriov = arg;
	struct card *card = new_card(sriov, view->key);
	const struct sriov_job *job = decision->job;
	const struct attempt_object of = attempt_object(view->object);
	const struct task_spec spec = {
		.loop = sriov->node->loop,
		.helper = &sriov->node->helper,
		.node_address = sriov->node_address,
		.deadline_ms = sriov->node->deadline_ms * DEADLINES,
		.verb = "vfs",
		.key = view->key,
		.words = &job->words,
		.on_end = on_task_end,
		.on_gone = on_task_gone,
		.arg = card,
	};
	struct err err = { 0 };

	card->task = task_start(&spec, &err);
	if (card->task) {
		attempt_begin(&card->attempt, &of,
			      job->count ? ATTEMPT_CHANGES_ONE : ATTEMPT_CHANGES_NOTHING,
			      now_ms(sriov));
		return true;
	}
	attempt_not_started(&card->attempt, &of, &backoff, &err, now_ms(sriov));
	reconcile_enqueue(sriov->reconcile, view->key); /* write it to the status */
	return false;
}

/* --- changes ---------------------------------------------------------------------------------- */

/* Nothing can be decided before all of it is there. */
static bool is_informed(const struct sriov *sriov)
{
	return sriov->node->inventory && reconcile_is_synced(sriov->reconcile, NULL) &&
	       informer_synced(sriov->node->claims[INVENTORY_PCI]);
}

/* The virtual functions of the card at @address may have got or lost their object. */
static void report_named(const struct sriov *sriov, const char *address)
{
	const struct pci_facts *pf = NULL;

	if (sriov->node->inventory)
		pf = sriov_card_function(sriov->node->inventory, address);
	for (size_t i = 0; pf && i < pf->virtual_functions.len; i++)
		sriov->deps.on_named(sriov->deps.arg, pf->virtual_functions.items[i]);
}

static const char *address_in(const struct entry *entry)
{
	const struct sriovnetworkdevice *object = entry ? entry->object : NULL;

	return object && object->spec.address ? object->spec.address : "";
}

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct sriov *sriov = arg;

	(void)name;
	if (before && after && strcmp(address_in(before), address_in(after)) == 0)
		return;
	report_named(sriov, address_in(before));
	report_named(sriov, address_in(after));
	/* One object less or more may concern another of the same card. */
	sriov_enqueue_all(sriov);
}

static void on_synced(void *arg)
{
	struct sriov *sriov = arg;

	sriov_enqueue_all(sriov);
	sriov->deps.on_free(sriov->deps.arg);
}

void sriov_enqueue_all(struct sriov *sriov)
{
	const struct facts *facts;

	if (!is_informed(sriov))
		return;
	reconcile_enqueue_all(sriov->reconcile);
	facts = sriov->node->inventory->facts;
	for (size_t i = 0; i < facts->pci.len; i++) {
		const struct pci_facts *pci = &facts->pci.items[i];
		auto_free char *name = NULL;

		if (!sriov_card_is_nic(pci))
			continue;
		name = names_sriovnetworkdevice(sriov->node->name, pci->interface);
		reconcile_enqueue(sriov->reconcile, name);
	}
}

void sriov_map_functions(struct sriov *sriov)
{
	const struct facts *facts = sriov->node->inventory->facts;

	map_free(sriov->above);
	sriov->above = map_new();
	for (size_t i = 0; i < facts->pci.len; i++) {
		struct pci_facts *pci = &facts->pci.items[i];

		if (pci->physical_function)
			map_set(sriov->above, pci->address, pci->physical_function);
	}
}

void sriov_set_node_address(struct sriov *sriov, const char *address)
{
	str_set(&sriov->node_address, address);
}

/* --- questions -------------------------------------------------------------------------------- */

bool sriov_ready(struct sriov *sriov, struct str *reason)
{
	return reconcile_is_synced(sriov->reconcile, reason);
}

/* The name of the object of the card whose virtual function is at @address; NULL: none. */
static const char *object_above(const struct sriov *sriov, const char *address)
{
	const char *above = map_get(sriov->above, address);

	return above ? sriov_card_object(reconcile_store(sriov->reconcile), above) : NULL;
}

bool sriov_holds(struct sriov *sriov, const char *address)
{
	const char *name = object_above(sriov, address);
	const struct task *task = name ? card_of(sriov, name)->task : NULL;
	struct view view;
	bool holds;

	if (!is_informed(sriov))
		return map_get(sriov->above, address) != NULL;
	if (!name || task)
		return task && !task_is_stuck(task);
	view_init(&view, sriov, name, store_object(reconcile_store(sriov->reconcile), name));
	holds = awaits_settings(&view.c);
	view_done(&view);
	return holds;
}

const char *sriov_parent(struct sriov *sriov, const char *address)
{
	const char *name = object_above(sriov, address);

	free(sriov->label);
	sriov->label = name ? names_label_value(name) : NULL;
	return sriov->label;
}

/* --- life ------------------------------------------------------------------------------------- */

static struct reconcile *new_reconcile(struct sriov *sriov)
{
	const struct this_node *node = sriov->node;
	auto_free char *label = names_label_value(node->name);
	auto_free char *ours = xasprintf("%s=%s", NAMES_LABEL_NODE, label);
	const struct reconcile_spec spec = {
		.name = "sriovnetworkdevices",
		.kind = &sriovnetworkdevice_kind,
		.needs = sriov->needs,
		.label_selector = ours,
		.on_change = on_change,
		.on_synced = on_synced,
		.max_running = RUNS_AT_A_TIME,
		.is_ready = has_inventory,
		.is_ours = is_ours,
		.plan = plan_card,
		.after = audit_step,
		.act = act,
		.rested = on_rest,
		.arg = sriov,
	};

	return node_reconcile_new(node, &spec);
}

struct sriov *sriov_new(const struct this_node *node, const struct sriov_deps *deps)
{
	struct sriov *sriov = xcalloc(1, sizeof(*sriov));

	sriov->node = node;
	sriov->deps = *deps;
	sriov->needs[0] = node->claims[INVENTORY_PCI];
	sriov->cards = map_new();
	sriov->above = map_new();
	sriov->runs = metrics_family(node->metrics, &runs_desc);
	metric_show(sriov->runs, (const char *const[]){ "Done" });
	sriov->reconcile = new_reconcile(sriov);
	return sriov;
}

void sriov_start(struct sriov *sriov)
{
	reconcile_start(sriov->reconcile);
}

struct sriov *sriov_free(struct sriov *sriov)
{
	if (!sriov)
		return NULL;
	reconcile_free(sriov->reconcile);
	map_free_with(sriov->cards, card_free);
	map_free(sriov->above);
	free(sriov->node_address);
	free(sriov->label);
	free(sriov);
	return NULL;
}
