/*
 * expectations: writes whose watch event has not reached the store yet.
 *
 * Deciding on a stale store would repeat the work. If the watch does not show a write within
 * EXPECTATIONS_MS, it lags for another reason and the store is trusted again. Keys are names or any
 * other unique string.
 */
#pragma once

#include <stdint.h>

struct expectations;
struct entry;

enum { EXPECTATIONS_MS = 3000 };

struct expectations *expectations_new(void);
/* Takes NULL, returns NULL. */
struct expectations *expectations_free(struct expectations *expectations);

/* The API server returned @key at @version; NULL: the object does not exist. */
void expectations_add(struct expectations *expectations, const char *key, const char *version,
		      uint64_t now_ms);

/* The API server reported that @key is no longer at @version. */
void expectations_add_other(struct expectations *expectations, const char *key, const char *version,
			    uint64_t now_ms);

/* The store's entry of @key changed to @entry; NULL: it was removed, which satisfies every
 * expectation. Must be called for every change, because the expected version may be in the store
 * only for a moment. */
void expectations_observe(struct expectations *expectations, const char *key,
			  const struct entry *entry);

/* How long to wait before trusting the store's @entry (NULL: none), unless it changes first; 0:
 * trust it now. */
uint64_t expectations_wait_ms(struct expectations *expectations, const char *key,
			      const struct entry *entry, uint64_t now_ms);
