#include "agent/helper/sys/holders.h"

#include <string.h>

#include "fake/tree/tree.h"

#define UID    "0f8fad5b-d9cb-469f-a165-70867728950e"
#define UID_   "0f8fad5b_d9cb_469f_a165_70867728950e"
#define STATIC "0123456789abcdef0123456789abcdef"

static struct uid_case {
	const char *name;
	const char *text;
	const char *uid; /* NULL: none */
} uids[] = {
	{ "cgroupfs, burstable", "0::/kubepods/burstable/pod" UID "/4c55\n", UID },
	{ "cgroupfs, guaranteed", "0::/kubepods/pod" UID "/4c55\n", UID },
	{ "cgroupfs, the pod itself", "0::/kubepods/besteffort/pod" UID "\n", UID },
	{ "systemd, burstable",
	  "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	  ".slice/cri-containerd-4c55.scope\n",
	  UID },
	{ "systemd, guaranteed", "0::/kubepods.slice/kubepods-pod" UID_ ".slice/x.scope\n", UID },
	{ "systemd, below a root of the kubelet's own",
	  "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_ ".slice/x\n", UID },
	{ "seen from another pod's cgroup namespace",
	  "0::/../../kubepods-burstable-pod" UID_ ".slice/cri-containerd-4c55.scope\n", UID },
	{ "a static pod's hash", "0::/kubepods/burstable/pod" STATIC "/4c55\n", STATIC },
	{ "a static pod's hash, systemd", "0::/kubepods-burstable-pod" STATIC ".slice/x\n",
	  STATIC },
	{ "version 1, several lines",
	  "12:cpu,cpuacct:/kubepods/burstable/pod" UID "/4c55\n1:name=systemd:/kubepods/"
	  "burstable/pod" UID "/4c55\n0::/\n",
	  UID },
	{ "a cgroup below the container's", "0::/kubepods/pod" UID "/4c55/emulator\n", UID },
	{ "of a pod in a pod the inner one", "0::/kubepods/pod" STATIC "/x/kubepods/pod" UID "/y\n",
	  UID },
	{ "no newline at the end", "0::/kubepods/pod" UID, UID },
	{ "a service of the node", "0::/system.slice/containerd.service\n", NULL },
	{ "nothing", "", NULL },
	{ "a user's folder named alike", "0::/user.slice/podman-123.scope/podium\n", NULL },
	{ "a uid one digit short", "0::/kubepods/pod0f8fad5b-d9cb-469f-a165-70867728950/x\n",
	  NULL },
	{ "a uid one digit long", "0::/kubepods/pod" UID "0/x\n", NULL },
	{ "a uid without its dashes in place",
	  "0::/kubepods/pod0f8fad5bd-9cb-469f-a165-70867728950e/x\n", NULL },
	{ "a uid of other letters", "0::/kubepods/pod0f8fad5b-d9cb-469f-a165-70867728950g/x\n",
	  NULL },
	{ "underscores outside of a slice", "0::/kubepods/pod" UID_ "/x\n", NULL },
	{ "a slice that ends early", "0::/kubepods-pod.slice/x\n", NULL },
};

static void uid_matches_table(void **state)
{
	const struct uid_case *c = *state;
	char uid[POD_UID_SIZE] = "untouched";
	bool found = pod_find_uid(c->text, strlen(c->text), uid);

	assert_int_equal(found, c->uid != NULL);
	assert_string_equal(uid, c->uid ? c->uid : "untouched");
}

#define CGROUP    "7/cgroup=0::/kubepods/burstable/pod" UID "/4c55\n"
#define LOG(name) "1/root/var/log/pods/" name "/"

static struct name_case {
	const char *name;
	const char *entries[8];
	const char *pod; /* NULL: none */
} names[] = {
	{ "the folder of the pod's logs names it",
	  { CGROUP, LOG("kube-system_coredns-1_" STATIC), LOG("default_vm-1_" UID) },
	  "default/vm-1" },
	{ "a pod whose logs are not there", { CGROUP, LOG("default_vm-2_" STATIC) }, UID },
	{ "a root that cannot be seen", { CGROUP }, UID },
	{ "folders of another form",
	  { CGROUP, LOG(UID), LOG("_" UID), LOG("default_" UID), LOG("default__" UID),
	    LOG("_vm-1_" UID), LOG("default_v m_" UID) },
	  UID },
	{ "a process of the node",
	  { "7/cgroup=0::/init.scope\n", LOG("default_vm-1_" UID) },
	  NULL },
	{ "a process that is gone", { LOG("default_vm-1_" UID) }, NULL },
};

static void name_matches_table(void **state)
{
	const struct name_case *c = suite_row(state);
	auto_free char *pod = NULL;
	struct tree *tree = *state;

	tree_make(tree, c->entries);
	pod = pod_of_process(tree->fd, "7");
	if (c->pod) {
		assert_non_null(pod);
		assert_string_equal(pod, c->pod);
	} else {
		assert_null(pod);
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, uids, uid_matches_table);
	suite_fixture(&suite, &tree_fixture);
	suite_rows(&suite, names, name_matches_table);
	return suite_run(&suite, "pod");
}
