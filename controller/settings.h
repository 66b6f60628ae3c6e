/* settings: what hostdev-controller can be told, by flags, environment or file. */
#pragma once

#include "base/options.h"
#include "kube/program.h"

struct settings {
	struct program_settings common;
	char *pod_name; /* this replica's identity in the election */
	char *ns;       /* of the Lease                            */
};

const struct option_row *settings_rows(size_t *ret_len);
extern const struct options_prose settings_prose;

/* Fill what is still unset from the machine. Errors name the setting. */
int settings_complete(struct settings *s, struct err *err);
