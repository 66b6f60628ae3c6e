#include "agent/helper/vf/vf_change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/helper/sys/bind_look.h"
#include "agent/helper/sys/kernel.h"
#include "agent/helper/sys/sysfs.h"
#include "agent/helper/vf/vf_change_state.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"

enum { STATE_DIR_MODE = 0700 };

static uint64_t now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void vf_change_step(struct vf_change *c, enum transition_step step)
{
	c->step = step;
	transition_out_step(&c->out, c->job->address, step);
}

int vf_change_stop(struct vf_change *c, enum transition_reason reason, int code, const char *fmt,
		   ...)
{
	va_list args;
	size_t len;

	if (c->end.reason != REASON_NONE)
		return VF_CHANGE_STOPPED;
	c->end.reason = reason;
	c->end.step = c->step;
	c->end.address = c->job->address;
	c->end.code = code;
	c->end.changed = c->changed;
	va_start(args, fmt);
	(void)vsnprintf(c->end.message, sizeof(c->end.message), fmt, args);
	va_end(args);
	len = strlen(c->end.message);
	if (reason == REASON_AGENT_NOT_PRIVILEGED)
		(void)snprintf(c->end.message + len, sizeof(c->end.message) - len, "%s",
			       "; install the agent with manifests/components/privileged");
	return VF_CHANGE_STOPPED;
}

int vf_change_write(struct vf_change *c, const char *name, const char *text)
{
	const struct kernel *kernel = c->options->kernel;
	auto_free char *path = xasprintf("bus/pci/devices/%s/%s", c->job->address, name);
	uint64_t began_us = now_us();
	int r;

	c->changed = true;
	r = kernel->write(kernel->arg, c->options->sysfs_fd, path, text);
	c->kernel_us += now_us() - began_us;
	return r;
}

static int open_state(struct vf_change *c)
{
	const char *path = c->options->state_dir;

	(void)mkdir(path, STATE_DIR_MODE);
	c->state_fd = sysfs_open_dir(AT_FDCWD, path);
	if (c->state_fd >= 0)
		return 0;
	return vf_change_stop(c, REASON_STATE_NOT_WRITABLE, -errno,
			      "open the state directory '%s': %s; nothing is changed without a "
			      "record of it",
			      path, strerror(errno));
}

/* Is the device that is meant there? */
static int check_identity(struct vf_change *c)
{
	const struct vf_job *job = c->job;
	char serial[PCI_SERIAL_SIZE];
	struct bind_seen seen;
	struct err err = { 0 };

	if (bind_look(c->options->sysfs_fd, job->address, &seen, &err) < 0)
		return vf_change_stop(c, REASON_DEVICE_GONE, err.code, "%s", err.msg);
	if (!seen.present)
		return vf_change_stop(c, REASON_DEVICE_GONE, 0, "there is no PCI function %s",
				      job->address);
	if (strcmp(seen.id, job->id) != 0)
		return vf_change_stop(c, REASON_DIFFERENT_DEVICE, 0,
				      "%s is another device: '%s' instead of '%s'", job->address,
				      seen.id, job->id);
	bind_look_serial(c->options->sysfs_fd, job->address, serial);
	if (job->serial && serial[0] && strcmp(job->serial, serial) != 0)
		return vf_change_stop(c, REASON_DIFFERENT_DEVICE, 0,
				      "%s is another device: '%s' instead of '%s'", job->address,
				      serial, job->serial);
	return 0;
}

static int look(struct vf_change *c)
{
	auto_free char *path = xasprintf("bus/pci/devices/%s", c->job->address);

	c->dir_fd = sysfs_open_dir(c->options->sysfs_fd, path);
	if (c->dir_fd < 0)
		return vf_change_stop(c, REASON_DEVICE_GONE, 0, "there is no PCI function %s",
				      c->job->address);
	if (check_identity(c) < 0)
		return VF_CHANGE_STOPPED;
	vf_look(c->dir_fd, &c->seen);
	return 0;
}

static void run(struct vf_change *c)
{
	int r;

	if (open_state(c) < 0)
		return;
	vf_change_step(c, STEP_WAIT_LOCK);
	if (vf_change_lock(c, c->job->address) < 0 || look(c) < 0)
		return;
	r = vf_change_number(c);
	if (vf_change_restore(c, r == 0) == 0 && r == 0)
		(void)vf_change_settings(c);
}

static void release(struct vf_change *c)
{
	for (size_t i = 0; i < c->locks.len; i++)
		close(c->locks.items[i].fd);
	array_done(&c->locks);
	vf_seen_done(&c->seen);
	if (c->dir_fd >= 0)
		close(c->dir_fd);
	if (c->state_fd >= 0)
		close(c->state_fd);
}

int vf_change_run(const struct vf_change_options *options, const struct vf_job *job,
		  struct err *err)
{
	uint64_t began_us = now_us();
	struct vf_change c = {
		.options = options,
		.job = job,
		.state_fd = -1,
		.dir_fd = -1,
		.out = { .fd = options->out_fd },
	};

	run(&c);
	c.end.kernel_us = c.kernel_us;
	c.end.took_us = now_us() - began_us;
	transition_out_end(&c.out, &c.end);
	release(&c);
	return progress_result(&c.out, err);
}
