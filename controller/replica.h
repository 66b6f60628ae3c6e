/*
 * replica: one replica of the controller.
 *
 * Every replica takes part in the election, watches the cluster, and answers admission reviews if
 * it has an address for them. The leader also writes DevicePools, conditions of claims on failed
 * nodes, the webhook's certificate and KubeVirt's objects, and cleans up after deleted nodes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"
#include "controller/kubevirt/kubevirt.h"

struct err;
struct program;

/* For so long the webhook answers after the Lease was released: enough for each API server to send
 * another request on the connections that it keeps. */
enum { REPLICA_DRAIN_MS = 4000 };

/* Borrowed. */
struct replica_options {
	const char *identity; /* in the election, and of its events */
	const char *ns;       /* of the Lease, the webhook and the agents' pods */

	const char *webhook_listen;              /* "ADDRESS:PORT", or "off" */
	const struct option_list *webhook_hosts; /* host names in addition to the Service's */
	const char *webhook_client_ca; /* file with the CAs of allowed clients; NULL or "": any */
	bool refuse_pinned;            /* see admission_options */

	const char *map_listen; /* "ADDRESS:PORT", or "off" */

	const char *agents;    /* label selector of the agents' pods; "none": they are not pods */
	uint64_t node_gone_ms; /* a node that is missing for so long is considered deleted */
	enum kubevirt_mode kubevirt;
};

/* Run the loop until a signal ends it. < 0: it cannot start; @err names the setting. */
int replica_run(struct program *program, const struct replica_options *options, struct err *err);
