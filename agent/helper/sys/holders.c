#include "agent/helper/sys/holders.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/helper/sys/devpath.h"
#include "agent/helper/sys/job.h"
#include "agent/helper/sys/nvidia_node.h"
#include "agent/helper/sys/sysfs.h"
#include "agent/helper/sys/value.h"
#include "base/array.h"
#include "base/ascii.h"
#include "base/dir.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

/* --- the pod of a process --------------------------------------------------------------------- */

#define LOGS "1/root/var/log/pods"

enum { CGROUP_MAX = 64 << 10, HASH_LEN = 32 };

/* A UUID with dashes, or 32 digits. */
static bool is_uid(const char *uid, size_t len)
{
	if (len != POD_UID_SIZE - 1 && len != HASH_LEN)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool dash = len != HASH_LEN && (i == 8 || i == 13 || i == 18 || i == 23);

		if (dash ? uid[i] != '-' : !ascii_is_lower_hex(uid[i]))
			return false;
	}
	return true;
}

/* The uid behind "pod" in a part of a cgroup's path. */
static bool read_part(const char *part, size_t len, char ret_uid[POD_UID_SIZE])
{
	static const char slice[] = ".slice";
	size_t tail = sizeof(slice) - 1;
	bool systemd = len > tail && memcmp(part + len - tail, slice, tail) == 0;
	char uid[POD_UID_SIZE] = "";
	size_t uid_len;
	const char *mark;

	if (systemd) {
		len -= tail;
		mark = memrchr(part, '-', len);
		if (!mark)
			return false;
		len -= (size_t)(mark + 1 - part);
		part = mark + 1;
	}
	if (len < 3 || len - 3 >= POD_UID_SIZE || memcmp(part, "pod", 3) != 0)
		return false;
	uid_len = len - 3;
	for (size_t i = 0; i < uid_len; i++)
		uid[i] = systemd && part[3 + i] == '_' ? '-' : part[3 + i];
	if (!is_uid(uid, uid_len))
		return false;
	memcpy(ret_uid, uid, sizeof(uid));
	return true;
}

bool pod_find_uid(const char *text, size_t len, char ret_uid[POD_UID_SIZE])
{
	bool found = false;
	size_t start = 0;

	for (size_t i = 0; i <= len; i++) {
		if (i < len && text[i] != '/' && text[i] != '\n')
			continue;
		found = read_part(text + start, i - start, ret_uid) || found;
		start = i + 1;
	}
	return found;
}

/* "NAMESPACE_NAME_UID" to "NAMESPACE/NAME"; NULL if @folder is not that of @uid. */
static char *name_of_folder(const char *folder, const char *uid)
{
	size_t len = strlen(folder);
	size_t tail = strlen(uid) + 1;
	const char *split = strchr(folder, '_');
	size_t namespace_len;
	char *name;

	if (!split || len <= tail || folder[len - tail] != '_' ||
	    strcmp(folder + len - tail + 1, uid) != 0)
		return NULL;
	namespace_len = (size_t)(split - folder);
	if (len - tail <= namespace_len || !value_is_name(folder, namespace_len) ||
	    !value_is_name(split + 1, len - tail - namespace_len - 1))
		return NULL;
	name = xstrndup(folder, len - tail);
	name[namespace_len] = '/';
	return name;
}

/* The kubelet names the folder of a pod's logs after the pod, on the root that process 1 sees. */
static char *find_name(int proc_fd, const char *uid)
{
	auto_names struct sysfs_names names = { 0 };

	if (sysfs_list(proc_fd, LOGS, &names, NULL) != 0)
		return NULL;
	for (size_t i = 0; i < names.len; i++) {
		char *name = name_of_folder(names.items[i], uid);

		if (name)
			return name;
	}
	return NULL;
}

char *pod_of_process(int proc_fd, const char *pid)
{
	auto_free char *path = xasprintf("%s/cgroup", pid);
	auto_free char *text = NULL;
	char uid[POD_UID_SIZE];
	size_t len = 0;
	char *name;

	if (file_read(proc_fd, path, CGROUP_MAX, &text, &len, NULL) < 0)
		return NULL;
	if (!pod_find_uid(text, len, uid))
		return NULL;
	name = find_name(proc_fd, uid);
	return name ? name : xstrdup(uid);
}

/* --- holders ---------------------------------------------------------------------------------- */

#define DEV "/dev/"

/* One run: @descriptors_left bounds the work, whatever the machine's limits are. */
struct search {
	const struct holders_query *query;
	const struct job *job;
	struct holders *holders;
	char *group_node; /* "/dev/vfio/12"; NULL: no group */
	int *minors;      /* of each function of the job: nvidia_node.h */
	size_t descriptors_left;
	bool has_counts; /* the size of PID/fd is the number of descriptors (Linux 6.2) */
};

/* One process, and the place in the holders where its own begin. */
struct process {
	const char *name; /* its pid as text */
	int pid;
	size_t first;
	char link[SYSFS_LINK_MAX + 1]; /* of the current descriptor */
};

static char *clean(const char *text)
{
	struct str out = STR_INIT;

	str_add_clean(&out, text, strlen(text));
	return str_detach(&out);
}

static char *command_of(const struct search *search, const struct process *process)
{
	auto_free char *path = xasprintf("%s/comm", process->name);
	struct sysfs_attr comm;

	if (sysfs_read(search->query->proc_fd, path, &comm, NULL) != 0)
		return xstrdup("");
	return clean(comm.text);
}

static bool is_known(const struct search *search, const struct process *process,
		     const char *address)
{
	for (size_t i = process->first; i < search->holders->len; i++) {
		if (strcmp(search->holders->items[i].address, address) == 0)
			return true;
	}
	return false;
}

/* The kernel keeps 15 bytes of the name nvidia-persistenced. */
static const char *advice_for(const char *command)
{
	return strcmp(command, "nvidia-persiste") == 0
		       ? ": switch the card's persistence mode off (nvidia-smi -pm 0)"
		       : "";
}

static void add_holder(struct search *search, const struct process *process, const char *address)
{
	struct holder *holder;
	auto_free char *link = NULL;

	if (is_known(search, process, address))
		return;
	link = clean(process->link);
	holder = array_add(search->holders);
	holder->address = xstrdup(address);
	holder->pid = process->pid;
	holder->command = command_of(search, process);
	holder->pod = pod_of_process(search->query->proc_fd, process->name);
	holder->detail = holder->command[0]
				 ? xasprintf("process %d (%s) has %s open%s", process->pid,
					     holder->command, link, advice_for(holder->command))
				 : xasprintf("process %d has %s open", process->pid, link);
}

/* A holder that cannot be identified. */
static void add_unseen(struct search *search, char *detail)
{
	struct holder *holder = array_add(search->holders);

	holder->address = xstrdup(search->job->items[0].address);
	holder->command = xstrdup("");
	holder->detail = detail;
}

static const struct job_function *find_function(const struct job *job, const char *part, size_t len)
{
	for (size_t i = 0; i < job->len; i++) {
		if (strlen(job->items[i].address) == len &&
		    memcmp(job->items[i].address, part, len) == 0)
			return &job->items[i];
	}
	return NULL;
}

/* Does the device path @path belong to the group's node, "…/virtual/vfio/12"? */
static bool is_group_path(const struct search *search, const char *path)
{
	static const char parent[] = "/virtual/vfio/";
	const char *place = strstr(path, parent);

	return search->group_node && place &&
	       strcmp(place + sizeof(parent) - 1, search->query->group) == 0;
}

/* All functions of the job above the device at @path, such as a disk below a controller. */
static void match_path(struct search *search, const struct process *process, const char *path)
{
	const char *part;
	size_t len;

	if (is_group_path(search, path)) {
		add_holder(search, process, search->job->items[0].address);
		return;
	}
	while (devpath_next(&path, &part, &len)) {
		const struct job_function *function = find_function(search->job, part, len);

		if (function)
			add_holder(search, process, function->address);
	}
}

/* What a descriptor refers to. */
enum target {
	TARGET_DEVICE,
	TARGET_OTHER,  /* a file, a folder, a socket  */
	TARGET_UNSEEN, /* only its name can be seen   */
};

/*
 * Find what the descriptor @fd in the folder @dir_fd refers to, by its device number, because a
 * container may create a node of any name. Never asks the device nor, with DONT_SYNC, the server of
 * a filesystem (fs/fuse/dir.c, fs/nfs/inode.c). A FUSE mount of a user refuses everybody else; it
 * has no devices.
 */
static enum target read_target(const struct search *search, const struct process *process,
			       int dir_fd, const char *fd, struct statx *ret_st)
{
	bool in_dev = strncmp(process->link, DEV, sizeof(DEV) - 1) == 0;

	if (statx(dir_fd, fd, AT_STATX_DONT_SYNC, STATX_TYPE, ret_st) < 0) {
		search->holders->hidden |=
			errno != ENOENT && errno != ESRCH && (errno != EACCES || in_dev);
		return TARGET_UNSEEN;
	}
	return S_ISCHR(ret_st->stx_mode) || S_ISBLK(ret_st->stx_mode) ? TARGET_DEVICE
								      : TARGET_OTHER;
}

/* Find the place of the device @st in the kernel's tree; false if sysfs does not know it (any
 * more). */
static bool find_device(const struct search *search, const struct statx *st,
			char ret_path[SYSFS_LINK_MAX + 1])
{
	char number[64];
	int r;

	(void)snprintf(number, sizeof(number), "dev/%s/%u:%u",
		       S_ISCHR(st->stx_mode) ? "char" : "block", st->stx_rdev_major,
		       st->stx_rdev_minor);
	r = sysfs_link(search->query->sysfs_fd, number, ret_path, NULL);
	search->holders->hidden |= r < 0;
	return r == 0;
}

/* By name, when the kernel has forgotten the device's number: "/dev/vfio/12 (deleted)". */
static bool is_group_link(const struct search *search, const char *link)
{
	size_t len = search->group_node ? strlen(search->group_node) : 0;

	return len > 0 && strncmp(link, search->group_node, len) == 0 &&
	       (link[len] == '\0' || strcmp(link + len, " (deleted)") == 0);
}

/* Functions of NVIDIA cards whose node is open: sysfs does not know its number. @st NULL: only the
 * name is known. A character device with that name and another number counts too, because it is
 * unknown. */
static void match_cards(struct search *search, const struct process *process,
			const struct statx *st)
{
	for (size_t i = 0; i < search->job->len; i++) {
		int minor = search->minors[i];
		bool is = nvidia_node_is(process->link, minor);

		if (st)
			is = S_ISCHR(st->stx_mode) &&
			     (is || nvidia_node_has_number(st->stx_rdev_major, st->stx_rdev_minor,
							   minor));
		if (is)
			add_holder(search, process, search->job->items[i].address);
	}
}

static void match_target(struct search *search, const struct process *process, int dir_fd,
			 const char *fd)
{
	char path[SYSFS_LINK_MAX + 1];
	struct statx st;
	enum target target = read_target(search, process, dir_fd, fd, &st);

	if (target == TARGET_OTHER)
		return;
	match_cards(search, process, target == TARGET_DEVICE ? &st : NULL);
	if (target == TARGET_DEVICE && find_device(search, &st, path))
		match_path(search, process, path);
	else if (is_group_link(search, process->link))
		add_holder(search, process, search->job->items[0].address);
}

/* False: this process does not show what it has open. */
static bool scan_descriptor(struct search *search, struct process *process, int dir_fd,
			    const char *fd)
{
	int r = sysfs_link(dir_fd, fd, process->link, NULL);

	/* A pod may give any file such a name. No driver's node has one, and the number decides. */
	if (r == -ENAMETOOLONG) {
		(void)snprintf(process->link, sizeof(process->link), DEV "(long name)");
		r = 0;
	}
	if (r < 0)
		search->holders->hidden = true;
	if (r == -EACCES || r == -EPERM)
		return false;
	/* Sockets, pipes and the like have names without a slash (fs/dcache.c of the kernel:
	 * d_path()). */
	if (r == 0 && process->link[0] == '/')
		match_target(search, process, dir_fd, fd);
	return true;
}

/* The size of the folder @path in proc; 0 if it is gone, 1 if it is hidden, which opening it
 * shows. */
static uint64_t folder_size(const struct search *search, const char *path)
{
	struct statx st;

	if (statx(search->query->proc_fd, path, 0, STATX_SIZE, &st) == 0)
		return st.stx_size;
	return errno == ENOENT || errno == ESRCH ? 0 : 1;
}

static void scan_process(struct search *search, struct process *process)
{
	char path[sizeof("2147483647/fd")];
	const char *fd;
	struct dir dir;
	bool shown = true;

	(void)snprintf(path, sizeof(path), "%d/fd", process->pid);
	process->first = search->holders->len;
	/* Most processes of a node are the kernel's own, which have none. */
	if (search->has_counts && folder_size(search, path) == 0)
		return;
	if (dir_open(&dir, search->query->proc_fd, path) < 0) {
		if (errno != ENOENT && errno != ESRCH)
			search->holders->hidden = true;
		return;
	}
	/* What shows nothing does not use up the number either, or a pod with many would hinder
	 * everybody. */
	while (shown && search->descriptors_left > 0 && (fd = dir_next(&dir)) != NULL) {
		shown = scan_descriptor(search, process, dir.fd, fd);
		search->descriptors_left -= shown;
	}
	/* ENOENT, ESRCH: it has ended meanwhile. */
	search->holders->hidden |= dir.code < 0 && dir.code != -ENOENT && dir.code != -ESRCH;
	dir_done(&dir);
}

/* This process as /proc counts it, which may be another namespace's. */
static uint64_t own_pid(int proc_fd)
{
	char target[SYSFS_LINK_MAX + 1];
	uint64_t pid;

	if (sysfs_link(proc_fd, "self", target, NULL) == 0 && str_to_u64(target, &pid))
		return pid;
	return (uint64_t)getpid();
}

static void scan_processes(struct search *search)
{
	uint64_t own = own_pid(search->query->proc_fd);
	const char *name;
	struct dir dir;

	if (dir_open(&dir, search->query->proc_fd, ".") < 0) {
		search->holders->hidden = true;
		return;
	}
	/* Of a node, the first process always runs: hidepid hides others, too (proc(5)). */
	if (faccessat(search->query->proc_fd, "1", F_OK, 0) < 0)
		search->holders->hidden = true;
	/* This process has some. */
	search->has_counts = folder_size(search, "self/fd") > 0;
	while (search->holders->len < HOLDERS_MAX && (name = dir_next(&dir)) != NULL) {
		struct process process = { .name = name };
		uint64_t pid;

		if (!str_to_u64(name, &pid) || pid == own || pid > INT_MAX)
			continue;
		process.pid = (int)pid;
		scan_process(search, &process);
	}
	search->holders->hidden |= dir.code < 0;
	dir_done(&dir);
}

/* A group can be opened only once, so the kernel reports a holder that /proc does not show. */
static void ask_kernel(struct search *search)
{
	const char *node = search->group_node + sizeof(DEV) - 1;
	auto_close int fd =
		openat(search->query->dev_fd, node, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 && errno == EBUSY)
		add_unseen(search, xasprintf("a process that cannot be seen has %s open",
					     search->group_node));
	else if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		add_unseen(search, xasprintf("whether a process has %s open cannot be asked: %s",
					     search->group_node, strerror(errno)));
}

static int by_pid(const void *a, const void *b)
{
	const struct holder *first = a;
	const struct holder *second = b;
	int addresses = strcmp(first->address, second->address);

	return first->pid != second->pid ? (first->pid > second->pid) - (first->pid < second->pid)
					 : addresses;
}

void holders_find(const struct holders_query *query, const struct job *job,
		  struct holders *ret_holders)
{
	bool has_group = strcmp(query->group, "-") != 0;
	auto_free char *node = has_group ? xasprintf(DEV "vfio/%s", query->group) : NULL;
	struct holders holders = { 0 };
	auto_free int *minors = xcalloc(job->len + 1, sizeof(*minors));
	size_t max = query->descriptors_max ? query->descriptors_max : HOLDERS_DESCRIPTORS_MAX;
	struct search search = { query, job, &holders, node, minors, max, false };

	for (size_t i = 0; i < job->len; i++)
		minors[i] =
			nvidia_node_minor(query->sysfs_fd, query->proc_fd, job->items[i].address);
	if (job->len > 0 && query->proc_fd >= 0)
		scan_processes(&search);
	if (search.descriptors_left == 0)
		add_unseen(&search, xasprintf("more than %zu descriptors are open on this node, so "
					      "not all of them were read",
					      max));
	if (job->len > 0 && holders.len == 0 && node && query->confirm_by_open &&
	    query->dev_fd >= 0)
		ask_kernel(&search);
	if (holders.len > 0)
		qsort(holders.items, holders.len, sizeof(holders.items[0]), by_pid);
	*ret_holders = holders;
}

void holders_done(struct holders *holders)
{
	for (size_t i = 0; i < holders->len; i++) {
		struct holder *holder = &holders->items[i];

		free(holder->address);
		free(holder->command);
		free(holder->pod);
		free(holder->detail);
	}
	array_done(holders);
}
