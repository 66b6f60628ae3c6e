/*
 * workq: a work queue with client-go's rules.
 *
 * A key is waiting, running, or both: a key added while it runs is run once more afterwards, and
 * never twice at a time. Failures delay its retries, by default 5 ms · 2^n up to 1000 s; success
 * resets the delay. Pure: the time is an argument. Owns its keys.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Delay of retries: first_ms · 2^n up to max_ms, but at least least_ms. */
struct workq_pace {
	uint64_t first_ms;
	uint64_t max_ms;
	uint64_t least_ms;
};
extern const struct workq_pace workq_usual_pace; /* client-go's default */

struct workq;

struct workq *workq_new(void);
struct workq *workq_free(struct workq *q); /* takes NULL, returns NULL */

/* Add @key; does nothing if it is already waiting. */
void workq_add(struct workq *q, const char *key, uint64_t now_ms);

/* Add @key at @due_ms. If it is already delayed, the earlier time wins; workq_add() does not
 * cancel the delay. */
void workq_add_at(struct workq *q, const char *key, uint64_t due_ms);

/* @key failed with @code: add it again after its backoff. */
void workq_retry(struct workq *q, const char *key, int code, const struct workq_pace *pace,
		 uint64_t now_ms);

/* @key succeeded: reset its failures. */
void workq_forget(struct workq *q, const char *key);

/* Take the next waiting key, in order of arrival, and mark it as running; NULL if none. The key
 * is valid until its workq_end(), which must follow. */
const char *workq_take(struct workq *q, uint64_t now_ms);

/* The running @key is done. */
void workq_end(struct workq *q, const char *key);

/* When workq_take() will return a key: 0 for now, UINT64_MAX if nothing is queued. */
uint64_t workq_due_ms(const struct workq *q);

/* How long a running key waited in the queue. */
uint64_t workq_waited_ms(const struct workq *q, const char *key);

/* Total number of adds. */
uint64_t workq_added(const struct workq *q);

/* Number of waiting keys; number of running keys. */
size_t workq_waiting(const struct workq *q);
size_t workq_running(const struct workq *q);

/* Failures of a key since its last success, and the code of the last one; 0: none. */
unsigned workq_failures(const struct workq *q, const char *key);
int workq_failed_with(const struct workq *q, const char *key);
