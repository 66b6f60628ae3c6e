/*
 * echoes: what the API server told us of objects that a store does not show yet.
 *
 * Deciding on the store before it has caught up would do work twice. A watch that does not show what we
 * were told within ECHOES_MS is behind for other reasons, and is believed again. Keys are names, or
 * whatever tells objects apart.
 */
#pragma once

#include <stdint.h>

struct echoes;
struct entry;

enum { ECHOES_MS = 3000 };

struct echoes *echoes_new(void);
/* Takes NULL, returns NULL. */
struct echoes *echoes_free(struct echoes *echoes);

/* The API server said that @key is at @version now; NULL: that there is none. */
void echoes_expect(struct echoes *echoes, const char *key, const char *version, uint64_t now_ms);

/* It said that @key is not at @version any more. */
void echoes_distrust(struct echoes *echoes, const char *key, const char *version, uint64_t now_ms);

/* The store's entry of @key changed to @entry; NULL: it was removed, which ends every version. Who
 * hears of every change tells it, because the version that is waited for may be there only for a
 * moment. */
void echoes_hear(struct echoes *echoes, const char *key, const struct entry *entry);

/* How long the store's @entry (NULL: none) is not to be believed, unless it changes; 0: it is. */
uint64_t echoes_wait_ms(struct echoes *echoes, const char *key, const struct entry *entry,
			uint64_t now_ms);
