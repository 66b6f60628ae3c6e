/*
 * beacon: an example of an object kind: the Beacon of a node, whose locator LED a user switches on.
 *
 *	apiVersion: hostdev.io/v1alpha1
 *	kind: Beacon
 *	metadata: {name: node1}
 *	spec: {blink: true}
 *
 * The object has the name of its node. The LED blinks while spec.blink is true, and is off before the
 * object goes. A scan says what the LED does; hostdev-helper changes it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/process/helper_place.h"
#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"

struct clock;
struct decision;
struct events;
struct kube_client;
struct metrics;
struct str;
struct task_outcome;
struct uv_loop_s;

/* --- the object: lib/api/beacon.h, if another program reads it, too --------------------------- */

struct beacon_spec {
	bool blink;
};

struct beacon_status {
	bool blinking;
	int64_t observed_generation;
	struct api_conditions conditions;
};

struct beacon {
	struct api_meta meta;
	struct beacon_spec spec;
	struct beacon_status status;
};

extern const struct api_kind beacon_kind;

#define BEACON_FINALIZER "hostdev.io/beacon"

/* --- the plan ---------------------------------------------------------------------------------- */

/* All that a decision depends on. Borrowed. */
struct beacon_case {
	const struct beacon *beacon;        /* the newest that is known                   */
	bool blinks;                        /* the LED, by the last scan                  */
	const char *stuck;                  /* what a stuck helper does; NULL: none is    */
	const struct task_outcome *failure; /* of the last attempt for this spec, or NULL */
	uint64_t hold_ms;                   /* the next attempt may not begin before      */
	int64_t now_wall_ms;
};

/* The next single step. Pure. */
void beacon_plan(const struct beacon_case *c, struct decision *ret_decision);

/* --- the reconciler ---------------------------------------------------------------------------- */

/* Borrowed, all of it outlives it. */
struct beacons_deps {
	struct uv_loop_s *loop;
	struct kube_client *client;
	struct clock *clock;
	struct events *events;
	struct metrics *metrics; /* may be NULL */
	const char *node_name;
	struct helper_place helper;
	uint64_t deadline_ms;        /* of one task; later it is stuck          */
	void (*on_moved)(void *arg); /* a task may have changed the LED: scan   */
	void *arg;
};

struct beacons;

struct beacons *beacons_new(const struct beacons_deps *deps);
/* A task under way is left to end by itself. Takes NULL, returns NULL. */
struct beacons *beacons_free(struct beacons *beacons);

/* No callback runs before. */
void beacons_start(struct beacons *beacons);

/* Is its list there? If not, the reason is appended to @reason (may be NULL). */
bool beacons_ready(const struct beacons *beacons, struct str *reason);

/* What a scan that began at @began_ms has found. beacons_enqueue_all() is to follow. */
void beacons_set_scan(struct beacons *beacons, bool blinks, uint64_t began_ms);

/* Something that decisions depend on has changed. */
void beacons_enqueue_all(struct beacons *beacons);
