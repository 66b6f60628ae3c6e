#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/helper/scan/block.h"
#include "agent/helper/scan/pci_scan.h"
#include "agent/helper/scan/scan.h"
#include "agent/helper/scan/use_scan.h"
#include "agent/helper/sys/kernel.h"
#include "agent/helper/sys/mdev.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "agent/helper/transition/transition_state.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"

static int stop_unknown(struct transition *t, const char *address, int code, const char *why)
{
	t->run.about = address;
	return run_stop(&t->run, REASON_USE_UNKNOWN, code,
			"the agent cannot see whether the host uses %s: %s", address, why);
}

/* Unbinding the driver removes the virtual functions, even if they are in use. */
static int check_virtual(struct transition *t, const struct job *taken)
{
	for (size_t i = 0; i < taken->len; i++) {
		const char *address = taken->items[i].address;
		auto_free char *path = xasprintf("bus/pci/devices/%s/virtfn0", address);
		char target[SYSFS_LINK_MAX + 1];
		struct err err = { 0 };
		int r = sysfs_link(t->options->sysfs_fd, path, target, &err);

		if (r == SYSFS_ABSENT)
			continue;
		if (r < 0)
			return stop_unknown(t, address, r, err.msg);
		t->run.about = address;
		return run_stop(&t->run, REASON_IN_USE, 0,
				"%s has virtual functions; claim those, or remove them "
				"(write 0 to its sriov_numvfs)",
				address);
	}
	return 0;
}

/* Unbinding the driver takes mediated devices from whoever has them, and waits until they are let go. */
static int check_mediated(struct transition *t, const struct job *taken)
{
	for (size_t i = 0; i < taken->len; i++) {
		const char *address = taken->items[i].address;
		struct err err = { 0 };
		int r = mdev_below(t->options->sysfs_fd, address, &err);

		if (r < 0)
			return stop_unknown(t, address, r, err.msg);
		if (r == 0)
			continue;
		t->run.about = address;
		return run_stop(&t->run, REASON_IN_USE, 0,
				"%s has mediated devices; remove them first", address);
	}
	return 0;
}

/* The host cannot use a function without a driver. */
static bool has_driver(const struct transition *t, const char *address)
{
	return transition_find_part(t, address)->first.driver[0] != '\0';
}

static int check_use(struct transition *t, const struct use *use)
{
	const struct transition_part *part = transition_find_part(t, use->device.pci);

	if (!part || !transition_may_be_held(part, true) || !part->first.driver[0])
		return 0;
	if (use->reason == USE_UNKNOWN)
		return part->word->allow_unknown
			       ? 0
			       : stop_unknown(t, part->word->address, 0, use->detail);
	t->run.about = part->word->address;
	return run_stop(&t->run, REASON_IN_USE, 0, "%s is in use by the host: %s", t->run.about,
			use->detail);
}

static int check_unknown(struct transition *t, const struct uses *uses,
			 const struct pci_functions *functions, const struct job *taken)
{
	for (size_t i = 0; i < taken->len; i++) {
		const struct pci_function *function = &functions->items[i];
		auto_free char *unseen = use_network_unseen(t->options->sysfs_fd, function);
		const char *why = uses_unknown_for(uses, function->class_id);

		why = why ? why : unseen;
		if (!why || taken->items[i].allow_unknown ||
		    !has_driver(t, taken->items[i].address))
			continue;
		return stop_unknown(t, taken->items[i].address, 0, why);
	}
	return 0;
}

static int check_uses(struct transition *t, const struct job *taken)
{
	const struct scan_options options = {
		.sysfs_fd = t->options->sysfs_fd,
		.proc_fd = t->options->proc_fd,
		.state_fd = -1,
		.node_address = t->options->node_address,
	};
	struct pci_functions functions = { 0 };
	struct report report = { 0 };
	struct uses uses = { 0 };
	int r = 0;

	for (size_t i = 0; i < taken->len; i++)
		use_add_function(t->options->sysfs_fd, taken->items[i].address, &functions);
	for (size_t i = 0; i < taken->len; i++) {
		if (!taken->items[i].allow_unknown &&
		    !use_network_await(options.sysfs_fd, &functions.items[i]))
			break;
	}
	use_collect(&options, &functions, &report, &uses);
	for (size_t i = 0; i < uses.len && r == 0; i++)
		r = check_use(t, &uses.items[i]);
	if (r == 0)
		r = check_unknown(t, &uses, &functions, taken);
	uses_done(&uses);
	pci_functions_done(&functions);
	report_done(&report);
	return r;
}

/* --- disks ---------------------------------------------------------------------------- */

/* The function of @taken that @block is a disk of, or a path to a disk; NULL if there is none. */
static struct transition_part *part_of_disk(const struct transition *t, const struct job *taken,
					    const struct blocks *blocks, size_t block)
{
	struct transition_part *found = NULL;
	struct devpaths devices = { 0 };

	blocks_devices(blocks, block, &devices);
	for (size_t i = 0; i < devices.len && !found; i++) {
		for (size_t k = 0; k < taken->len && !found; k++) {
			if (strcmp(taken->items[k].address, devices.items[i].pci) == 0)
				found = transition_find_part(t, devices.items[i].pci);
		}
	}
	array_done(&devices);
	return found;
}

/* The node below /dev; or the negative errno. One of another number would be another disk's. */
static int open_disk(const struct transition *t, const struct blocks *blocks, size_t block)
{
	auto_free char *name = xstrdup(blocks_name(blocks, block));
	const struct kernel *kernel = t->options->kernel;
	dev_t number = 0;
	unsigned major;
	unsigned minor;
	int fd;

	/* sysfs has "!" for the slash in names such as cciss/c0d0. */
	for (char *c = name; *c; c++)
		*c = *c == '!' ? '/' : *c;
	fd = kernel->open_disk(kernel->arg, t->options->dev_fd, name, &number);
	if (fd < 0)
		return fd;
	blocks_number(blocks, block, &major, &minor);
	if (number == makedev(major, minor))
		return fd;
	close(fd);
	return -ENXIO;
}

/*
 * The kernel says EBUSY for a disk that a file system, ZFS, an array, a volume or a target of its own
 * has taken (bd_prepare_to_claim() of block/bdev.c), and keeps all of these from it while we have it.
 */
static int take_disk(struct transition *t, struct transition_part *part,
		     const struct blocks *blocks, size_t block)
{
	const char *name = blocks_name(blocks, block);
	int fd = open_disk(t, blocks, block);

	if (fd >= 0) {
		*array_add(&part->disks) = fd;
		return 0;
	}
	t->run.about = part->word->address;
	if (fd == -EBUSY)
		return run_stop(&t->run, REASON_IN_USE, -EBUSY,
				"%s is in use by the host: the kernel uses the disk %s, for a file "
				"system, ZFS, a RAID, a volume or a target",
				t->run.about, name);
	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
		return stop_unknown(t, t->run.about, fd, strerror(-fd));
	/* No such node, no medium, or no right: a pod that is not privileged may open no disk. What the
	 * scan can tell has been asked before. */
	return 0;
}

static int take_disks(struct transition *t, const struct job *taken)
{
	struct blocks *blocks;
	int r = 0;

	if (t->options->dev_fd < 0)
		return 0;
	blocks = blocks_new(t->options->sysfs_fd);
	for (size_t i = 0; i < blocks_len(blocks) && r == 0; i++) {
		struct transition_part *part =
			blocks_is_partition(blocks, i) ? NULL : part_of_disk(t, taken, blocks, i);

		if (part && part->first.driver[0])
			r = take_disk(t, part, blocks, i);
	}
	blocks_free(blocks);
	return r;
}

void transition_drop_disks(struct transition_part *part)
{
	for (size_t i = 0; i < part->disks.len; i++)
		close(part->disks.items[i]);
	array_done(&part->disks);
}

int transition_check_host(struct transition *t, const struct job *taken, bool again)
{
	int r = check_virtual(t, taken);

	if (r == 0)
		r = check_mediated(t, taken);
	/* With the disks in hand first, nothing is mounted after the look. Those that are in hand already
	 * the kernel would not give twice. */
	if (r == 0 && !again)
		r = take_disks(t, taken);
	return r == 0 ? check_uses(t, taken) : r;
}
