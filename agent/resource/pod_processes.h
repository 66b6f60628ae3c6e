/*
 * pod_processes: whether a pod has processes, according to /proc.
 *
 * The kubelet forgets a pod immediately when it is deleted by force, and ends its processes some
 * seconds later (HandlePodRemoves() of pkg/kubelet/kubelet.go, 1.34). Each process of a pod is in a
 * cgroup below the pod's cgroup, whose name contains "pod" and the pod's UID. Where systemd manages
 * the cgroups, '-' in the UID becomes '_' (cgroupName.ToSystemd() of
 * pkg/kubelet/cm/cgroup_manager_linux.go).
 */
#pragma once

struct err;
struct json_strs;

enum { POD_PROCESSES_RUN = 1 };

/*
 * Find a process of one of the pods @uids. POD_PROCESSES_RUN: *@ret_uid is the first such pod (an
 * item of @uids) and *@ret_pid one of its processes. 0: there is none. < 0 with @err: unknown,
 * because a file cannot be read or @proc_root (the host's /proc) hides processes. Reads one small
 * file of each process, and never waits for a device.
 */
int pod_processes_find(const char *proc_root, const struct json_strs *uids, const char **ret_uid,
		       int *ret_pid, struct err *err);
