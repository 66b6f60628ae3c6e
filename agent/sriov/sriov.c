#include "agent/sriov/sriov.h"

#include <stdlib.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/sriov/sriov_card.h"
#include "agent/sriov/sriov_look.h"
#include "api/names.h"
#include "api/sriovnetworkdevice.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"
#include "kube/echoes.h"
#include "kube/informer.h"
#include "kube/metrics.h"
#include "kube/store.h"
#include "kube/workq_run.h"

enum {
	RUNS_AT_A_TIME = 8,
	INSTALL_MS = 2000, /* how often to look whether the kind has been installed */
};

struct sriov {
	struct sriov_deps deps;
	struct sriov_context context;
	struct informer *objects;
	char *node_address;
	char *label; /* the last that was asked for */
	struct workq_run *queue;
	struct map *cards; /* name of the object -> struct sriov_card           */
	struct map *above; /* address of a virtual function -> that of its card */
};

static const struct metric_desc changes_desc = {
	.name = "hostdev_sriov_runs_total",
	.help = "Helper runs for virtual functions of network cards, by result.",
	.type = METRIC_COUNTER,
	.labels = { "result" },
};

/* Nothing can be decided before all of it is there. */
static bool informed(const struct sriov *sriov)
{
	return sriov->context.inventory && informer_synced(sriov->objects) &&
	       informer_synced(sriov->deps.claims);
}

static void on_again(void *arg, const char *name, uint64_t ms)
{
	struct sriov *sriov = arg;

	workq_run_add_after(sriov->queue, name, ms);
}

/* True if there is something to decide on @name, now. */
static bool to_be_decided(struct sriov *sriov, const char *name)
{
	const struct entry *entry = store_get(informer_store(sriov->objects), name);
	uint64_t wait_ms;

	if (!informed(sriov) || (entry && !entry->object))
		return false; /* a change of it adds it again */
	wait_ms =
		echoes_wait_ms(sriov->context.echoes, name, entry, clock_now_ms(sriov->deps.clock));
	if (wait_ms == 0 && !informer_installed(sriov->objects))
		wait_ms = INSTALL_MS;
	if (wait_ms > 0)
		workq_run_add_after(sriov->queue, name, wait_ms);
	return wait_ms == 0;
}

static struct sriov_card *card_of(struct sriov *sriov, const char *name)
{
	struct sriov_card *card = map_get(sriov->cards, name);

	if (!card) {
		card = sriov_card_new(&sriov->context, name);
		map_set(sriov->cards, name, card);
	}
	return card;
}

/* What is neither at the API server nor on the node is nothing to remember anything of. */
static bool is_forgotten(struct sriov *sriov, const char *name)
{
	struct sriov_card *card = map_get(sriov->cards, name);

	if (store_get(informer_store(sriov->objects), name) ||
	    sriov_look_card(sriov->deps.node_name, sriov->context.inventory, name, NULL))
		return false;
	if (card && !sriov_card_is_busy(card)) {
		map_remove(sriov->cards, name);
		sriov_card_free(card);
	}
	return true;
}

static void work(void *arg, const char *name, work_end_fn *end, void *end_arg)
{
	struct sriov *sriov = arg;

	if (!to_be_decided(sriov, name) || is_forgotten(sriov, name))
		end(end_arg, 0, NULL);
	else
		sriov_card_look(card_of(sriov, name), end, end_arg);
}

/* The virtual functions of the card at @address may have got or lost their object. */
static void tell_named(const struct sriov *sriov, const char *address)
{
	const struct pci_facts *pf = NULL;

	if (sriov->context.inventory)
		pf = sriov_look_function(sriov->context.inventory, address);
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

	echoes_hear(sriov->context.echoes, name, after);
	if (!before || !after || strcmp(address_in(before), address_in(after)) != 0) {
		tell_named(sriov, address_in(before));
		tell_named(sriov, address_in(after));
		/* One object less or more may concern another of the same card. */
		sriov_synced(sriov);
	}
	workq_run_add(sriov->queue, name);
}

static void on_synced(void *arg)
{
	struct sriov *sriov = arg;

	sriov_synced(sriov);
	sriov->deps.on_free(sriov->deps.arg);
}

static struct informer *watch(struct sriov *sriov)
{
	const struct sriov_deps *deps = &sriov->deps;
	auto_free char *label = names_label_value(deps->node_name);
	auto_free char *ours = xasprintf("%s=%s", NAMES_LABEL_NODE, label);

	return informer_new(&(struct informer_deps){ .client = deps->client,
						     .clock = deps->clock,
						     .metrics = deps->metrics },
			    &(struct informer_spec){
				    .kind = &sriovnetworkdevice_kind,
				    .label_selector = ours,
				    .handlers = { .on_change = on_change, .on_synced = on_synced },
				    .arg = sriov,
			    });
}

struct sriov *sriov_new(const struct sriov_deps *deps)
{
	struct sriov *sriov = xcalloc(1, sizeof(*sriov));

	sriov->deps = *deps;
	sriov->cards = map_new();
	sriov->above = map_new();
	sriov->objects = watch(sriov);
	sriov->context = (struct sriov_context){
		.deps = &sriov->deps,
		.objects = sriov->objects,
		.echoes = echoes_new(),
		.changes = metrics_family(deps->metrics, &changes_desc),
		.again = on_again,
		.arg = sriov,
	};
	metric_show(sriov->context.changes, (const char *const[]){ "Done" });
	sriov->queue = workq_run_new(&(struct workq_run_spec){
		.name = "sriovnetworkdevices",
		.max_running = RUNS_AT_A_TIME,
		.work = work,
		.arg = sriov,
		.clock = deps->clock,
		.metrics = deps->metrics,
	});
	return sriov;
}

struct sriov *sriov_free(struct sriov *sriov)
{
	size_t cursor = 0;
	void *card;

	if (!sriov)
		return NULL;
	while (map_next(sriov->cards, &cursor, NULL, &card))
		sriov_card_free(card);
	workq_run_free(sriov->queue);
	map_free(sriov->cards);
	map_free(sriov->above);
	informer_free(sriov->objects);
	echoes_free(sriov->context.echoes);
	free(sriov->node_address);
	free(sriov->label);
	free(sriov);
	return NULL;
}

void sriov_start(struct sriov *sriov)
{
	informer_start(sriov->objects);
}

bool sriov_ready(struct sriov *sriov, struct str *reason)
{
	if (informer_synced(sriov->objects))
		return true;
	if (reason)
		str_addf(reason, "waiting for %s", informer_text(sriov->objects));
	return false;
}

void sriov_set_node_address(struct sriov *sriov, const char *address)
{
	free(sriov->node_address);
	sriov->node_address = xstrdup_or_null(address);
	sriov->context.node_address = sriov->node_address;
}

/* Each object, and each card that has or should have one. */
void sriov_synced(struct sriov *sriov)
{
	const struct store *store = informer_store(sriov->objects);
	const struct facts *facts;
	const struct entry *entry;
	size_t cursor = 0;

	if (!informed(sriov))
		return;
	facts = sriov->context.inventory->facts;
	while ((entry = store_next(store, &cursor)))
		workq_run_add(sriov->queue, entry->name);
	for (size_t i = 0; i < facts->pci.len; i++) {
		const struct pci_facts *pci = &facts->pci.items[i];
		auto_free char *name = NULL;

		if (!sriov_look_is_nic(pci))
			continue;
		name = names_sriovnetworkdevice(sriov->deps.node_name, pci->interface);
		workq_run_add(sriov->queue, name);
	}
}

void sriov_set(struct sriov *sriov, const struct inventory *inventory)
{
	const struct facts *facts = inventory->facts;

	sriov->context.inventory = inventory;
	map_free(sriov->above);
	sriov->above = map_new();
	for (size_t i = 0; i < facts->pci.len; i++) {
		struct pci_facts *pci = &facts->pci.items[i];

		if (pci->physical_function)
			map_set(sriov->above, pci->address, pci->physical_function);
	}
	sriov_synced(sriov);
}

void sriov_touch_waiting(struct sriov *sriov)
{
	size_t cursor = 0;
	const char *name;
	void *card;

	while (map_next(sriov->cards, &cursor, &name, &card)) {
		if (sriov_card_waits(card))
			workq_run_add(sriov->queue, name);
	}
}

/* The address of the card whose virtual function is at @address; NULL: it is none. */
static const char *card_above(const struct sriov *sriov, const char *address)
{
	return map_get(sriov->above, address);
}

bool sriov_holds(struct sriov *sriov, const char *address)
{
	const char *above = card_above(sriov, address);
	const char *name;

	if (!above || !informed(sriov))
		return above != NULL;
	name = sriov_look_object(informer_store(sriov->objects), above);
	return name && sriov_card_holds(card_of(sriov, name));
}

const char *sriov_parent(struct sriov *sriov, const char *address)
{
	const char *above = card_above(sriov, address);
	const char *name = NULL;

	if (above)
		name = sriov_look_object(informer_store(sriov->objects), above);
	free(sriov->label);
	sriov->label = name ? names_label_value(name) : NULL;
	return sriov->label;
}
