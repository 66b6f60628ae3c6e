/*
 * withdraw: for an uninstall, removes our entries from every KubeVirt once nothing is offered any
 * more. The leader may do the same at the same time: both write with the resourceVersion that they
 * have read.
 */
#pragma once

#include <stdbool.h>

struct clock;
struct kube_client;
struct store;
struct withdraw;

/* All borrowed; must outlive the object. */
struct withdraw_deps {
	struct kube_client *client;
	struct clock *clock;
	const struct store *const *stores; /* indexed by enum view_kind */
};

/* Lists KubeVirts at once, but writes nothing before withdraw_run(). */
struct withdraw *withdraw_new(const struct withdraw_deps *deps);
/* Takes NULL, returns NULL. */
struct withdraw *withdraw_free(struct withdraw *withdraw);

/* The offered resources are known and have changed: remove the entries that are no longer
 * needed. */
void withdraw_run(struct withdraw *withdraw);

/* True if no KubeVirt has an entry of ours. If one has, or may have, *@ret_name is its name
 * ("namespace/name"; NULL: they have not been listed yet). */
bool withdraw_is_done(const struct withdraw *withdraw, const char **ret_name);
