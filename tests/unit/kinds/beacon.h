/*
 * beacon: an example of an object kind: the Beacon of a node, whose locator LED a user switches on.
 *
 *	apiVersion: hostdev.io/v1alpha1
 *	kind: Beacon
 *	metadata: {name: node1}
 *	spec: {blink: true}
 *
 * The object has the name of its node. The LED blinks while spec.blink is true, and is off before
 * the object goes. A scan says what the LED does; hostdev-helper changes it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"

struct decision;
struct str;
struct task_outcome;
struct this_node;

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

/* --- the plan --------------------------------------------------------------------------------- */

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

/* --- the reconciler --------------------------------------------------------------------------- */

struct beacons;

/* @node outlives it. @on_moved: a task may have changed the LED, so scan. */
struct beacons *beacons_new(const struct this_node *node, void (*on_moved)(void *arg), void *arg);
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
