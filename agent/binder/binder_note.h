/* binder_note: log lines and metrics of transitions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agent/binder/binder.h"

struct metric;
struct metrics;

struct binder_note {
	struct metric *transitions;
	struct metric *seconds;
	struct metric *running;
	struct metric *stuck;
	struct metric *oldest;
};

/* Which transition; borrowed. */
struct binder_noted {
	enum binder_verb verb;
	const char *group; /* NULL: none */
	const struct json_strs *addresses;
};

/* @metrics may be NULL. */
void binder_note_init(struct binder_note *note, struct metrics *metrics);

/* What is under way now: so many helpers, so many of them stuck, the oldest for @age_ms (0: none). */
void binder_note_running(const struct binder_note *note, size_t running, size_t stuck,
			 uint64_t age_ms);

/* A transition ended with @outcome. Plans appear in debug lines only. */
void binder_note_end(const struct binder_note *note, const struct binder_noted *what,
		     const struct binder_outcome *outcome);

/* The helper of a transition that was stuck has ended, @took_ms after its start. */
void binder_note_gone(const struct binder_note *note, const struct binder_noted *what, int pid,
		      uint64_t took_ms);
