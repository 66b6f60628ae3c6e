#include "kube/expectations.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "kube/store.h"

struct expectations {
	struct map *by_key; /* key -> struct expectation */
};

struct expectation {
	char *version; /* NULL: the object does not exist */
	bool other;    /* expects any version but this one */
	uint64_t until_ms;
};

static void expectation_free(void *arg)
{
	struct expectation *expectation = arg;

	if (!expectation)
		return;
	free(expectation->version);
	free(expectation);
}

struct expectations *expectations_new(void)
{
	struct expectations *expectations = xcalloc(1, sizeof(*expectations));

	expectations->by_key = map_new();
	return expectations;
}

struct expectations *expectations_free(struct expectations *expectations)
{
	if (!expectations)
		return NULL;
	map_free_with(expectations->by_key, expectation_free);
	free(expectations);
	return NULL;
}

static void expectation_set(struct expectations *expectations, const char *key, const char *version,
			    bool other, uint64_t now_ms)
{
	struct expectation *expectation = xcalloc(1, sizeof(*expectation));

	*expectation = (struct expectation){ .version = xstrdup_or_null(version),
					     .other = other,
					     .until_ms = now_ms + EXPECTATIONS_MS };
	expectation_free(map_set(expectations->by_key, key, expectation));
}

void expectations_add(struct expectations *expectations, const char *key, const char *version,
		      uint64_t now_ms)
{
	expectation_set(expectations, key, version, false, now_ms);
}

void expectations_add_other(struct expectations *expectations, const char *key, const char *version,
			    uint64_t now_ms)
{
	expectation_set(expectations, key, version, true, now_ms);
}

/* Does the store satisfy the expectation? An object that is missing may still be about to
 * appear. */
static bool is_satisfied(const struct expectation *expectation, const struct entry *entry)
{
	if (!entry || !expectation->version)
		return !entry && !expectation->version;
	return (strcmp(entry->version, expectation->version) == 0) != expectation->other;
}

void expectations_observe(struct expectations *expectations, const char *key,
			  const struct entry *entry)
{
	const struct expectation *expectation = map_get(expectations->by_key, key);

	if (expectation && (!entry || is_satisfied(expectation, entry)))
		expectation_free(map_remove(expectations->by_key, key));
}

uint64_t expectations_wait_ms(struct expectations *expectations, const char *key,
			      const struct entry *entry, uint64_t now_ms)
{
	const struct expectation *expectation = map_get(expectations->by_key, key);

	if (!expectation)
		return 0;
	if (!is_satisfied(expectation, entry) && now_ms < expectation->until_ms)
		return expectation->until_ms - now_ms;
	expectation_free(map_remove(expectations->by_key, key));
	return 0;
}
