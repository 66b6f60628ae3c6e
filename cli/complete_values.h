/* complete_values: values of flags that are names in the kubeconfig or in the cluster. */
#pragma once

struct complete_want;
struct session_settings;
struct str;

/* Append the values of the wanted flag that begin with the prefix. */
void complete_values(const struct complete_want *want, const struct session_settings *settings,
		     const char *prefix, struct str *to);
