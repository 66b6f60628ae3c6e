#include "agent/inventory/use_log.h"

#include <stdlib.h>
#include <string.h>

#include "api/condition.h"
#include "api/reason.h"
#include "base/map.h"
#include "base/mem.h"

/* A device that a scan saw in use. */
struct use {
	uint64_t seen_ms; /* when the last such scan began, or the first one after it */
	bool now;         /* the last scan of all is one   */
};

struct use_log {
	struct map *uses; /* key -> struct use, of the last USE_LOG_FREE_MS and some */
	bool begun;
	uint64_t first_ms; /* when the first scan began */
	uint64_t last_ms;  /* when the last one did     */
};

struct use_log *use_log_new(void)
{
	struct use_log *log = xcalloc(1, sizeof(*log));

	log->uses = map_new();
	return log;
}

struct use_log *use_log_free(struct use_log *log)
{
	if (!log)
		return NULL;
	map_free_with(log->uses, free);
	free(log);
	return NULL;
}

void use_log_scan(struct use_log *log, uint64_t began_ms)
{
	const char *key;
	size_t cursor = 0;
	void *value;

	if (!log->begun)
		log->first_ms = began_ms;
	log->begun = true;
	log->last_ms = began_ms;
	while (map_next(log->uses, &cursor, &key, &value)) {
		struct use *use = value;

		if (!use->now) {
			if (began_ms > use->seen_ms + USE_LOG_FREE_MS)
				free(map_remove(log->uses, key));
			continue;
		}
		/* There was no scan in between: the use may have ended just now. */
		use->now = false;
		use->seen_ms = began_ms;
	}
}

void use_log_add(struct use_log *log, const char *key, const char *reason)
{
	struct use *use;

	if (!reason_is(reason, REASON_USE))
		return;
	use = xcalloc(1, sizeof(*use));
	*use = (struct use){ .seen_ms = log->last_ms, .now = true };
	free(map_set(log->uses, key, use));
}

static uint64_t remaining_ms(uint64_t seen_ms, uint64_t now_ms)
{
	uint64_t proven_ms = seen_ms + USE_LOG_FREE_MS;

	return now_ms >= proven_ms ? 0 : proven_ms - now_ms;
}

uint64_t use_log_unproven_ms(const struct use_log *log, const char *key, bool refused,
			     uint64_t now_ms)
{
	const struct use *use = map_get(log->uses, key);

	if (use ? use->now : !refused)
		return 0;
	return remaining_ms(use ? use->seen_ms : log->first_ms, now_ms);
}

uint64_t use_log_longest_ms(const struct use_log *log, uint64_t now_ms)
{
	uint64_t longest_ms = 0;
	size_t cursor = 0;
	void *value;

	while (map_next(log->uses, &cursor, NULL, &value)) {
		const struct use *use = value;
		uint64_t ms = use->now ? 0 : remaining_ms(use->seen_ms, now_ms);

		if (ms > longest_ms)
			longest_ms = ms;
	}
	return longest_ms;
}

bool use_log_was_refused(const struct api_conditions *conditions)
{
	const struct api_condition *ready = api_conditions_find(conditions, "Ready");

	return ready && ready->status && strcmp(ready->status, "False") == 0 && ready->reason &&
	       reason_is(ready->reason, REASON_USE);
}
