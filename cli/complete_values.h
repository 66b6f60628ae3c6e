/* complete_values: what a flag could be given: names of the kubeconfig, or of the cluster. */
#pragma once

struct complete_want;
struct session_settings;
struct str;

/* Append the values of the flag that is wanted, of what begins with @prefix. */
void complete_values(const struct complete_want *want, const struct session_settings *settings,
		     const char *prefix, struct str *to);
