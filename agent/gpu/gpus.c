#include "agent/gpu/gpus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/gpu/gpu_cards.h"
#include "agent/gpu/gpu_task.h"
#include "agent/gpu/gpu_view.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/node/node_reconcile.h"
#include "agent/node/this_node.h"
#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"
#include "api/names.h"
#include "api/patch.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/vgpudevice.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/audit.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/reconcile.h"
#include "kube/store.h"

enum {
	RUNS_AT_A_TIME = 32, /* of each kind; a run lasts as long as its task on a card */
	DETAIL_LABEL = -1,   /* in the place of an enum gpu_step: the object gets its label */
};

/* One kind of objects. */
struct kind {
	struct gpus *gpus;
	enum gpu_kind kind;
	struct informer *informer;
	struct reconcile *reconcile;
};

struct gpus {
	const struct this_node *node;
	struct gpus_deps deps;
	char *node_label;
	struct gpu_cards cards;
	struct gpu_tasks *tasks;
	struct kind kinds[GPU_KINDS];
	struct reconcile *claims; /* PCIDeviceClaims of vGPUs */
	const struct informer *needs[GPU_KINDS + 3];
	struct gpu_world world;
	bool started; /* the informers, since the node has been scanned once */
	char *label;  /* the last that was asked for */
};

/* --- what changed -> which keys --------------------------------------------------------------- */

/* All that a change of the card, or of who has it, may concern. The claim of a vGPU comes after
 * it. */
static void enqueue_card(struct gpus *gpus, const struct gpu_card *card)
{
	auto_free char *name = names_pcidevice(gpus->node->name, card->pci->address);

	reconcile_enqueue(gpus->kinds[GPU_KIND_CARD].reconcile, name);
	reconcile_enqueue(gpus->kinds[GPU_KIND_MIG].reconcile, name);
	for (size_t i = 0; i < card->len; i++) {
		auto_free char *function =
			names_pcidevice(gpus->node->name, card->items[i].pci->address);

		reconcile_enqueue(gpus->kinds[GPU_KIND_VGPU].reconcile, function);
	}
}

void gpus_enqueue_all(struct gpus *gpus)
{
	for (size_t i = 0; i < gpus->cards.len; i++)
		enqueue_card(gpus, &gpus->cards.items[i]);
	for (int kind = 0; kind < GPU_KINDS; kind++)
		reconcile_enqueue_all(gpus->kinds[kind].reconcile);
}

void gpus_enqueue_device(struct gpus *gpus, const char *name)
{
	const struct gpu_card *card = gpu_view_card(&gpus->world, GPU_KIND_CARD, name);

	if (!card) {
		card = gpu_view_card(&gpus->world, GPU_KIND_VGPU, name);
		if (card)
			reconcile_changed(gpus->claims, name);
	}
	if (card)
		enqueue_card(gpus, card);
}

static bool is_mdev(const struct kind *kind, const char *name)
{
	char address[NAMES_ADDRESS_SIZE];
	const struct gpu_function *f;

	if (kind->kind != GPU_KIND_VGPU ||
	    names_pcidevice_address(kind->gpus->node->name, name, address) < 0)
		return false;
	f = gpu_cards_function(&kind->gpus->cards, address, NULL);
	return f && f->mdev;
}

/* An object of a card concerns the others of it, too: a function waits for its card, the card for
 * its functions. */
static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct kind *kind = arg;
	struct gpus *gpus = kind->gpus;
	const struct gpu_card *card = gpu_view_card(&gpus->world, kind->kind, name);

	(void)before;
	if (!after)
		gpu_tasks_forget(gpus->tasks, kind->kind, name);
	if (is_mdev(kind, name))
		gpus->deps.offers_changed(gpus->deps.arg);
	reconcile_changed(kind->reconcile, name);
	if (card)
		enqueue_card(gpus, card);
}

static void on_synced(void *arg)
{
	const struct kind *kind = arg;

	gpus_enqueue_all(kind->gpus);
}

/* A task for @card is over. @changed: what a scan sees of it may be different now. */
static void card_is_free(struct gpus *gpus, const char *card, bool changed)
{
	const struct gpu_card *found = gpu_cards_find(&gpus->cards, card);

	if (found)
		enqueue_card(gpus, found);
	if (changed)
		gpus->deps.request_scan(gpus->deps.arg);
}

static void on_task_end(void *arg, enum gpu_kind kind, const char *key, const char *card,
			bool is_act)
{
	struct gpus *gpus = arg;

	reconcile_acted(gpus->kinds[kind].reconcile, key);
	card_is_free(gpus, card, is_act);
}

static void on_task_gone(void *arg, const char *card)
{
	card_is_free(arg, card, true);
}

/* --- the three kinds, as struct reconcile_spec has them --------------------------------------- */

static bool has_inventory(void *arg)
{
	const struct kind *kind = arg;

	return kind->gpus->node->inventory != NULL;
}

static bool is_ours(void *arg, const char *name, const void *object)
{
	const struct kind *kind = arg;

	return object || gpu_view_card(&kind->gpus->world, kind->kind, name);
}

/* An object that somebody made without the label by which it is seen gets it. False: it has it. */
static bool plan_label(const struct kind *kind, const struct reconcile_view *view,
		       struct decision *ret_decision)
{
	const struct gpus *gpus = kind->gpus;
	const struct api_meta *meta = view->object;
	const char *label = meta ? api_meta_label(meta, NAMES_LABEL_NODE) : NULL;

	if (!meta || meta->deletion_timestamp || (label && strcmp(label, gpus->node_label) == 0))
		return false;
	if ((label && *label) || gpu_view_is_foreign(&gpus->world, kind->kind, view->object)) {
		err_set(&ret_decision->failure, ERR_RETRY, -EEXIST,
			"an object that this node needs is another node's: correct or delete it");
		return true;
	}
	ret_decision->step = STEP_PATCH;
	ret_decision->detail = DETAIL_LABEL;
	ret_decision->body = patch_new(meta);
	json_object_set_new(json_object_get(ret_decision->body, "metadata"), "labels",
			    json_pack("{s:s}", NAMES_LABEL_NODE, gpus->node_label));
	return true;
}

/* While another task has the card its end is waited for. */
static void plan_task(const struct kind *kind, const struct reconcile_view *view,
		      struct gpu_decision *d, struct decision *ret_decision)
{
	const struct gpu_card *card = gpu_view_card(&kind->gpus->world, kind->kind, view->key);
	struct gpu_act *job;

	if (gpu_tasks_is_busy(kind->gpus->tasks, card->pci->address)) {
		ret_decision->step = STEP_REST;
		return;
	}
	job = xcalloc(1, sizeof(*job));
	*job = d->act;
	(void)snprintf(job->card, sizeof(job->card), "%s", card->pci->address);
	ret_decision->job = job;
	ret_decision->job_free = free;
}

static void plan_object(void *arg, const struct reconcile_view *view, struct decision *ret_decision)
{
	static const enum step steps[] = {
		[GPU_REST] = STEP_REST,         [GPU_CREATE] = STEP_CREATE, [GPU_SPEC] = STEP_PATCH,
		[GPU_TELL] = STEP_PATCH_STATUS, [GPU_DELETE] = STEP_DELETE, [GPU_ACT] = STEP_ACT,
		[GPU_CLAIM] = STEP_REST, /* the claims' reconcile does it */
		[GPU_UNCLAIM] = STEP_REST,      [GPU_LOOK] = STEP_ACT,
	};
	const struct kind *kind = arg;
	const struct gpus *gpus = kind->gpus;
	struct gpu_decision d;

	if (plan_label(kind, view, ret_decision))
		return;
	if (kind->kind == GPU_KIND_VGPU && !reconcile_is_settled(gpus->claims, view->key)) {
		ret_decision->again_ms = RECONCILE_AGAIN_MS;
		return;
	}
	gpu_view_plan(&gpus->world, kind->kind, view, &d);
	*ret_decision = (struct decision){
		.step = steps[d.step],
		.detail = (int)d.step,
		.body = steps[d.step] == STEP_REST ? NULL : take_ptr(d.body),
		.again_ms = d.again_ms,
		.warning = d.warning,
		.event_reason = xstrdup_or_null(d.event_reason),
		.event_message = take_ptr(d.event_message),
	};
	if (ret_decision->step == STEP_ACT)
		plan_task(kind, view, &d, ret_decision);
	gpu_decision_done(&d);
}

static bool begin_task(void *arg, const struct reconcile_view *view,
		       const struct decision *decision)
{
	const struct kind *kind = arg;
	struct gpu_tasks *tasks = kind->gpus->tasks;
	const struct gpu_act *act = decision->job;
	bool is_started = decision->detail == GPU_LOOK
				  ? gpu_tasks_look(tasks, kind->kind, view->key, act->card)
				  : gpu_tasks_act(tasks, kind->kind, view->key, view->object, act);

	if (!is_started)
		reconcile_enqueue(kind->reconcile, view->key); /* the status says why */
	return is_started;
}

/* The PCIDevice has the name of its card's or vGPU's object; it has this in its history, too. */
static void audit_step(void *arg, const struct reconcile_view *view,
		       const struct decision *decision)
{
	const struct kind *kind = arg;
	const struct this_node *node = kind->gpus->node;
	const char *word = gpu_kind_api(kind->kind)->kind;
	const struct api_meta *device =
		store_object(informer_store(node->devices[INVENTORY_PCI]), view->key);

	if (decision->detail == DETAIL_LABEL)
		log_info("object had no label of its node and has it now", log_str("kind", word),
			 log_str("object", view->key));
	if (!decision->event_reason)
		return;
	audit_record(node->events, &(struct events_about){ &pcidevice_kind, device },
		     &(struct audit){
			     .action = "configure",
			     .result = audit_result(decision->event_reason, decision->warning),
			     .kind = word,
			     .device = view->key,
			     .node = node->name,
			     .reason = decision->event_reason,
			     .message = decision->event_message,
			     .warning = decision->warning,
		     });
}

/* The next step may be one of its claim. */
static void enqueue_claim(void *arg, const char *name, const void *object,
			  const struct decision *decision)
{
	const struct kind *kind = arg;

	(void)object;
	(void)decision;
	reconcile_enqueue(kind->gpus->claims, name);
}

/* --- the claims of vGPUs: the steps of the same plan that are about them ---------------------- */

static bool is_of_a_function(void *arg, const char *name, const void *object)
{
	const struct kind *vgpus = arg;

	(void)object;
	return gpu_view_card(&vgpus->gpus->world, GPU_KIND_VGPU, name) != NULL;
}

static void plan_claim(void *arg, const struct reconcile_view *view, struct decision *ret_decision)
{
	const struct kind *vgpus = arg;
	struct gpu_decision d;

	if (!reconcile_is_settled(vgpus->reconcile, view->key)) {
		ret_decision->again_ms = RECONCILE_AGAIN_MS;
		return;
	}
	gpu_view_plan_claim(&vgpus->gpus->world, view, &d);
	ret_decision->detail = (int)d.step;
	if (d.step == GPU_CLAIM) {
		ret_decision->step = view->object ? STEP_PATCH : STEP_CREATE;
		ret_decision->body = take_ptr(d.body);
	} else if (d.step == GPU_UNCLAIM) {
		ret_decision->step = STEP_DELETE;
	}
	gpu_decision_done(&d);
}

/* --- life ------------------------------------------------------------------------------------- */

static struct reconcile_spec spec_of(const struct gpus *gpus, const char *name,
				     const struct api_kind *kind, const struct informer *objects)
{
	return (struct reconcile_spec){
		.name = name,
		.kind = kind,
		.objects = objects,
		.needs = gpus->needs,
		.max_running = RUNS_AT_A_TIME,
	};
}

static void make_kind(struct gpus *gpus, enum gpu_kind which)
{
	const struct api_kind *api = gpu_kind_api(which);
	struct kind *kind = &gpus->kinds[which];
	struct reconcile_spec spec = spec_of(gpus, api->plural, api, kind->informer);

	spec.is_ready = has_inventory;
	spec.is_ours = is_ours;
	spec.plan = plan_object;
	spec.after = audit_step;
	spec.act = begin_task;
	spec.rested = which == GPU_KIND_VGPU ? enqueue_claim : NULL;
	spec.arg = kind;
	kind->reconcile = node_reconcile_new(gpus->node, &spec);
}

static void make_claims(struct gpus *gpus)
{
	struct reconcile_spec spec = spec_of(gpus, "vgpuclaims", &pcideviceclaim_kind,
					     gpus->node->claims[INVENTORY_PCI]);

	spec.is_ready = has_inventory;
	spec.is_ours = is_of_a_function;
	spec.plan = plan_claim;
	spec.arg = &gpus->kinds[GPU_KIND_VGPU];
	gpus->claims = node_reconcile_new(gpus->node, &spec);
}

static void make_informers(struct gpus *gpus)
{
	auto_free char *ours = xasprintf("%s=%s", NAMES_LABEL_NODE, gpus->node_label);
	struct informer_deps deps = { gpus->node->client, gpus->node->clock, gpus->node->metrics };

	gpus->needs[GPU_KINDS] = gpus->node->claims[INVENTORY_PCI];
	gpus->needs[GPU_KINDS + 1] = gpus->node->devices[INVENTORY_PCI];
	for (int i = 0; i < GPU_KINDS; i++) {
		struct kind *kind = &gpus->kinds[i];

		*kind = (struct kind){ .gpus = gpus, .kind = (enum gpu_kind)i };
		kind->informer = informer_new(&deps, &(struct informer_spec){
							     .kind = gpu_kind_api(kind->kind),
							     .label_selector = ours,
							     .handlers = { .on_change = on_change,
									   .on_synced = on_synced },
							     .arg = kind,
						     });
		gpus->world.objects[i] = gpus->needs[i] = kind->informer;
	}
}

struct gpus *gpus_new(const struct this_node *node, const struct gpus_deps *deps)
{
	struct gpus *gpus = xcalloc(1, sizeof(*gpus));

	gpus->node = node;
	gpus->deps = *deps;
	gpus->node_label = names_label_value(node->name);
	gpus->tasks = gpu_tasks_new(node, &deps->options,
				    &(struct gpu_tasks_deps){ .on_end = on_task_end,
							      .on_gone = on_task_gone,
							      .arg = gpus });
	gpus->world.node = node;
	gpus->world.deps = &gpus->deps;
	gpus->world.cards = &gpus->cards;
	gpus->world.tasks = gpus->tasks;
	make_informers(gpus);
	make_claims(gpus);
	for (int kind = 0; kind < GPU_KINDS; kind++)
		make_kind(gpus, (enum gpu_kind)kind);
	return gpus;
}

struct gpus *gpus_free(struct gpus *gpus)
{
	if (!gpus)
		return NULL;
	for (int kind = 0; kind < GPU_KINDS; kind++)
		reconcile_free(gpus->kinds[kind].reconcile);
	reconcile_free(gpus->claims);
	gpu_tasks_free(gpus->tasks);
	for (int kind = 0; kind < GPU_KINDS; kind++)
		informer_free(gpus->kinds[kind].informer);
	gpu_cards_done(&gpus->cards);
	free(gpus->node_label);
	free(gpus->label);
	free(gpus);
	return NULL;
}

void gpus_find_cards(struct gpus *gpus)
{
	bool start = !gpus->started; /* also without a card: users' objects get a status */

	gpu_cards_done(&gpus->cards);
	gpu_cards_make(gpus->node->inventory->facts, &gpus->cards);
	gpus->started = true;
	for (int kind = 0; start && kind < GPU_KINDS; kind++)
		informer_start(gpus->kinds[kind].informer);
}

static bool says_taken(const struct gpus *gpus, const char *name)
{
	const struct vgpudevice *object =
		store_object(informer_store(gpus->world.objects[GPU_KIND_VGPU]), name);
	const struct api_condition *ready =
		object ? api_conditions_find(&object->status.conditions, "Ready") : NULL;

	return ready && ready->reason && strcmp(ready->reason, VGPU_NAME_TAKEN) == 0;
}

void gpus_enqueue_taken(struct gpus *gpus)
{
	for (size_t i = 0; i < gpus->cards.len; i++) {
		const struct gpu_card *card = &gpus->cards.items[i];

		for (size_t j = 0; j < card->len; j++) {
			auto_free char *name =
				names_pcidevice(gpus->node->name, card->items[j].pci->address);

			if (gpu_view_is_taken(&gpus->world, &card->items[j]) !=
			    says_taken(gpus, name))
				reconcile_enqueue(gpus->kinds[GPU_KIND_VGPU].reconcile, name);
		}
	}
}

const char *gpus_parent_label(struct gpus *gpus, const char *address)
{
	const struct gpu_card *card = NULL;
	const struct gpu_function *f = gpu_cards_function(&gpus->cards, address, &card);
	auto_free char *name = NULL;

	if (!f || !f->type)
		return NULL;
	name = names_pcidevice(gpus->node->name, card->pci->address);
	free(gpus->label);
	gpus->label = names_label_value(name);
	return gpus->label;
}

const char *gpus_resource(const struct gpus *gpus, const char *uuid)
{
	const struct gpu_function *f = gpu_cards_mdev(&gpus->cards, uuid);
	auto_free char *name = NULL;
	const struct vgpudevice *object;

	if (!f)
		return NULL;
	name = names_pcidevice(gpus->node->name, f->pci->address);
	object = store_object(informer_store(gpus->world.objects[GPU_KIND_VGPU]), name);
	return object && object->spec.enabled ? f->resource : NULL;
}

bool gpus_ready(struct gpus *gpus, struct str *reason)
{
	for (int kind = 0; gpus->started && kind < GPU_KINDS; kind++) {
		struct informer *informer = gpus->kinds[kind].informer;

		if (informer_synced(informer))
			continue;
		if (reason)
			str_addf(reason, "waiting for %s", informer_text(informer));
		return false;
	}
	return true;
}
