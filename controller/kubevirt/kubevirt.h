/*
 * kubevirt: keeps our parts of KubeVirt's objects up to date, if KubeVirt is installed: our entries
 * in permittedHostDevices, and the annotation with the devices of virtual machines.
 *
 * Exists while this replica leads. Owns the informer of KubeVirts, which waits if that kind is not
 * installed; virtual machines come from the cache.
 */
#pragma once

#include <stdbool.h>

#include "controller/cache/view.h"

struct cache;
struct clock;
struct entry;
struct informer;
struct kube_client;
struct kubevirt_upkeep;
struct metrics;
struct store;

/* Values of the setting. */
enum kubevirt_mode {
	KUBEVIRT_FOLLOW, /* use existing permittedHostDevices */
	KUBEVIRT_CREATE, /* also create them */
	KUBEVIRT_OFF,
};

/* All borrowed; must outlive the object. */
struct kubevirt_deps {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;   /* may be NULL */
	const struct cache *cache; /* must include virtual machines */
	bool create;
	bool (*leads)(void *arg); /* checked before each write */
	void *arg;
};

/* No callback runs before this has returned. */
struct kubevirt_upkeep *kubevirt_new(const struct kubevirt_deps *deps);
/* Takes NULL, returns NULL. */
struct kubevirt_upkeep *kubevirt_free(struct kubevirt_upkeep *kubevirt);

/* An object of @kind changed; as in informer_handlers. Takes NULL. */
void kubevirt_on_change(struct kubevirt_upkeep *kubevirt, enum view_kind kind, const char *name,
			const struct entry *before, const struct entry *after);

/* All kinds of the cache have had their lists. Takes NULL. */
void kubevirt_enqueue_all(struct kubevirt_upkeep *kubevirt);

/* --- for the parts of this folder --- */

enum { KUBEVIRT_QUIET_MS = 1000 }; /* delay from the first change to the write */

/* What permits and vm_annotation share. All borrowed. */
struct kubevirt_env {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;           /* may be NULL */
	const struct store *const *stores; /* indexed by enum view_kind */
	const struct store *config;        /* with the HostDeviceConfig */
	const struct informer *kubevirts;
	const struct informer *machines; /* of kind VIEW_VM */
	bool create;                     /* create permittedHostDevices if missing */
	bool (*ready)(void *arg);        /* all data needed for a write is known */
	void *arg;                       /* of ready() */
	bool (*leads)(void *leads_arg);  /* checked before each write; NULL: it leads */
	void *leads_arg;
};
