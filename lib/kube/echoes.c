#include "kube/echoes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "kube/store.h"

struct echoes {
	struct map *by_key; /* key -> struct echo */
};

struct echo {
	char *version; /* NULL: the object does not exist */
	bool other;    /* expects any version but this one */
	uint64_t until_ms;
};

static void echo_free(struct echo *echo)
{
	if (!echo)
		return;
	free(echo->version);
	free(echo);
}

struct echoes *echoes_new(void)
{
	struct echoes *echoes = xcalloc(1, sizeof(*echoes));

	echoes->by_key = map_new();
	return echoes;
}

struct echoes *echoes_free(struct echoes *echoes)
{
	size_t cursor = 0;
	void *echo;

	if (!echoes)
		return NULL;
	while (map_next(echoes->by_key, &cursor, NULL, &echo))
		echo_free(echo);
	map_free(echoes->by_key);
	free(echoes);
	return NULL;
}

static void echo_set(struct echoes *echoes, const char *key, const char *version, bool other,
		     uint64_t now_ms)
{
	struct echo *echo = xcalloc(1, sizeof(*echo));

	*echo = (struct echo){ .version = xstrdup_or_null(version),
			       .other = other,
			       .until_ms = now_ms + ECHOES_MS };
	echo_free(map_set(echoes->by_key, key, echo));
}

void echoes_expect(struct echoes *echoes, const char *key, const char *version, uint64_t now_ms)
{
	echo_set(echoes, key, version, false, now_ms);
}

void echoes_distrust(struct echoes *echoes, const char *key, const char *version, uint64_t now_ms)
{
	echo_set(echoes, key, version, true, now_ms);
}

/* Does the store satisfy the expectation? An object that is missing may still be about to
 * appear. */
static bool is_satisfied(const struct echo *echo, const struct entry *entry)
{
	if (!entry || !echo->version)
		return !entry && !echo->version;
	return (strcmp(entry->version, echo->version) == 0) != echo->other;
}

void echoes_hear(struct echoes *echoes, const char *key, const struct entry *entry)
{
	const struct echo *echo = map_get(echoes->by_key, key);

	if (echo && (!entry || is_satisfied(echo, entry)))
		echo_free(map_remove(echoes->by_key, key));
}

uint64_t echoes_wait_ms(struct echoes *echoes, const char *key, const struct entry *entry,
			uint64_t now_ms)
{
	const struct echo *echo = map_get(echoes->by_key, key);

	if (!echo)
		return 0;
	if (!is_satisfied(echo, entry) && now_ms < echo->until_ms)
		return echo->until_ms - now_ms;
	echo_free(map_remove(echoes->by_key, key));
	return 0;
}
