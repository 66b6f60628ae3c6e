/* toy: a device type whose devices are named by letters, and lists of them. */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/plugin/device_list.h"
#include "agent/plugin/device_type.h"
#include "base/err.h"
#include "base/str.h"
#include "unit/suite.h"

enum { TOY_WAITING_MAX = 64 };

/* The type's arg. */
struct toy {
	const char *broken;  /* allocating this one fails */
	const char *left;    /* a process of a former pod has this one */
	const char *nothing; /* with this one first, nothing is given */
	bool backwards;      /* the order preferred */
	enum device_choice choice;
	bool at_once; /* what may be answered later is not */
	unsigned allocations;
	struct toy_waiting {
		struct deferred *deferred;
		struct json_strs ids;
	} waiting[TOY_WAITING_MAX];
	size_t nwaiting;
};

static inline int toy_allocate(void *arg, const char *resource, const struct json_strs *ids,
			       struct allocation *allocation, struct err *err)
{
	struct toy *toy = arg;
	auto_str struct str all = STR_INIT;

	toy->allocations++;
	if (toy->nothing && strcmp(ids->items[0], toy->nothing) == 0)
		return 0;
	for (size_t i = 0; i < ids->len; i++) {
		auto_free char *node = xasprintf("/dev/toy/%s", ids->items[i]);

		if (toy->broken && strcmp(ids->items[i], toy->broken) == 0)
			return err_set(err, ERR_RETRY, -EIO, "device '%s' does not answer",
				       toy->broken);
		allocation_add_device(allocation, node, "mrw");
		str_addf(&all, "%s%s", i ? "," : "", ids->items[i]);
	}
	allocation_add_device(allocation, "/dev/toy/all", "rw");
	json_pairs_set(&allocation->envs, resource, str_cstr(&all));
	return 0;
}

static inline void toy_prefer(void *arg, const char *resource, const struct json_strs *musts,
			      struct json_strs *ids)
{
	const struct toy *toy = arg;

	(void)musts;
	assert_string_equal(resource, "t.io/toy");
	for (size_t i = 0; toy->backwards && i < ids->len / 2; i++) {
		char *other = ids->items[ids->len - 1 - i];

		ids->items[ids->len - 1 - i] = ids->items[i];
		ids->items[i] = other;
	}
}

/* Answer @i of those that wait, as toy_allocate() does. */
static inline void toy_answer(struct toy *toy, size_t i)
{
	struct toy_waiting waiting = toy->waiting[i];
	struct allocation allocation = { 0 };
	struct err err = { 0 };

	toy->nwaiting--;
	memmove(&toy->waiting[i], &toy->waiting[i + 1],
		(toy->nwaiting - i) * sizeof(toy->waiting[0]));
	if (toy_allocate(toy, "t.io/toy", &waiting.ids, &allocation, &err) < 0) {
		allocation_done(&allocation);
		deferred_refuse(waiting.deferred, &err);
	} else {
		deferred_answer(waiting.deferred, &allocation);
		assert_true(allocation_is_empty(&allocation));
	}
	json_strs_done(&waiting.ids);
}

static inline void toy_allocate_later(void *arg, const char *resource, const struct json_strs *ids,
				      struct deferred *deferred)
{
	struct toy *toy = arg;
	struct toy_waiting *waiting = &toy->waiting[toy->nwaiting];

	assert_string_equal(resource, "t.io/toy");
	assert_true(deferred_is_wanted(deferred));
	assert_true(toy->nwaiting < TOY_WAITING_MAX);
	*waiting = (struct toy_waiting){ .deferred = deferred };
	for (size_t i = 0; i < ids->len; i++)
		json_strs_add(&waiting->ids, ids->items[i]);
	toy->nwaiting++;
	if (toy->at_once)
		toy_answer(toy, toy->nwaiting - 1);
}

/* As toy_allocate() gives them. */
static inline int toy_nodes(void *arg, const char *id, struct json_strs *nodes, struct err *err)
{
	struct toy *toy = arg;
	struct allocation allocation = { 0 };
	struct json_strs ids = { 0 };
	int r;

	json_strs_add(&ids, id);
	r = toy_allocate(toy, "t.io/toy", &ids, &allocation, err);
	allocation_add_nodes(&allocation, nodes);
	allocation_done(&allocation);
	json_strs_done(&ids);
	return r;
}

static inline bool toy_is_busy(void *arg, const char *id)
{
	const struct toy *toy = arg;

	return toy->left && strcmp(id, toy->left) == 0;
}

static const struct device_type toy_type = { .name = "toy",
					     .allocate = toy_allocate,
					     .nodes = toy_nodes,
					     .is_busy = toy_is_busy,
					     .prefer = toy_prefer };

static const struct device_type later_type = { .name = "toy",
					       .allocate_later = toy_allocate_later };

enum { TOYS_MAX = 16 };

struct toys {
	char *text;
	struct plugin_device items[TOYS_MAX];
	size_t len;
};

/* Devices in words: "a b! c@1" as caller.h writes them, and "d%g": of card g; a device "x" says why
 * it is not healthy. */
static inline struct toys toys_parse(const char *words)
{
	struct toys toys = { .text = xstrdup(words) };
	char *rest = toys.text;
	char *word;

	while ((word = strsep(&rest, " "))) {
		char *at = strchr(word, '@');
		char *bang = strchr(word, '!');
		char *percent = strchr(word, '%');

		if (!word[0])
			continue;
		assert_true(toys.len < TOYS_MAX);
		toys.items[toys.len++] = (struct plugin_device){
			.id = word,
			.healthy = !bang,
			.numa_node = at ? at[1] - '0' : -1,
			.card = percent ? percent + 1 : NULL,
			.trouble = strcmp(word, "x!") == 0 ? "it is on fire" : NULL,
		};
		if (at)
			*at = '\0';
		if (bang)
			*bang = '\0';
		if (percent)
			*percent = '\0';
	}
	return toys;
}

/* A resource of many devices. */
struct herd {
	char (*ids)[PLUGIN_ID_MAX + 1];
	struct plugin_device *devices;
	size_t len;
};

/* @width: of an ID. */
static inline void herd_init(struct herd *herd, size_t len, int width)
{
	herd->ids = xcalloc(len, sizeof(*herd->ids));
	herd->devices = xcalloc(len, sizeof(*herd->devices));
	herd->len = len;
	for (size_t i = 0; i < len; i++) {
		(void)snprintf(herd->ids[i], sizeof(*herd->ids), "%0*zu", width, i);
		herd->devices[i] = (struct plugin_device){ .id = herd->ids[i], .numa_node = -1 };
	}
}

static inline void herd_done(struct herd *herd)
{
	free(herd->ids);
	free(herd->devices);
}

SUITE_CLOSING(herd, struct herd, herd_done);

static inline void toys_refused(void *arg, const char *id, const struct err *err)
{
	(void)arg;
	fail_msg("device '%s' refused: %s", id, err->msg);
}

static inline struct device_list *toys_list(const char *words)
{
	struct toys toys = toys_parse(words);
	struct device_list *list = NULL;

	assert_int_equal(device_list_new(toys.items, toys.len, toys_refused, NULL, &list, NULL), 0);
	free(toys.text);
	return list;
}
