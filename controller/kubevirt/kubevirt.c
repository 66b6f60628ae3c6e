#include "controller/kubevirt/kubevirt.h"

#include <stdlib.h>
#include <string.h>

#include "api/hostdeviceconfig.h"
#include "api/kubevirt.h"
#include "base/mem.h"
#include "controller/cache/cache.h"
#include "controller/kubevirt/permit_desired.h"
#include "controller/kubevirt/permits.h"
#include "controller/kubevirt/vm_annotation.h"
#include "kube/informer.h"
#include "kube/store.h"

/* The kinds that determine which resources are offered. */
static const enum view_kind offering[] = {
	VIEW_PCIDEVICE, VIEW_USBDEVICE, VIEW_MEDIATEDDEVICE, VIEW_PCICLAIM, VIEW_USBCLAIM,
};

struct kubevirt_upkeep {
	struct kubevirt_deps deps;
	struct kubevirt_env env;
	struct informer *config;
	struct informer *kubevirts;
	struct permits *permits;
	struct vm_annotation *annotation;
};

/* A kind that is not installed has no objects, which says nothing about what is offered. */
static bool is_ready(void *arg)
{
	const struct kubevirt_upkeep *kubevirt = arg;

	if (cache_waiting(kubevirt->deps.cache) || !informer_synced(kubevirt->config) ||
	    !informer_installed(kubevirt->config))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(offering); i++) {
		if (!cache_installed(kubevirt->deps.cache, offering[i]))
			return false;
	}
	return true;
}

static void on_config(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	const struct kubevirt_upkeep *kubevirt = arg;

	(void)name;
	(void)before;
	(void)after;
	permits_enqueue_all(kubevirt->permits);
}

static void on_kubevirt(void *arg, const char *name, const struct entry *before,
			const struct entry *after)
{
	const struct kubevirt_upkeep *kubevirt = arg;

	(void)before;
	(void)after;
	permits_on_change(kubevirt->permits, name);
}

static void open_informers(struct kubevirt_upkeep *kubevirt)
{
	const struct informer_deps deps = { kubevirt->deps.client, kubevirt->deps.clock,
					    kubevirt->deps.metrics };

	kubevirt->config = informer_new(
		&deps,
		&(struct informer_spec){ .kind = &hostdeviceconfig_kind,
					 .field_selector = "metadata.name=" HOSTDEVICECONFIG_NAME,
					 .handlers = { .on_change = on_config },
					 .arg = kubevirt });
	kubevirt->kubevirts = informer_new(
		&deps, &(struct informer_spec){ .kind = &kubevirt_kind,
						.optional = true,
						.handlers = { .on_change = on_kubevirt },
						.arg = kubevirt });
}

/* Process what the caches received before this replica led. kubevirt_enqueue_all() handles the
 * virtual machines. */
static void count_past(struct kubevirt_upkeep *kubevirt)
{
	for (size_t i = 0; i < ARRAY_LEN(offering); i++) {
		const struct store *store = kubevirt->env.stores[offering[i]];
		const struct entry *entry;
		size_t cursor = 0;

		while ((entry = store_next(store, &cursor)))
			vm_annotation_on_change(kubevirt->annotation, offering[i], entry->name,
						NULL, entry);
	}
}

struct kubevirt_upkeep *kubevirt_new(const struct kubevirt_deps *deps)
{
	struct kubevirt_upkeep *kubevirt = xcalloc(1, sizeof(*kubevirt));

	kubevirt->deps = *deps;
	open_informers(kubevirt);
	kubevirt->env = (struct kubevirt_env){
		.client = deps->client,
		.clock = deps->clock,
		.metrics = deps->metrics,
		.stores = cache_stores(deps->cache),
		.config = informer_store(kubevirt->config),
		.kubevirts = kubevirt->kubevirts,
		.machines = cache_informers(deps->cache)[VIEW_VM],
		.create = deps->create,
		.ready = is_ready,
		.leads = deps->leads,
		.leads_arg = deps->arg,
		.arg = kubevirt,
	};
	kubevirt->permits = permits_new(&kubevirt->env);
	kubevirt->annotation = vm_annotation_new(&kubevirt->env);
	count_past(kubevirt);
	informer_start(kubevirt->config);
	informer_start(kubevirt->kubevirts);
	return kubevirt;
}

struct kubevirt_upkeep *kubevirt_free(struct kubevirt_upkeep *kubevirt)
{
	if (!kubevirt)
		return NULL;
	permits_free(kubevirt->permits);
	vm_annotation_free(kubevirt->annotation);
	informer_free(kubevirt->config);
	informer_free(kubevirt->kubevirts);
	free(kubevirt);
	return NULL;
}

static bool is_lending(enum view_kind kind)
{
	for (size_t i = 0; i < ARRAY_LEN(offering); i++) {
		if (offering[i] == kind)
			return true;
	}
	return false;
}

void kubevirt_on_change(struct kubevirt_upkeep *kubevirt, enum view_kind kind, const char *name,
			const struct entry *before, const struct entry *after)
{
	if (!kubevirt)
		return;
	vm_annotation_on_change(kubevirt->annotation, kind, name, before, after);
	if (is_lending(kind) &&
	    permit_desired_changed(kubevirt->env.stores, kind, name, before, after))
		permits_enqueue_all(kubevirt->permits);
}

void kubevirt_enqueue_all(struct kubevirt_upkeep *kubevirt)
{
	if (!kubevirt)
		return;
	permits_enqueue_all(kubevirt->permits);
	vm_annotation_enqueue_all(kubevirt->annotation);
}
