/*
 * kubevirt: what the leader keeps up in KubeVirt's objects, where there is KubeVirt: our entries in
 * permittedHostDevices, and what machines say that they were given.
 *
 * Lives while this replica leads. Owns the informer of KubeVirts, which waits where that kind is not installed; the
 * machines are those of the views.
 */
#pragma once

#include <stdbool.h>

#include "controller/views/view.h"

struct clock;
struct entry;
struct kube_client;
struct kubevirt_upkeep;
struct metrics;
struct views;

/* As in the setting. */
enum kubevirt_mode {
	KUBEVIRT_FOLLOW, /* permittedHostDevices that there are */
	KUBEVIRT_CREATE, /* and others are made                 */
	KUBEVIRT_OFF,
};

/* Borrowed, all of it outlives it. */
struct kubevirt_deps {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;   /* may be NULL */
	const struct views *views; /* that watch virtual machines too */
	bool create;
	bool (*leads)(void *arg); /* asked before each write */
	void *arg;
};

/* Nothing is called before this has returned. */
struct kubevirt_upkeep *kubevirt_new(const struct kubevirt_deps *deps);
/* Takes NULL, returns NULL. */
struct kubevirt_upkeep *kubevirt_free(struct kubevirt_upkeep *kubevirt);

/* An object of @kind changed; as informer_handlers has it. Takes NULL. */
void kubevirt_on_change(struct kubevirt_upkeep *kubevirt, enum view_kind kind, const char *name,
			const struct entry *before, const struct entry *after);

/* Every view has had its list. Takes NULL. */
void kubevirt_enqueue_all(struct kubevirt_upkeep *kubevirt);
