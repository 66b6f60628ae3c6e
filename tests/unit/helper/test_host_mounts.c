/* host_mounts: which changes of process 1's mounts a scan could show. */
#include "agent/helper/scan/host_mounts.h"

#include <stdio.h>
#include <string.h>

#include "agent/helper/scan/mounts.h"
#include "unit/suite.h"

#define LINE(device, root, point, tail) \
	"36 35 " device " " root " " point " rw shared:1 - " tail "\n"

/* A node: its root on one disk, its boot partition, and what the kernel mounts. */
#define ROOT LINE("8:2", "/", "/", "ext4 /dev/sda2 rw")
#define NODE                                                                                    \
	ROOT LINE("8:1", "/", "/boot/efi", "vfat /dev/sda1 rw")                                 \
		LINE("0:5", "/", "/dev", "devtmpfs udev rw,size=1g") LINE("0:22", "/", "/proc", \
									  "proc proc rw")       \
			LINE("0:25", "/", "/run", "tmpfs tmpfs rw,size=200m")                   \
				LINE("0:26", "/netns", "/run/netns", "tmpfs tmpfs rw,size=200m")
#define PODS "/var/lib/kubelet/pods/9d1c"
#define TASK "/run/containerd/io.containerd.runtime.v2.task/k8s.io/9d1c/rootfs"
#define DATA LINE("8:17", "/", "/mnt/data", "xfs /dev/sdb1 rw")
#define ROW(what, old, new)    \
	{                      \
		what, old, new \
	}

/* clang-format off */
static struct change_case {
	const char *name;
	const char *before;
	const char *after;
} quiet[] = {
	ROW("quiet: a container's root", NODE,
	    NODE LINE("0:70", "/", TASK, "overlay overlay rw,lowerdir=/var/lib/containerd/1/fs,upperdir=/a,workdir=/b")),
	ROW("quiet: a pod's shared memory", NODE,
	    NODE LINE("0:71", "/", "/run/containerd/io.containerd.grpc.v1.cri/sandboxes/9d1c/shm", "tmpfs shm rw,size=64m")),
	ROW("quiet: a pod's network namespace", NODE,
	    NODE LINE("0:4", "net:[4026532285]", "/run/netns/cni-9d1c", "nsfs nsfs rw")),
	ROW("quiet: a pod's token", NODE,
	    NODE LINE("0:72", "/", PODS "/volumes/kubernetes.io~projected/token", "tmpfs tmpfs rw,size=100m")),
	ROW("quiet: one file of a pod's secret", NODE,
	    NODE LINE("0:72", "/..2026_11_28_05_00_00.1/key", PODS "/volume-subpaths/s/c/0", "tmpfs tmpfs rw,size=100m")),
	ROW("quiet: a folder deep in a filesystem in memory", NODE,
	    NODE LINE("0:25", "/kata/shared/sandboxes/1", "/run/kata/shared/1", "tmpfs tmpfs rw,size=200m")),
	ROW("quiet: a container's proc, sysfs, queues, terminals and control groups", NODE,
	    NODE LINE("0:73", "/", TASK "/proc", "proc proc rw") LINE("0:74", "/", TASK "/sys", "sysfs sysfs ro")
	    LINE("0:75", "/", TASK "/dev/mqueue", "mqueue mqueue rw") LINE("0:76", "/", TASK "/dev/pts", "devpts devpts rw")
	    LINE("0:77", "/", TASK "/sys/fs/cgroup", "cgroup2 cgroup rw")),
	ROW("quiet: a file of the root disk once more", NODE,
	    NODE LINE("8:2", "/var/log/pods", PODS "/volume-subpaths/logs/c/0", "ext4 /dev/sda2 rw")),
	ROW("quiet: a folder of the root disk as a container's root", NODE,
	    NODE LINE("8:2", "/var/lib/containerd/native/7", TASK, "ext4 /dev/sda2 rw")),
	ROW("quiet: a volume once more at a later name", NODE DATA,
	    NODE DATA LINE("8:17", "/sub", PODS "/volumes/kubernetes.io~local-volume/pv", "xfs /dev/sdb1 rw")),
	ROW("quiet: a volume from a server", NODE,
	    NODE LINE("0:80", "/", PODS "/volumes/kubernetes.io~nfs/v", "nfs4 10.0.0.9:/v rw,addr=10.0.0.9")),
	ROW("quiet: a volume of a program", NODE,
	    NODE LINE("0:81", "/", PODS "/volumes/kubernetes.io~csi/v/mount", "fuse.juicefs JuiceFS:v rw,user_id=0")),
	ROW("quiet: another dataset of a pool that is there", NODE LINE("0:90", "/", "/tank", "zfs tank rw"),
	    NODE LINE("0:90", "/", "/tank", "zfs tank rw") LINE("0:91", "/", TASK, "zfs tank/containerd/7 rw")),
	ROW("quiet: the same in another order", ROOT DATA LINE("8:33", "/", "/mnt/c", "xfs /dev/sdc1 rw"),
	    LINE("8:33", "/", "/mnt/c", "xfs /dev/sdc1 rw") DATA ROOT),
	ROW("quiet: a subvolume of a btrfs that is there", NODE LINE("0:60", "/@", "/mnt/b", "btrfs /dev/sdb rw"),
	    NODE LINE("0:60", "/@", "/mnt/b", "btrfs /dev/sdb rw") LINE("0:60", "/@/7", PODS "/b", "btrfs /dev/sdb rw")),
}, loud[] = {
	ROW("a disk is mounted", NODE, NODE DATA),
	ROW("a disk is mounted read-only now", NODE DATA, NODE LINE("8:17", "/", "/mnt/data", "xfs /dev/sdb1 ro")),
	ROW("a disk is mounted elsewhere", NODE DATA, NODE LINE("8:17", "/", "/mnt/other", "xfs /dev/sdb1 rw")),
	ROW("a disk is mounted once more, at the name that a scan names", NODE DATA,
	    NODE DATA LINE("8:17", "/", "/data", "xfs /dev/sdb1 rw")),
	ROW("another disk has its place", NODE DATA, NODE LINE("8:33", "/", "/mnt/data", "xfs /dev/sdc1 rw")),
	ROW("a volume is mounted for a pod", NODE,
	    NODE LINE("8:32", "/", "/var/lib/kubelet/plugins/kubernetes.io/csi/x/globalmount", "ext4 /dev/sdc rw")),
	ROW("a btrfs, whose number names no disk", NODE, NODE LINE("0:60", "/", "/mnt/b", "btrfs /dev/sdb rw")),
	ROW("a volume of device mapper", NODE, NODE LINE("253:3", "/", "/mnt/v", "xfs /dev/mapper/vg-v rw")),
	ROW("a pool of ZFS", NODE, NODE LINE("0:90", "/", "/tank", "zfs tank rw")),
	ROW("a pool whose name begins like another", NODE LINE("0:90", "/", "/tank", "zfs tank rw"),
	    NODE LINE("0:90", "/", "/tank", "zfs tank rw") LINE("0:91", "/", "/tank2", "zfs tank2 rw")),
	ROW("the node of a disk is mounted on a file", NODE,
	    NODE LINE("0:5", "/sdb", "/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/pv/dev/1", "devtmpfs udev rw,size=1g")),
	ROW("the node of another disk too", NODE LINE("0:5", "/sdb", "/a", "devtmpfs udev rw"),
	    NODE LINE("0:5", "/sdb", "/a", "devtmpfs udev rw") LINE("0:5", "/sdc", "/b", "devtmpfs udev rw")),
	ROW("a node of device mapper, in a container's memory", NODE, NODE LINE("0:99", "/mapper/vg-v", "/a", "tmpfs tmpfs rw")),
	ROW("a disk of a type that nobody knows", NODE, NODE LINE("0:92", "/", "/mnt/n", "newfs thing rw")),
	ROW("a filesystem in memory that names a disk", NODE, NODE LINE("0:93", "/", "/mnt/n", "tmpfs /dev/sdb rw")),
	ROW("a folder served by the machine's host", NODE, NODE LINE("0:94", "/", "/mnt/s", "9p share rw,trans=virtio")),
	ROW("a folder served by virtiofs", NODE, NODE LINE("0:94", "/", "/mnt/s", "virtiofs share rw")),
	ROW("a filesystem in memory over a folder of the node", NODE, NODE LINE("0:95", "/", "/etc", "tmpfs tmpfs rw")),
	ROW("an overlay over a folder of the node", NODE, NODE LINE("0:95", "/", "/var", "overlay overlay rw,lowerdir=/v")),
	ROW("the runtime's folder gets a disk of its own", NODE, NODE LINE("8:17", "/", "/var/lib/containerd", "xfs /dev/sdb1 rw")),
	ROW("a disk that is mounted is part of a folder of the node", NODE DATA,
	    NODE DATA LINE("8:17", "/etcd", "/var/lib/etcd/member", "xfs /dev/sdb1 rw")),
	ROW("a server's folder is part of a folder of the node", NODE,
	    NODE LINE("0:80", "/", "/var/lib/rancher/share", "nfs4 10.0.0.9:/v rw,addr=10.0.0.9")),
	ROW("another server has it", NODE LINE("0:80", "/", "/var/lib/rancher/s", "nfs4 10.0.0.9:/v rw,addr=10.0.0.9"),
	    NODE LINE("0:80", "/", "/var/lib/rancher/s", "nfs4 10.0.0.9:/v rw,addr=10.0.0.8")),
	ROW("the boot partition is unmounted", NODE, ROOT),
	ROW("nothing is mounted", ROOT, ""),
};
/* clang-format on */

static uint64_t sum_of(const char *text)
{
	struct mounts mounts = { 0 };
	uint64_t sum;

	assert_int_equal(mounts_parse(text, strlen(text), &mounts), 0);
	sum = host_mounts_sum(&mounts);
	mounts_done(&mounts);
	return sum;
}

/* There and back. */
static void quiet_changes_leave_it(void **state)
{
	const struct change_case *c = *state;

	assert_true(sum_of(c->before) == sum_of(c->after));
}

static void loud_changes_are_in_it(void **state)
{
	const struct change_case *c = *state;

	assert_true(sum_of(c->before) != sum_of(c->after));
}

/* All that pods bring at once hides no disk. */
static void a_disk_among_pods_is_in_it(void **state)
{
	auto_free char *pods = xstrdup(NODE);
	auto_free char *with_disk = NULL;

	for (size_t i = 0; i < ARRAY_LEN(quiet); i++) {
		char *more = xasprintf("%s%s", pods, quiet[i].after);

		free(pods);
		pods = more;
	}
	with_disk = xasprintf("%s%s", LINE("8:48", "/", "/mnt/d", "ext4 /dev/sdd rw"), pods);
	assert_true(sum_of(pods) != sum_of(with_disk));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, quiet, quiet_changes_leave_it);
	suite_rows(&suite, loud, loud_changes_are_in_it);
	suite_add(&suite, "a disk among the mounts of pods is in the sum",
		  a_disk_among_pods_is_in_it, NULL);
	return suite_run(&suite, "host_mounts");
}
