/* report: what lists and watches go through, as metrics and lines in the log. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/reflector.h"

struct err;
struct metric;
struct metrics;
struct store;

struct report {
	const char *resource; /* static text */
	bool optional;        /* that the kind is not installed is nothing to warn of */
	struct metric *troubles;
	struct metric *events;
	struct metric *objects;
	struct metric *unreadable;
	size_t len; /* what the gauges last said */
	size_t len_unreadable;
};

void report_init(struct report *report, struct metrics *metrics, const char *resource);

/* A list or watch ended by @event and @step follows. Said aloud when it is news. */
void report_end(const struct report *report, enum reflector_event event,
		const struct reflector_step *step, const struct err *err);

/* A watch brought a line. */
void report_line(const struct report *report);

/* The store may have changed. */
void report_store(struct report *report, const struct store *store);

void report_synced(const struct report *report, const struct store *store);
void report_unreadable(const struct report *report, const struct err *err);
