/*
 * mdev_machine: cards that can be divided, as facts, and a kernel that carries out what a plan
 * says. It can be told that a parent fails, or that somebody has an instance.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "agent/mdev/mdev_plan.h"
#include "base/err.h"
#include "base/str.h"
#include "unit/suite.h"

enum { CARDS_MAX = 8, TYPES_MAX = 4, INSTANCES_MAX = 256 };

struct machine_type {
	const char *id;
	const char *name;
	int per_card;
};

struct machine_card {
	const char *name;
	struct machine_type types[TYPES_MAX];
	bool fails; /* its driver makes nothing */
	int makes;  /* then it makes no more, 0: without end */
};

struct machine_instance {
	char uuid[37];
	const char *parent;
	char type[32];
	const char *owner; /* NULL: somebody else's */
	bool held;
};

struct machine {
	struct machine_card cards[CARDS_MAX];
	struct machine_instance instances[INSTANCES_MAX];
	size_t len;
	struct mdev_desired desired;
	struct str facts;
	bool rebooted; /* records are of another boot */
};

static inline const struct machine_card *machine_find(const struct machine *m, const char *name)
{
	for (size_t i = 0; i < CARDS_MAX && m->cards[i].name; i++) {
		if (strcmp(m->cards[i].name, name) == 0)
			return &m->cards[i];
	}
	return NULL;
}

/* One physical resource: instances of whatever type count against each type. */
static inline int machine_used(const struct machine *m, const char *parent)
{
	int used = 0;

	for (size_t i = 0; i < m->len; i++)
		used += strcmp(m->instances[i].parent, parent) == 0;
	return used;
}

static inline void machine_add(struct machine *m, const char *uuid, const char *parent,
			       const char *type, const char *owner)
{
	struct machine_instance *instance = &m->instances[m->len++];

	assert_true(m->len < INSTANCES_MAX);
	*instance = (struct machine_instance){ .parent = machine_find(m, parent)->name,
					       .owner = owner };
	(void)snprintf(instance->uuid, sizeof(instance->uuid), "%s", uuid);
	(void)snprintf(instance->type, sizeof(instance->type), "%s", type);
}

static inline struct machine_instance *machine_instance(struct machine *m, const char *uuid)
{
	for (size_t i = 0; i < m->len; i++) {
		if (strcmp(m->instances[i].uuid, uuid) == 0)
			return &m->instances[i];
	}
	return NULL;
}

static inline void machine_remove(struct machine *m, const char *uuid)
{
	struct machine_instance *instance = machine_instance(m, uuid);

	assert_non_null(instance);
	*instance = m->instances[--m->len];
}

static inline void machine_line(struct facts *facts, const char *line)
{
	struct err err = { 0 };

	if (facts_add_line(facts, line, strlen(line), &err) < 0)
		fail_msg("%s: %s", line, err.msg);
}

static inline void machine_add_card(const struct machine *m, const struct machine_card *card,
				    struct facts *facts)
{
	auto_str struct str line = STR_INIT;

	str_addf(&line, "{\"kind\":\"mdevParent\",\"name\":\"%s\",\"types\":[", card->name);
	for (size_t i = 0; i < TYPES_MAX && card->types[i].id; i++) {
		const struct machine_type *type = &card->types[i];
		int available = type->per_card - machine_used(m, card->name);

		str_addf(&line, "%s{\"id\":\"%s\",\"name\":\"%s\",\"available\":%d}", i ? "," : "",
			 type->id, type->name ? type->name : "", available < 0 ? 0 : available);
	}
	str_add(&line, "]}");
	machine_line(facts, str_cstr(&line));
}

static inline const char *machine_type_name(const struct machine *m, const char *parent,
					    const char *id)
{
	const struct machine_card *card = machine_find(m, parent);

	for (size_t i = 0; i < TYPES_MAX && card->types[i].id; i++) {
		if (strcmp(card->types[i].id, id) == 0 && card->types[i].name)
			return card->types[i].name;
	}
	return "";
}

/* The caller frees. */
static inline struct facts *machine_facts(const struct machine *m)
{
	struct facts *facts = facts_new();

	for (size_t i = 0; i < CARDS_MAX && m->cards[i].name; i++)
		machine_add_card(m, &m->cards[i], facts);
	for (size_t i = 0; i < m->len; i++) {
		const struct machine_instance *instance = &m->instances[i];
		auto_free char *line = xasprintf(
			"{\"kind\":\"mdev\",\"uuid\":\"%s\",\"parent\":\"%s\",\"type\":\"%s\","
			"\"typeName\":\"%s\",\"iommuGroup\":\"%zu\"}",
			instance->uuid, instance->parent, instance->type,
			machine_type_name(m, instance->parent, instance->type), i);
		auto_free char *record = xasprintf(
			"{\"kind\":\"mdevRecord\",\"uuid\":\"%s\",\"parent\":\"%s\",\"type\":\"%s\","
			"\"owner\":\"%s\",\"thisBoot\":%s}",
			instance->uuid, instance->parent, instance->type,
			instance->owner ? instance->owner : "", m->rebooted ? "false" : "true");

		machine_line(facts, line);
		if (instance->owner)
			machine_line(facts, record);
	}
	return facts;
}

static inline bool machine_is_free(void *arg, const char *uuid)
{
	struct machine_instance *instance = machine_instance(arg, uuid);

	return !instance || !instance->held;
}

static inline void machine_plan(struct machine *m, struct mdev_plan *ret_plan)
{
	struct facts *facts = machine_facts(m);

	mdev_plan_make(&(struct mdev_plan_case){ .node_name = "node1",
						 .facts = facts,
						 .desired = &m->desired,
						 .is_free = machine_is_free,
						 .arg = m },
		       ret_plan);
	facts_free(facts);
}

static inline bool machine_make(struct machine *m, const struct mdev_parent_plan *plan,
				const char *uuid)
{
	const struct machine_card *card = machine_find(m, plan->parent);

	if (card->fails || (card->makes > 0 && machine_used(m, card->name) >= card->makes))
		return false;
	machine_add(m, uuid, plan->parent, plan->type, MDEV_OWNER_TYPES);
	return true;
}

/* Do what the plan says, at most @steps single steps (they are counted down); true if there was
 * anything that could be done. */
static inline bool machine_do(struct machine *m, const struct mdev_plan *plan, int *steps)
{
	bool done = false;

	for (size_t i = 0; i < plan->len; i++) {
		const struct mdev_parent_plan *item = &plan->items[i];

		for (size_t j = 0; j<item->remove.len && * steps> 0; j++, --*steps) {
			machine_remove(m, item->remove.items[j]);
			done = true;
		}
		for (size_t j = 0; j<item->create.len && * steps> 0; j++, --*steps) {
			if (!machine_make(m, item, item->create.items[j]))
				break;
			done = true;
		}
	}
	return done;
}

/* Plan and do until nothing more is to be done; how often it took. */
static inline int machine_settle(struct machine *m)
{
	for (int turn = 0; turn < 50; turn++) {
		struct mdev_plan plan;
		int steps = 1000;
		bool more;

		machine_plan(m, &plan);
		more = machine_do(m, &plan, &steps);
		mdev_plan_done(&plan);
		if (!more)
			return turn;
	}
	fail_msg("it does not come to rest");
	return -1;
}

static inline void machine_say_type(const struct machine *m, const char *parent, const char *type,
				    struct str *text)
{
	size_t own = 0;
	size_t others = 0;

	for (size_t i = 0; i < m->len; i++) {
		const struct machine_instance *one = &m->instances[i];
		bool is = strcmp(one->parent, parent) == 0 && strcmp(one->type, type) == 0;

		own += is && one->owner;
		others += is && !one->owner;
	}
	if (own > 0)
		str_addf(text, "%s*%zu", type, own);
	if (others > 0)
		str_addf(text, "~%s*%zu", type, others);
}

/* "c1:t1*4 c2:" : what each card has, types by id; "~" before a type: of somebody else. */
static inline char *machine_text(const struct machine *m)
{
	struct str text = STR_INIT;

	for (size_t i = 0; i < CARDS_MAX && m->cards[i].name; i++) {
		const struct machine_card *card = &m->cards[i];

		str_addf(&text, "%s%s:", i ? " " : "", card->name);
		for (size_t t = 0; t < TYPES_MAX && card->types[t].id; t++)
			machine_say_type(m, card->name, card->types[t].id, &text);
	}
	return str_detach(&text);
}

/* Types in a list, parted by blanks. */
static inline void machine_desire(struct machine *m, const char *types)
{
	auto_free char *copy = xstrdup(types);
	char *rest = copy;
	char *type;

	mdev_desired_done(&m->desired);
	m->desired.enabled = true;
	while ((type = strsep(&rest, " ")) != NULL) {
		if (*type)
			json_strs_add(&m->desired.types, type);
	}
}

static inline void machine_done(struct machine *m)
{
	mdev_desired_done(&m->desired);
}
