/*
 * echoes: expectations: writes whose watch event has not reached the store yet.
 *
 * Deciding on a stale store would repeat the work. If the watch does not show a write within
 * ECHOES_MS, it lags for another reason and the store is trusted again. Keys are names or any
 * other unique string.
 */
#pragma once

#include <stdint.h>

struct echoes;
struct entry;

enum { ECHOES_MS = 3000 };

struct echoes *echoes_new(void);
/* Takes NULL, returns NULL. */
struct echoes *echoes_free(struct echoes *echoes);

/* The API server returned @key at @version; NULL: the object does not exist. */
void echoes_expect(struct echoes *echoes, const char *key, const char *version, uint64_t now_ms);

/* The API server reported that @key is no longer at @version. */
void echoes_distrust(struct echoes *echoes, const char *key, const char *version, uint64_t now_ms);

/* The store's entry of @key changed to @entry; NULL: it was removed, which satisfies every
 * expectation. Must be called for every change, because the expected version may be in the store
 * only for a moment. */
void echoes_hear(struct echoes *echoes, const char *key, const struct entry *entry);

/* How long to wait before trusting the store's @entry (NULL: none), unless it changes first; 0:
 * trust it now. */
uint64_t echoes_wait_ms(struct echoes *echoes, const char *key, const struct entry *entry,
			uint64_t now_ms);
