/*
 * events: tells people what happened to an object, as Kubernetes Events.
 *
 * Fire and forget: what cannot be sent is counted and dropped. The same event again raises the count
 * of the first. Each object may cause EVENTS_BURST in a row, then one in EVENTS_REFILL_MS.
 *
 * Events about objects of the cluster are in the namespace default, where people read them who may not know of the
 * pods of others: "pod NAMESPACE/NAME" in a message of such a one becomes "a pod".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct api_kind;
struct api_meta;
struct clock;
struct kube_client;
struct metrics;

enum {
	EVENTS_QUEUE = 256,  /* waiting to be sent; more are dropped */
	EVENTS_KNOWN = 1024, /* remembered for counting              */
	EVENTS_BURST = 25,
	EVENTS_REFILL_MS = 5 * 60 * 1000,
	EVENTS_TOGETHER_BURST = 100,
	EVENTS_TOGETHER_REFILL_MS = 10 * 1000,
	EVENTS_MESSAGE_MAX = 1024, /* the API's limit; longer ones are cut, with "..." */
};

/* Borrowed, but for the two names. */
struct events_deps {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics; /* may be NULL */
	const char *component;   /* "hostdev-agent" */
	const char *host;        /* the node's or pod's name */
	bool together; /* all objects may cause EVENTS_TOGETHER_BURST, then one in EVENTS_TOGETHER_REFILL_MS */
};

struct events;

struct events *events_new(const struct events_deps *deps);
/* Cancels what is under way, forgets what waits. Takes NULL, returns NULL. */
struct events *events_free(struct events *events);

/* What an event is about. */
struct events_about {
	const struct api_kind *kind;
	const struct api_meta *meta;
};

enum events_type { EVENTS_NORMAL, EVENTS_WARNING };

/* @reason is CamelCase, for programs; the message is for people, any bytes. Copies all. */
void events_record(struct events *events, const struct events_about *about, enum events_type type,
		   const char *reason, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
