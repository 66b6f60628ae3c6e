#include "agent/gpu/gpus.h"

#include <stdlib.h>
#include <string.h>

#include "agent/gpu/gpu_cards.h"
#include "agent/gpu/gpu_deeds.h"
#include "agent/gpu/gpu_keys.h"
#include "agent/gpu/gpu_memory.h"
#include "agent/gpu/gpu_view.h"
#include "agent/gpu/gpu_write.h"
#include "agent/gpu/gpu_writes.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "api/condition.h"
#include "api/meta.h"
#include "api/names.h"
#include "api/vgpudevice.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"
#include "kube/echoes.h"
#include "kube/informer.h"
#include "kube/store.h"
#include "kube/workq_run.h"

enum {
	RUNS_AT_A_TIME = 8,
	INSTALL_MS = 2000, /* how often to look whether the kinds have been installed */
};

/* What an informer's handlers get. */
struct watched {
	struct gpus *gpus;
	enum gpu_kind kind;
	struct informer *informer;
};

struct gpus {
	struct gpus_deps deps;
	struct gpu_world world;
	struct gpu_cards cards;
	struct gpu_deeds *deeds;
	struct watched watched[GPU_KINDS];
	bool started; /* the informers exist, since the node was looked at once */
	struct workq_run *queue;
	struct echoes *echoes;
	char *label; /* the last that was asked for */
	struct gpu_writes *writes;
};

static void touch(struct gpus *gpus, enum gpu_kind kind, const char *name)
{
	auto_free char *key = gpu_key(kind, name);

	workq_run_add(gpus->queue, key);
}

/* All that a change of the card, or of who has it, may concern. */
static void touch_card(struct gpus *gpus, const struct gpu_card *card)
{
	auto_free char *name = names_pcidevice(gpus->deps.node_name, card->pci->address);

	touch(gpus, GPU_KIND_CARD, name);
	touch(gpus, GPU_KIND_MIG, name);
	for (size_t i = 0; i < card->len; i++) {
		auto_free char *function =
			names_pcidevice(gpus->deps.node_name, card->items[i].pci->address);

		touch(gpus, GPU_KIND_VGPU, function);
	}
}

static void touch_all(struct gpus *gpus)
{
	const struct entry *entry;

	for (size_t i = 0; i < gpus->cards.len; i++)
		touch_card(gpus, &gpus->cards.items[i]);
	for (int kind = 0; kind < GPU_KINDS; kind++) {
		size_t cursor = 0;

		while ((entry = store_next(informer_store(gpus->world.objects[kind]), &cursor)))
			touch(gpus, (enum gpu_kind)kind, entry->name);
	}
}

static bool informed(const struct gpus *gpus)
{
	if (!gpus->started || !gpus->world.inventory || !informer_synced(gpus->deps.claims) ||
	    !informer_synced(gpus->deps.devices))
		return false;
	for (int kind = 0; kind < GPU_KINDS; kind++) {
		if (!informer_synced(gpus->world.objects[kind]))
			return false;
	}
	return true;
}

void gpus_synced(struct gpus *gpus)
{
	if (informed(gpus))
		touch_all(gpus);
}

void gpus_touch(struct gpus *gpus, const char *name)
{
	auto_free char *key = gpu_write_claim_key(name);
	const struct gpu_card *card;

	echoes_hear(gpus->echoes, key, store_get(informer_store(gpus->deps.claims), name));
	if (!informed(gpus))
		return; /* gpus_set() or gpus_synced() looks at all of them */
	card = gpu_view_card(&gpus->world, GPU_KIND_CARD, name);
	if (!card)
		card = gpu_view_card(&gpus->world, GPU_KIND_VGPU, name);
	if (card)
		touch_card(gpus, card);
}

static bool is_lent_as_mdev(const struct watched *watched, const char *name)
{
	char address[NAMES_ADDRESS_SIZE];
	const struct gpu_function *f;

	if (watched->kind != GPU_KIND_VGPU ||
	    names_pcidevice_address(watched->gpus->deps.node_name, name, address) < 0)
		return false;
	f = gpu_cards_function(&watched->gpus->cards, address, NULL);
	return f && f->mdev;
}

/* An object of a card tells the others of it, too: a function waits for its card, the card for its
 * functions. */
static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct watched *watched = arg;
	struct gpus *gpus = watched->gpus;
	auto_free char *key = gpu_key(watched->kind, name);
	const struct gpu_card *card;

	(void)before;
	echoes_hear(gpus->echoes, key, after);
	if (!after)
		gpu_memory_forget(gpu_deeds_memory(gpus->deeds), key);
	if (!informed(gpus))
		return;
	if (is_lent_as_mdev(watched, name))
		gpus->deps.on_lent(gpus->deps.arg);
	touch(gpus, watched->kind, name);
	card = gpu_view_card(&gpus->world, watched->kind, name);
	if (card)
		touch_card(gpus, card);
}

static void on_synced(void *arg)
{
	const struct watched *watched = arg;

	gpus_synced(watched->gpus);
}

static void on_over(void *arg, const char *key, const char *card, bool changed)
{
	struct gpus *gpus = arg;
	const struct gpu_card *found = gpu_cards_find(&gpus->cards, card);

	if (key)
		workq_run_add(gpus->queue, key);
	if (found)
		touch_card(gpus, found);
	if (changed)
		gpus->deps.on_moved(gpus->deps.arg);
}

static int64_t generation_of(const struct gpus *gpus, const char *key)
{
	const struct informer *informer = gpus->world.objects[gpu_key_kind(key)];
	const struct api_meta *meta = store_object(informer_store(informer), key + GPU_KEY_NAME);

	return meta ? meta->generation : 0;
}

static void ask(struct gpus *gpus, const char *key)
{
	const struct gpu_card *card =
		gpu_view_card(&gpus->world, gpu_key_kind(key), key + GPU_KEY_NAME);

	if (card)
		gpu_deeds_ask(gpus->deeds, key, card->pci->address);
}

/* --- the queue ----------------------------------------------------------------------------------- */

/* True if it is too early to decide: then it has been put off, or waits for a change. */
static bool put_off(struct gpus *gpus, const char *key)
{
	const char *name = key + GPU_KEY_NAME;
	const struct informer *informer = gpus->world.objects[gpu_key_kind(key)];
	const struct entry *entry =
		informed(gpus) ? store_get(informer_store(informer), name) : NULL;
	const struct entry *claim = store_get(informer_store(gpus->deps.claims), name);
	auto_free char *claim_key = gpu_write_claim_key(name);
	uint64_t now = clock_now_ms(gpus->deps.clock);
	uint64_t wait_ms;

	if (!informed(gpus) || (entry && !entry->object))
		return true;
	wait_ms = echoes_wait_ms(gpus->echoes, key, entry, now);
	if (wait_ms == 0)
		wait_ms = echoes_wait_ms(gpus->echoes, claim_key, claim, now);
	if (wait_ms == 0 && !informer_installed(informer))
		wait_ms = INSTALL_MS;
	if (wait_ms > 0)
		workq_run_add_after(gpus->queue, key, wait_ms);
	return wait_ms > 0;
}

static void work(void *arg, const char *key, work_end_fn *end, void *end_arg)
{
	struct gpus *gpus = arg;
	struct gpu_decision decision = { 0 };

	if (!put_off(gpus, key))
		gpu_view_plan(&gpus->world, gpu_key_kind(key), key + GPU_KEY_NAME, &decision);
	switch (decision.step) {
	case GPU_CREATE:
	case GPU_SPEC:
	case GPU_TELL:
	case GPU_DELETE:
	case GPU_CLAIM:
	case GPU_UNCLAIM:
		gpu_writes_start(gpus->writes, key, &decision, end, end_arg);
		return;
	case GPU_ACT:
		gpu_deeds_act(gpus->deeds, key, generation_of(gpus, key), &decision.act);
		break;
	case GPU_LOOK:
		ask(gpus, key);
		break;
	case GPU_REST:
		if (decision.again_ms > 0)
			workq_run_add_after(gpus->queue, key, decision.again_ms);
		break;
	}
	gpu_decision_done(&decision);
	end(end_arg, 0, NULL);
}

/* --- the whole ----------------------------------------------------------------------------------- */

struct gpus *gpus_new(const struct gpus_deps *deps)
{
	struct gpus *gpus = xcalloc(1, sizeof(*gpus));

	gpus->deps = *deps;
	gpus->deeds = gpu_deeds_new(deps->loop, deps->clock, &deps->options, on_over, gpus);
	gpus->echoes = echoes_new();
	gpus->world = (struct gpu_world){ .deps = &gpus->deps,
					  .cards = &gpus->cards,
					  .acts = gpu_deeds_acts(gpus->deeds),
					  .memory = gpu_deeds_memory(gpus->deeds) };
	gpus->writes = gpu_writes_new(&gpus->world, gpus->echoes);
	gpus->queue = workq_run_new(&(struct workq_run_spec){
		.name = "gpus",
		.max_running = RUNS_AT_A_TIME,
		.work = work,
		.arg = gpus,
		.clock = deps->clock,
		.metrics = deps->metrics,
	});
	return gpus;
}

struct gpus *gpus_free(struct gpus *gpus)
{
	if (!gpus)
		return NULL;
	gpu_writes_free(gpus->writes);
	workq_run_free(gpus->queue);
	for (int kind = 0; kind < GPU_KINDS; kind++)
		informer_free(gpus->watched[kind].informer);
	echoes_free(gpus->echoes);
	gpu_deeds_free(gpus->deeds);
	gpu_cards_done(&gpus->cards);
	free(gpus->label);
	free(gpus);
	return NULL;
}

static void start(struct gpus *gpus)
{
	auto_free char *label = names_label_value(gpus->deps.node_name);
	auto_free char *ours = xasprintf("%s=%s", NAMES_LABEL_NODE, label);
	struct informer_deps deps = { gpus->deps.client, gpus->deps.clock, gpus->deps.metrics };

	gpus->started = true;
	for (int kind = 0; kind < GPU_KINDS; kind++) {
		struct watched *watched = &gpus->watched[kind];

		*watched = (struct watched){ .gpus = gpus, .kind = (enum gpu_kind)kind };
		watched->informer = informer_new(
			&deps,
			&(struct informer_spec){
				.kind = gpu_kind_api(watched->kind),
				.label_selector = ours,
				.handlers = { .on_change = on_change, .on_synced = on_synced },
				.arg = watched,
			});
		gpus->world.objects[kind] = watched->informer;
	}
	for (int kind = 0; kind < GPU_KINDS; kind++)
		informer_start(gpus->watched[kind].informer);
}

void gpus_set(struct gpus *gpus, const struct inventory *inventory)
{
	gpu_cards_done(&gpus->cards);
	gpu_cards_make(inventory->facts, &gpus->cards);
	gpus->world.inventory = inventory;
	if (!gpus->started)
		start(gpus); /* also without a card: who made an object for none is told */
	gpus_synced(gpus);
}

static bool says_taken(const struct gpus *gpus, const char *name)
{
	const struct vgpudevice *object =
		store_object(informer_store(gpus->world.objects[GPU_KIND_VGPU]), name);
	const struct api_condition *ready =
		object ? api_conditions_find(&object->status.conditions, "Ready") : NULL;

	return ready && ready->reason && strcmp(ready->reason, VGPU_NAME_TAKEN) == 0;
}

void gpus_offered(struct gpus *gpus)
{
	if (!informed(gpus))
		return;
	for (size_t i = 0; i < gpus->cards.len; i++) {
		const struct gpu_card *card = &gpus->cards.items[i];

		for (size_t j = 0; j < card->len; j++) {
			auto_free char *name =
				names_pcidevice(gpus->deps.node_name, card->items[j].pci->address);

			if (gpu_view_taken(&gpus->world, &card->items[j]) != says_taken(gpus, name))
				touch(gpus, GPU_KIND_VGPU, name);
		}
	}
}

const char *gpus_parent(struct gpus *gpus, const char *address)
{
	const struct gpu_card *card = NULL;
	const struct gpu_function *f = gpu_cards_function(&gpus->cards, address, &card);
	auto_free char *name = NULL;

	if (!f || !f->type)
		return NULL;
	name = names_pcidevice(gpus->deps.node_name, card->pci->address);
	free(gpus->label);
	gpus->label = names_label_value(name);
	return gpus->label;
}

const char *gpus_resource(const struct gpus *gpus, const char *uuid)
{
	const struct gpu_function *f = gpu_cards_mdev(&gpus->cards, uuid);
	auto_free char *name = NULL;
	const struct vgpudevice *object;

	if (!f || !gpus->started)
		return NULL;
	name = names_pcidevice(gpus->deps.node_name, f->pci->address);
	object = store_object(informer_store(gpus->world.objects[GPU_KIND_VGPU]), name);
	return object && object->spec.enabled ? f->resource : NULL;
}

bool gpus_ready(struct gpus *gpus, struct str *reason)
{
	for (int kind = 0; gpus->started && kind < GPU_KINDS; kind++) {
		struct informer *informer = gpus->watched[kind].informer;

		if (informer_synced(informer))
			continue;
		if (reason)
			str_addf(reason, "waiting for %s", informer_text(informer));
		return false;
	}
	return true;
}
