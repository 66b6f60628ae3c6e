/*
 * permits: keeps our entries in permittedHostDevices of every KubeVirt.
 *
 * A second after the first change, so that many changes make one write, the object is read from the
 * API server and planned (permit_plan). If somebody else writes in between, the write fails with a
 * conflict and the object is read again.
 */
#pragma once

#include <stdbool.h>

struct clock;
struct kube_client;
struct kubevirt_env;
struct permits;
struct store;
struct withdraw;

/* @env must outlive the permits. */
struct permits *permits_new(const struct kubevirt_env *env);
/* Takes NULL, returns NULL. */
struct permits *permits_free(struct permits *permits);

/* The offered resources have changed: enqueue every KubeVirt. */
void permits_enqueue_all(struct permits *permits);
/* Enqueue the KubeVirt @name ("namespace/name"). */
void permits_enqueue(struct permits *permits, const char *name);
/* The KubeVirt @name has changed, as reported by its informer. */
void permits_on_change(struct permits *permits, const char *name);

/*
 * --- uninstall ---
 *
 * Removes our entries from every KubeVirt once nothing is offered any more. The leader may do the
 * same at the same time: both write with the resourceVersion that they have read.
 */

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
