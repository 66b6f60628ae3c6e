/* sriov_mark: what is written on an SRIOVNetworkDevice beside its status. Text only. */
#pragma once

#include <jansson.h>

struct sriov_case;
struct sriovnetworkdevice;

/* The object to post for the card of the case; its spec says what was found, and an annotation that
 * nobody has asked for it. */
json_t *sriov_mark_new(const struct sriov_case *c);

/*
 * The patch that makes label and annotations right, fills in address and node name, and lets a
 * spec.numVFs that nobody has set follow the card; NULL if all is so.
 */
json_t *sriov_mark(const struct sriov_case *c);
