#include "agent/config/config_parts.h"

#include <stdlib.h>
#include <string.h>

#include "agent/config/config.h"
#include "agent/config/config_tell.h"
#include "base/array.h"
#include "base/mem.h"

struct config_part {
	const char *name;
	struct config_troubles troubles;
	bool heard;
};

static bool same(const struct config_trouble *a, const struct config_trouble *b)
{
	auto_free char *x = config_tell_text(a);
	auto_free char *y = config_tell_text(b);

	return strcmp(x, y) == 0 && strcmp(a->reason, b->reason) == 0;
}

static bool has(const struct config_troubles *list, const struct config_trouble *trouble)
{
	for (size_t i = 0; i < list->len; i++) {
		if (same(&list->items[i], trouble))
			return true;
	}
	return false;
}

static int by_name(const void *a, const void *b)
{
	const struct config_part *x = a;
	const struct config_part *y = b;

	return strcmp(x->name, y->name);
}

static struct config_part *part_of(struct config_parts *parts, const char *name)
{
	const struct config_part key = { .name = name };
	struct config_part *part =
		parts->len > 0 ? bsearch(&key, parts->items, parts->len, sizeof(key), by_name)
			       : NULL;

	if (part)
		return part;
	*array_add(parts) = key;
	qsort(parts->items, parts->len, sizeof(key), by_name);
	return bsearch(&key, parts->items, parts->len, sizeof(key), by_name);
}

bool config_parts_set(struct config_parts *parts, const char *name,
		      const struct config_troubles *troubles,
		      void (*news)(void *arg, const struct config_trouble *trouble), void *arg)
{
	struct config_part *part = part_of(parts, name);
	struct config_troubles before = part->troubles;
	bool changed = before.len != troubles->len || !part->heard;

	part->heard = true;
	part->troubles = (struct config_troubles){ 0 };
	config_troubles_join(&part->troubles, troubles);
	for (size_t i = 0; i < part->troubles.len; i++) {
		if (has(&before, &part->troubles.items[i]))
			continue;
		changed = true;
		if (news)
			news(arg, &part->troubles.items[i]);
	}
	config_troubles_done(&before);
	return changed;
}

void config_parts_ask(struct config_parts *parts)
{
	for (size_t i = 0; i < parts->len; i++)
		parts->items[i].heard = false;
}

size_t config_parts_heard(const struct config_parts *parts)
{
	size_t heard = 0;

	for (size_t i = 0; i < parts->len; i++)
		heard += parts->items[i].heard;
	return heard;
}

void config_parts_all(const struct config_parts *parts, struct config_troubles *troubles)
{
	for (size_t i = 0; i < parts->len; i++)
		config_troubles_join(troubles, &parts->items[i].troubles);
}

void config_parts_done(struct config_parts *parts)
{
	for (size_t i = 0; i < parts->len; i++)
		config_troubles_done(&parts->items[i].troubles);
	array_done(parts);
}
