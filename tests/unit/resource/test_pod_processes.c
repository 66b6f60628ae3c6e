#include "agent/resource/pod_processes.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/json_values.h"
#include "base/err.h"
#include "base/mem.h"
#include "unit/folder.h"
#include "unit/suite.h"

#define UID    "0d54c1c1-41f2-4f8c-8b0d-7d8f4c3a9a11"
#define SYSTEM "0d54c1c1_41f2_4f8c_8b0d_7d8f4c3a9a11"

static struct cgroup_case {
	const char *name;
	const char *cgroups;
	bool runs;
} cases[] = {
	{ "a guaranteed pod, cgroupfs", "0::/kubepods/pod" UID "/4f1a\n", true },
	{ "a burstable pod, cgroupfs", "0::/kubepods/burstable/pod" UID "/4f1a\n", true },
	{ "cgroup v1 has a line for each hierarchy",
	  "9:pids:/\n4:devices:/kubepods/besteffort/pod" UID "/4f1a\n0::/\n", true },
	{ "a cgroup namespace beside that of the pod", "0::/../../pod" UID "/4f1a\n", true },
	{ "systemd",
	  "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" SYSTEM
	  ".slice/cri-containerd-4f1a.scope\n",
	  true },
	{ "the cgroup of the pod itself", "0::/kubepods/pod" UID "\n", true },
	{ "another pod, whose UID begins so", "0::/kubepods/pod" UID "1/4f1a\n", false },
	{ "no pod", "0::/system.slice/containerd.service\n", false },
	{ "the UID as a container's name", "0::/kubepods/pod1/" UID "\n", false },
	{ "nothing", "", false },
};

static void process(const struct folder *folder, const char *pid, const char *cgroups)
{
	auto_free char *file = xasprintf("%s/cgroup", pid);

	folder_put(folder, file, cgroups);
}

static void a_process_is_a_pods_by_its_cgroup(void **state)
{
	const struct cgroup_case *row = suite_row(state);
	struct json_strs uids = { 0 };
	struct folder folder;
	const char *uid = NULL;
	struct err err = { 0 };
	int pid = 0;

	folder_init(&folder);
	process(&folder, "1", "0::/init.scope\n");
	process(&folder, "345", row->cgroups);
	process(&folder, "fs", "0::/kubepods/pod" UID "\n");
	json_strs_add(&uids, "e1");
	json_strs_add(&uids, UID);
	assert_int_equal(pod_processes_find(folder.path, &uids, &uid, &pid, &err),
			 row->runs ? POD_PROCESSES_RUN : 0);
	if (row->runs) {
		assert_string_equal(uid, UID);
		assert_int_equal(pid, 345);
	}
	json_strs_done(&uids);
	folder_done(&folder);
}

/* A folder in place of the file stands for what cannot be read; a process without the file has just
 * ended. */
static void what_cannot_be_read_is_reported(void **state)
{
	struct json_strs uids = { 0 };
	struct folder folder;
	auto_free char *ended = NULL;
	auto_free char *broken = NULL;
	const char *uid = NULL;
	struct err err = { 0 };
	int pid = 0;

	(void)state;
	folder_init(&folder);
	json_strs_add(&uids, UID);
	assert_int_equal(pod_processes_find(folder.path, &uids, &uid, &pid, &err), -EACCES);
	assert_non_null(strstr(err.msg, "hidepid"));
	process(&folder, "1", "0::/init.scope\n");
	ended = folder_path(&folder, "7");
	assert_int_equal(mkdir(ended, 0700), 0);
	assert_int_equal(pod_processes_find(folder.path, &uids, &uid, &pid, &err), 0);
	broken = folder_path(&folder, "7/cgroup");
	assert_int_equal(mkdir(broken, 0700), 0);
	assert_int_equal(pod_processes_find(folder.path, &uids, &uid, &pid, &err), -EISDIR);
	assert_non_null(strstr(err.msg, "7/cgroup"));
	assert_int_equal(pod_processes_find("/nowhere", &uids, &uid, &pid, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/nowhere"));
	json_strs_done(&uids);
	folder_done(&folder);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, a_process_is_a_pods_by_its_cgroup);
	suite_add(&suite, "what cannot be read is reported", what_cannot_be_read_is_reported, NULL);
	return suite_run(&suite, "pod_processes");
}
