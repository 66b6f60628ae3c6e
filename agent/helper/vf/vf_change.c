#include "agent/helper/vf/vf_change.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper/frame/run.h"
#include "agent/helper/record/record.h"
#include "agent/helper/scan/nodes.h"
#include "agent/helper/scan/pci_scan.h"
#include "agent/helper/scan/scan.h"
#include "agent/helper/scan/use_scan.h"
#include "agent/helper/scan/vf_state.h"
#include "agent/helper/sys/bind_state.h"
#include "agent/helper/sys/holders.h"
#include "agent/helper/sys/job.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "agent/helper/vf/vf_job.h"
#include "agent/helper/vf/vf_link.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

struct vf_change {
	struct run run;
	const struct run_options *options;
	const struct vf_links *links; /* NULL: nothing can be set */
	const struct vf_job *job;
	int dir_fd; /* of the physical function */
	struct vf_state seen;
	char boot[RECORD_BOOT_SIZE];
	bool recorded; /* this run has switched autoprobe as the first */
};

/* Say that @step begins. */
static void vf_change_step(struct vf_change *c, enum run_step step)
{
	run_step(&c->run, c->job->address, step);
}

/* Write @text to the attribute @name of the physical function; 0, or the negative errno. */
static int vf_change_write(struct vf_change *c, const char *name, const char *text)
{
	auto_free char *path = xasprintf("bus/pci/devices/%s/%s", c->job->address, name);

	c->run.changed = true;
	return run_write(&c->run, path, text);
}

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
	    !str_to_u64(str_base_name(target), &group) || group > INT32_MAX)
		return -1;
	return (int)group;
}

/* Functions of one group have one lock. */
static int vf_change_lock(struct vf_change *c, const char *address)
{
	auto_free char *group = group_text(group_of(c, address));
	struct err err = { 0 };
	int pid = 0;
	int r = run_lock_group(&c->run, group, &pid, &err);

	if (r < 0)
		return run_stop_state(&c->run, &err);
	if (r == 0)
		return 0;
	return run_stop_busy(&c->run, pid, "another hostdev-helper moves %s", address);
}

static int check_claimed(struct vf_change *c, const char *address)
{
	auto_device_record struct device_record record = { 0 };
	struct err err = { 0 };
	int r = record_read(&device_records, c->run.state_fd, address, &record, &err);

	if (r == RECORD_ABSENT)
		return 0;
	if (r < 0)
		return run_stop(&c->run, REASON_VFS_IN_USE, 0,
				"%s may be claimed: its record cannot be read: %s", address,
				err.msg);
	return run_stop(&c->run, REASON_VFS_IN_USE, 0, "%s is claimed by '%s'", address,
			record.claim);
}

static int report_holders(struct vf_change *c, const struct holders *holders)
{
	if (holders->len == 0)
		return 0;
	run_report_holders(&c->run, holders);
	return run_stop(&c->run, REASON_HELD, 0, "%s", holders->items[0].detail);
}

/* Only a driver that passes a function to user space creates a node of its group. */
static bool vf_change_is_open(const struct vf_change *c, const char *address)
{
	const struct run_options *o = c->options;
	int group = group_of(c, address);
	auto_free char *text = group_text(group);

	return group >= 0 && nodes_of_group(o->sysfs_fd, o->dev_fd, text) &&
	       !bind_group_is_free(o->dev_fd, group);
}

static int check_group(struct vf_change *c, const char *address)
{
	const struct run_options *o = c->options;
	int group = group_of(c, address);
	auto_free char *text = group_text(group);
	auto_holders struct holders holders = { 0 };
	struct job job = { .group = text };
	const struct holders_query query = {
		.sysfs_fd = o->sysfs_fd,
		.proc_fd = o->proc_fd,
		.dev_fd = o->dev_fd,
		.group = text,
		.confirm_by_open = true,
	};

	if (!vf_change_is_open(c, address))
		return 0;
	array_add(&job)->address = address;
	holders_find(&query, &job, &holders);
	array_done(&job);
	return report_holders(c, &holders);
}

/* VFIO enables a function when a program opens it (see check_enabled() of transition_check.c). Our
 * pods were checked before, so this is another program, which an agent without capabilities does
 * not see. */
static int check_enabled(struct vf_change *c, const char *address)
{
	const struct run_options *o = c->options;
	auto_free char *path = xasprintf("bus/pci/devices/%s/enable", address);
	auto_free char *link = xasprintf("bus/pci/devices/%s/driver", address);
	int group = group_of(c, address);
	char target[SYSFS_LINK_MAX + 1];
	const char *driver;
	struct sysfs_attr attr;
	int r;

	/* One that cannot be read is check_uses()'s to refuse. */
	if (sysfs_link(o->sysfs_fd, link, target, NULL) != 0)
		return 0;
	driver = str_base_name(target);
	if (strcmp(driver, "pci-stub") == 0 ||
	    !bind_driver_is_for_programs(o->sysfs_fd, address, driver) ||
	    (group >= 0 && bind_group_is_free(o->dev_fd, group)))
		return 0;
	r = sysfs_read(o->sysfs_fd, path, &attr, NULL);
	if (r == SYSFS_ABSENT || (r == 0 && strcmp(attr.text, "0") == 0))
		return 0;
	return run_stop(&c->run, REASON_VFS_IN_USE, r < 0 ? r : 0,
			"%s is on %s, and is enabled: a program may have it open", address, driver);
}

/* Device nodes below any of them, in one walk through all processes. */
static int check_nodes(struct vf_change *c)
{
	const struct run_options *o = c->options;
	auto_holders struct holders holders = { 0 };
	struct job job = { .group = "-" };
	const struct holders_query query = {
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
		holders_find(&query, &job, &holders);
	array_done(&job);
	return report_holders(c, &holders);
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
		(void)run_stop(&c->run, REASON_VFS_IN_USE, 0,
			       "the agent cannot see whether the host uses %s: %s",
			       function->address, why);
}

/* What the host itself does with them. */
static int check_uses(struct vf_change *c)
{
	const struct scan_options options = {
		.sysfs_fd = c->options->sysfs_fd,
		.proc_fd = c->options->proc_fd,
		.dev_fd = c->options->dev_fd,
		.state_fd = -1,
		.node_address = c->options->node_address,
	};
	struct pci_functions functions = { 0 };
	struct report report = { 0 };
	struct uses uses = { 0 };

	for (size_t i = 0; i < c->seen.functions.len; i++)
		use_add_function(options.sysfs_fd, c->seen.functions.items[i], &functions);
	for (size_t i = 0; i < functions.len; i++) {
		if (!use_network_await(options.sysfs_fd, &functions.items[i]))
			break;
	}
	use_collect(&options, &functions, &report, &uses);
	for (size_t i = 0; i < uses.len; i++) {
		const struct use *use = &uses.items[i];

		if (is_ours(c, use->device.pci))
			(void)run_stop(&c->run, REASON_VFS_IN_USE, 0,
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
	return c->run.end.reason == REASON_NONE ? 0 : RUN_STOPPED;
}

static int vf_change_guard(struct vf_change *c)
{
	const struct sysfs_names *functions = &c->seen.functions;

	if (functions->len == 0)
		return 0;
	sysfs_forget_failure();
	for (size_t i = 0; i < functions->len; i++) {
		if (vf_change_lock(c, functions->items[i]) < 0)
			return RUN_STOPPED;
	}
	/* Of a group that cannot be read, the lock was another one. */
	if (sysfs_failure()->code < 0)
		return run_stop(&c->run, REASON_VFS_IN_USE, sysfs_failure()->code,
				"the IOMMU groups of its virtual functions cannot be read: %s",
				sysfs_failure()->msg);
	vf_change_step(c, STEP_CHECK_HOLDERS);
	for (size_t i = 0; i < functions->len; i++) {
		if (check_claimed(c, functions->items[i]) < 0 ||
		    check_group(c, functions->items[i]) < 0 ||
		    check_enabled(c, functions->items[i]) < 0)
			return RUN_STOPPED;
	}
	return check_nodes(c) < 0 ? RUN_STOPPED : check_uses(c);
}

static const char autoprobe[] = "sriov_drivers_autoprobe";

/* Whether drivers take new virtual functions. 0; SYSFS_ABSENT: the kernel has no such switch; or <
 * 0. */
static int read_autoprobe(const struct vf_change *c, bool *ret_on, struct err *err)
{
	struct sysfs_attr attr;
	int r = sysfs_read(c->dir_fd, autoprobe, &attr, err);

	return r == 0 && !str_to_bool(attr.text, ret_on) ? SYSFS_ABSENT : r;
}

static int stop_unread(struct vf_change *c, const struct err *err)
{
	return run_stop(&c->run, REASON_AUTOPROBE_FAILED, err->code, "of %s: %s", c->job->address,
			err->msg);
}

/* Why a write to the card's files in /sys did not do what it should; @code is the kernel's
 * answer. */
static enum run_reason write_reason(int code, enum run_reason reason)
{
	/* /sys is read-only, or a security module keeps the container from it; drivers answer
	 * EPERM. */
	return code == -EROFS || code == -EACCES ? REASON_AGENT_NOT_PRIVILEGED : reason;
}

static int switch_autoprobe(struct vf_change *c, bool on)
{
	bool is = !on;
	int r;

	vf_change_step(c, STEP_SET_AUTOPROBE);
	r = vf_change_write(c, autoprobe, on ? "1" : "0");
	if (read_autoprobe(c, &is, NULL) == 0 && is == on)
		return 0;
	return run_stop(&c->run, write_reason(r, REASON_AUTOPROBE_FAILED), r,
			"write %d to '%s' of %s: %s", on, autoprobe, c->job->address,
			r < 0 ? strerror(-r)
			      : "the kernel accepted the write, but the number did not change");
}

/* 0; RECORD_ABSENT: there is no valid record of this boot; or < 0. */
static int read_switched(const struct vf_change *c, bool *ret_was, struct err *err)
{
	auto_autoprobe_record struct autoprobe_record record = { 0 };
	int r = record_read(&autoprobe_records, c->run.state_fd, c->job->address, &record, err);

	if (r < 0 && err->kind != ERR_INVALID)
		return r;
	if (r != 0 || strcmp(record.boot, c->boot) != 0)
		return RECORD_ABSENT;
	*ret_was = strcmp(record.was, "on") == 0;
	return 0;
}

static int write_switched(struct vf_change *c, bool was, struct err *err)
{
	auto_autoprobe_record struct autoprobe_record record = {
		.address = xstrdup(c->job->address),
		.was = xstrdup(was ? "on" : "off"),
		.boot = xstrdup(c->boot),
	};

	vf_change_step(c, STEP_WRITE_RECORD);
	return record_write(&autoprobe_records, c->run.state_fd, &record, err);
}

/* The record of a run that was cut off has what it was before that. */
static int set_autoprobe(struct vf_change *c)
{
	struct err err = { 0 };
	bool before;
	bool is;
	int r;

	if (c->job->count == 0)
		return 0;
	r = read_autoprobe(c, &is, &err);
	if (r < 0)
		return stop_unread(c, &err);
	if (r != 0 || is == (c->job->autoprobe == 1))
		return 0;
	r = read_switched(c, &before, &err);
	if (r == RECORD_ABSENT) {
		r = write_switched(c, is, &err);
		c->recorded = r == 0;
	}
	if (r < 0)
		return run_stop_state(&c->run, &err);
	return switch_autoprobe(c, c->job->autoprobe == 1);
}

static int read_total(const struct vf_change *c)
{
	struct sysfs_attr attr;
	uint64_t total;

	if (sysfs_read(c->dir_fd, "sriov_totalvfs", &attr, NULL) != 0 ||
	    !str_to_u64(attr.text, &total) || total > VF_INDEX_MAX + 1)
		return 0;
	return (int)total;
}

/* Set the number of virtual functions to @count, and read it back. */
static int write_number(struct vf_change *c, int count)
{
	char text[16];
	int r;

	(void)snprintf(text, sizeof(text), "%d", count);
	vf_change_step(c, count == 0 ? STEP_REMOVE_FUNCTIONS : STEP_MAKE_FUNCTIONS);
	r = vf_change_write(c, "sriov_numvfs", text);
	vf_state_done(&c->seen);
	vf_state_read(c->dir_fd, &c->seen);
	if ((int)c->seen.functions.len == count)
		return 0;
	return run_stop(&c->run, write_reason(r, REASON_NUM_VFS_FAILED), r,
			"write %d to 'sriov_numvfs' of %s: %s; it has %zu virtual functions", count,
			c->job->address,
			r < 0 ? strerror(-r)
			      : "the kernel accepted the write, but the number did not change",
			c->seen.functions.len);
}

static int vf_change_number(struct vf_change *c)
{
	int count = c->job->count;
	int total;

	if (count < 0 || (int)c->seen.functions.len == count)
		return 0;
	total = read_total(c);
	if (count > total)
		return run_stop(&c->run, REASON_TOO_MANY_VFS, 0,
				"%s supports %d virtual functions, not %d", c->job->address, total,
				count);
	if (vf_change_guard(c) < 0 || set_autoprobe(c) < 0)
		return RUN_STOPPED;
	/* The kernel goes from one number to another by way of 0 only. */
	if (c->seen.functions.len > 0 && write_number(c, 0) < 0)
		return RUN_STOPPED;
	return count > 0 ? write_number(c, count) : 0;
}

/*
 * The kernel asks for it at each probe, also that of a module which is loaded much later
 * (pci_device_can_probe() in drivers/pci/pci-driver.c), so that it stays while there are functions
 * that it was switched for. A driver_override is probed for all the same, as a claim needs it.
 */
static bool is_needed(const struct vf_change *c, bool done)
{
	return c->seen.functions.len > 0 && (done || !c->recorded);
}

/* Put autoprobe back if a change of the number, maybe of an earlier run, has switched it, and
 * either no virtual function is left or this run wanted others and is not @done. */
static int vf_change_restore(struct vf_change *c, bool done)
{
	struct err err = { 0 };
	bool before = false;
	bool is;
	int r = read_switched(c, &before, &err);

	if (r < 0)
		return run_stop_state(&c->run, &err);
	if (r == RECORD_ABSENT)
		return 0;
	r = read_autoprobe(c, &is, &err);
	/* The record stays: it alone knows what the switch was. */
	if (r < 0)
		return stop_unread(c, &err);
	if (r == 0 && is != before) {
		if (is_needed(c, done))
			return 0;
		if (switch_autoprobe(c, before) < 0)
			return RUN_STOPPED;
	}
	if (record_remove(&autoprobe_records, c->run.state_fd, c->job->address, &err) < 0)
		return run_stop_state(&c->run, &err);
	return 0;
}

enum { IFINDEX_MAX = 0x7fffffff };

/* The kernel's number of the interface; 0: it has none. */
static int read_ifindex(const struct vf_change *c)
{
	auto_free char *path = xasprintf("net/%s/ifindex", c->seen.interface);
	struct sysfs_attr attr;
	uint64_t number;

	if (!c->seen.interface[0] || sysfs_read(c->dir_fd, path, &attr, NULL) != 0 ||
	    !str_to_u64(attr.text, &number) || number > IFINDEX_MAX)
		return 0;
	return (int)number;
}

/*
 * An agent in a pod finds the interface in the node's /sys, but rtnetlink of its own network
 * namespace does not know it (ENODEV). An agent in the node's namespace without CAP_NET_ADMIN gets
 * EPERM; drivers return that as well.
 */
static bool is_agents_fault(const struct vf_change *c, const struct vf_link *link, int code)
{
	if (code == -EPERM)
		return !c->links->is_admin;
	return code == -ENODEV && read_ifindex(c) == link->ifindex;
}

static int stop_settings(struct vf_change *c, const struct vf_link *link, const struct err *err)
{
	enum run_reason reason = is_agents_fault(c, link, err->code) ? REASON_AGENT_NOT_PRIVILEGED
								     : REASON_SETTINGS_FAILED;

	return run_stop(&c->run, reason, err->code, "%s", err->msg);
}

/*
 * Must @field of @want be written? The user of a trusted function may change its MAC address, and
 * would lose connections if it were written again.
 */
static bool is_wrong(const struct vf_change *c, const struct vf_setting *want,
		     const struct vf_setting *has, enum vf_field field)
{
	if (!vf_setting_differs(want, has, field))
		return false;
	return field != VF_FIELD_MAC || !has || has->trust != 1 ||
	       !vf_change_is_open(c, c->seen.functions.items[want->index]);
}

/* Write what differs. That one cannot be set keeps no other from it. */
static void write_all(struct vf_change *c, const struct vf_link *link,
		      const struct vf_settings *have)
{
	const struct vf_links *links = c->links;

	for (size_t i = 0; i < c->job->settings.len; i++) {
		const struct vf_setting *want = &c->job->settings.items[i];
		const struct vf_setting *has = vf_settings_find(have, want->index);

		if (want->index >= (int)c->seen.functions.len)
			continue;
		for (int f = 0; f < VF_FIELDS; f++) {
			enum vf_field field = (enum vf_field)f;
			struct err err = { 0 };

			if (!is_wrong(c, want, has, field))
				continue;
			c->run.changed = true;
			if (links->write(links->arg, link, want, field, &err) == 0)
				continue;
			err_wrap(&err, "the %s of virtual function %d", vf_field_text(field),
				 want->index);
			(void)stop_settings(c, link, &err);
		}
	}
}

/* How many settings are not as they are wanted; the first is *@ret_want and *@ret_field. */
static size_t count_wrong(const struct vf_change *c, const struct vf_settings *have,
			  const struct vf_setting **ret_want, enum vf_field *ret_field)
{
	size_t wrong = 0;

	for (size_t i = 0; i < c->job->settings.len; i++) {
		const struct vf_setting *want = &c->job->settings.items[i];
		const struct vf_setting *has = vf_settings_find(have, want->index);

		if (want->index >= (int)c->seen.functions.len)
			continue;
		for (int f = 0; f < VF_FIELDS; f++) {
			if (!is_wrong(c, want, has, (enum vf_field)f) || wrong++ > 0)
				continue;
			*ret_want = want;
			*ret_field = (enum vf_field)f;
		}
	}
	return wrong;
}

static int apply(struct vf_change *c, const struct vf_link *link)
{
	const struct vf_links *links = c->links;
	auto_vf_settings struct vf_settings before = { 0 };
	auto_vf_settings struct vf_settings after = { 0 };
	const struct vf_setting *want = NULL;
	enum vf_field field = VF_FIELD_MAC;
	struct err err = { 0 };
	size_t wrong;

	if (links->read(links->arg, link, &before, &err) < 0)
		return stop_settings(c, link, &err);
	if (count_wrong(c, &before, &want, &field) == 0)
		return 0;
	write_all(c, link, &before);
	if (links->read(links->arg, link, &after, &err) < 0)
		return stop_settings(c, link, &err);
	wrong = count_wrong(c, &after, &want, &field);
	if (wrong > 0)
		return run_stop(&c->run, REASON_SETTINGS_FAILED, 0,
				"the %s of virtual function %d is not what it was set to, "
				"and %zu more settings are not",
				vf_field_text(field), want->index, wrong - 1);
	return c->run.end.reason == REASON_NONE ? 0 : RUN_STOPPED;
}

static int vf_change_settings(struct vf_change *c)
{
	struct vf_link link = { .interface = c->seen.interface };

	if (c->job->settings.len == 0 || c->seen.functions.len == 0)
		return 0;
	vf_change_step(c, STEP_SET_FUNCTIONS);
	link.ifindex = read_ifindex(c);
	if (link.ifindex == 0 || !c->links)
		return run_stop(&c->run, REASON_SETTINGS_FAILED, 0,
				"%s has no network interface, through which its virtual "
				"functions are set",
				c->job->address);
	return apply(c, &link);
}

/* Is the device that is meant there? */
static int check_identity(struct vf_change *c)
{
	const struct vf_job *job = c->job;
	char serial[PCI_SERIAL_SIZE];
	struct bind_state seen;
	struct err err = { 0 };

	if (bind_state_read(c->options->sysfs_fd, job->address, &seen, &err) < 0)
		return run_stop(&c->run, REASON_USE_UNKNOWN, err.code, "%s", err.msg);
	if (!seen.present)
		return run_stop(&c->run, REASON_DEVICE_GONE, 0, "there is no PCI function %s",
				job->address);
	if (strcmp(seen.id, job->id) != 0)
		return run_stop(&c->run, REASON_DIFFERENT_DEVICE, 0,
				"%s is another device: '%s' instead of '%s'", job->address, seen.id,
				job->id);
	bind_read_serial(c->options->sysfs_fd, job->address, serial);
	if (job->serial && serial[0] && strcmp(job->serial, serial) != 0)
		return run_stop(&c->run, REASON_DIFFERENT_DEVICE, 0,
				"%s is another device: '%s' instead of '%s'", job->address, serial,
				job->serial);
	return 0;
}

static int open_function(struct vf_change *c)
{
	auto_free char *path = xasprintf("bus/pci/devices/%s", c->job->address);

	c->dir_fd = sysfs_open_dir(c->options->sysfs_fd, path);
	if (c->dir_fd < 0)
		return run_stop(&c->run, REASON_DEVICE_GONE, 0, "there is no PCI function %s",
				c->job->address);
	if (check_identity(c) < 0)
		return RUN_STOPPED;
	sysfs_forget_failure();
	vf_state_read(c->dir_fd, &c->seen);
	/* One that cannot be seen may be in use. */
	if (sysfs_failure()->code < 0)
		return run_stop(&c->run, REASON_VFS_IN_USE, sysfs_failure()->code,
				"its virtual functions cannot be seen: %s", sysfs_failure()->msg);
	return 0;
}

static void change(struct vf_change *c)
{
	int r;

	if (run_open_state(&c->run, "; nothing is changed without a record of it") < 0)
		return;
	vf_change_step(c, STEP_WAIT_LOCK);
	if (vf_change_lock(c, c->job->address) < 0 || open_function(c) < 0)
		return;
	r = vf_change_number(c);
	if (vf_change_restore(c, r == 0) == 0 && r == 0)
		(void)vf_change_settings(c);
}

int vf_change_run(const struct run_options *options, const struct vf_links *links,
		  const struct vf_job *job, struct err *err)
{
	struct vf_change c = { .options = options, .links = links, .job = job, .dir_fd = -1 };

	run_start(&c.run, options, "address");
	c.run.times = RUN_TIMES_KERNEL;
	c.run.about = job->address;
	record_boot(options->proc_fd, c.boot);
	change(&c);
	vf_state_done(&c.seen);
	if (c.dir_fd >= 0)
		close(c.dir_fd);
	return run_finish(&c.run, err);
}
