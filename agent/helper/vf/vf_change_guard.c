#include <string.h>

#include "agent/helper/record/record.h"
#include "agent/helper/scan/nodes.h"
#include "agent/helper/scan/pci_scan.h"
#include "agent/helper/scan/scan.h"
#include "agent/helper/scan/use_scan.h"
#include "agent/helper/sys/bind_look.h"
#include "agent/helper/sys/group_lock.h"
#include "agent/helper/sys/holders.h"
#include "agent/helper/sys/job.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/vf/vf_change_state.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

/* The number of the IOMMU group as a text, "-" for none. The caller frees. */
static char *group_text(int group)
{
	return group < 0 ? xstrdup("-") : xasprintf("%d", group);
}

/* Told without the device's lock, which another helper may wait for with the group's lock taken. */
static int group_of(const struct vf_change *c, const char *address)
{
	auto_free char *path = xasprintf("bus/pci/devices/%s/iommu_group", address);
	char target[SYSFS_LINK_MAX + 1];
	uint64_t group;

	if (sysfs_link(c->options->sysfs_fd, path, target, NULL) != 0 ||
	    !str_to_u64(sysfs_base_name(target), &group) || group > INT32_MAX)
		return -1;
	return (int)group;
}

static bool is_locked(const struct vf_change *c, int group)
{
	for (size_t i = 0; i < c->locks.len; i++) {
		if (c->locks.items[i].group == group)
			return true;
	}
	return false;
}

/* Functions of one group have one lock, which cannot be taken twice. */
int vf_change_lock(struct vf_change *c, const char *address)
{
	int group = group_of(c, address);
	auto_free char *text = group_text(group);
	struct err err = { 0 };
	int pid = 0;
	int fd = -1;
	int r;

	if (is_locked(c, group))
		return 0;
	r = group_lock_take(c->state_fd, text, &fd, &pid, &err);
	if (r < 0)
		return vf_change_stop(c, REASON_STATE_NOT_WRITABLE, err.code,
				      "in the state directory '%s': %s", c->options->state_dir,
				      err.msg);
	if (r == GROUP_LOCK_BUSY) {
		c->end.pid = pid;
		return vf_change_stop(c, REASON_BUSY, 0, "another hostdev-helper moves %s",
				      address);
	}
	*array_add(&c->locks) = (struct vf_lock){ group, fd };
	return 0;
}

static int check_claimed(struct vf_change *c, const char *address)
{
	auto_record struct record record = { 0 };
	struct err err = { 0 };
	int r = record_read(c->state_fd, address, &record, &err);

	if (r == RECORD_ABSENT)
		return 0;
	if (r < 0)
		return vf_change_stop(c, REASON_VFS_IN_USE, 0,
				      "%s may be claimed: its record cannot be read: %s", address,
				      err.msg);
	return vf_change_stop(c, REASON_VFS_IN_USE, 0, "%s is claimed by '%s'", address,
			      record.claim);
}

static int tell_holders(struct vf_change *c, const struct holders *holders)
{
	if (holders->len == 0)
		return 0;
	for (size_t i = 0; i < holders->len; i++)
		transition_out_holder(&c->out, &holders->items[i]);
	return vf_change_stop(c, REASON_HELD, 0, "%s", holders->items[0].detail);
}

/* Only one that a driver gives to user space has a node of its group. */
bool vf_change_is_open(const struct vf_change *c, const char *address)
{
	const struct vf_change_options *o = c->options;
	int group = group_of(c, address);
	auto_free char *text = group_text(group);

	return group >= 0 && nodes_of_group(o->sysfs_fd, o->dev_fd, text) &&
	       !bind_look_is_free(o->dev_fd, group);
}

static int check_group(struct vf_change *c, const char *address)
{
	const struct vf_change_options *o = c->options;
	int group = group_of(c, address);
	auto_free char *text = group_text(group);
	auto_holders struct holders holders = { 0 };
	struct job job = { .group = text };
	const struct holders_look look = {
		.sysfs_fd = o->sysfs_fd,
		.proc_fd = o->proc_fd,
		.dev_fd = o->dev_fd,
		.group = text,
		.confirm_by_open = true,
	};

	if (!vf_change_is_open(c, address))
		return 0;
	array_add(&job)->address = address;
	holders_find(&look, &job, &holders);
	array_done(&job);
	return tell_holders(c, &holders);
}

/* Device nodes below any of them, in one walk through all processes. */
static int check_nodes(struct vf_change *c)
{
	const struct vf_change_options *o = c->options;
	auto_holders struct holders holders = { 0 };
	struct job job = { .group = "-" };
	const struct holders_look look = {
		.sysfs_fd = o->sysfs_fd,
		.proc_fd = o->proc_fd,
		.dev_fd = o->dev_fd,
		.group = "-",
	};

	for (size_t i = 0; i < c->seen.functions.len && job.len < JOB_FUNCTIONS_MAX; i++) {
		const char *address = c->seen.functions.items[i];

		if (nodes_below(o->sysfs_fd, address))
			array_add(&job)->address = address;
	}
	if (job.len > 0)
		holders_find(&look, &job, &holders);
	array_done(&job);
	return tell_holders(c, &holders);
}

static bool is_ours(const struct vf_change *c, const char *address)
{
	for (size_t i = 0; i < c->seen.functions.len; i++) {
		if (strcmp(c->seen.functions.items[i], address) == 0)
			return true;
	}
	return false;
}

static void check_unknown(struct vf_change *c, const struct uses *uses,
			  const struct pci_function *function)
{
	auto_free char *unseen = use_network_unseen(c->options->sysfs_fd, function);
	const char *why = uses_unknown_for(uses, function->class_id);

	if (!function->driver || strcmp(function->driver, "vfio-pci") == 0)
		return;
	why = why ? why : unseen;
	if (why)
		(void)vf_change_stop(c, REASON_VFS_IN_USE, 0,
				     "it cannot be known whether the host uses %s: %s",
				     function->address, why);
}

/* What the host itself does with them. */
static int check_uses(struct vf_change *c)
{
	const struct scan_options options = {
		.sysfs_fd = c->options->sysfs_fd,
		.proc_fd = c->options->proc_fd,
		.state_fd = -1,
		.node_address = c->options->node_address,
	};
	struct pci_functions functions = { 0 };
	struct report report = { 0 };
	struct uses uses = { 0 };

	for (size_t i = 0; i < c->seen.functions.len; i++)
		use_add_function(options.sysfs_fd, c->seen.functions.items[i], &functions);
	use_collect(&options, &functions, &report, &uses);
	for (size_t i = 0; i < uses.len; i++) {
		const struct use *use = &uses.items[i];

		if (is_ours(c, use->device.pci))
			(void)vf_change_stop(c, REASON_VFS_IN_USE, 0,
					     use->reason == USE_UNKNOWN
						     ? "%s may be in use by the host: %s"
						     : "%s is in use by the host: %s",
					     use->device.pci, use->detail);
	}
	for (size_t i = 0; i < functions.len; i++)
		check_unknown(c, &uses, &functions.items[i]);
	pci_functions_done(&functions);
	uses_done(&uses);
	report_done(&report);
	return c->end.reason == REASON_NONE ? 0 : VF_CHANGE_STOPPED;
}

int vf_change_guard(struct vf_change *c)
{
	const struct sysfs_names *functions = &c->seen.functions;

	if (functions->len == 0)
		return 0;
	for (size_t i = 0; i < functions->len; i++) {
		if (vf_change_lock(c, functions->items[i]) < 0)
			return VF_CHANGE_STOPPED;
	}
	vf_change_step(c, STEP_CHECK_HOLDERS);
	for (size_t i = 0; i < functions->len; i++) {
		if (check_claimed(c, functions->items[i]) < 0 ||
		    check_group(c, functions->items[i]) < 0)
			return VF_CHANGE_STOPPED;
	}
	return check_nodes(c) < 0 ? VF_CHANGE_STOPPED : check_uses(c);
}
