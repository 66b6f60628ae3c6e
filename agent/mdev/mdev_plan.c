#include "agent/mdev/mdev_plan.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config/config.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/mdev_names.h"
#include "agent/mdev/mdev_uuid.h"
#include "agent/task/task_line.h"
#include "base/array.h"
#include "base/map.h"
#include "base/mem.h"

/* --- what the config wants -------------------------------------------------------------------- */

static void add_all(struct json_strs *list, const struct json_strs *types)
{
	for (size_t i = 0; i < types->len; i++)
		json_strs_add_new(list, types->items[i]);
}

void mdev_desired_make(const struct config *config, const struct json_pairs *labels,
		       struct mdev_desired *ret_desired)
{
	struct mdev_desired desired = { 0 };

	desired.enabled = config && labels && config->mdev_types.enabled;
	for (size_t i = 0; desired.enabled && i < config->mdev_types.nodes.len; i++) {
		const struct config_node_types *entry = &config->mdev_types.nodes.items[i];

		if (config_selects(&entry->selector, labels))
			add_all(&desired.types, &entry->types);
	}
	if (desired.enabled && desired.types.len == 0)
		add_all(&desired.types, &config->mdev_types.types);
	for (size_t i = 0; desired.enabled && i < config->mdevs.len; i++) {
		if (config->mdevs.items[i].external)
			json_strs_add_new(&desired.kept, config->mdevs.items[i].type);
	}
	*ret_desired = desired;
}

void mdev_desired_done(struct mdev_desired *desired)
{
	json_strs_done(&desired->types);
	json_strs_done(&desired->kept);
}

bool mdev_desired_equal(const struct mdev_desired *a, const struct mdev_desired *b)
{
	return a->enabled == b->enabled && json_strs_equal(&a->types, &b->types) &&
	       json_strs_equal(&a->kept, &b->kept);
}

/* --- the plan --------------------------------------------------------------------------------- */

enum { NO_TYPE = -1 };

/* The parent's own type for one that is wanted; NULL: it has none such. */
struct choice {
	const struct mdev_type_facts *type;
};

/* One parent while the plan is made. */
struct parent {
	struct parent *next;
	size_t index;           /* in the plan's items                          */
	struct choice *choices; /* one for each wanted type                     */
	int desired;            /* the desired type that it has or gets, NO_TYPE */
	bool has_instance;      /* of whatever type                             */
};

struct planner {
	const struct mdev_plan_case *c;
	struct mdev_plan *plan;
	struct parent *first;
	struct parent **last; /* where the next one goes                     */
	struct map *by_name;  /* parent -> struct parent                    */
	struct map *there;    /* UUIDs of instances, of every creator        */
	struct map *own;      /* UUIDs of those that hostdev has            */
};

static bool has_type(const struct json_strs *types, const struct mdev_facts *mdev)
{
	for (size_t i = 0; mdev->type && i < types->len; i++) {
		if (mdev_type_is(types->items[i], mdev->type, mdev->type_name))
			return true;
	}
	return false;
}

/* --- parents ---------------------------------------------------------------------------------- */

static struct parent *parent_of(struct planner *p, const char *name)
{
	struct parent *parent = map_get(p->by_name, name);

	if (parent)
		return parent;
	parent = xcalloc(1, sizeof(*parent));
	*parent = (struct parent){
		.index = p->plan->len,
		.choices = xcalloc(p->c->desired->types.len + 1, sizeof(struct choice)),
		.desired = NO_TYPE,
	};
	array_add(p->plan)->parent = xstrdup(name);
	*p->last = parent;
	p->last = &parent->next;
	map_set(p->by_name, name, parent);
	return parent;
}

static struct mdev_parent_plan *plan_of(const struct planner *p, const struct parent *parent)
{
	assert(p->plan->items && parent->index < p->plan->len);
	return &p->plan->items[parent->index];
}

/* Records may name parents that are gone. */
static void list_parents(struct planner *p)
{
	const struct facts *facts = p->c->facts;

	for (size_t i = 0; i < facts->mdev_parents.len; i++)
		parent_of(p, facts->mdev_parents.items[i].name);
	for (size_t i = 0; i < facts->mdevs.len; i++)
		parent_of(p, facts->mdevs.items[i].parent);
	for (size_t i = 0; i < facts->mdev_records.len; i++)
		parent_of(p, facts->mdev_records.items[i].parent);
}

/* The parent's type that @wanted means; NULL: it has none such. */
static const struct mdev_type_facts *match(const struct mdev_parent_facts *parent,
					   const char *wanted)
{
	for (size_t i = 0; i < parent->types.len; i++) {
		const struct mdev_type_facts *type = &parent->types.items[i];

		if (mdev_type_is(wanted, type->id, type->name))
			return type;
	}
	return NULL;
}

/* Once for all: the deal asks for it time and again. */
static void match_types(struct planner *p)
{
	const struct json_strs *wanted = &p->c->desired->types;
	const struct facts *facts = p->c->facts;

	for (size_t i = 0; i < facts->mdev_parents.len; i++) {
		const struct mdev_parent_facts *from = &facts->mdev_parents.items[i];
		struct parent *parent = parent_of(p, from->name);

		for (size_t j = 0; j < wanted->len; j++)
			parent->choices[j].type = match(from, wanted->items[j]);
	}
}

/* --- what is there ---------------------------------------------------------------------------- */

/* Somebody's instance fixes the parent's type: the first of those that are wanted. */
static void take_type(struct planner *p, struct parent *parent, const struct mdev_facts *mdev)
{
	const struct json_strs *types = &p->c->desired->types;

	parent->has_instance = true;
	for (size_t i = 0; mdev->type && i < types->len; i++) {
		if (!mdev_type_is(types->items[i], mdev->type, mdev->type_name))
			continue;
		if (parent->desired == NO_TYPE || (int)i < parent->desired)
			parent->desired = (int)i;
		return;
	}
}

static bool is_free(const struct planner *p, const char *uuid)
{
	return !p->c->is_free || p->c->is_free(p->c->arg, uuid);
}

/* A UUID is unique in the kernel, so a second instance with it in the facts is ignored. */
static void plan_instance(struct planner *p, const struct mdev_facts *mdev)
{
	struct parent *parent = parent_of(p, mdev->parent);
	struct mdev_parent_plan *plan = plan_of(p, parent);
	const char *owner = mdev_owner(p->c->facts, mdev);

	if (map_get(p->there, mdev->uuid))
		return;
	map_set(p->there, mdev->uuid, p);
	if (owner)
		map_set(p->own, mdev->uuid, p);
	take_type(p, parent, mdev);
	if (!p->c->desired->enabled || !owner || strcmp(owner, MDEV_OWNER_TYPES) != 0 ||
	    has_type(&p->c->desired->types, mdev) || has_type(&p->c->desired->kept, mdev))
		return;
	if (!is_free(p, mdev->uuid))
		json_strs_add(&plan->in_use, mdev->uuid);
	else if (plan->remove.len < MDEV_RUN_MAX)
		json_strs_add(&plan->remove, mdev->uuid);
}

/* --- assignment of types ---------------------------------------------------------------------- */

/* The first parent without any instance that can make one of the @desired-th type; NULL: there is
 * none. */
static struct parent *find_parent(const struct planner *p, size_t desired)
{
	for (struct parent *parent = p->first; parent; parent = parent->next) {
		const struct mdev_type_facts *type = parent->choices[desired].type;

		if (!parent->has_instance && parent->desired == NO_TYPE && type &&
		    type->available > 0)
			return parent;
	}
	return NULL;
}

/* The type with the fewest parents of those for which there is one more; the first of them
 * counts. */
static bool deal_one(struct planner *p, size_t *counts)
{
	struct parent *parent = NULL;
	size_t best = 0;

	for (size_t i = 0; i < p->c->desired->types.len; i++) {
		struct parent *next = find_parent(p, i);

		if (!next || (parent && counts[i] >= counts[best]))
			continue;
		best = i;
		parent = next;
	}
	if (!parent)
		return false;
	parent->desired = (int)best;
	counts[best]++;
	return true;
}

/* What parents have already counts, so that a deal that was cut off ends as it would have. */
static void deal(struct planner *p)
{
	size_t *counts = xcalloc(p->c->desired->types.len + 1, sizeof(*counts));

	for (const struct parent *parent = p->first; parent; parent = parent->next) {
		if (parent->desired != NO_TYPE)
			counts[parent->desired]++;
	}
	while (deal_one(p, counts))
		;
	free(counts);
}

/* --- what is to be done ----------------------------------------------------------------------- */

static void add_new(struct planner *p, struct mdev_parent_plan *plan, int available)
{
	size_t left = (size_t)(available > MDEV_RUN_MAX ? MDEV_RUN_MAX : available);
	char uuid[MDEV_UUID_SIZE];

	for (size_t i = 0; left > 0; i++) {
		mdev_uuid_make(p->c->node_name, plan->parent, plan->type, i, uuid);
		if (map_get(p->there, uuid))
			continue;
		json_strs_add(&plan->create, uuid);
		left--;
	}
}

static size_t count_instances(const struct planner *p, const struct mdev_parent_plan *plan)
{
	const struct facts *facts = p->c->facts;
	size_t count = 0;

	for (size_t i = 0; i < facts->mdevs.len; i++) {
		const struct mdev_facts *mdev = &facts->mdevs.items[i];

		count += mdev->type && strcmp(mdev->type, plan->type) == 0 &&
			 strcmp(mdev->parent, plan->parent) == 0;
	}
	return count;
}

static bool supports_any(const struct planner *p, const struct parent *parent)
{
	for (size_t i = 0; i < p->c->desired->types.len; i++) {
		if (parent->choices[i].type)
			return true;
	}
	return false;
}

static enum mdev_state state_without_type(const struct planner *p, const struct parent *parent)
{
	if (!p->c->desired->enabled)
		return MDEV_DISABLED;
	if (p->c->desired->types.len == 0)
		return MDEV_UNCONFIGURED;
	if (parent->has_instance)
		return MDEV_TAKEN;
	return supports_any(p, parent) ? MDEV_NOT_DEALT : MDEV_NO_TYPE_FITS;
}

static void finish_parent(struct planner *p, const struct parent *parent)
{
	struct mdev_parent_plan *plan = plan_of(p, parent);
	const struct mdev_type_facts *type =
		parent->desired == NO_TYPE ? NULL : parent->choices[parent->desired].type;

	plan->state = state_without_type(p, parent);
	if (type) {
		plan->type = xstrdup(type->id);
		plan->there = count_instances(p, plan);
		plan->state = type->available > 0 ? MDEV_INCOMPLETE : MDEV_COMPLETE;
	}
	if (plan->remove.len > 0)
		plan->state = MDEV_TO_REMOVE;
	else if (plan->in_use.len > 0)
		plan->state = MDEV_IN_USE;
	else if (plan->state == MDEV_INCOMPLETE)
		add_new(p, plan, type->available);
}

/* Records are cleared away only while things may be changed at all. */
static void add_forgotten(struct planner *p)
{
	const struct facts *facts = p->c->facts;

	for (size_t i = 0; p->c->desired->enabled && i < facts->mdev_records.len; i++) {
		const struct mdev_record_facts *record = &facts->mdev_records.items[i];
		struct mdev_parent_plan *plan = plan_of(p, parent_of(p, record->parent));

		if (strcmp(record->owner ? record->owner : "", MDEV_OWNER_TYPES) != 0 ||
		    map_get(p->own, record->uuid) || plan->forget.len == MDEV_RUN_MAX ||
		    json_strs_has(&plan->create, record->uuid))
			continue;
		json_strs_add(&plan->forget, record->uuid);
	}
}

static void planner_done(struct planner *p)
{
	for (struct parent *parent = p->first, *next; parent; parent = next) {
		next = parent->next;
		free(parent->choices);
		free(parent);
	}
	map_free(p->by_name);
	map_free(p->there);
	map_free(p->own);
}

void mdev_plan_make(const struct mdev_plan_case *c, struct mdev_plan *ret_plan)
{
	struct mdev_plan plan = { 0 };
	struct planner p = {
		.c = c, .plan = &plan, .by_name = map_new(), .there = map_new(), .own = map_new()
	};

	p.last = &p.first;
	list_parents(&p);
	match_types(&p);
	for (size_t i = 0; i < c->facts->mdevs.len; i++)
		plan_instance(&p, &c->facts->mdevs.items[i]);
	if (c->desired->enabled)
		deal(&p);
	for (const struct parent *parent = p.first; parent; parent = parent->next)
		finish_parent(&p, parent);
	add_forgotten(&p);
	planner_done(&p);
	*ret_plan = plan;
}

void mdev_plan_done(struct mdev_plan *plan)
{
	for (size_t i = 0; i < plan->len; i++) {
		struct mdev_parent_plan *item = &plan->items[i];

		free(item->parent);
		free(item->type);
		json_strs_done(&item->create);
		json_strs_done(&item->remove);
		json_strs_done(&item->forget);
		json_strs_done(&item->in_use);
	}
	array_done(plan);
}

/* --- the condition Configured ----------------------------------------------------------------- */

/* clang-format off */
static const struct {
	const char *reason;
	const char *message; /* NULL: it has figures in it */
} conditions[] = {
	[MDEV_UNCONFIGURED] = { "NotConfigured",
		"the HostDeviceConfig names no type of mediated devices for this node" },
	[MDEV_DISABLED]     = { "Disabled",
		"mediatedDevicesConfiguration.enabled is false: hostdev creates and removes "
		"nothing" },
	[MDEV_NO_TYPE_FITS] = { "NoTypeFits",
		"its driver supports none of the types that the HostDeviceConfig names for this "
		"node" },
	[MDEV_NOT_DEALT]    = { "NoneAvailable",
		"its driver cannot create an instance of the types in the HostDeviceConfig now" },
	[MDEV_TAKEN]        = { "OtherInstances",
		"it has instances of a type that the HostDeviceConfig does not name, and hostdev "
		"did not create them; remove them, or leave the device to whoever created them" },
	[MDEV_INCOMPLETE]   = { "Creating",       NULL },
	[MDEV_COMPLETE]     = { "Configured",     NULL },
	[MDEV_TO_REMOVE]    = { "Removing",       NULL },
	[MDEV_IN_USE]       = { "InUse",          NULL },
};
/* clang-format on */

static char *state_message(const struct mdev_parent_plan *plan, const char *holder)
{
	switch (plan->state) {
	case MDEV_INCOMPLETE:
		return xasprintf("%zu instances of '%s' exist, and %zu are still to be created",
				 plan->there, plan->type, plan->create.len);
	case MDEV_COMPLETE:
		return xasprintf("all %zu instances of '%s' exist", plan->there, plan->type);
	case MDEV_TO_REMOVE:
		return xasprintf(
			"%zu instances of a type that the HostDeviceConfig no longer names are to "
			"be removed",
			plan->remove.len);
	case MDEV_IN_USE:
		return xasprintf(
			"%zu instances of a type that the HostDeviceConfig no longer names are in "
			"use, and will be removed when they are free: %s by %s",
			plan->in_use.len, plan->in_use.items[0],
			holder ? holder : "an unknown user");
	case MDEV_UNCONFIGURED:
	case MDEV_DISABLED:
	case MDEV_NO_TYPE_FITS:
	case MDEV_NOT_DEALT:
	case MDEV_TAKEN:
		return xstrdup(conditions[plan->state].message);
	}
	abort();
}

bool mdev_plan_has_work(const struct mdev_parent_plan *plan)
{
	return plan->create.len + plan->remove.len + plan->forget.len > 0;
}

static void set_obstacle(const struct mdev_obstacle *obstacle, struct mdev_condition *condition)
{
	const struct task_outcome *failure = obstacle->failure;

	if (obstacle->stuck) {
		condition->reason = xstrdup("Stuck");
		condition->message = xstrdup(obstacle->stuck);
		return;
	}
	if (!failure) {
		condition->reason = xstrdup("Held");
		condition->message = xstrdup(obstacle->trouble);
		return;
	}
	condition->reason = xstrdup(failure->result == TASK_HELD ? "InUse" : failure->reason);
	condition->message = task_outcome_text(failure);
}

void mdev_condition_make(const struct mdev_parent_plan *plan, const struct mdev_obstacle *obstacle,
			 struct mdev_condition *ret_condition)
{
	struct mdev_condition condition = { .configured = plan->state == MDEV_COMPLETE };

	if ((obstacle->stuck || obstacle->failure || obstacle->trouble) &&
	    mdev_plan_has_work(plan)) {
		condition.configured = false;
		set_obstacle(obstacle, &condition);
	} else {
		condition.reason = xstrdup(conditions[plan->state].reason);
		condition.message = state_message(plan, obstacle->holder);
	}
	*ret_condition = condition;
}

void mdev_condition_done(struct mdev_condition *condition)
{
	free(condition->reason);
	free(condition->message);
	*condition = (struct mdev_condition){ 0 };
}
