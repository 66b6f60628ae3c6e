/*
 * workq: which keys need work, by client-go's rules.
 *
 * A key is waiting, running, or both: added while it runs, it runs once more afterwards, and never
 * twice at a time. Failures space its retries, usually 5 ms · 2^n up to 1000 s; success forgets them.
 * Pure: the time is an argument. Owns its keys.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* How retries are spaced: first_ms · 2^n up to max_ms, but never less than least_ms. */
struct workq_pace {
	uint64_t first_ms;
	uint64_t max_ms;
	uint64_t least_ms;
};
extern const struct workq_pace workq_usual_pace; /* client-go's */

struct workq;

struct workq *workq_new(void);
struct workq *workq_free(struct workq *q); /* takes NULL, returns NULL */

/* @key needs work. Nothing changes if it is waiting already. */
void workq_add(struct workq *q, const char *key, uint64_t now_ms);

/* The same at @due_ms. The earlier of two such times counts; an add in between leaves it. */
void workq_add_at(struct workq *q, const char *key, uint64_t due_ms);

/* It failed: the same after its backoff. */
void workq_retry(struct workq *q, const char *key, const struct workq_pace *pace, uint64_t now_ms);

/* It succeeded: the next failure counts as the first. */
void workq_forget(struct workq *q, const char *key);

/* The next key that waits, now running, in order of arrival; NULL if none. Valid until its
 * workq_end(), which must follow. */
const char *workq_take(struct workq *q, uint64_t now_ms);

/* It runs no more. */
void workq_end(struct workq *q, const char *key);

/* When workq_take() has something: 0 for now, UINT64_MAX for not before the next add. */
uint64_t workq_due_ms(const struct workq *q);

/* How long a running key had waited for its turn. */
uint64_t workq_waited_ms(const struct workq *q, const char *key);

/* Times that a key began to wait. */
uint64_t workq_added(const struct workq *q);

/* Keys waiting now; keys running; failures of a key since its last success. */
size_t workq_waiting(const struct workq *q);
size_t workq_running(const struct workq *q);
unsigned workq_failures(const struct workq *q, const char *key);
