/* kubevirt_ties: what the parts of kubevirt work with. All is borrowed. */
#pragma once

#include <stdbool.h>

struct clock;
struct informer;
struct kube_client;
struct metrics;
struct store;

enum { KUBEVIRT_QUIET_MS = 1000 }; /* from the first change to the write */

struct kubevirt_ties {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;           /* may be NULL                                      */
	const struct store *const *stores; /* by enum view_kind                                */
	const struct store *config;        /* of the HostDeviceConfig                          */
	const struct informer *kubevirts;
	const struct informer *machines; /* of the kind VIEW_VM                            */
	bool create;                     /* make permittedHostDevices where there are none   */
	bool (*ready)(void *arg);        /* all is known that is to be written of            */
	bool (*leads)(void *arg);        /* asked before each write                          */
	void *arg;
};
