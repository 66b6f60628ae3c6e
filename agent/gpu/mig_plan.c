#include "agent/gpu/mig_plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/gpu/gpu_cards.h"
#include "agent/gpu/smi_table.h"
#include "agent/inventory/facts.h"
#include "api/migconfiguration.h"
#include "api/names.h"
#include "api/object.h"
#include "api/patch.h"
#include "api/sriovgpudevice.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"

/* One profile of the card. */
struct mig_need {
	int profile;
	const char *name; /* the look's */
	int memory_mib;
	int total;
	int wanted;
	int there;
};

struct mig_needs {
	struct mig_need *items; /* the largest profile first */
	size_t len;
	size_t cap;
	/* A profile that was asked for and that the card does not have; NULL */
	const char *unknown;
};

static struct mig_need *find(struct mig_needs *needs, int profile)
{
	for (size_t i = 0; i < needs->len; i++) {
		if (needs->items[i].profile == profile)
			return &needs->items[i];
	}
	return NULL;
}

/* The card's profile that @request means. The number counts; without one, the name. */
static struct mig_need *meant(struct mig_needs *needs, const struct mig_request *request)
{
	if (request->id >= 0)
		return find(needs, request->id);
	for (size_t i = 0; request->name && i < needs->len; i++) {
		if (strcmp(needs->items[i].name, request->name) == 0)
			return &needs->items[i];
	}
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	const struct mig_need *x = a;
	const struct mig_need *y = b;

	if (x->memory_mib != y->memory_mib)
		return x->memory_mib > y->memory_mib ? -1 : 1;
	if (x->total != y->total)
		return x->total < y->total ? -1 : 1;
	return (x->profile > y->profile) - (x->profile < y->profile);
}

/* Sorted by memory, then by how few of them the card can have, then by number: what is made in this
 * order leaves room for what follows. */
static void mig_needs_make(const struct migconfiguration_spec *spec, const struct mig_look *look,
			   struct mig_needs *ret_needs)
{
	struct mig_needs needs = { 0 };

	for (size_t i = 0; i < look->profiles.len; i++) {
		const struct smi_profile *p = &look->profiles.items[i];

		if (!find(&needs, p->id))
			*array_add(&needs) = (struct mig_need){ .profile = p->id,
								.name = p->name,
								.memory_mib = p->memory_mib,
								.total = p->total };
	}
	for (size_t i = 0; i < look->instances.len; i++) {
		struct mig_need *need = find(&needs, look->instances.items[i].profile);

		if (need)
			need->there++;
	}
	for (size_t i = 0; i < spec->profiles.len; i++) {
		const struct mig_request *request = &spec->profiles.items[i];
		struct mig_need *need = meant(&needs, request);

		if (request->requested <= 0)
			continue;
		if (need)
			need->wanted += request->requested;
		else if (!needs.unknown)
			needs.unknown = request->name ? request->name : "?";
	}
	if (needs.len > 0)
		qsort(needs.items, needs.len, sizeof(needs.items[0]), by_size);
	*ret_needs = needs;
}

static void mig_needs_done(struct mig_needs *needs)
{
	array_done(needs);
}

/* The first profile with a missing instance; NULL: none. */
static const struct mig_need *mig_needs_missing(const struct mig_needs *needs)
{
	for (size_t i = 0; i < needs->len; i++) {
		if (needs->items[i].there < needs->items[i].wanted)
			return &needs->items[i];
	}
	return NULL;
}

/* The first profile with more instances than the spec wants; NULL: none. */
static const struct mig_need *mig_needs_surplus(const struct mig_needs *needs)
{
	for (size_t i = 0; i < needs->len; i++) {
		if (needs->items[i].there > needs->items[i].wanted)
			return &needs->items[i];
	}
	return NULL;
}

enum {
	IN_USE_AGAIN_MS = 5000,
	LOOK_AGAIN_MS = 5 * 60 * 1000, /* changes by other programs send no notification */
	PENDING_AGAIN_MS = 60 * 1000,
};

/* Must the MIG mode of the card not be changed? Each may be NULL. */
static bool is_skipped(const struct migconfiguration *object, const struct sriovgpudevice *parent)
{
	return (object && api_meta_annotation(&object->meta, NAMES_ANNOTATION_SKIP_MIG)) ||
	       (parent && api_meta_annotation(&parent->meta, NAMES_ANNOTATION_SKIP_MIG));
}

/* --- objects ---------------------------------------------------------------------------------- */

static void add_owner(struct migconfiguration *object, const struct sriovgpudevice *parent)
{
	*array_add(&object->meta.owner_refs) = (struct api_owner_ref){
		.api_version = api_kind_api_version(&sriovgpudevice_kind),
		.kind = xstrdup(sriovgpudevice_kind.kind),
		.name = xstrdup(parent->meta.name),
		.uid = xstrdup(parent->meta.uid ? parent->meta.uid : ""),
	};
}

/* It asks for nothing: what to make of the card is for people to say. */
static void create(const struct mig_case *c, struct gpu_decision *d)
{
	struct migconfiguration *object = api_object_new(&migconfiguration_kind);
	auto_free char *label = names_label_value(c->node_name);

	object->meta.name = xstrdup(c->name);
	json_pairs_set(&object->meta.labels, NAMES_LABEL_NODE, label);
	add_owner(object, c->parent);
	object->spec.gpu_address = xstrdup(c->card->pci->address);
	object->spec.node_name = xstrdup(c->node_name);
	for (size_t i = 0; i < c->look->profiles.len; i++) {
		const struct smi_profile *p = &c->look->profiles.items[i];

		*array_add(&object->spec.profiles) = (struct mig_request){
			.name = xstrdup(p->name),
			.id = p->id,
		};
	}
	d->step = GPU_CREATE;
	d->body = api_object_encode(&migconfiguration_kind, object);
	json_object_del(d->body, "status");
	api_object_free(&migconfiguration_kind, object);
}

static void add_instances(const struct mig_look *look, int profile, struct mig_profile *to)
{
	for (size_t i = 0; i < look->instances.len; i++) {
		char id[16];

		if (look->instances.items[i].profile != profile)
			continue;
		(void)snprintf(id, sizeof(id), "%d", look->instances.items[i].id);
		json_strs_add(&to->instances, id);
	}
}

static void list_profiles(const struct mig_look *look, struct mig_profiles *list)
{
	for (size_t i = 0; i < list->len; i++) {
		free(list->items[i].name);
		json_strs_done(&list->items[i].instances);
	}
	array_done(list);
	for (size_t i = 0; i < look->profiles.len; i++) {
		const struct smi_profile *p = &look->profiles.items[i];
		struct mig_profile *to = array_add(list);

		to->name = xstrdup(p->name);
		to->id = p->id;
		to->available = p->available;
		to->total = p->total;
		add_instances(look, p->id, to);
	}
}

/* What is to be told. */
struct said {
	bool managed;
	bool ready;
	const char *status; /* Harvester's word; NULL: none */
	const char *reason;
	const char *message;
};

static bool tell(const struct mig_case *c, const struct said *said, struct gpu_decision *d)
{
	struct gpu_news news = { said->ready, said->reason, said->message };
	struct migconfiguration_status want;
	bool told;

	json_map_copy(migconfiguration_status_map, &want, &c->object->status);
	want.observed_generation = c->object->meta.generation;
	want.managed = said->managed;
	str_set(&want.status, said->status);
	str_set(&want.message, said->ready ? NULL : said->message);
	if (c->look)
		list_profiles(c->look, &want.profiles);
	told = gpu_tell(
		&(struct patch_status){
			.meta = &c->object->meta,
			.map = migconfiguration_status_map,
			.have = &c->object->status,
			.want = &want,
			.conditions = &want.conditions,
			.now_wall_ms = c->now_wall_ms,
		},
		&news, d);
	json_map_done(migconfiguration_status_map, &want);
	return told;
}

/* What is not as it should be, with Harvester's word for where the card stands. */
static void tell_trouble(const struct mig_case *c, bool managed, const char *reason,
			 const char *message, uint64_t again_ms, struct gpu_decision *d)
{
	struct said said = {
		.managed = managed,
		.status = c->object->spec.enabled ? MIGCONFIGURATION_OUT_OF_SYNC
						  : c->object->status.status,
		.reason = reason,
		.message = message,
	};

	if (!tell(c, &said, d))
		d->again_ms = again_ms;
}

/* --- acts ------------------------------------------------------------------------------------- */

static void act(const struct mig_case *c, struct gpu_act *wanted, const char *message,
		struct gpu_decision *d)
{
	(void)snprintf(wanted->address, sizeof(wanted->address), "%s", c->card->pci->address);
	memcpy(wanted->card, wanted->address, sizeof(wanted->card));
	if (c->past.stuck) {
		tell_trouble(c, true, "Stuck", c->past.stuck, 0, d);
	} else if (gpu_past_holds(&c->past, wanted)) {
		tell_trouble(c, true, c->past.reason, c->past.message, c->past.wait_ms, d);
	} else if (!c->object->status.managed) {
		tell_trouble(c, true, "Applying", message, 0, d);
	} else {
		d->step = GPU_ACT;
		d->act = *wanted;
	}
}

static void plan_mode(const struct mig_case *c, struct gpu_decision *d)
{
	struct gpu_act wanted = { .verb = GPU_MIG_MODE_ON };
	const struct gpu_act *last = c->past.act;

	if (c->user)
		tell_trouble(c, c->object->status.managed, "InUse", c->user, IN_USE_AGAIN_MS, d);
	else if (last && last->verb == GPU_MIG_MODE_ON && !c->past.failed)
		tell_trouble(c, true, "ModePending",
			     "MIG mode is on after the next reset of the card, or of the node",
			     PENDING_AGAIN_MS, d);
	else
		act(c, &wanted, "MIG mode is being switched on", d);
}

static void tell_surplus(const struct mig_case *c, const struct mig_need *surplus,
			 struct gpu_decision *d)
{
	auto_free char *message =
		xasprintf("the card has %d of '%s', and profileSpec requests %d: remove them, or "
			  "set spec.enabled to false to have all instances removed",
			  surplus->there, surplus->name, surplus->wanted);

	tell_trouble(c, true, "OutOfSync", message, LOOK_AGAIN_MS, d);
}

static void plan_instances(const struct mig_case *c, const struct mig_needs *needs,
			   struct gpu_decision *d)
{
	const struct mig_need *missing = mig_needs_missing(needs);
	const struct mig_need *surplus = mig_needs_surplus(needs);
	struct gpu_act wanted = { .verb = GPU_MIG_CREATE };
	struct said synced = { .managed = true,
			       .ready = true,
			       .status = MIGCONFIGURATION_SYNCED,
			       .reason = "Synced",
			       .message = "the card is divided as profileSpec asks" };
	auto_free char *message = NULL;

	if (missing) {
		wanted.profile = missing->profile;
		message = xasprintf("an instance of '%s' is being created", missing->name);
		act(c, &wanted, message, d);
	} else if (surplus) {
		tell_surplus(c, surplus, d);
	} else if (!tell(c, &synced, d)) {
		d->again_ms = LOOK_AGAIN_MS;
	}
}

static void plan_enabled(const struct mig_case *c, struct gpu_decision *d)
{
	auto_free char *message = NULL;
	struct mig_needs needs;

	mig_needs_make(&c->object->spec, c->look, &needs);
	if (needs.unknown) {
		message = xasprintf("the card has no profile '%.64s': status.profileStatus lists "
				    "those that it has",
				    needs.unknown);
		tell_trouble(c, c->object->status.managed, "UnknownProfile", message, 0, d);
	} else if (c->look->mode == SMI_MODE_DISABLED) {
		plan_mode(c, d);
	} else {
		plan_instances(c, &needs, d);
	}
	mig_needs_done(&needs);
}

/* What fills an instance goes before it. */
static void plan_remove(const struct mig_case *c, struct gpu_decision *d)
{
	struct gpu_act wanted = { .verb = GPU_MIG_REMOVE };

	if (c->user) {
		tell_trouble(c, true, "InUse", c->user, IN_USE_AGAIN_MS, d);
		return;
	}
	wanted.instance = c->look->instances.items[0].id;
	for (size_t i = 0; i < c->look->computes.len; i++) {
		if (c->look->computes.items[i].instance != wanted.instance)
			continue;
		wanted.verb = GPU_MIG_REMOVE_COMPUTE;
		wanted.compute = c->look->computes.items[i].id;
		break;
	}
	act(c, &wanted, "the instances are being removed", d);
}

static void plan_disabled(const struct mig_case *c, struct gpu_decision *d)
{
	struct said off = { .ready = true,
			    .status = MIGCONFIGURATION_DISABLED,
			    .reason = "Disabled",
			    .message = "the card is not divided" };

	if (c->look->instances.len > 0 && c->object->status.managed) {
		plan_remove(c, d);
		return;
	}
	if (c->look->instances.len > 0) {
		off.reason = "Unmanaged";
		off.message =
			"the card has instances that hostdev did not create, and does not change "
			"them";
	}
	if (!tell(c, &off, d))
		d->again_ms = LOOK_AGAIN_MS;
}

/* --- the whole -------------------------------------------------------------------------------- */

static void plan_no_card(const struct mig_case *c, struct gpu_decision *d)
{
	bool managed = c->object->status.managed;
	auto_free char *message = NULL;

	if (managed || !gpu_is_strange(&c->object->status.conditions)) {
		tell_trouble(c, managed, "DeviceGone", "the card is not on the node", 0, d);
		return;
	}
	message = xasprintf("node %s has no NVIDIA card of this name that can be divided: delete "
			    "the object",
			    c->node_name);
	tell_trouble(c, false, GPU_NOT_SUPPORTED, message, 0, d);
}

static void plan_object(const struct mig_case *c, struct gpu_decision *d)
{
	bool managed = c->object->status.managed;

	if (!c->card)
		plan_no_card(c, d);
	else if (is_skipped(c->object, c->parent))
		tell_trouble(c, managed, "Skipped",
			     "the card is not changed because of the annotation "
			     "" NAMES_ANNOTATION_SKIP_MIG " says so",
			     0, d);
	else if (c->look_trouble)
		tell_trouble(c, managed, c->look_reason, c->look_trouble, LOOK_AGAIN_MS, d);
	else if (!c->look)
		d->step = GPU_LOOK;
	else if (c->look->mode == SMI_MODE_NONE)
		tell_trouble(c, managed, GPU_NOT_SUPPORTED, "the card has no MIG mode", 0, d);
	else if (c->object->spec.enabled)
		plan_enabled(c, d);
	else
		plan_disabled(c, d);
}

/* A card of this node that is divided and has no annotation to skip it. */
static void plan_new(const struct mig_case *c, struct gpu_decision *d)
{
	if (!c->card || !c->parent || !c->parent->spec.enabled ||
	    c->parent->meta.deletion_timestamp || is_skipped(NULL, c->parent) || c->look_trouble)
		return;
	if (!c->look)
		d->step = GPU_LOOK;
	else if (c->look->mode != SMI_MODE_NONE)
		create(c, d);
}

static bool is_ours(const struct mig_case *c)
{
	const char *node = c->object->spec.node_name;

	return node && strcmp(node, c->node_name) == 0;
}

void mig_plan(const struct mig_case *c, struct gpu_decision *ret_decision)
{
	*ret_decision = (struct gpu_decision){ 0 };
	if (c->past.newer)
		return;
	if (!c->object)
		plan_new(c, ret_decision);
	else if (!c->object->meta.deletion_timestamp && is_ours(c))
		plan_object(c, ret_decision);
}
