#include "agent/plugin/plugins.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/plugin/checkpoint.h"
#include "agent/plugin/device_list.h"
#include "agent/plugin/kubelet_watch.h"
#include "agent/plugin/offer.h"
#include "agent/plugin/plugin_event.h"
#include "agent/plugin/plugin_socket.h"
#include "agent/plugin/registry.h"
#include "api/names.h"
#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "kube/clock.h"

/* A skipped device or resource, reported once as long as the reason stays the same. */
struct refusal {
	bool seen;
	char reason[];
};

struct refusals {
	const char *type;
	plugin_event_fn *fn;
	void *arg;
	struct map *last; /* of struct refusal, by resource and ID */
};

/* @type and @fn's @arg are borrowed. */
static struct refusals *refusals_new(const char *type, plugin_event_fn *fn, void *arg)
{
	struct refusals *refusals = xcalloc(1, sizeof(*refusals));

	refusals->type = type;
	refusals->fn = fn;
	refusals->arg = arg;
	refusals->last = map_new();
	return refusals;
}

/* Takes NULL, returns NULL. */
static struct refusals *refusals_free(struct refusals *refusals)
{
	if (!refusals)
		return NULL;
	map_free_with(refusals->last, free);
	free(refusals);
	return NULL;
}

static struct refusal *refusal_new(const char *reason)
{
	size_t size = strlen(reason) + 1;
	struct refusal *refusal = xmalloc(sizeof(*refusal) + size);

	refusal->seen = true;
	memcpy(refusal->reason, reason, size);
	return refusal;
}

/* Report the device @id (NULL: the whole resource), unless it was reported with this reason
 * before. */
static void refusals_add(struct refusals *refusals, const char *resource, const char *id,
			 const struct err *err)
{
	auto_free char *key = xasprintf("%s %s", resource, id ? id : "");
	struct refusal *before = map_get(refusals->last, key);
	struct plugin_event event = { .kind = PLUGIN_REFUSED,
				      .type = refusals->type,
				      .resource = resource,
				      .id = id,
				      .err = err };

	if (before && strcmp(before->reason, err->msg) == 0) {
		before->seen = true;
		return;
	}
	free(map_set(refusals->last, key, refusal_new(err->msg)));
	refusals->fn(refusals->arg, &event);
}

/* A refusal that is not added between these two is forgotten, and would be reported again. */
static void refusals_begin(struct refusals *refusals)
{
	size_t cursor = 0;
	void *refusal = NULL;

	while (map_next(refusals->last, &cursor, NULL, &refusal))
		((struct refusal *)refusal)->seen = false;
}

static void refusals_end(struct refusals *refusals)
{
	const char *key = NULL;
	size_t cursor = 0;
	void *value = NULL;

	while (map_next(refusals->last, &cursor, &key, &value)) {
		struct refusal *refusal = value;

		if (!refusal->seen) {
			map_remove(refusals->last, key);
			free(refusal);
		}
	}
}

/* A resource that a type wants to offer. */
struct want {
	char *name;
	struct device_list *list;
	bool claimed;
};

struct wants {
	struct want *items;
	size_t len, cap;
};

/* All of one device type. */
struct family {
	const struct device_type *type;
	void *arg;
	struct wants wants;
	struct refusals *refusals;
};

struct plugins {
	struct plugins_deps deps;
	struct plugin_socket_maker sockets;
	struct {
		struct family *items;
		size_t len, cap;
	} families;
	struct map *offers; /* by resource */
	struct checkpoint *checkpoint;
	struct clock_timer *timer;
	void (*stopped)(void *arg);
	void *stopped_arg;
};

/* --- what is wanted --------------------------------------------------------------------------- */

static void wants_done(struct wants *wants)
{
	for (size_t i = 0; i < wants->len; i++) {
		device_list_unref(wants->items[i].list);
		free(wants->items[i].name);
	}
	array_done(wants);
}

static const struct want *wants_find(const struct wants *wants, const char *name)
{
	for (size_t i = 0; i < wants->len; i++) {
		if (strcmp(wants->items[i].name, name) == 0)
			return &wants->items[i];
	}
	return NULL;
}

static int name_check(const char *name, struct err *err)
{
	if (!names_valid_offered_resource(name))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "kubelets refuse this resource name: " NAMES_OFFERED_RESOURCE_FORM);
	return 0;
}

struct sieve {
	struct family *family;
	const char *resource;
};

static void on_device_refused(void *arg, const char *id, const struct err *err)
{
	const struct sieve *sieve = arg;

	refusals_add(sieve->family->refusals, sieve->resource, id, err);
}

/* The list of @resource; the one before if there can be none; NULL. */
static struct device_list *list_of(struct family *family, const struct plugin_resource *resource)
{
	const struct want *before = wants_find(&family->wants, resource->name);
	struct sieve sieve = { family, resource->name };
	struct device_list *list = NULL;
	struct err err = { 0 };

	if (device_list_new(resource->devices, resource->ndevices, on_device_refused, &sieve, &list,
			    &err) >= 0)
		return list;
	refusals_add(family->refusals, resource->name, NULL, &err);
	return before ? device_list_ref(before->list) : NULL;
}

static void want_add(struct family *family, struct wants *wants,
		     const struct plugin_resource *resource)
{
	struct device_list *list;
	struct err err = { 0 };
	int r = name_check(resource->name, &err);

	if (r >= 0 && wants_find(wants, resource->name))
		r = err_set(&err, ERR_INVALID, -EEXIST, "the resource is in the list twice");
	if (r < 0) {
		refusals_add(family->refusals, resource->name, NULL, &err);
		return;
	}
	list = list_of(family, resource);
	if (list)
		*array_add(wants) =
			(struct want){ xstrdup(resource->name), list, resource->claimed };
}

static struct family *family_of(struct plugins *plugins, const struct device_type *type, void *arg)
{
	struct family *family;

	for (size_t i = 0; i < plugins->families.len; i++) {
		family = &plugins->families.items[i];
		assert(family->type != type || family->arg == arg);
		if (family->type == type)
			return family;
	}
	family = array_add(&plugins->families);
	family->type = type;
	family->arg = arg;
	family->refusals = refusals_new(type->name, plugins->deps.fn, plugins->deps.arg);
	return family;
}

/* --- what is offered -------------------------------------------------------------------------- */

static void reconcile(struct plugins *plugins);

static void on_timer(void *arg)
{
	struct plugins *plugins = arg;

	plugins->stopped(plugins->stopped_arg);
}

static void show_metrics(const struct plugins *plugins)
{
	size_t cursor = 0;
	void *offer = NULL;

	while (map_next(plugins->offers, &cursor, NULL, &offer))
		offer_show(offer);
}

static void on_withdrawn(void *arg, struct offer *offer)
{
	struct plugins *plugins = arg;
	struct plugin_event event = { .kind = PLUGIN_WITHDRAWN,
				      .type = offer_type(offer)->name,
				      .resource = offer_resource(offer) };

	plugins->deps.fn(plugins->deps.arg, &event);
	map_remove(plugins->offers, offer_resource(offer));
	offer_free(offer);
	show_metrics(plugins);
	reconcile(plugins);
	if (plugins->stopped && map_len(plugins->offers) == 0)
		clock_timer_start(plugins->deps.registration.clock, plugins->timer, 0);
}

static void on_event(void *arg, const struct plugin_event *event)
{
	const struct plugins *plugins = arg;

	plugins->deps.fn(plugins->deps.arg, event);
}

static void offer_begin(struct plugins *plugins, const struct family *family,
			const struct want *want)
{
	struct offer_settings settings = {
		.deps = &plugins->deps.registration,
		.sockets = &plugins->sockets,
		.resource = want->name,
		.type = family->type,
		.type_arg = family->arg,
		.list = want->list,
		.checkpoint = plugins->checkpoint,
		.fn = on_event,
		.withdrawn = on_withdrawn,
		.arg = plugins,
	};

	map_set(plugins->offers, want->name, offer_new(&settings));
}

/* The type with claimed devices of this name. Of several the first type, not the earliest offer, so
 * that it is the same one after a restart. */
static const struct device_type *claimant(const struct plugins *plugins, const char *name)
{
	for (size_t i = 0; i < plugins->families.len; i++) {
		const struct family *family = &plugins->families.items[i];
		const struct want *want = wants_find(&family->wants, name);

		if (want && want->claimed)
			return family->type;
	}
	return NULL;
}

static void refuse_taken(struct family *family, const char *name, const struct device_type *by)
{
	struct err err = { 0 };

	err_set(&err, ERR_INVALID, -EEXIST, "device type '%s' offers this resource already",
		by->name);
	refusals_add(family->refusals, name, NULL, &err);
}

/* While an offer is withdrawn it is in the way of the next one, which on_withdrawn() begins. */
static void want_meet(struct plugins *plugins, struct family *family, const struct want *want)
{
	struct offer *offer = map_get(plugins->offers, want->name);
	const struct device_type *first = claimant(plugins, want->name);

	if (first && first != family->type)
		refuse_taken(family, want->name, first);
	else if (!offer)
		offer_begin(plugins, family, want);
	else if (offer_is_withdrawn(offer))
		return;
	else if (offer_type(offer) == family->type)
		offer_update(offer, want->list);
	else
		refuse_taken(family, want->name, offer_type(offer));
}

static bool is_wanted(const struct plugins *plugins, const struct offer *offer)
{
	const struct device_type *first = claimant(plugins, offer_resource(offer));

	if (first)
		return first == offer_type(offer);
	for (size_t i = 0; i < plugins->families.len; i++) {
		const struct family *family = &plugins->families.items[i];

		if (family->type == offer_type(offer))
			return wants_find(&family->wants, offer_resource(offer));
	}
	return false;
}

static void reconcile(struct plugins *plugins)
{
	size_t cursor = 0;
	void *offer = NULL;

	while (map_next(plugins->offers, &cursor, NULL, &offer)) {
		if (!is_wanted(plugins, offer))
			offer_withdraw(offer);
	}
	for (size_t i = 0; i < plugins->families.len; i++) {
		struct family *family = &plugins->families.items[i];

		for (size_t k = 0; k < family->wants.len; k++)
			want_meet(plugins, family, &family->wants.items[k]);
	}
}

/* --- devices that DRA offers ------------------------------------------------------------------ */

/* The resources of a type with the devices for the kubelet, or with those for DRA. */
struct part {
	struct plugin_resource *items;
	size_t len, cap;
	struct plugin_device *devices; /* of all of them */
};

static bool is_for_dra(const struct plugins *plugins, const struct plugin_device *device)
{
	return device->dra ||
	       (plugins->deps.claimed && plugins->deps.claimed(plugins->deps.arg, device->id));
}

/* The texts stay borrowed. A resource without devices at all is the kubelet's. */
static void part_init(struct part *part, const struct plugins *plugins,
		      const struct plugin_resource *resources, size_t len, bool dra)
{
	struct plugin_device *next;
	size_t ndevices = 0;

	for (size_t i = 0; i < len; i++)
		ndevices += resources[i].ndevices;
	next = xcalloc(ndevices + 1, sizeof(*next));
	*part = (struct part){ .devices = next };
	for (size_t i = 0; i < len; i++) {
		const struct plugin_resource *resource = &resources[i];
		struct plugin_resource *copy;
		size_t n = 0;

		for (size_t k = 0; k < resource->ndevices; k++) {
			if (is_for_dra(plugins, &resource->devices[k]) == dra)
				next[n++] = resource->devices[k];
		}
		if (n == 0 && (dra || resource->ndevices > 0))
			continue;
		copy = array_add(part);
		*copy = *resource;
		copy->devices = next;
		copy->ndevices = n;
		next += n;
	}
}

static void part_done(struct part *part)
{
	array_done(part);
	free(part->devices);
}

/* --- life ------------------------------------------------------------------------------------- */

/* What cannot be read does not exist yet. */
static void sweep(const struct plugins *plugins)
{
	const struct registration_deps *registration = &plugins->deps.registration;
	struct plugin_socket_maker directly = plugins->sockets; /* as an agent before registered */
	struct err err = { 0 };

	directly.folder = registration->kubelet_dir;
	if (plugin_socket_sweep(&plugins->sockets, &err) < 0 ||
	    plugin_socket_sweep(&directly, &err) < 0)
		log_debug("sockets of earlier agents are not removed", log_str("why", err.msg));
	if (registration->mode == REGISTRATION_REGISTRY &&
	    registry_sweep(registration->registry_dir, &err) < 0)
		log_debug("sockets of earlier agents are not removed", log_str("why", err.msg));
}

struct plugins *plugins_new(const struct plugins_deps *deps)
{
	struct plugins *plugins = xcalloc(1, sizeof(*plugins));
	struct registration_deps *registration = &plugins->deps.registration;
	bool own_dir;

	plugins->deps = *deps;
	registration->mode = registration_way(registration->mode, registration->registry_dir);
	own_dir = deps->socket_dir && registration->mode == REGISTRATION_REGISTRY;
	plugins->sockets = (struct plugin_socket_maker){
		.folder = own_dir ? deps->socket_dir : registration->kubelet_dir,
		.own_folder = own_dir,
		.pid = getpid(),
		.random = (uint32_t)clock_random(registration->clock),
	};
	kubelet_watch_also(registration->watch, plugins->sockets.folder);
	plugins->offers = map_new();
	if (deps->checkpoint_path)
		plugins->checkpoint = checkpoint_new(deps->checkpoint_path);
	plugins->timer = clock_timer_new(registration->clock, on_timer, plugins);
	sweep(plugins);
	return plugins;
}

struct plugins *plugins_free(struct plugins *plugins)
{
	size_t cursor = 0;
	void *offer = NULL;

	if (!plugins)
		return NULL;
	while (map_next(plugins->offers, &cursor, NULL, &offer))
		offer_free(offer);
	map_free(plugins->offers);
	checkpoint_free(plugins->checkpoint);
	for (size_t i = 0; i < plugins->families.len; i++) {
		wants_done(&plugins->families.items[i].wants);
		refusals_free(plugins->families.items[i].refusals);
	}
	array_done(&plugins->families);
	clock_timer_free(plugins->deps.registration.clock, plugins->timer);
	free(plugins);
	return NULL;
}

void plugins_set(struct plugins *plugins, const struct device_type *type, void *type_arg,
		 const struct plugin_resource *resources, size_t len)
{
	struct family *family = family_of(plugins, type, type_arg);
	struct wants before = family->wants;
	struct wants now = { 0 };
	struct part listed;
	struct part dra;

	assert(!plugins->stopped);
	part_init(&listed, plugins, resources, len, false);
	part_init(&dra, plugins, resources, len, true);
	refusals_begin(family->refusals);
	for (size_t i = 0; i < listed.len; i++)
		want_add(family, &now, &listed.items[i]);
	family->wants = now;
	reconcile(plugins);
	refusals_end(family->refusals);
	wants_done(&before);
	/* Once the kubelet's lists are without them. */
	if (plugins->deps.dra)
		plugins->deps.dra(plugins->deps.arg, type, type_arg, dra.items, dra.len);
	part_done(&listed);
	part_done(&dra);
}

bool plugins_offer(const struct plugins *plugins, const char *resource)
{
	return map_get(plugins->offers, resource);
}

const char *plugins_owner(const struct plugins *plugins, const char *resource)
{
	const struct offer *offer = map_get(plugins->offers, resource);
	const struct device_type *first = claimant(plugins, resource);

	if (first)
		return first->name;
	return offer && !offer_is_withdrawn(offer) ? offer_type(offer)->name : NULL;
}

bool plugins_list(const struct plugins *plugins, const struct device_type *type,
		  const char *resource, const char *id)
{
	const struct offer *offer = map_get(plugins->offers, resource);

	return offer && offer_type(offer) == type && offer_lists(offer, id);
}

bool plugins_offer_others(const struct plugins *plugins, const struct device_type *type)
{
	size_t cursor = 0;
	void *offer = NULL;

	while (map_next(plugins->offers, &cursor, NULL, &offer)) {
		if (!offer_is_withdrawn(offer) && offer_type(offer) != type)
			return true;
	}
	return false;
}

bool plugins_make_kubelet_write(const struct plugins *plugins)
{
	size_t cursor = 0;
	void *offer = NULL;

	while (map_next(plugins->offers, &cursor, NULL, &offer)) {
		if (offer_send_again(offer))
			return true;
	}
	return false;
}

void plugins_stop(struct plugins *plugins, void (*stopped)(void *arg), void *arg)
{
	plugins->stopped = stopped;
	plugins->stopped_arg = arg;
	for (size_t i = 0; i < plugins->families.len; i++)
		wants_done(&plugins->families.items[i].wants);
	reconcile(plugins);
	if (map_len(plugins->offers) == 0)
		clock_timer_start(plugins->deps.registration.clock, plugins->timer, 0);
}
