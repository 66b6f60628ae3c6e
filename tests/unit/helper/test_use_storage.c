/* What the host's filesystems and swap stand on, from the mounts down to the PCI function. */
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "fake/tree/scan_tree.h"

#define PCI(address) "devices/pci0000:00/" address
#define BLOCK_AT(name, path, number) \
	"sys/" path "/dev=" number "\n", "sys/class/block/" name "->../../" path
#define VIRTUAL(name, number)      BLOCK_AT(name, "devices/virtual/block/" name, number)
#define SLAVE(top, below)          "sys/devices/virtual/block/" top "/slaves/" below "/"
#define MOUNTS(lines)              "proc/1/mountinfo=" lines
#define MOUNT(number, point, rest) "20 1 " number " / " point " rw shared:1 - " rest "\n"
#define SWAPS(lines)               "proc/swaps=Filename Type Size Used Priority\n" lines

#define NVME BLOCK_AT("nvme0n1", PCI("0000:00:1d.0/0000:03:00.0/nvme/nvme0/nvme0n1"), "259:0")
#define NVME_P(n)                                                                              \
	BLOCK_AT("nvme0n1p" n, PCI("0000:00:1d.0/0000:03:00.0/nvme/nvme0/nvme0n1/nvme0n1p" n), \
		 "259:" n)
#define SATA(letter, port)                                                                 \
	BLOCK_AT("sd" letter, PCI("0000:00:17.0/ata" port "/host/target/block/sd" letter), \
		 "8:" port)

#define P9(n, address, tag)                                                                       \
	"sys/bus/virtio/drivers/9pnet_virtio/virtio" n "->../../../../" PCI(address "/virtio" n), \
		"sys/" PCI(address "/virtio" n "/mount_tag=" tag "\n")

#define LOOP(n, file)              \
	VIRTUAL("loop" n, "7:" n), \
		"sys/devices/virtual/block/loop" n "/loop/backing_file=" file "\n"

/* In sectors, as /sys has it. */
#define NVME_SIZE(sectors) \
	"sys/" PCI("0000:00:1d.0/0000:03:00.0/nvme/nvme0/nvme0n1") "/size=" sectors "\n"
#define LOOP_ATTR(n, attribute, number) \
	"sys/devices/virtual/block/loop" n "/" attribute "=" number "\n"

#define VMD_DISK PCI("0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0")
#define RAW      "/var/lib/kubelet/plugins/kubernetes.io~local-volume/volumeDevices/pv1"

#define VF                  "sys/bus/pci/devices/0000:03:00.1/"
#define OF_A_VF(class_code) VF "class=" class_code "\n", VF "physfn->../0000:03:00.0"
#define NVME_ON_DATA        MOUNTS(MOUNT("259:0", "/data", "ext4 /dev/nvme0n1 rw"))

#define USE(pci, reason, detail) \
	"{'kind':'use','pci':'" pci "','reason':'" reason "','detail':'" detail "'}\n"

/* clang-format off */
static struct storage_case {
	const char *name;
	const char *entries[24];
	const char *lines;
} cases[] = {
	{ "a root partition belongs to its disk's controller",
	  { NVME, NVME_P("2"), MOUNTS(MOUNT("259:2", "/", "ext4 /dev/root rw")) },
	  USE("0000:03:00.0", "HostFilesystem", "nvme0n1p2 is mounted at /") },
	{ "a disk behind a VMD needs that, too",
	  { BLOCK_AT("nvme1n1", VMD_DISK "/nvme/nvme1/nvme1n1", "259:0"),
	    "sys/bus/pci/devices/10000:e1:00.0->../../../" VMD_DISK,
	    MOUNTS(MOUNT("259:0", "/", "ext4 /dev/nvme1n1 rw")) },
	  USE("0000:00:0e.0", "HostFilesystem", "nvme1n1 is mounted at /")
	  USE("10000:e1:00.0", "HostFilesystem", "nvme1n1 is mounted at /") },
	{ "a root on LVM on md on two disks needs both",
	  { SATA("a", "1"),
	    BLOCK_AT("sdb", PCI("0000:00:18.0/ata2/host/target/block/sdb"), "8:16"), VIRTUAL("md0", "9:0"), VIRTUAL("dm-0", "253:0"),
	    SLAVE("md0", "sda"), SLAVE("md0", "sdb"), SLAVE("dm-0", "md0"),
	    NVME, MOUNTS(MOUNT("253:0", "/", "xfs /dev/mapper/vg-root rw")) },
	  USE("0000:00:17.0", "HostFilesystem", "dm-0 on sda is mounted at /")
	  USE("0000:00:18.0", "HostFilesystem", "dm-0 on sdb is mounted at /") },
	{ "a root on dm on md on an NVMe partition",
	  { NVME, NVME_P("3"), VIRTUAL("md127", "9:127"), VIRTUAL("dm-1", "253:1"),
	    SLAVE("md127", "nvme0n1p3"), SLAVE("dm-1", "md127"),
	    MOUNTS(MOUNT("253:1", "/", "ext4 /dev/mapper/root rw")) },
	  USE("0000:03:00.0", "HostFilesystem", "dm-1 on nvme0n1p3 is mounted at /") },
	{ "a partition of an array stands on the array's members",
	  { NVME, VIRTUAL("md0", "9:0"), SLAVE("md0", "nvme0n1"),
	    BLOCK_AT("md0p1", "devices/virtual/block/md0/md0p1", "259:9"),
	    MOUNTS(MOUNT("259:9", "/boot", "ext4 /dev/md0p1 rw")) },
	  USE("0000:03:00.0", "HostFilesystem", "md0p1 on nvme0n1 is mounted at /boot") },
	{ "swap on LVM",
	  { NVME, VIRTUAL("dm-2", "253:2"), SLAVE("dm-2", "nvme0n1"),
	    SWAPS("/dev/dm-2 partition 1000 0 -2\n"), MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")) },
	  USE("0000:03:00.0", "HostSwap", "dm-2 on nvme0n1 holds swap") },
	{ "a swap file is on the disk of its filesystem",
	  { NVME, NVME_P("1"), MOUNTS(MOUNT("259:1", "/data", "ext4 /dev/nvme0n1p1 rw")),
	    SWAPS("/data/swap\\040file file 1000 0 -2\n") },
	  USE("0000:03:00.0", "HostSwap", "nvme0n1p1 holds swap")
	  USE("0000:03:00.0", "Mounted", "nvme0n1p1 is mounted at /data") },
	{ "a swap file that has been removed is still on it",
	  { NVME, NVME_P("1"), MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")
				      MOUNT("259:1", "/data", "ext4 /dev/nvme0n1p1 rw")),
	    SWAPS("/data/swap\\040(deleted) file 1000 0 -2\n") },
	  USE("0000:03:00.0", "HostSwap", "nvme0n1p1 holds swap")
	  USE("0000:03:00.0", "Mounted", "nvme0n1p1 is mounted at /data") },
	{ "and so is a partition whose node has been removed",
	  { NVME, NVME_P("1"), MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("0:5", "/dev", "devtmpfs udev rw")),
	    SWAPS("/dev/nvme0n1p1\\040(deleted) partition 1000 0 -2\n") },
	  USE("0000:03:00.0", "HostSwap", "nvme0n1p1 holds swap") },
	{ "a swap area whose name leads to no disk may be on any",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("0:5", "/dev", "devtmpfs udev rw")
			 MOUNT("0:21", "/odd", "fuse.odd odd rw")),
	    SWAPS("/dev/odd partition 1000 0 -2\n/odd/swap file 1000 0 -3\n") },
	  UNKNOWN_STORAGE("Members", "false", "which disk the swap area '/dev/odd' is on cannot be seen")
	  UNKNOWN_STORAGE("Members", "false", "which disk the swap area '/odd/swap' is on cannot be seen") },
	{ "so may one that no mount holds",
	  { NVME, MOUNTS(MOUNT("0:20", "/other", "tmpfs tmpfs rw")), SWAPS("/swap file 1000 0 -2\n") },
	  UNKNOWN_STORAGE("Members", "false", "which disk the swap area '/swap' is on cannot be seen") },
	{ "the node of a device is not on the device",
	  { NVME, SATA("a", "1"), MOUNTS(MOUNT("8:1", "/", "ext4 /dev/sda rw")),
	    SWAPS("/var/lib/my-nvme partition 1000 0 -2\n") },
	  UNKNOWN_STORAGE("Members", "false", "which disk the swap area '/var/lib/my-nvme' is on cannot be seen")
	  USE("0000:00:17.0", "HostFilesystem", "sda is mounted at /") },
	{ "swap on the node of a disk that is mounted elsewhere",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") "21 20 0:5 /nvme0n1 /srv/disk rw - devtmpfs udev rw\n"),
	    SWAPS("/srv/disk partition 1000 0 -2\n") },
	  USE("0000:03:00.0", "HostSwap", "nvme0n1 holds swap")
	  USE("0000:03:00.0", "Mounted", "nvme0n1 is mounted at /srv/disk") },
	{ "compressed swap in memory needs no device",
	  { VIRTUAL("zram0", "251:0"), MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")),
	    SWAPS("/dev/zram0 partition 1000 0 100\n") },
	  "" },
	{ "compressed swap that writes to a disk, and one whose disk's name leads nowhere",
	  { NVME, VIRTUAL("zram0", "251:0"), VIRTUAL("zram1", "251:1"), VIRTUAL("zram2", "251:2"),
	    "sys/devices/virtual/block/zram0/backing_dev=none\n",
	    "sys/devices/virtual/block/zram1/backing_dev=/dev/nvme0n1\n",
	    "sys/devices/virtual/block/zram2/backing_dev=/odd\n",
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")) },
	  UNKNOWN_STORAGE("Members", "false", "which disk '/odd', which has pages of zram2, is cannot be seen")
	  USE("0000:03:00.0", "HostSwap", "nvme0n1 holds pages of a zram") },
	{ "the kubelet's and etcd's own disks are the host's, pods' volumes are only mounted",
	  { NVME, NVME_P("1"), NVME_P("2"), SATA("a", "1"), SATA("c", "3"),
	    MOUNTS(MOUNT("259:1", "/var/lib/kubelet", "ext4 /dev/nvme0n1p1 rw")
		   MOUNT("259:2", "/var/lib/etcd/member", "ext4 /dev/nvme0n1p2 rw")
		   MOUNT("8:1", "/var/lib/kubelet/pods/x/volumes/y", "ext4 /dev/sda rw")) },
	  USE("0000:00:17.0", "Mounted", "sda is mounted at /var/lib/kubelet/pods/x/volumes/y")
	  USE("0000:03:00.0", "HostFilesystem", "nvme0n1p1 is mounted at /var/lib/kubelet")
	  USE("0000:03:00.0", "HostFilesystem", "nvme0n1p2 is mounted at /var/lib/etcd/member") },
	{ "of many mounts of one disk the most important is named, once",
	  { NVME, MOUNTS(MOUNT("259:0", "/a", "ext4 /dev/nvme0n1 rw")
			 MOUNT("259:0", "/boot/efi", "vfat /dev/nvme0n1 rw")
			 MOUNT("259:0", "/", "ext4 /dev/nvme0n1 rw")
			 MOUNT("259:0", "/z", "ext4 /dev/nvme0n1 rw")) },
	  USE("0000:03:00.0", "HostFilesystem", "nvme0n1 is mounted at /") },
	{ "of other mounts the first by name, whatever order they were mounted in",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")
			 MOUNT("259:0", "/srv/b", "ext4 /dev/nvme0n1 rw")
			 MOUNT("259:0", "/srv/a", "ext4 /dev/nvme0n1 rw")) },
	  USE("0000:03:00.0", "Mounted", "nvme0n1 is mounted at /srv/a") },
	{ "a later mount covers an earlier one at the same point",
	  { NVME, SATA("a", "1"), MOUNTS(MOUNT("259:0", "/", "ext4 /dev/nvme0n1 rw")
					 MOUNT("8:1", "/", "ext4 /dev/sda rw")) },
	  USE("0000:00:17.0", "HostFilesystem", "sda is mounted at /")
	  USE("0000:03:00.0", "Mounted", "nvme0n1 is mounted at /") },
	{ "an XFS with its log on another disk needs both, and a container may have named any",
	  { NVME, NVME_P("1"), SATA("a", "1"),
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")
		   MOUNT("8:1", "/srv", "xfs /dev/sda rw,attr2,logdev=/dev/nvme0n1p1,rtdev=/dev/odd/log")) },
	  UNKNOWN_STORAGE("Members", "false", "which disk logdev=/dev/nvme0n1p1 of /srv is cannot be seen")
	  UNKNOWN_STORAGE("Members", "false", "which disk rtdev=/dev/odd/log of /srv is cannot be seen")
	  USE("0000:00:17.0", "Mounted", "sda is mounted at /srv")
	  USE("0000:03:00.0", "Mounted", "nvme0n1p1 is mounted at /srv") },
	{ "so may F2FS, which does not say so",
	  { SATA("a", "1"), MOUNTS(MOUNT("8:1", "/srv", "f2fs /dev/sda rw")) },
	  UNKNOWN_STORAGE("Members", "false", "which further disks the F2FS at /srv is on cannot be seen")
	  USE("0000:00:17.0", "Mounted", "sda is mounted at /srv") },
	{ "an ext4 may have its journal on another disk",
	  { NVME, NVME_P("1"), SATA("a", "1"), "proc/fs/jbd2/nvme0n1p1/", "proc/fs/jbd2/sda1-8/",
	    MOUNTS(MOUNT("8:1", "/srv", "ext4 /dev/sda rw")) },
	  USE("0000:00:17.0", "Mounted", "sda is mounted at /srv")
	  USE("0000:03:00.0", "Mounted", "nvme0n1p1 holds the journal of a file system") },
	{ "bcache has its caches, whether or not they cache a disk",
	  { NVME, NVME_P("1"), SATA("a", "1"), VIRTUAL("bcache0", "251:0"), SLAVE("bcache0", "sda"), "sys/fs/bcache/register=",
	    "sys/fs/bcache/e1/cache0->../../../" PCI("0000:00:1d.0/0000:03:00.0/nvme/nvme0/nvme0n1/nvme0n1p1/bcache"),
	    "sys/fs/bcache/e2/cache0->../../../" PCI("0000:00:17.0/ata1/host/target/block/sda/bcache"),
	    "sys/fs/bcache/e2/bdev0->../../../" PCI("0000:00:17.0/ata1/host/target/block/sda/bcache"),
	    MOUNTS(MOUNT("0:5", "/run/user", "tmpfs tmpfs rw")) },
	  USE("0000:00:17.0", "BlockHolder", "bcache0 on sda is set up")
	  USE("0000:03:00.0", "BlockHolder", "nvme0n1p1 is a cache of bcache") },
	{ "a USB stick as root names the stick and its controller",
	  { BLOCK_AT("sdb", PCI("0000:00:14.0/usb1/1-2/1-2.3/1-2.3:1.0/host6/block/sdb"), "8:16"),
	    MOUNTS(MOUNT("8:16", "/", "ext4 /dev/sdb rw")) },
	  "{'kind':'use','pci':'0000:00:14.0','usb':'1-2.3','reason':'HostFilesystem',"
	  "'detail':'sdb is mounted at /'}\n" },
	{ "a multipath NVMe needs all its controllers",
	  { BLOCK_AT("nvme0n1", "devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1", "259:0"),
	    "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0->"
	    "../../../pci0000:00/0000:04:00.0/nvme/nvme0",
	    "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme1->"
	    "../../../pci0000:00/0000:05:00.0/nvme/nvme1",
	    MOUNTS(MOUNT("259:0", "/", "ext4 /dev/nvme0n1 rw")) },
	  USE("0000:04:00.0", "HostFilesystem", "nvme0n1 is mounted at /")
	  USE("0000:05:00.0", "HostFilesystem", "nvme0n1 is mounted at /") },
	{ "a btrfs has no number of its own, and may have several members",
	  { NVME, SATA("a", "1"), VIRTUAL("dm-0", "253:0"), SLAVE("dm-0", "nvme0n1"),
	    "sys/devices/virtual/block/dm-0/dm/name=luks-root\n",
	    "sys/fs/btrfs/u-u-i-d/devices/dm-0->../../../../class/block/dm-0",
	    "sys/fs/btrfs/u-u-i-d/devices/sda->../../../../class/block/sda",
	    MOUNTS(MOUNT("0:31", "/", "btrfs /dev/mapper/luks-root rw,subvol=/@")) },
	  USE("0000:00:17.0", "HostFilesystem", "sda is mounted at /")
	  USE("0000:03:00.0", "HostFilesystem", "dm-0 on nvme0n1 is mounted at /") },
	{ "a loop device stands on the disk of its file",
	  { NVME, VIRTUAL("loop0", "7:0"),
	    "sys/devices/virtual/block/loop0/loop/backing_file=/data/root.img\n",
	    MOUNTS(MOUNT("7:0", "/", "ext4 /dev/loop0 rw")
		   MOUNT("259:0", "/data", "ext4 /dev/nvme0n1 rw")) },
	  USE("0000:03:00.0", "HostFilesystem", "loop0 on nvme0n1 is mounted at /")
	  USE("0000:03:00.0", "Mounted", "nvme0n1 is mounted at /data") },
	{ "a loop device on a disk stands on the disk",
	  { NVME, LOOP("0", "/dev/nvme0n1"),
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("0:5", "/dev", "devtmpfs udev rw")
		   MOUNT("7:0", "/mnt", "ext4 /dev/loop0 rw")) },
	  USE("0000:03:00.0", "Mounted", "loop0 on nvme0n1 is mounted at /mnt") },
	{ "a partition of a loop device on a partition stands on the latter's disk",
	  { NVME, NVME_P("2"), LOOP("3", "/dev/nvme0n1p2"),
	    BLOCK_AT("loop3p1", "devices/virtual/block/loop3/loop3p1", "259:9"),
	    MOUNTS(MOUNT("259:9", "/", "ext4 /dev/loop3p1 rw")) },
	  USE("0000:03:00.0", "HostFilesystem", "loop3p1 on nvme0n1p2 is mounted at /") },
	{ "a loop device on a loop device on a volume by its mapper's name",
	  { NVME, VIRTUAL("dm-0", "253:0"), SLAVE("dm-0", "nvme0n1"),
	    "sys/devices/virtual/block/dm-0/dm/name=vg-data\n", LOOP("0", "/dev/mapper/vg-data"),
	    LOOP("1", "/dev/loop0"), MOUNTS(MOUNT("7:1", "/", "ext4 /dev/loop1 rw")) },
	  USE("0000:03:00.0", "HostFilesystem", "loop1 on nvme0n1 is mounted at /") },
	{ "a raw volume of a pod: the disk's node is mounted, and has the kubelet's loop device on it",
	  { NVME, SATA("a", "1"), LOOP("0", RAW "/uid"),
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("0:5", "/dev", "devtmpfs udev rw")
		   "20 1 0:5 /sda " RAW "/uid rw shared:1 - devtmpfs udev rw\n"
		   "20 1 0:5 /null /srv/null rw shared:1 - devtmpfs udev rw\n") },
	  USE("0000:00:17.0", "Mounted", "sda is mounted at " RAW "/uid")
	  USE("0000:00:17.0", "BlockHolder", "loop0 on sda is set up") },
	{ "a raw volume whose node in /dev was removed",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")
			 "20 1 0:5 /nvme0n1//deleted /srv/disk rw - devtmpfs udev rw\n") },
	  USE("0000:03:00.0", "Mounted", "nvme0n1 is mounted at /srv/disk") },
	{ "a raw volume of a CSI driver, whose /dev is in memory, with the kubelet's loop device on it",
	  { NVME, LOOP("0", RAW "/dev/uid"),
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") "20 1 0:42 /nvme0n1 " RAW "/dev/uid rw - tmpfs csi rw\n"
		   "20 1 0:42 /nothing /srv/x rw - tmpfs csi rw\n") },
	  USE("0000:03:00.0", "Mounted", "nvme0n1 is mounted at " RAW "/dev/uid")
	  USE("0000:03:00.0", "BlockHolder", "loop0 on nvme0n1 is set up") },
	{ "a raw volume of a CSI driver whose /dev has another disk by that name",
	  { NVME, NVME_SIZE("4096"), SATA("a", "1"), LOOP("0", RAW "/dev/uid"), LOOP_ATTR("0", "size", "4096"),
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") "20 1 0:42 /sda " RAW "/dev/uid rw - tmpfs csi rw\n") },
	  USE("0000:00:17.0", "Mounted", "sda is mounted at " RAW "/dev/uid")
	  USE("0000:00:17.0", "BlockHolder", "loop0 on sda is set up")
	  USE("0000:03:00.0", "Unknown", "nvme0n1 has the size of loop0, whose file '/var/lib/kubelet/plugins/"
	      "kubernetes.io~local-volume/volumeDevice' may be a node of it") },
	{ "a loop device on a node that is not the one in /dev has the size of its disk",
	  { NVME, NVME_SIZE("4096"), SATA("a", "1"), LOOP("0", "/var/n1"), LOOP_ATTR("0", "size", "4096"),
	    MOUNTS(MOUNT("8:1", "/", "ext4 /dev/sda rw")) },
	  USE("0000:00:17.0", "HostFilesystem", "sda is mounted at /")
	  USE("0000:03:00.0", "Unknown", "nvme0n1 has the size of loop0, whose file '/var/n1' may be a node of it") },
	{ "less its offset",
	  { NVME, NVME_SIZE("4096"), LOOP("0", "/var/n1"), LOOP_ATTR("0", "size", "4093"),
	    LOOP_ATTR("0", "loop/offset", "1025"), LOOP_ATTR("0", "loop/sizelimit", "0"),
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")) },
	  USE("0000:03:00.0", "Unknown", "nvme0n1 has the size of loop0, whose file '/var/n1' may be a node of it") },
	{ "or less, with a limit",
	  { NVME, NVME_SIZE("4096"), LOOP("0", "/var/n1"), LOOP_ATTR("0", "size", "2"),
	    LOOP_ATTR("0", "loop/offset", "512"), LOOP_ATTR("0", "loop/sizelimit", "1024"),
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")) },
	  USE("0000:03:00.0", "Unknown", "nvme0n1 has the size of loop0, whose file '/var/n1' may be a node of it") },
	{ "an image has another size; nothing is on a disk without a medium, or beyond its end",
	  { NVME, NVME_SIZE("4096"), LOOP("0", "/var/a"), LOOP_ATTR("0", "size", "4095"), LOOP("1", "/var/b"),
	    LOOP_ATTR("1", "size", "1"), LOOP_ATTR("1", "loop/offset", "2097152"), LOOP_ATTR("1", "loop/sizelimit", "512"),
	    SATA("a", "1"), "sys/" PCI("0000:00:17.0/ata1/host/target/block/sda") "/size=0\n",
	    LOOP("2", "/var/c"), LOOP_ATTR("2", "size", "0"), MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")) },
	  "" },
	{ "a disk that is used otherwise, and one whose node in /dev the loop device has, are no riddle",
	  { NVME, NVME_SIZE("8"), SATA("a", "1"), "sys/" PCI("0000:00:17.0/ata1/host/target/block/sda") "/size=8\n",
	    LOOP("0", "/var/n1"), LOOP_ATTR("0", "size", "8"), LOOP("1", "/dev/nvme0n1"), LOOP_ATTR("1", "size", "8"),
	    MOUNTS(MOUNT("8:1", "/", "ext4 /dev/sda rw")) },
	  USE("0000:00:17.0", "HostFilesystem", "sda is mounted at /")
	  USE("0000:03:00.0", "BlockHolder", "loop1 on nvme0n1 is set up") },
	{ "a disk by that name in /dev that has another size may be a container's",
	  { NVME, NVME_SIZE("4096"), SATA("a", "1"), "sys/" PCI("0000:00:17.0/ata1/host/target/block/sda") "/size=64\n", LOOP("0", "/dev/sda"),
	    LOOP_ATTR("0", "size", "4096"), MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("0:5", "/dev", "devtmpfs udev rw")) },
	  USE("0000:00:17.0", "BlockHolder", "loop0 on sda is set up")
	  USE("0000:03:00.0", "Unknown", "nvme0n1 has the size of loop0, whose file '/dev/sda' may be a node of it") },
	{ "a disk that is too small for its swap may be another one",
	  { SATA("a", "1"), "sys/" PCI("0000:00:17.0/ata1/host/target/block/sda") "/size=64\n", MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")),
	    SWAPS("/dev/sda partition 33 0 -2\n") },
	  UNKNOWN_STORAGE("Members", "false", "which disk the swap area '/dev/sda' is on cannot be seen")
	  USE("0000:00:17.0", "HostSwap", "sda holds swap") },
	{ "one that is as large as its swap is not",
	  { SATA("a", "1"), "sys/" PCI("0000:00:17.0/ata1/host/target/block/sda") "/size=64\n", MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")),
	    SWAPS("/dev/sda partition 32 0 -2\n") },
	  USE("0000:00:17.0", "HostSwap", "sda holds swap") },
	{ "so may one of the same size",
	  { NVME, NVME_SIZE("8"), SATA("a", "1"), "sys/" PCI("0000:00:17.0/ata1/host/target/block/sda") "/size=8\n",
	    LOOP("0", "/dev/nvme0n1"), LOOP_ATTR("0", "size", "8"), MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")) },
	  USE("0000:00:17.0", "Unknown", "sda has the size of loop0, whose file '/dev/nvme0n1' may be a node of it")
	  USE("0000:03:00.0", "BlockHolder", "loop0 on nvme0n1 is set up") },
	{ "but not if a node of the host is mounted on the file",
	  { NVME, NVME_SIZE("8"), SATA("a", "1"), "sys/" PCI("0000:00:17.0/ata1/host/target/block/sda") "/size=8\n",
	    LOOP("0", RAW "/uid"), LOOP_ATTR("0", "size", "8"),
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") "21 20 0:5 /nvme0n1 " RAW "/uid rw - devtmpfs udev rw\n") },
	  USE("0000:03:00.0", "Mounted", "nvme0n1 is mounted at " RAW "/uid")
	  USE("0000:03:00.0", "BlockHolder", "loop0 on nvme0n1 is set up") },
	{ "a loop device that nobody has mounted still holds its disk, not that of a file",
	  { NVME, SATA("a", "1"), LOOP("0", "/dev/nvme0n1"), LOOP("1", "/data/image"),
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("8:1", "/data", "xfs /dev/sda rw")) },
	  USE("0000:00:17.0", "Mounted", "sda is mounted at /data")
	  USE("0000:03:00.0", "BlockHolder", "loop0 on nvme0n1 is set up") },
	{ "a ring of slaves comes to an end",
	  { NVME, VIRTUAL("dm-0", "253:0"), VIRTUAL("dm-1", "253:1"), SLAVE("dm-0", "dm-1"),
	    SLAVE("dm-1", "dm-0"), SLAVE("dm-1", "nvme0n1"),
	    MOUNTS(MOUNT("253:0", "/", "ext4 /dev/dm-0 rw")) },
	  USE("0000:03:00.0", "HostFilesystem", "dm-0 on nvme0n1 is mounted at /") },
	{ "a volume that nobody has mounted still holds its disk",
	  { NVME, VIRTUAL("dm-5", "253:5"), SLAVE("dm-5", "nvme0n1"),
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")) },
	  USE("0000:03:00.0", "BlockHolder", "dm-5 on nvme0n1 is set up") },
	{ "a 9p root is served by the virtio device with its tag",
	  { P9("3", "0000:00:06.0", "other"), P9("4", "0000:00:07.0", "rootfs"),
	    MOUNTS(MOUNT("0:20", "/", "9p rootfs rw,trans=virtio")) },
	  USE("0000:00:07.0", "HostFilesystem", "9p 'rootfs' is mounted at /") },
	{ "a mounted 9p is in use",
	  { P9("3", "0000:00:06.0", "data"), P9("4", "0000:00:07.0", "idle"),
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("0:21", "/mnt", "9p data rw")) },
	  USE("0000:00:06.0", "Mounted", "9p 'data' is mounted at /mnt") },
	{ "a root whose layers are out of sight may be on a 9p that nothing else explains",
	  { P9("3", "0000:00:06.0", "data"), P9("4", "0000:00:07.0", "rootfs"),
	    MOUNTS(MOUNT("0:20", "/", "overlay root rw,lowerdir=/host,upperdir=/rw/upper")
		   MOUNT("0:21", "/mnt", "9p data rw")) },
	  USE("0000:00:06.0", "Mounted", "9p 'data' is mounted at /mnt")
	  USE("0000:00:07.0", "HostFilesystem",
	      "9p 'rootfs' may hold layers of /, which cannot be seen") },
	{ "a disk that is mounted in another namespace is in use",
	  { NVME, NVME_P("1"), SATA("a", "1"), "sys/fs/ext4/features/", "sys/fs/ext4/nvme0n1p1/",
	    "sys/fs/xfs/sda/", "sys/fs/xfs/stats/",
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("8:1", "/srv", "xfs /dev/sda rw")) },
	  USE("0000:00:17.0", "Mounted", "sda is mounted at /srv")
	  USE("0000:03:00.0", "Mounted", "nvme0n1p1 is mounted out of sight") },
	{ "an XFS that is mounted out of sight may be on further disks",
	  { NVME, SATA("a", "1"), "sys/fs/xfs/sda/", MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")) },
	  UNKNOWN_STORAGE("Members", "false", "sda is mounted out of sight, and which further disks its file system is on "
			  "cannot be seen")
	  USE("0000:00:17.0", "Mounted", "sda is mounted out of sight") },
	{ "so may an F2FS and an EROFS; an ext4 has its journal's disk in a list",
	  { NVME, SATA("a", "1"), SATA("b", "2"), "sys/fs/f2fs/sda/", "sys/fs/erofs/sdb/", "sys/fs/ext4/nvme0n1/",
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")) },
	  UNKNOWN_STORAGE("Members", "false", "sda is mounted out of sight, and which further disks its file system is on "
			  "cannot be seen")
	  UNKNOWN_STORAGE("Members", "false", "sdb is mounted out of sight, and which further disks its file system is on "
			  "cannot be seen")
	  USE("0000:00:17.0", "Mounted", "sda is mounted out of sight")
	  USE("0000:00:17.0", "Mounted", "sdb is mounted out of sight")
	  USE("0000:03:00.0", "Mounted", "nvme0n1 is mounted out of sight") },
	{ "a node of its disk on a file is no mount of it",
	  { SATA("a", "1"), "sys/fs/xfs/sda/",
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") "21 20 0:5 /sda /srv/disk rw - devtmpfs udev rw\n") },
	  UNKNOWN_STORAGE("Members", "false", "sda is mounted out of sight, and which further disks its file system is on "
			  "cannot be seen")
	  USE("0000:00:17.0", "Mounted", "sda is mounted at /srv/disk") },
	{ "names in another mount namespace are no names of this one",
	  { NVME, SATA("a", "1"), SATA("b", "2"), MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")),
	    "proc/77/mountinfo=90 1 0:30 / / rw - overlay overlay rw\n"
	    "91 90 8:1 / /x rw - xfs /dev/sdq rw,logdev=/dev/sdb\n"
	    "92 90 0:44 / /b rw - bcachefs /dev/sdb rw\n" },
	  UNKNOWN_STORAGE("Members", "false", "no disk is known to hold '/b' in another mount namespace (bcachefs '/dev/sdb'): "
			  "unmount it if it is not needed")
	  UNKNOWN_STORAGE("Members", "false", "which disk logdev=/dev/sdb of /x is cannot be seen")
	  USE("0000:00:17.0", "Mounted", "sda is mounted at /x in another mount namespace") },
	{ "a disk on a function of an odd class",
	  { NVME, "sys/bus/pci/devices/0000:03:00.0/class=0xff0000\n", SATA("a", "1"),
	    "sys/bus/pci/devices/0000:00:17.0/class=0x010601\n",
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("0:21", "/odd", "odd odd rw")) },
	  UNKNOWN_STORAGE("Members", "false", "no disk is known to hold '/odd' (odd 'odd'): unmount it if it is not needed")
	  USE("0000:03:00.0", "Unknown", "nvme0n1 is on it, and no disk is known to hold '/odd' (odd 'odd'): unmount it if "
	      "it is not needed") },
	{ "a JFS does not say where its journal is, a ReiserFS does",
	  { NVME, SATA("a", "1"), SATA("b", "2"),
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("8:1", "/srv", "jfs /dev/sda rw")
		   MOUNT("8:2", "/old", "reiserfs /dev/sdb rw,jdev=/dev/nvme0n1")) },
	  UNKNOWN_STORAGE("Members", "false", "which disk jdev=/dev/nvme0n1 of /old is cannot be seen")
	  UNKNOWN_STORAGE("Members", "false", "which further disks the JFS at /srv is on cannot be seen")
	  USE("0000:00:17.0", "Mounted", "sda is mounted at /srv")
	  USE("0000:00:17.0", "Mounted", "sdb is mounted at /old")
	  USE("0000:03:00.0", "Mounted", "nvme0n1 is mounted at /old") },
	{ "flash memory that is a disk",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")), "sys/module/block2mtd/", "sys/class/mtd/mtd0/" },
	  UNKNOWN_STORAGE("Members", "false", "which disks the module block2mtd holds is not looked up") },
	{ "flash memory that is none, and the module alone",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")), "sys/class/mtd/mtd0/" }, "" },
	{ "the module without flash memory",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")), "sys/module/block2mtd/", "sys/class/mtd/" }, "" },
	{ "mounts of two containers, one of which has two processes, are in use",
	  { NVME, SATA("a", "1"), MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")),
	    "proc/77/mountinfo=90 1 0:30 / / rw - overlay overlay rw\n"
	    "91 90 259:0 / /run/m rw - minix /dev/nvme0n1 rw\n",
	    "proc/78/mountinfo=90 1 0:30 / / rw - overlay overlay rw\n"
	    "91 90 259:0 / /run/m rw - minix /dev/nvme0n1 rw\n",
	    "proc/79/mountinfo=95 1 0:31 / / rw - overlay overlay rw\n"
	    "96 95 8:1 / /data rw - vfat /dev/sda rw\n" },
	  USE("0000:00:17.0", "Mounted", "sda is mounted at /data in another mount namespace")
	  USE("0000:03:00.0", "Mounted", "nvme0n1 is mounted at /run/m in another mount namespace") },
	{ "what process 1 has mounted is reported once",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("259:0", "/srv", "vfat /dev/nvme0n1 rw")),
	    "proc/77/mountinfo=90 1 259:0 /a / rw - vfat /dev/nvme0n1 rw\n" },
	  USE("0000:03:00.0", "Mounted", "nvme0n1 is mounted at /srv") },
	{ "a node of a disk that is mounted into a container",
	  { NVME, SATA("a", "1"), MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("0:6", "/dev", "devtmpfs udev rw")),
	    "proc/77/mountinfo=90 1 0:30 / / rw - overlay overlay rw\n"
	    "91 90 0:6 / /dev rw - devtmpfs udev rw\n92 90 0:6 /null /dev/null rw - devtmpfs udev rw\n"
	    "93 90 0:6 /sda /disk rw - devtmpfs udev rw\n" },
	  USE("0000:00:17.0", "Mounted", "sda is mounted at /disk in another mount namespace") },
	{ "a mount of a container whose disk cannot be found may be on any",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")),
	    "proc/77/mountinfo=90 1 0:40 / /data rw - oddfs odd rw\n" },
	  UNKNOWN_STORAGE("Members", "false", "no disk is known to hold '/data' in another mount namespace (oddfs 'odd'): "
			  "unmount it if it is not needed") },
	{ "mounts of a container that cannot be read",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")),
	    "proc/77/mountinfo=90 1 0:30 / / rw - overlay overlay rw\n91 what\n" },
	  UNKNOWN_BOTH("Mounts", "true", "1 line of the mountinfo of another mount namespace has another form than expected") },
	{ "mounts of a process that cannot be opened",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")), "proc/77/mountinfo->mountinfo" },
	  UNKNOWN_BOTH("Mounts", "true", "the mounts of process 77 cannot be read: Too many levels of symbolic links") },
	{ "a process that has ended, and one in a root without mounts",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")), "proc/77/stat=", "proc/78/mountinfo=" },
	  "" },
	{ "a file system that holds its module and is not to be seen",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")), "sys/module/minix/refcnt=1\n" },
	  UNKNOWN_STORAGE("Members", "false", "a file system of type minix is mounted where it cannot be seen, and so on an "
			  "unknown disk") },
	{ "one whose type has another name than its module",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")), "sys/module/freevxfs/refcnt=1\n" },
	  UNKNOWN_STORAGE("Members", "false", "a file system of type vxfs is mounted where it cannot be seen, and so on an "
			  "unknown disk") },
	{ "one of three is not to be seen",
	  { NVME, NVME_P("1"), SATA("a", "1"),
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("259:1", "/srv", "vfat /dev/nvme0n1p1 rw")
		   MOUNT("259:1", "/srv2", "vfat /dev/nvme0n1p1 rw")),
	    "proc/77/mountinfo=90 1 8:1 / / rw - vfat /dev/sda rw\n91 90 8:1 /a /a rw - vfat /dev/sda rw\n",
	    "sys/module/vfat/refcnt=3\n" },
	UNKNOWN_STORAGE("Members", "false", "a file system of type vfat is mounted where it cannot be seen, and so on an "
			  "unknown disk")
	  USE("0000:00:17.0", "Mounted", "sda is mounted at / in another mount namespace")
	  USE("0000:03:00.0", "Mounted", "nvme0n1p1 is mounted at /srv") },
	{ "all that hold their module are to be seen, or are modules",
	  { NVME, SATA("a", "1"),
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("8:1", "/srv", "iso9660 /dev/sda rw")),
	    "sys/module/isofs/refcnt=2\n", "sys/module/isofs/holders/zisofs/", "sys/module/minix/refcnt=0\n" },
	  USE("0000:00:17.0", "Mounted", "sda is mounted at /srv") },
	{ "a virtiofs root",
	  { "sys/bus/virtio/drivers/virtiofs/virtio2->../../../../" PCI("0000:00:05.0/virtio2"),
	    "sys/" PCI("0000:00:05.0/"),
	    MOUNTS(MOUNT("0:20", "/", "virtiofs myfs rw")) },
	  USE("0000:00:05.0", "HostFilesystem", "virtiofs 'myfs' is mounted at /") },
	{ "an NFS root needs the interface that leads to its server",
	  { "sys/" PCI("0000:00:1f.6/net/eno1/flags=0x1003\n"),
	    "sys/class/net/eno1->../../" PCI("0000:00:1f.6/net/eno1"),
	    "proc/1/net/route=eno1 0000A8C0 00000000 0001 0 0 0 0000FFFF\n",
	    MOUNTS(MOUNT("0:20", "/", "nfs4 srv:/root rw,vers=4.2,addr=192.168.0.9,port=0")) },
	  USE("0000:00:1f.6", "HostFilesystem",
	      "eno1 leads to 192.168.0.9, from where nfs4 'srv:/root' is mounted at /")
	  USE("0000:00:1f.6", "InterfaceUp", "eno1 is up and has an address") },
	{ "an iSCSI root needs the interface that leads to its portal",
	  { BLOCK_AT("sda", "devices/platform/host2/session1/target2:0:0/2:0:0:0/block/sda", "8:0"),
	    "sys/class/iscsi_connection/connection1:0/address=192.168.0.7\n",
	    "sys/" PCI("0000:00:1f.6/net/eno1/flags=0x1002\n"),
	    "sys/class/net/eno1->../../" PCI("0000:00:1f.6/net/eno1"),
	    "proc/1/net/route=eno1 0000A8C0 00000000 0001 0 0 0 0000FFFF\n",
	    MOUNTS(MOUNT("8:0", "/", "ext4 /dev/sda rw")) },
	  USE("0000:00:1f.6", "HostFilesystem",
	      "eno1 leads to 192.168.0.7, from where sda is mounted at /") },
	{ "a root on ZFS may be on any disk",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "zfs rpool/ROOT rw")) },
	  UNKNOWN_STORAGE("Members", "false", "which disks the ZFS pool 'rpool' is on cannot be seen") },
	{ "so may a pool for data, which is named once",
	  { NVME, MOUNTS(MOUNT("259:0", "/", "ext4 /dev/nvme0n1 rw") MOUNT("0:21", "/a", "zfs tank/a rw")
			 MOUNT("0:22", "/b", "zfs tank/b rw")), "proc/spl/kstat/zfs/tank/txgs=",
	    "proc/spl/kstat/zfs/arcstats=" },
	  UNKNOWN_STORAGE("Members", "false", "which disks the ZFS pool 'tank' is on cannot be seen")
	  USE("0000:03:00.0", "HostFilesystem", "nvme0n1 is mounted at /") },
	{ "and one that nothing of is mounted",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")), "proc/spl/kstat/zfs/tank/txgs=" },
	  UNKNOWN_STORAGE("Members", "false", "which disks the ZFS pool 'tank' is on cannot be seen") },
	{ "pools that cannot be listed may be on any disk",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")), "proc/spl/kstat/zfs->zfs" },
	  UNKNOWN_STORAGE("Members", "false", "ZFS pools cannot be listed: Too many levels of symbolic links") },
	{ "ZFS without a pool holds nothing",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")), "proc/spl/kstat/zfs/arcstats=" },
	  "" },
	{ "a replicated disk does not show what it is on, mounted or not",
	  { NVME, VIRTUAL("drbd0", "147:0"), VIRTUAL("drbd1", "147:1"),
	    BLOCK_AT("drbd0p1", "devices/virtual/block/drbd0/drbd0p1", "147:9"),
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("147:9", "/data", "ext4 /dev/drbd0p1 rw")) },
	  UNKNOWN_STORAGE("Members", "false", "nothing in /sys says which disks drbd0 is on")
	  UNKNOWN_STORAGE("Members", "false", "nothing in /sys says which disks drbd1 is on") },
	{ "nor does a virtual disk of a kind that is not known",
	  { NVME, VIRTUAL("odd0", "250:0"),
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("250:0", "/data", "ext4 /dev/odd0 rw")) },
	  UNKNOWN_STORAGE("Members", "false", "nothing in /sys says which disks odd0 is on") },
	{ "memory and disks of the network are on no disk of the node",
	  { NVME, VIRTUAL("zram0", "251:0"), VIRTUAL("nbd3", "43:3"), VIRTUAL("rbd1", "252:1"),
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("251:0", "/a", "ext4 /dev/zram0 rw")
		   MOUNT("43:3", "/b", "ext4 /dev/nbd3 rw") MOUNT("252:1", "/c", "ext4 /dev/rbd1 rw")) },
	  "" },
	{ "disks that are exported are not looked up",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")),
	    "sys/kernel/config/target/core/iblock_0/disk/", "sys/kernel/config/target/core/alua/",
	    "sys/kernel/config/target/core/pscsi_1/tape/", "sys/kernel/config/target/core/fileio_2/f/",
	    "sys/kernel/config/target/core/user_3/u/", "sys/kernel/config/target/core/rd_mcp_4/r/",
	    "sys/kernel/config/nvmet/subsystems/nqn.x/" },
	  UNKNOWN_STORAGE("Members", "false", "which disks the NVMe target 'nqn.x' exports is not looked up")
	  UNKNOWN_STORAGE("Members", "false", "which disks the SCSI target 'fileio_2' exports is not looked up")
	  UNKNOWN_STORAGE("Members", "false", "which disks the SCSI target 'iblock_0' exports is not looked up")
	  UNKNOWN_STORAGE("Members", "false", "which disks the SCSI target 'pscsi_1' exports is not looked up")
	  UNKNOWN_STORAGE("Members", "false", "which disks the SCSI target 'user_3' exports is not looked up") },
	{ "disks that are exported cannot be told where configfs is not mounted",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")), "sys/kernel/config/", "sys/module/target_core_mod/",
	    "sys/module/nvmet/" },
	  UNKNOWN_STORAGE("Members", "false", "which disks NVMe targets export cannot be seen: module nvmet is loaded, "
			  "and /sys/kernel/config/nvmet/subsystems is not there")
	  UNKNOWN_STORAGE("Members", "false", "which disks SCSI targets export cannot be seen: module target_core_mod "
			  "is loaded, and /sys/kernel/config/target/core is not there") },
	{ "other servers of disks",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")), "sys/class/rnbd-server/ctl/devices/nvme0n1/",
	    "sys/kernel/scst_tgt/devices/disk01/", "sys/kernel/config/usb_gadget/g1/functions/mass_storage.0/", "sys/kernel/config/usb_gadget/g2/functions/ecm.usb0/" },
	  UNKNOWN_STORAGE("Members", "false", "which disks the RNBD target 'nvme0n1' exports is not looked up")
	  UNKNOWN_STORAGE("Members", "false", "which disks the SCST target 'disk01' exports is not looked up")
	  UNKNOWN_STORAGE("Members", "false", "which disks the USB gadget 'g1' exports is not looked up") },
	{ "without a target the modules export nothing",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")), "sys/kernel/config/target/core/alua/",
	    "sys/kernel/config/nvmet/subsystems/", "sys/module/target_core_mod/", "sys/module/nvmet/" },
	  "" },
	{ "a btrfs that is mounted in another mount namespace",
	  { NVME, "sys/fs/btrfs/u-u-i-d/devices/nvme0n1->../../../../class/block/nvme0n1",
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")) },
	  USE("0000:03:00.0", "Mounted", "nvme0n1 is mounted out of sight") },
	{ "a loop device whose file is named by a path of another mount namespace",
	  { NVME, LOOP("0", "/run/initramfs/live/root.img"),
	    MOUNTS(MOUNT("7:0", "/", "squashfs /dev/loop0 rw")) },
	  UNKNOWN_STORAGE("Members", "false", "loop0 is mounted at /, and its file "
			  "'/run/initramfs/live/root.img' is on no disk that can be seen") },
	{ "a loop device on a file in memory",
	  { NVME, LOOP("0", "/tmp/a.img"),
	    MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("7:0", "/mnt", "ext4 /dev/loop0 rw")) },
	  "" },
	{ "a folder of the node on a filesystem that says nothing of its disks",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "oddfs odd rw")) },
	  UNKNOWN_BOTH("HostFolder", "false", "no device is known to hold '/' (oddfs 'odd')") },
	{ "a filesystem for data whose disk cannot be found may be on any",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("0:40", "/a", "btrfs /dev/root rw")
			 MOUNT("8:99", "/b", "vfat /dev/sdz rw") MOUNT("0:41", "/c", "gpfs /dev/gpfs0 rw")
			 MOUNT("0:42", "/d", "bcachefs UUID=1234 rw") MOUNT("0:43", "/e", "9p tag rw,trans=virtio")
			 MOUNT("0:44", "/f", "virtiofs tag rw") MOUNT("0:45", "/g", "fuse.ntfs-3g /dev/sdy rw")) },
#define LOST(point, what)                                                                                \
	UNKNOWN_STORAGE("Members", "false", "no disk is known to hold '" point "' (" what "): unmount it if it is " \
			"not needed")
	  LOST("/a", "btrfs '/dev/root'") LOST("/b", "vfat '/dev/sdz'") LOST("/c", "gpfs '/dev/gpfs0'")
	  LOST("/d", "bcachefs 'UUID=1234'") LOST("/e", "9p 'tag'") LOST("/f", "virtiofs 'tag'")
	  LOST("/g", "fuse.ntfs-3g '/dev/sdy'") },
	{ "so may a bcachefs of which one member cannot be found; the others are in use",
	  { NVME, SATA("a", "1"), MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw")
			 MOUNT("0:40", "/a", "bcachefs /dev/nvme0n1:/dev/sdz:/dev/sda rw")
			 MOUNT("0:41", "/b", "bcachefs /dev/sda:/dev/nvme0n1 rw")) },
	  LOST("/a", "bcachefs '/dev/nvme0n1:/dev/sdz:/dev/sda'")
	  USE("0000:00:17.0", "Mounted", "sda is mounted at /b")
	  USE("0000:03:00.0", "Mounted", "nvme0n1 is mounted at /a") },
	{ "what is the kernel's, of the network or made of other folders is on no disk of its own",
	  { NVME, MOUNTS(MOUNT("0:20", "/", "tmpfs tmpfs rw") MOUNT("0:4", "/proc", "proc proc rw")
			 MOUNT("0:6", "/sys/fs/cgroup", "cgroup2 cgroup rw") MOUNT("0:7", "/run/netns/x", "nsfs nsfs rw")
			 MOUNT("0:8", "/m", "nfs4 srv:/m rw,addr=192.0.2.1") MOUNT("0:9", "/c", "ceph 192.0.2.1:/ rw")
			 MOUNT("0:10", "/run/o", "overlay overlay rw,lowerdir=/a") MOUNT("0:11", "/x", "fuse.lxcfs lxcfs rw")
			 MOUNT("0:12", "/y", "fuse /dev/fuse rw") MOUNT("0:13", "/z", "9p share rw,trans=tcp")) },
	  "" },
	{ "lines of mountinfo that make no sense may mount any disk, the others are used",
	  { NVME, MOUNTS("nonsense\n" MOUNT("259:0", "/", "ext4 /dev/nvme0n1 rw")
			 "1 2 x:y / /z rw - ext4 /dev/x rw\n") },
	  UNKNOWN_BOTH("Mounts", "true", "2 lines of mountinfo have another form than expected")
	  USE("0000:03:00.0", "HostFilesystem", "nvme0n1 is mounted at /") },
	{ "a folder that cannot be read: nothing is known of what disks are made of",
	  { NVME, VIRTUAL("md0", "9:0"), "sys/devices/virtual/block/md0/slaves->slaves",
	    MOUNTS(MOUNT("9:0", "/", "ext4 /dev/md0 rw")) },
	  UNKNOWN_STORAGE("Disks", "true", "in /sys: list 'md0/slaves': Too many levels of symbolic links")
	  UNKNOWN_STORAGE("Members", "false", "nothing in /sys says which disks md0 is on") },
	{ "a virtual function without a driver may reach the disks of its physical function",
	  { NVME, OF_A_VF("0x010802"), NVME_ON_DATA },
	  USE("0000:03:00.0", "Mounted", "nvme0n1 is mounted at /data")
	  USE("0000:03:00.1", "Unknown", "without a driver it does not show its disks, which may be those of its physical "
	      "function 0000:03:00.0: nvme0n1 is mounted at /data") },
	{ "and of which nothing is known",
	  { NVME, OF_A_VF("0x010802"), MOUNTS("nonsense\n20 1 0:20 / / rw - tmpfs tmpfs rw\n") },
	  UNKNOWN_BOTH("Mounts", "true", "1 line of mountinfo has another form than expected")
	  USE("0000:03:00.1", "Unknown", "without a driver it does not show its disks, which may be those of its physical "
	      "function 0000:03:00.0: 1 line of mountinfo has another form than expected") },
	{ "or of whose disks the kernel's tree cannot be read",
	  { NVME, OF_A_VF("0x010802"), VIRTUAL("md0", "9:0"), "sys/devices/virtual/block/md0/slaves->slaves", PROC_MOUNTS },
	  UNKNOWN_STORAGE("Disks", "true", "in /sys: list 'md0/slaves': Too many levels of symbolic links")
	  USE("0000:03:00.1", "Unknown", "without a driver it does not show its disks, which may be those of its physical "
	      "function 0000:03:00.0: in /sys: list 'md0/slaves': Too many levels of symbolic links") },
	{ "nobody uses these disks", { NVME, OF_A_VF("0x010802"), PROC_MOUNTS }, "" },
	{ "a function whose link to its physical function cannot be read",
	  { VF "class=0x010802\n", VF "physfn->" TREE_UNREADABLE, PROC_MOUNTS },
	  UNKNOWN_STORAGE("Disks", "true", "in /sys: 'bus/pci/devices/0000:03:00.1/physfn' has more than 1023 bytes")
	  USE("0000:03:00.1", "Unknown", "without a driver it does not show its disks, and whether it is a virtual function "
	      "cannot be read") },
	{ "one with a driver shows its disks", { NVME, OF_A_VF("0x010802"), VF "driver->../../drivers/nvme", NVME_ON_DATA },
	  USE("0000:03:00.0", "Mounted", "nvme0n1 is mounted at /data") },
	{ "one of another class has none", { NVME, OF_A_VF("0x020000"), NVME_ON_DATA },
	  USE("0000:03:00.0", "Mounted", "nvme0n1 is mounted at /data") },
	{ "a block device that vanishes while it is read is left out",
	  { "sys/class/block/sdz->../../devices/gone", NVME,
	    MOUNTS(MOUNT("259:0", "/", "ext4 /dev/nvme0n1 rw")) },
	  USE("0000:03:00.0", "HostFilesystem", "nvme0n1 is mounted at /") },
};
/* clang-format on */

static void uses_match_table(void **state)
{
	const struct storage_case *c = *state;
	auto_str struct str lines = STR_INIT;
	struct tree tree;

	tree_make(&tree, c->entries);
	if (faccessat(tree.fd, "proc/1/net/route", F_OK, 0) != 0)
		tree_add(&tree, PROC_ROUTES);
	scan_tree(&tree, NULL, "use unknown", &lines);
	tree_done(&tree);
	assert_string_equal(str_cstr(&lines), c->lines);
}

/* A line of /proc/locks, around the file system and the file. */
static struct lock_case {
	const char *name;
	const char *before;
	const char *after;
	bool counts;
} locks[] = {
	{ "a program's exclusive lock", "1: FLOCK  ADVISORY  WRITE 1234 ", " 0 EOF", true },
	{ "a lock of a range", "7: POSIX  ADVISORY  WRITE 1 ", " 0 1", true },
	{ "QEMU's locks", "12: OFDLCK ADVISORY  READ  -1 ", " 100 101", true },
	{ "udev's lock", "1: FLOCK  ADVISORY  READ  1234 ", " 0 EOF", false },
	{ "somebody who waits for a lock", "1: -> FLOCK  ADVISORY  WRITE 1234 ", " 0 EOF", false },
	{ "a lock of another file", "1: FLOCK  ADVISORY  WRITE 1234 ", "9 0 EOF", false },
	{ "a lock in another file system", "1: FLOCK  ADVISORY  WRITE 1234 f", " 0 EOF", false },
	{ "a cut line", "1: FLOCK  ADVISORY  ", "", false },
};

static void a_disk_with_a_lock_is_used(void **state)
{
	static const char *const entries[] = { NVME, PROC_MOUNTS, PROC_ROUTES,
					       "dev/nvme0n1=", NULL };
	static const char used[] =
		USE("0000:03:00.0", "BlockHolder", "nvme0n1 is locked by a process");
	const struct lock_case *c = *state;
	auto_str struct str lines = STR_INIT;
	auto_free char *entry = NULL;
	struct stat st;
	struct tree tree;

	tree_make(&tree, entries);
	assert_int_equal(fstatat(tree.fd, "dev/nvme0n1", &st, 0), 0);
	entry = xasprintf(
		"proc/locks=2: POSIX ADVISORY WRITE 3 00:01:4 0 EOF\n%s%02x:%02x:%llu%s\n",
		c->before, major(st.st_dev), minor(st.st_dev), (unsigned long long)st.st_ino,
		c->after);
	tree_add(&tree, entry);
	scan_tree(&tree, NULL, "use unknown", &lines);
	tree_done(&tree);
	assert_string_equal(str_cstr(&lines), c->counts ? used : "");
}

static void locks_that_cannot_be_read_are_unknown(void **state)
{
	static const char *const entries[] = { NVME,           PROC_MOUNTS,         PROC_ROUTES,
					       "dev/nvme0n1=", "proc/locks->locks", NULL };
	auto_str struct str lines = STR_INIT;

	(void)state;
	scan_entries(entries, NULL, "use unknown", &lines);
	assert_non_null(strstr(str_cstr(&lines), "'question':'Disks'"));
	assert_non_null(strstr(str_cstr(&lines), "locks"));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, uses_match_table);
	suite_rows(&suite, locks, a_disk_with_a_lock_is_used);
	suite_add(&suite, "locks that cannot be read are unknown",
		  locks_that_cannot_be_read_are_unknown, NULL);
	return suite_run(&suite, "use_storage");
}
