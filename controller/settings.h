/* settings: hostdev-controller's settings, from flags, environment or file. */
#pragma once

#include "base/options.h"
#include "kube/program.h"

/* What the webhook does with pods whose spec.nodeName is a node that does not offer the
 * requested resource. */
enum pinned_pods { PINNED_PODS_WARN, PINNED_PODS_REFUSE };

struct settings {
	struct program_settings common;
	char *pod_name; /* this replica's identity in the election */
	char *ns;       /* namespace of the Lease and the webhook */
	char *webhook_listen;
	char *webhook_client_ca; /* a file */
	char *map_listen;
	int pinned_pods; /* enum pinned_pods */
	char *agent_pods;
	uint64_t node_gone_after_ms;
	int kubevirt;                     /* enum kubevirt_mode */
	uint64_t timeout_ms;              /* of uninstall; 0: none */
	struct option_list webhook_hosts; /* in addition to the Service's name */
};

const struct option_row *settings_rows(size_t *ret_len);
extern const struct options_prose settings_prose;

const struct option_row *settings_uninstall_rows(size_t *ret_len);
extern const struct options_prose settings_uninstall_prose;

/* Fill unset settings from the machine. Errors name the setting. */
int settings_complete(struct settings *s, struct err *err);
