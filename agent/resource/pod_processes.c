#include "agent/resource/pod_processes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "api/json_values.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"

enum { CGROUP_MAX = 64 * 1024 }; /* a line for each hierarchy of cgroup v1, each a path */

/* Only a UID is between "pod" and the next '/', '.' or the end of the line. A static pod's manifest
 * may set any text as its UID, so it is searched for, not parsed. */
static bool is_in(const char *cgroups, const char *uid)
{
	size_t len = strlen(uid);

	for (const char *at = cgroups; (at = strstr(at, "pod")); at++) {
		const char *c = at + strlen("pod");
		size_t same = 0;

		while (same < len && (c[same] == uid[same] || (c[same] == '_' && uid[same] == '-')))
			same++;
		if (same == len && strchr("/.\n", c[len])) /* which has its NUL, too */
			return true;
	}
	return false;
}

static const char *pod_in(const char *cgroups, const struct json_strs *uids)
{
	for (size_t i = 0; i < uids->len; i++) {
		if (is_in(cgroups, uids->items[i]))
			return uids->items[i];
	}
	return NULL;
}

/* *@ret_uid is NULL if the process is of none of the pods, or has ended. */
static int find_pod(int proc_fd, const char *pid, const struct json_strs *uids,
		    const char **ret_uid, struct err *err)
{
	auto_free char *path = xasprintf("%s/cgroup", pid);
	auto_free char *cgroups = NULL;
	int r = file_read(proc_fd, path, CGROUP_MAX, &cgroups, NULL, err);

	*ret_uid = NULL;
	if (r == -ENOENT || r == -ESRCH)
		return 0;
	if (r == 0)
		*ret_uid = pod_in(cgroups, uids);
	return r;
}

int pod_processes_find(const char *proc_root, const struct json_strs *uids, const char **ret_uid,
		       int *ret_pid, struct err *err)
{
	bool has_first = false;
	const char *name;
	struct dir dir;
	uint64_t pid;
	int r = 0;

	*ret_uid = NULL;
	if (dir_open(&dir, AT_FDCWD, proc_root) < 0)
		return err_set(err, ERR_RETRY, -errno, "read '%s': %s", proc_root, strerror(errno));
	while (r == 0 && !*ret_uid && (name = dir_next(&dir))) {
		if (!str_to_u64(name, &pid))
			continue;
		*ret_pid = (int)pid;
		has_first = has_first || pid == 1;
		r = find_pod(dir.fd, name, uids, ret_uid, err);
	}
	if (r == 0 && !*ret_uid && dir.code < 0)
		r = err_set(err, ERR_RETRY, dir.code, "read '%s': %s", proc_root,
			    strerror(-dir.code));
	else if (r == 0 && !*ret_uid && !has_first)
		r = err_set(err, ERR_RETRY, -EACCES,
			    "'%s' does not show process 1: is it mounted with hidepid?", proc_root);
	dir_done(&dir);
	return r < 0 ? r : *ret_uid ? POD_PROCESSES_RUN : 0;
}
