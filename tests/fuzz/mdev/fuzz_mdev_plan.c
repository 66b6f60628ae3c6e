/*
 * fuzz_mdev_plan: any facts that a helper may tell, and any desired types (the first line: types,
 * parted by blanks). The plan is the same each time, makes nothing twice, and removes nothing that
 * its owner has not made.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/mdev_names.h"
#include "agent/mdev/mdev_plan.h"
#include "base/err.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WISH_MAX = 8 };

static size_t line_end(const char *text, size_t from, size_t size)
{
	const char *end = memchr(text + from, '\n', size - from);

	return end ? (size_t)(end - text) : size;
}

static void read_desired(const char *text, size_t len, struct mdev_desired *desired)
{
	auto_free char *copy = xstrndup(text, len);
	char *rest = copy;
	const char *type;

	desired->enabled = true;
	while (desired->types.len < WISH_MAX && (type = strsep(&rest, " ")) != NULL)
		json_strs_add_new(&desired->types, type);
}

static const struct mdev_facts *find(const struct facts *facts, const char *uuid)
{
	for (size_t i = 0; i < facts->mdevs.len; i++) {
		if (strcmp(facts->mdevs.items[i].uuid, uuid) == 0)
			return &facts->mdevs.items[i];
	}
	return NULL;
}

static void check(const struct facts *facts, const struct mdev_parent_plan *plan)
{
	assert(plan->create.len == 0 || plan->remove.len == 0);
	assert(plan->create.len <= MDEV_RUN_MAX && plan->remove.len <= MDEV_RUN_MAX);
	assert(plan->create.len == 0 || plan->type);
	for (size_t i = 0; i < plan->create.len; i++) {
		assert(!find(facts, plan->create.items[i]));
		for (size_t j = 0; j < i; j++)
			assert(strcmp(plan->create.items[i], plan->create.items[j]) != 0);
	}
	for (size_t i = 0; i < plan->remove.len; i++) {
		const struct mdev_facts *mdev = find(facts, plan->remove.items[i]);

		assert(mdev && mdev_owner(facts, mdev));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct facts *facts = facts_new();
	struct mdev_desired desired = { 0 };
	struct mdev_plan_case c = { .node_name = "n", .facts = facts, .desired = &desired };
	struct mdev_plan plan;
	struct mdev_plan again;
	struct err err = { 0 };
	size_t end = line_end(text, 0, size);

	read_desired(text, end, &desired);
	for (size_t i = end + 1; i < size; i = end + 1) {
		end = line_end(text, i, size);
		(void)facts_add_line(facts, text + i, end - i, &err);
	}
	mdev_plan_make(&c, &plan);
	mdev_plan_make(&c, &again);
	assert(plan.len == again.len);
	for (size_t i = 0; i < plan.len; i++) {
		check(facts, &plan.items[i]);
		assert(json_strs_equal(&plan.items[i].create, &again.items[i].create));
		assert(json_strs_equal(&plan.items[i].remove, &again.items[i].remove));
	}
	mdev_plan_done(&plan);
	mdev_plan_done(&again);
	mdev_desired_done(&desired);
	facts_free(facts);
	return 0;
}
