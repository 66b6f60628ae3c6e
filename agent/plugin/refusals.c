#include "agent/plugin/refusals.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"

struct refusal {
	bool seen;
	char reason[];
};

struct refusals {
	const char *type;
	plugin_event_fn *fn;
	void *arg;
	struct map *told; /* of struct refusal, by resource and ID */
};

struct refusals *refusals_new(const char *type, plugin_event_fn *fn, void *arg)
{
	struct refusals *refusals = xcalloc(1, sizeof(*refusals));

	refusals->type = type;
	refusals->fn = fn;
	refusals->arg = arg;
	refusals->told = map_new();
	return refusals;
}

struct refusals *refusals_free(struct refusals *refusals)
{
	size_t cursor = 0;
	void *refusal = NULL;

	if (!refusals)
		return NULL;
	while (map_next(refusals->told, &cursor, NULL, &refusal))
		free(refusal);
	map_free(refusals->told);
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

void refusals_add(struct refusals *refusals, const char *resource, const char *id,
		  const struct err *err)
{
	auto_free char *key = xasprintf("%s %s", resource, id ? id : "");
	struct refusal *before = map_get(refusals->told, key);
	struct plugin_event event = { .kind = PLUGIN_REFUSED,
				      .type = refusals->type,
				      .resource = resource,
				      .id = id,
				      .err = err };

	if (before && strcmp(before->reason, err->msg) == 0) {
		before->seen = true;
		return;
	}
	free(map_set(refusals->told, key, refusal_new(err->msg)));
	refusals->fn(refusals->arg, &event);
}

void refusals_begin(struct refusals *refusals)
{
	size_t cursor = 0;
	void *refusal = NULL;

	while (map_next(refusals->told, &cursor, NULL, &refusal))
		((struct refusal *)refusal)->seen = false;
}

void refusals_end(struct refusals *refusals)
{
	const char *key = NULL;
	size_t cursor = 0;
	void *value = NULL;

	while (map_next(refusals->told, &cursor, &key, &value)) {
		struct refusal *refusal = value;

		if (!refusal->seen) {
			map_remove(refusals->told, key);
			free(refusal);
		}
	}
}
