/* pod: which pod a process belongs to, from its cgroup and from the node's folder of pods' logs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
	POD_UID_SIZE = 37
}; /* a UUID, or the 32 digits of a static pod's hash, and the terminator */

/*
 * Find a pod's uid in the text of /proc/PID/cgroup, in the forms of both of the kubelet's drivers:
 * ".../pod<uid>/<container>" and "...-pod<uid with _ for ->.slice/...". A cgroup namespace may hide
 * what stands above. The innermost pod counts. False if there is none. No I/O.
 */
bool pod_find_uid(const char *text, size_t len, char ret_uid[POD_UID_SIZE]);

/* "namespace/name" of the pod that the process @pid below @proc_fd is in, its uid if the name cannot
 * be told, NULL if it is in none. The caller frees. */
char *pod_of_process(int proc_fd, const char *pid);
