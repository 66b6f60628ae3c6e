#include "agent/drm/drm.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/node/this_node.h"
#include "agent/plugin/device_type.h"
#include "agent/plugin/gpu_bind.h"
#include "agent/plugin/plugin_offers.h"
#include "agent/plugin/socket_sweep.h"
#include "base/array.h"
#include "base/ascii.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"
#include "kube/informer.h"

enum vendor { AMD, INTEL, VENDORS };

static const char permissions[] = "rw";

static const struct {
	const char *flag;
	const char *sockets; /* of its device plugin, one for each resource */
	const struct device_type *type;
} vendors[VENDORS] = {
	[AMD] = { "the agent (--amd)", "amd.com_*", &drm_amd_type },
	[INTEL] = { "the agent (--intel)", "gpu.intel.com-*.sock", &drm_intel_type },
};

/* What a container can get: a GPU, a part or a share of one. */
struct unit {
	char *id;
	char *address; /* of the GPU */
	char *resource;
	char *hive;       /* NULL: none */
	int card, render; /* -1: none  */
	int numa_node;
	char *trouble; /* NULL: it is healthy */
};

struct units {
	ARRAY(struct unit) list;
};

struct drm {
	const struct this_node *node;
	struct drm_options options;
	struct drm_deps deps;
	struct units units[VENDORS]; /* in the order of their resources */
	bool known;                  /* the GPUs have been read         */
	bool offered;                /* the kubelet's lists are matched with them */
	bool has_plugin[VENDORS];    /* the vendor's runs on the node   */
	bool mixture_is_reported;    /* that GPUs are divided in different ways */
	struct clock_timer *check;   /* for it */
};

static bool is_on(const struct drm *drm, enum vendor vendor)
{
	return vendor == AMD ? drm->options.amd : drm->options.intel;
}

/* --- the units of the node's GPUs ------------------------------------------------------------- */

static void units_done(struct units *units)
{
	for (size_t i = 0; i < units->list.len; i++) {
		struct unit *unit = &units->list.items[i];

		free(unit->id);
		free(unit->address);
		free(unit->resource);
		free(unit->hive);
		free(unit->trouble);
	}
	array_done(&units->list);
}

static void add_unit(struct units *units, const struct drm_facts *gpu, const struct pci_facts *pci,
		     const char *id, const char *resource)
{
	*array_add(&units->list) = (struct unit){
		.id = xstrdup(id),
		.address = xstrdup(gpu->pci_address),
		.resource = xstrdup(resource),
		.hive = xstrdup_or_null(gpu->hive),
		.card = gpu->card,
		.render = gpu->render,
		.numa_node = pci->numa_node,
	};
}

/* "amd.com/spx_nps1" if the GPU is one that can be divided; else NULL. The caller frees. */
static char *division(const struct drm_facts *gpu)
{
	char *name;

	if (!gpu->compute || !gpu->memory)
		return NULL;
	name = xasprintf("amd.com/%s_%s", gpu->compute, gpu->memory);
	for (char *c = name; *c; c++)
		*c = ascii_to_lower(*c);
	return name;
}

/* Under one name, AMD's plugin offers GPUs only if all of them are divided in the same way. */
static bool is_mixture(const struct facts *facts)
{
	auto_free char *first = NULL;

	for (size_t i = 0; i < facts->drms.len; i++) {
		auto_free char *other = division(&facts->drms.items[i]);

		if (first && other && strcmp(first, other) != 0)
			return true;
		if (!first)
			first = take_ptr(other);
	}
	return false;
}

static void add_amd(struct drm *drm, const struct drm_facts *gpu, const struct pci_facts *pci)
{
	auto_free char *resource = drm->options.amd_mixed ? division(gpu) : NULL;

	add_unit(&drm->units[AMD], gpu, pci, gpu->name, resource ? resource : "amd.com/gpu");
}

/* Of a GPU with virtual functions only these are offered. */
static void add_intel(struct drm *drm, const struct drm_facts *gpu, const struct pci_facts *pci)
{
	uint64_t shares = drm->options.intel_shares ? drm->options.intel_shares : 1;
	auto_free char *resource = xasprintf("gpu.intel.com/%s", gpu->driver);

	for (uint64_t i = 0; i < shares && gpu->card >= 0 && pci->num_vfs == 0; i++) {
		auto_free char *id = xasprintf("card%d-%llu", gpu->card, (unsigned long long)i);

		add_unit(&drm->units[INTEL], gpu, pci, id, resource);
	}
}

static void report_mixture(struct drm *drm, bool mixture)
{
	if (mixture && !drm->mixture_is_reported)
		log_warn("AMD's GPUs are not offered: they are divided in different ways",
			 log_str("remedy", "--amd-resource-naming=mixed"));
	drm->mixture_is_reported = mixture;
}

/* By resource; else as the helper has them. */
static void find_units(struct drm *drm, const struct facts *facts)
{
	bool mixture = drm->options.amd && !drm->options.amd_mixed && is_mixture(facts);

	drm->known = true;
	report_mixture(drm, mixture);
	for (size_t i = 0; i < VENDORS; i++)
		units_done(&drm->units[i]);
	for (size_t i = 0; i < facts->drms.len; i++) {
		const struct drm_facts *gpu = &facts->drms.items[i];
		const struct pci_facts *pci = facts_find_pci(facts, gpu->pci_address);
		bool is_amd = strcmp(gpu->driver, "amdgpu") == 0;

		if (pci && is_amd && drm->options.amd && !mixture)
			add_amd(drm, gpu, pci);
		else if (pci && !is_amd && drm->options.intel && str_equal(pci->vendor, "8086"))
			add_intel(drm, gpu, pci);
	}
}

/* --- their health ----------------------------------------------------------------------------- */

/* The nodes of the unit, under the paths that they have on the host. */
static void add_nodes(enum vendor vendor, const struct unit *unit, struct allocation *allocation)
{
	auto_free char *card = xasprintf("/dev/dri/card%d", unit->card);
	auto_free char *render = xasprintf("/dev/dri/renderD%d", unit->render);

	if (vendor == AMD)
		allocation_add_device(allocation, "/dev/kfd", permissions);
	if (unit->card >= 0)
		allocation_add_device(allocation, card, permissions);
	if (unit->render >= 0)
		allocation_add_device(allocation, render, permissions);
}

static char *host_path(const struct drm *drm, const char *path)
{
	const char *root = drm->node->helper.dev_root;

	return xasprintf("%s%s", root ? root : "/dev", path + strlen("/dev"));
}

/* Why a container cannot have the unit now; NULL: it can. The caller frees. */
static char *find_trouble(const struct drm *drm, enum vendor vendor, const struct unit *unit)
{
	auto_free char *claim = drm->deps.claim_of(drm->deps.arg, unit->address);
	struct allocation nodes = { 0 };
	char *trouble = NULL;

	if (claim)
		return xasprintf("the PCIDeviceClaim '%s' takes it", claim);
	add_nodes(vendor, unit, &nodes);
	for (size_t i = 0; i < nodes.devices.len && !trouble; i++) {
		auto_free char *path = host_path(drm, nodes.devices.items[i].host_path);

		if (access(path, F_OK) < 0)
			trouble = xasprintf("its device node %s is not there",
					    nodes.devices.items[i].host_path);
	}
	allocation_done(&nodes);
	return trouble;
}

static void check_health(struct drm *drm, enum vendor vendor)
{
	struct units *units = &drm->units[vendor];

	for (size_t i = 0; i < units->list.len; i++) {
		struct unit *unit = &units->list.items[i];

		free(unit->trouble);
		unit->trouble = find_trouble(drm, vendor, unit);
	}
}

/* --- what is offered -------------------------------------------------------------------------- */

/* Also the first part of a divided GPU. */
static bool is_whole(const struct unit *unit)
{
	return strcmp(unit->id, unit->address) == 0;
}

static void offer_vendor(struct drm *drm, enum vendor vendor, struct plugins *plugins)
{
	const struct units *units = &drm->units[vendor];
	size_t len = drm->has_plugin[vendor] ? 0 : units->list.len;
	auto_free struct plugin_offer *list = xcalloc(len + 1, sizeof(*list));

	for (size_t i = 0; i < len; i++) {
		const struct unit *unit = &units->list.items[i];

		list[i] = (struct plugin_offer){
			.resource = unit->resource,
			.device = {
				.id = unit->id,
				.healthy = !unit->trouble,
				.numa_node = unit->numa_node,
				.card = is_whole(unit) ? NULL : unit->address,
				.trouble = unit->trouble,
			},
		};
	}
	plugin_offers_set(plugins, vendors[vendor].type, drm, list, len);
}

void drm_offer(void *arg, struct plugins *plugins)
{
	struct drm *drm = arg;
	const struct inventory *inventory = drm->node->inventory;
	const struct informer *claims = drm->node->claims[INVENTORY_PCI];

	if (inventory && inventory->facts->drms_known)
		find_units(drm, inventory->facts);
	if (!drm->known || (claims && !informer_synced(claims)))
		return;
	for (size_t i = 0; i < VENDORS; i++) {
		if (!is_on(drm, (enum vendor)i))
			continue;
		check_health(drm, (enum vendor)i);
		offer_vendor(drm, (enum vendor)i, plugins);
	}
	drm->offered = true;
}

/* Two plugins would give each GPU to two containers. */
static void on_check(void *arg)
{
	struct drm *drm = arg;
	auto_free char *folder = xasprintf("%s/device-plugins", drm->node->kubelet_dir);
	bool changed = false;

	for (size_t i = 0; i < VENDORS; i++) {
		auto_free char *path =
			is_on(drm, (enum vendor)i) ? socket_find(folder, vendors[i].sockets) : NULL;

		if (drm->has_plugin[i] == (path != NULL))
			continue;
		drm->has_plugin[i] = path;
		changed = true;
		if (path)
			log_warn("GPUs are not offered while their vendor's device plugin runs",
				 log_str("vendor", vendors[i].type->name), log_str("socket", path));
		else
			log_info("the vendor's device plugin does not run any more",
				 log_str("vendor", vendors[i].type->name));
	}
	clock_timer_start(drm->node->clock, drm->check, DRM_CHECK_MS);
	if (changed)
		drm->deps.changed(drm->deps.arg);
}

/* --- the device types ------------------------------------------------------------------------- */

static const struct unit *find_unit(const struct drm *drm, enum vendor vendor, const char *id)
{
	const struct units *units = &drm->units[vendor];

	for (size_t i = 0; i < units->list.len; i++) {
		if (strcmp(units->list.items[i].id, id) == 0)
			return &units->list.items[i];
	}
	return NULL;
}

static int add_unit_nodes(const struct drm *drm, enum vendor vendor, const char *id,
			  struct allocation *allocation, struct err *err)
{
	const struct unit *unit = find_unit(drm, vendor, id);
	auto_free char *trouble = unit ? find_trouble(drm, vendor, unit) : NULL;

	if (!unit)
		return err_set(err, ERR_INVALID, -ENODEV, "GPU '%s' is gone from the node", id);
	if (trouble)
		return err_set(err, ERR_INVALID, -EHOSTDOWN, "GPU '%s' is not available: %s", id,
			       trouble);
	add_nodes(vendor, unit, allocation);
	return 0;
}

static int allocate_amd(void *arg, const char *resource, const struct json_strs *ids,
			struct allocation *allocation, struct err *err)
{
	int r = 0;

	(void)resource;
	for (size_t i = 0; i < ids->len && r == 0; i++)
		r = add_unit_nodes(arg, AMD, ids->items[i], allocation, err);
	return r;
}

/* udev's links to the nodes, by which Intel's compute runtime finds the GPU's address. */
static void add_links(const struct drm *drm, const char *id, struct allocation *allocation)
{
	static const char folder[] = "/dev/dri/by-path";
	auto_free char *prefix = xasprintf("pci-%s-", find_unit(drm, INTEL, id)->address);
	auto_free char *path = host_path(drm, folder);
	auto_dir DIR *dir = opendir(path);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		auto_free char *link = xasprintf("%s/%s", folder, entry->d_name);

		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
			allocation_add_mount(allocation, link, link, true);
	}
}

static int allocate_intel(void *arg, const char *resource, const struct json_strs *ids,
			  struct allocation *allocation, struct err *err)
{
	int r = 0;

	(void)resource;
	for (size_t i = 0; i < ids->len && r == 0; i++) {
		r = add_unit_nodes(arg, INTEL, ids->items[i], allocation, err);
		if (r == 0)
			add_links(arg, ids->items[i], allocation);
	}
	return r;
}

static enum device_choice choose_amd(void *arg, const char *resource)
{
	(void)arg;
	(void)resource;
	return CHOICE_WEIGHTS;
}

/* What AMD's plugin adds up for two GPUs is the cost of their being together; 80 at most. */
static uint16_t weight_amd(void *arg, const char *resource, const char *a, const char *b)
{
	const struct unit *one = find_unit(arg, AMD, a);
	const struct unit *two = find_unit(arg, AMD, b);
	bool same;
	int cost;

	(void)resource;
	if (!one || !two)
		return 0;
	same = strcmp(one->address, two->address) == 0;
	cost = same ? 10 : 20;
	cost += same || (one->hive && str_equal(one->hive, two->hive)) ? 10 : 40;
	cost += one->numa_node == two->numa_node ? 10 : 20;
	return (uint16_t)(80 - cost);
}

static enum device_choice choose_intel(void *arg, const char *resource)
{
	const struct drm *drm = arg;

	(void)resource;
	return drm->options.intel_shares > 1 ? CHOICE_DISTRIBUTED : CHOICE_NEAR;
}

const struct device_type drm_amd_type = {
	.name = "amd", .allocate = allocate_amd, .choose = choose_amd, .weight = weight_amd
};

const struct device_type drm_intel_type = { .name = "intel",
					    .allocate = allocate_intel,
					    .choose = choose_intel };

/* --- claims, and the PCIDevice ---------------------------------------------------------------- */

/* Is the function at @address on a driver whose GPUs are offered? */
static bool is_drm_driver(const struct drm *drm, const char *address)
{
	const struct inventory *inventory = drm->node->inventory;
	const struct pci_facts *pci = inventory ? facts_find_pci(inventory->facts, address) : NULL;
	const char *driver = pci ? pci->driver : NULL;

	return (drm->options.amd && str_equal(driver, "amdgpu")) ||
	       (drm->options.intel && (str_equal(driver, "i915") || str_equal(driver, "xe")));
}

char *drm_bind_trouble(const struct drm *drm, const char *address)
{
	auto_free char *claim = drm->deps.claim_of(drm->deps.arg, address);
	char *trouble = NULL;

	if (!drm->offered && is_drm_driver(drm, address))
		return xstrdup(gpu_use_unknown);
	for (size_t i = 0; i < VENDORS; i++) {
		const struct units *units = &drm->units[i];

		for (size_t k = 0; k < units->list.len && !trouble && !drm->has_plugin[i]; k++) {
			if (strcmp(units->list.items[k].address, address) != 0)
				continue;
			if (!claim)
				return xstrdup(gpu_still_offered);
			trouble = gpu_unit_bind_trouble(drm->deps.is_free, drm->deps.arg,
							units->list.items[k].id);
		}
	}
	return trouble;
}

bool drm_offered(const struct drm *drm, const char *address, struct drm_offered *ret_offered)
{
	for (size_t i = 0; i < VENDORS; i++) {
		const struct units *units = &drm->units[i];

		for (size_t k = 0; k < units->list.len; k++) {
			const struct unit *unit = &units->list.items[k];

			if (strcmp(unit->address, address) != 0)
				continue;
			*ret_offered = (struct drm_offered){ .by = vendors[i].flag };
			if (drm->has_plugin[i])
				return true;
			ret_offered->resource = unit->resource;
			ret_offered->trouble = unit->trouble;
			return true;
		}
	}
	return false;
}

/* --- life ------------------------------------------------------------------------------------- */

struct drm *drm_new(const struct this_node *node, const struct drm_options *options,
		    const struct drm_deps *deps)
{
	struct drm *drm = xcalloc(1, sizeof(*drm));

	drm->node = node;
	drm->options = *options;
	drm->deps = *deps;
	drm->check = clock_timer_new(node->clock, on_check, drm);
	if (options->amd || options->intel)
		clock_timer_start(node->clock, drm->check, 0);
	return drm;
}

struct drm *drm_free(struct drm *drm)
{
	if (!drm)
		return NULL;
	for (size_t i = 0; i < VENDORS; i++)
		units_done(&drm->units[i]);
	clock_timer_free(drm->node->clock, drm->check);
	free(drm);
	return NULL;
}
