#include "agent/helper/scan/host_mounts.h"

#include <stdlib.h>
#include <string.h>

#include "agent/helper/scan/mounts.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/sum.h"

/* clang-format off */
const struct host_folder host_folders[HOST_FOLDERS] = {
	{ "/",                   false },
	{ "/boot",               true  },
	{ "/efi",                true  },
	{ "/usr",                false },
	{ "/etc",                false },
	{ "/var",                false },
	{ "/var/lib/kubelet",    false },
	{ "/var/lib/etcd",       true  },
	{ "/var/lib/containerd", true  },
	{ "/var/lib/containers", true  },
	{ "/var/lib/crio",       true  },
	{ "/var/lib/docker",     true  },
	{ "/var/lib/rancher",    true  },
	{ "/var/lib/k0s",        true  },
	{ "/run/containerd",     true  },
	{ "/run/k3s",            true  },
};

/* Filesystems in memory or of the kernel itself: there is no disk behind them. */
static const char *const no_storage[] = {
	"autofs", "binder", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "cpuset",
	"debugfs", "devpts", "devtmpfs", "efivarfs", "functionfs", "fusectl", "hugetlbfs", "mqueue",
	"nfsd", "nsfs", "ocfs2_dlmfs", "pidfs", "proc", "pstore", "ramfs", "resctrl", "rootfs",
	"rpc_pipefs", "securityfs", "selinuxfs", "smackfs", "sysfs", "tmpfs", "tracefs", "xenfs",
};

/* Filesystems of the network, of the hypervisor, or made of folders of other filesystems: on no
 * disk of this machine that is not mounted besides. */
static const char *const no_disk[] = {
	"afs", "aufs", "beegfs", "ceph", "cifs", "coda", "ecryptfs", "hostfs", "lustre", "nfs",
	"nfs4", "orangefs", "overlay", "pvfs2", "shiftfs", "smb3", "smbfs", "vboxsf", "vmhgfs",
};
/* clang-format on */

static bool is_among(const char *const *words, size_t len, const char *word)
{
	for (size_t i = 0; i < len; i++) {
		if (strcmp(words[i], word) == 0)
			return true;
	}
	return false;
}

bool mount_has_no_storage(const struct mount *mount)
{
	return is_among(no_storage, ARRAY_LEN(no_storage), mount->fstype);
}

char *mount_option(const struct mount *mount, const char *key)
{
	const char *at = mount->options;
	size_t len = strlen(key);

	while (at && strncmp(at, key, len) != 0) {
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	return at ? xstrndup(at + len, strcspn(at + len, ",")) : NULL;
}

bool mount_has_no_disk(const struct mount *mount)
{
	auto_free char *transport = NULL;

	if (mount_has_no_storage(mount))
		return true;
	if (strncmp(mount->source, "/dev/", 5) == 0 && strcmp(mount->source, "/dev/fuse") != 0)
		return false;
	if (strcmp(mount->fstype, "fuse") == 0 || strncmp(mount->fstype, "fuse.", 5) == 0)
		return true;
	transport = strcmp(mount->fstype, "9p") == 0 ? mount_option(mount, "trans=") : NULL;
	if (transport)
		return strcmp(transport, "virtio") != 0;
	return is_among(no_disk, ARRAY_LEN(no_disk), mount->fstype);
}

/* --- the checksum ----------------------------------------------------------------------------- */

#define NO_HOST SIZE_MAX

/* A mount that decides about its filesystem. */
struct deciding {
	const struct mount *mount;
	size_t host_rank; /* its place among the mounts of host folders; NO_HOST: it is none */
};

struct decidings {
	struct deciding *items;
	size_t len;
	size_t cap;
};

/* In these each node is another disk's. */
static bool has_nodes(const struct mount *mount)
{
	return strcmp(mount->fstype, "devtmpfs") == 0 || strcmp(mount->fstype, "tmpfs") == 0;
}

/* May what of it is mounted be the node of a disk? The kernel's names of disks have one slash at
 * most ("cciss/c0d0"), as those of device mapper ("mapper/root"). The names of a pod's secrets
 * begin with two dots (AtomicWriter of the kubelet's pkg/volume/util). */
static bool may_be_node(const struct mount *mount)
{
	const char *name = mount->root + (mount->root[0] == '/');
	const char *slash = strchr(name, '/');

	return has_nodes(mount) && name[0] && name[0] != '.' && (!slash || !strchr(slash + 1, '/'));
}

/* More than use_storage.c finds on disks of this machine, as it asks no device. */
static bool may_be_on_disk(const struct mount *mount)
{
	return mount->major != 0 || !mount_has_no_disk(mount) || may_be_node(mount) ||
	       (strncmp(mount->source, "/dev/", 5) == 0 && strcmp(mount->source, "/dev/fuse") != 0);
}

static bool is_zfs(const struct mount *mount)
{
	return strcmp(mount->fstype, "zfs") == 0;
}

/* Inside a host folder, what is on a server counts as well. A ZFS counts by its pool alone. */
static bool counts_inside(const struct mount *mount)
{
	auto_free char *server = NULL;

	if (mount_has_no_storage(mount) || is_zfs(mount))
		return false;
	if (may_be_on_disk(mount))
		return true;
	server = mount_option(mount, "addr=");
	return server != NULL;
}

static bool is_inside_host_folder(const struct mount *mount)
{
	for (size_t i = 0; i < HOST_FOLDERS; i++) {
		if (host_folders[i].below && mounts_path_below(mount->point, host_folders[i].path))
			return true;
	}
	return false;
}

static void add_deciding(struct decidings *decidings, const struct mount *mount, size_t host_rank)
{
	*array_add(decidings) = (struct deciding){ mount, host_rank };
}

static int compare_numbers(unsigned a, unsigned b)
{
	return (a > b) - (a < b);
}

/* All datasets of a ZFS pool are one: the pool decides, whose name ends at the first slash. */
static int compare_pools(const char *a, const char *b)
{
	size_t a_len = strcspn(a, "/");
	size_t b_len = strcspn(b, "/");
	int r = strncmp(a, b, a_len < b_len ? a_len : b_len);

	return r != 0 ? r : (a_len > b_len) - (a_len < b_len);
}

/* 0: they are mounts of the same filesystem, as use_namespaces.c and count_devices() of
 * use_storage.c understand it. */
static int compare_filesystems(const struct mount *a, const struct mount *b)
{
	int r = strcmp(a->fstype, b->fstype);

	if (r == 0 && is_zfs(a))
		return compare_pools(a->source, b->source);
	if (r == 0)
		r = compare_numbers(a->major, b->major);
	if (r == 0)
		r = compare_numbers(a->minor, b->minor);
	if (r == 0)
		r = strcmp(a->source, b->source);
	return r == 0 && has_nodes(a) ? strcmp(a->root, b->root) : r;
}

/* By filesystem, the one that a scan names first. */
static int compare_decidings(const void *a, const void *b)
{
	const struct deciding *left = a;
	const struct deciding *right = b;
	int r = compare_filesystems(left->mount, right->mount);

	if (r == 0)
		r = (left->host_rank > right->host_rank) - (left->host_rank < right->host_rank);
	return r != 0 ? r : strcmp(left->mount->point, right->mount->point);
}

static uint64_t sum_mount(const struct mount *mount)
{
	uint64_t sum = SUM_INIT;

	sum_add_text(&sum, mount->fstype);
	if (is_zfs(mount)) {
		sum_add(&sum, mount->source, strcspn(mount->source, "/"));
		return sum;
	}
	sum_add(&sum, &mount->major, sizeof(mount->major));
	sum_add(&sum, &mount->minor, sizeof(mount->minor));
	sum_add_text(&sum, mount->source);
	sum_add_text(&sum, mount->point);
	sum_add_text(&sum, mount->options);
	if (has_nodes(mount))
		sum_add_text(&sum, mount->root);
	return sum;
}

/* What holds the host folders decides, whatever it is. */
static void add_holders(struct decidings *decidings, const struct mounts *mounts)
{
	for (size_t i = 0; i < HOST_FOLDERS; i++) {
		const struct mount *mount = mounts_backing(mounts, host_folders[i].path);

		if (mount && !is_zfs(mount))
			add_deciding(decidings, mount, i);
	}
}

uint64_t host_mounts_sum(const struct mounts *mounts)
{
	struct decidings decidings = { 0 };
	uint64_t sum = SUM_INIT;

	add_holders(&decidings, mounts);
	for (size_t i = 0; i < mounts->len; i++) {
		const struct mount *mount = &mounts->items[i];

		if (counts_inside(mount) && is_inside_host_folder(mount))
			add_deciding(&decidings, mount, HOST_FOLDERS + i);
		else if (may_be_on_disk(mount))
			add_deciding(&decidings, mount, NO_HOST);
	}
	if (decidings.len > 0)
		qsort(decidings.items, decidings.len, sizeof(decidings.items[0]),
		      compare_decidings);
	/* A sum, as neither which of them is the first nor their order says anything. */
	for (size_t i = 0; i < decidings.len; i++) {
		const struct mount *mount = decidings.items[i].mount;

		if (i == 0 || compare_filesystems(decidings.items[i - 1].mount, mount) != 0)
			sum += sum_mount(mount);
	}
	array_done(&decidings);
	return sum;
}
