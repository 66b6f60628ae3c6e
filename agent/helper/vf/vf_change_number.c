#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/helper/record/vf_record.h"
#include "agent/helper/vf/vf_change_state.h"
#include "base/err.h"
#include "base/num.h"

static const char autoprobe[] = "sriov_drivers_autoprobe";

/* Whether drivers take new virtual functions; false if the kernel has no such switch. */
static bool read_autoprobe(const struct vf_change *c, bool *ret_on)
{
	struct sysfs_attr attr;

	return sysfs_read(c->dir_fd, autoprobe, &attr, NULL) == 0 && str_to_bool(attr.text, ret_on);
}

static int stop_state(struct vf_change *c, const struct err *err)
{
	return vf_change_stop(c, REASON_STATE_NOT_WRITABLE, err->code,
			      "in the state directory '%s': %s", c->options->state_dir, err->msg);
}

/* Why a write to the card's files in /sys did not do what it should; @code is the kernel's answer. */
static enum transition_reason write_reason(int code, enum transition_reason reason)
{
	/* /sys is read-only, or a security module keeps the container from it; drivers answer EPERM. */
	return code == -EROFS || code == -EACCES ? REASON_AGENT_NOT_PRIVILEGED : reason;
}

static int switch_autoprobe(struct vf_change *c, bool on)
{
	bool is = !on;
	int r;

	vf_change_step(c, STEP_SET_AUTOPROBE);
	r = vf_change_write(c, autoprobe, on ? "1" : "0");
	if (read_autoprobe(c, &is) && is == on)
		return 0;
	return vf_change_stop(c, write_reason(r, REASON_AUTOPROBE_FAILED), r,
			      "write %d to '%s' of %s: %s", on, autoprobe, c->job->address,
			      r < 0 ? strerror(-r) : "the kernel took it, but nothing came of it");
}

/* The record of a run that was cut off has what it was before that. */
static int set_autoprobe(struct vf_change *c)
{
	const struct vf_change_options *o = c->options;
	struct err err = { 0 };
	bool before;
	bool is;
	int r;

	if (c->job->count == 0 || !read_autoprobe(c, &is) || is == c->job->autoprobe)
		return 0;
	r = vf_record_read(c->state_fd, o->proc_fd, c->job->address, &before, &err);
	if (r == VF_RECORD_ABSENT) {
		vf_change_step(c, STEP_WRITE_RECORD);
		r = vf_record_write(c->state_fd, o->proc_fd, c->job->address, is, &err);
		c->recorded = r == 0;
	}
	if (r < 0)
		return stop_state(c, &err);
	return switch_autoprobe(c, c->job->autoprobe);
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

/* Have @count of them, and look whether it is so. */
static int write_number(struct vf_change *c, int count)
{
	char text[16];
	int r;

	(void)snprintf(text, sizeof(text), "%d", count);
	vf_change_step(c, count == 0 ? STEP_REMOVE_FUNCTIONS : STEP_MAKE_FUNCTIONS);
	r = vf_change_write(c, "sriov_numvfs", text);
	vf_seen_done(&c->seen);
	vf_look(c->dir_fd, &c->seen);
	if ((int)c->seen.functions.len == count)
		return 0;
	return vf_change_stop(c, write_reason(r, REASON_NUM_VFS_FAILED), r,
			      "write %d to 'sriov_numvfs' of %s: %s; it has %zu virtual functions",
			      count, c->job->address,
			      r < 0 ? strerror(-r) : "the kernel took it, but nothing came of it",
			      c->seen.functions.len);
}

int vf_change_number(struct vf_change *c)
{
	int count = c->job->count;
	int total;

	if (count < 0 || (int)c->seen.functions.len == count)
		return 0;
	total = read_total(c);
	if (count > total)
		return vf_change_stop(c, REASON_TOO_MANY_VFS, 0,
				      "%s can make %d virtual functions, not %d", c->job->address,
				      total, count);
	if (vf_change_guard(c) < 0 || set_autoprobe(c) < 0)
		return VF_CHANGE_STOPPED;
	/* The kernel goes from one number to another by way of 0 only. */
	if (c->seen.functions.len > 0 && write_number(c, 0) < 0)
		return VF_CHANGE_STOPPED;
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

int vf_change_restore(struct vf_change *c, bool done)
{
	const struct vf_change_options *o = c->options;
	struct err err = { 0 };
	bool before = false;
	bool is;
	int r = vf_record_read(c->state_fd, o->proc_fd, c->job->address, &before, &err);

	if (r < 0)
		return stop_state(c, &err);
	if (r == VF_RECORD_ABSENT)
		return 0;
	if (read_autoprobe(c, &is) && is != before) {
		if (is_needed(c, done))
			return 0;
		if (switch_autoprobe(c, before) < 0)
			return VF_CHANGE_STOPPED;
	}
	if (vf_record_remove(c->state_fd, c->job->address, &err) < 0)
		return stop_state(c, &err);
	return 0;
}
