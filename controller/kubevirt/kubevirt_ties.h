/* kubevirt_ties: what the parts of kubevirt share. All borrowed. */
#pragma once

#include <stdbool.h>

struct clock;
struct informer;
struct kube_client;
struct metrics;
struct store;

enum { KUBEVIRT_QUIET_MS = 1000 }; /* delay from the first change to the write */

struct kubevirt_ties {
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
