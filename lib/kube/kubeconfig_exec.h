/* kubeconfig_exec: the program of an entry of users that prints credentials. Reads what it is; runs nothing.
 * A part of kubeconfig_user.c, for nobody else. */
#pragma once

struct err;
struct kube_exec;
struct kubeconfig_entry;

/* Read @entry's exec. On success *@ret_exec is the caller's, by kube_exec_free(). */
int kubeconfig_exec(const struct kubeconfig_entry *entry, struct kube_exec **ret_exec,
		    struct err *err);
