/*
 * events: records Kubernetes Events about objects.
 *
 * Fire and forget: an event that cannot be sent is counted and dropped. A repeated event raises the
 * count of the first. Each object may cause EVENTS_BURST events in a row, then one every
 * EVENTS_REFILL_MS.
 *
 * Events about cluster-scoped objects are in the namespace default. People who can read them may
 * not be allowed to see other namespaces' pods, so "pod NAMESPACE/NAME" in such a message becomes
 * "a pod".
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
	EVENTS_QUEUE = 256,  /* queued to be sent; more are dropped */
	EVENTS_KNOWN = 1024, /* records kept for counting */
	EVENTS_BURST = 25,
	EVENTS_REFILL_MS = 5 * 60 * 1000,
	EVENTS_TOGETHER_BURST = 100,
	EVENTS_TOGETHER_REFILL_MS = 10 * 1000,
	EVENTS_MESSAGE_MAX = 1024, /* the API's limit; longer messages are cut and end in "..." */
};

/* Borrowed, except for the two names, which are copied. */
struct events_deps {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics; /* may be NULL */
	const char *component;   /* "hostdev-agent" */
	const char *host;        /* name of the node or pod */
	/* Limit all objects together to EVENTS_TOGETHER_BURST, then one every
	 * EVENTS_TOGETHER_REFILL_MS. */
	bool together;
};

struct events;

struct events *events_new(const struct events_deps *deps);
/* Cancels the request in flight and drops the queue. Takes NULL, returns NULL. */
struct events *events_free(struct events *events);

/* The object that an event is about. */
struct events_about {
	const struct api_kind *kind;
	const struct api_meta *meta;
};

enum events_type { EVENTS_NORMAL, EVENTS_WARNING };

/* @reason is CamelCase, for programs; the message is for people and may hold any bytes.
 * Everything is copied. */
void events_record(struct events *events, const struct events_about *about, enum events_type type,
		   const char *reason, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
