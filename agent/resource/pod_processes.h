/*
 * pod_processes: does a pod have processes, as /proc has them.
 *
 * The kubelet forgets a pod that is deleted by force at once, and ends its processes some seconds
 * later (HandlePodRemoves() of pkg/kubelet/kubelet.go, 1.34). Each process of a pod is in a cgroup
 * below that of the pod, whose name has "pod" and the pod's UID; a '-' of it is a '_' where systemd
 * keeps the cgroups (cgroupName.ToSystemd() of pkg/kubelet/cm/cgroup_manager_linux.go).
 */
#pragma once

struct err;
struct json_strs;

enum { POD_PROCESSES_RUN = 1 };

/*
 * Does one of the pods @uids have a process? POD_PROCESSES_RUN with *@ret_uid, the first such pod
 * (an item of @uids), and
 * *@ret_pid, one process of it; 0 if none has; < 0 with @err if that cannot be told: a file cannot be read, or @proc_root, the
 * host's /proc, hides processes. Reads one small file of each process; none of them makes the
 * caller wait for a device.
 */
int pod_processes_find(const char *proc_root, const struct json_strs *uids, const char **ret_uid,
		       int *ret_pid, struct err *err);
