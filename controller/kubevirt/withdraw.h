/*
 * withdraw: takes our entries out of every KubeVirt once nothing is lent any more, for an uninstall. The leader may do
 * the same at the same time: both write on the state that they have read.
 */
#pragma once

#include <stdbool.h>

struct clock;
struct kube_client;
struct store;
struct withdraw;

/* Borrowed, all of it outlives it. */
struct withdraw_deps {
	struct kube_client *client;
	struct clock *clock;
	const struct store *const *stores; /* by enum view_kind */
};

/* Looks for KubeVirts at once, and writes nothing before withdraw_look(). */
struct withdraw *withdraw_new(const struct withdraw_deps *deps);
/* Takes NULL, returns NULL. */
struct withdraw *withdraw_free(struct withdraw *withdraw);

/* What is lent is known, and has changed: take out what is lent no more. */
void withdraw_look(struct withdraw *withdraw);

/* Is there nothing of us in any KubeVirt? If there is, or may be, *@ret_name is one ("namespace/name"; NULL: they have
 * not been listed yet). */
bool withdraw_is_done(const struct withdraw *withdraw, const char **ret_name);
