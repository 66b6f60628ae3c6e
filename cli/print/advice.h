/* advice: what to do about the reason of a condition. Pure. */
#pragma once

#include "cli/model/cluster.h"

struct api_meta;

/* One or more sentences; NULL if nothing is to be done, or the reason is not known. Static. */
const char *advice_for(const char *reason);

/* The same with the words NODE, DEVICE and HOW replaced by @node, @device and @how, which is
 * rights_how(); "" keeps the word. The caller frees. */
char *advice_about(const char *reason, const char *node, const char *device, const char *how);

/* @message of the API, with the flags of `claim` in place of the fields of a claim that it says to
 * set. The caller frees. */
char *advice_flags(const char *message);

/* @message without what it says of claims of the whole IOMMU group, for a user who may claim none.
 * The caller frees. */
char *advice_without_group(const char *message);

/* "the device is released; the finalizer 'a/b' keeps the claim", and the command for that; NULL: no
 * other's finalizer keeps @claim. The caller frees. */
char *advice_kept(const struct api_meta *claim);
char *advice_unkeep(enum device_type type, const struct api_meta *claim);
