#include "agent/helper/usb/usb_rebind.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "agent/helper/frame/run.h"
#include "agent/helper/scan/pci_scan.h"
#include "agent/helper/scan/scan.h"
#include "agent/helper/scan/use_scan.h"
#include "agent/helper/sys/devpath.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "agent/helper/sys/value.h"
#include "agent/helper/sys/words.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

enum { NUMBER_MAX = 0xffff, NOTHING_TO_DO = 1 };

/* --- what is asked for ------------------------------------------------------------------------ */

/* clang-format off */
static const struct word_row rows[] = {
	{ "port",          WORD_NEEDED, offsetof(struct usb_rebind_job, port), usb_name_valid,
	  .form = "a USB port such as 1-2.3" },
	{ "bus",           WORD_NEEDED, offsetof(struct usb_rebind_job, bus), .max = NUMBER_MAX },
	{ "device",        WORD_NEEDED, offsetof(struct usb_rebind_job, device),
	  .max = NUMBER_MAX },
	{ "allow-unknown", 0, offsetof(struct usb_rebind_job, allow_unknown), value_is_one,
	  .form = "1" },
};
/* clang-format on */

int usb_rebind_job_parse(char **words, struct usb_rebind_job *ret_job, struct err *err)
{
	static const struct words_table table = { .rows = rows, .len = ARRAY_LEN(rows) };

	return words_parse(&table, words, ret_job, err);
}

/* --- what is there ---------------------------------------------------------------------------- */

struct rebind {
	struct run run;
	const struct run_options *options;
	const struct usb_rebind_job *job;
};

static int stop_unread(struct rebind *b, const struct err *err)
{
	return run_stop(&b->run, REASON_USE_UNKNOWN, err->code, "the device in port %s: %s",
			b->job->port, err->msg);
}

/* The number in the attribute @name of the device. 0, SYSFS_ABSENT, or RUN_STOPPED. */
static int read_number(struct rebind *b, const char *name, uint64_t *ret_number)
{
	auto_free char *path = xasprintf("bus/usb/devices/%s/%s", b->job->port, name);
	struct sysfs_attr attr;
	struct err err = { 0 };
	int r = sysfs_read(b->options->sysfs_fd, path, &attr, &err);

	if (r == 0 && !str_to_u64(attr.text, ret_number))
		r = err_set(&err, ERR_RETRY, -EINVAL, "%s '%.32s' is no number", name, attr.text);
	return r < 0 ? stop_unread(b, &err) : r;
}

/* 0: the device that is meant is in its port; NOTHING_TO_DO; RUN_STOPPED. */
static int check_identity(struct rebind *b)
{
	uint64_t bus = 0;
	uint64_t device = 0;
	int r = read_number(b, "busnum", &bus);

	if (r == 0)
		r = read_number(b, "devnum", &device);
	if (r < 0)
		return r;
	return r == 0 && bus == (uint64_t)b->job->bus && device == (uint64_t)b->job->device
		       ? 0
		       : NOTHING_TO_DO;
}

/* The name of its driver into @ret_driver, "" if it has none. 0, or RUN_STOPPED. */
static int read_driver(struct rebind *b, char ret_driver[SYSFS_LINK_MAX + 1])
{
	auto_free char *path = xasprintf("bus/usb/devices/%s/driver", b->job->port);
	char target[SYSFS_LINK_MAX + 1];
	struct err err = { 0 };
	int r = sysfs_link(b->options->sysfs_fd, path, target, &err);

	if (r < 0)
		return stop_unread(b, &err);
	(void)snprintf(ret_driver, SYSFS_LINK_MAX + 1, "%s", r == 0 ? str_base_name(target) : "");
	return 0;
}

/* --- may it be done? -------------------------------------------------------------------------- */

/* What is behind a hub would go with it. */
static int check_hub(struct rebind *b)
{
	uint64_t ports = 0;
	int r = read_number(b, "maxchild", &ports);

	if (r < 0)
		return r;
	if (ports == 0)
		return 0;
	return run_stop(&b->run, REASON_IN_USE, 0,
			"the device in port %s is a hub: other devices are behind it",
			b->job->port);
}

static int check_uses(struct rebind *b)
{
	const struct scan_options options = {
		.sysfs_fd = b->options->sysfs_fd,
		.proc_fd = b->options->proc_fd,
		.dev_fd = b->options->dev_fd,
		.state_fd = -1,
		.node_address = b->options->node_address,
	};
	struct pci_functions none = { 0 };
	struct report report = { 0 };
	struct uses uses = { 0 };

	run_step(&b->run, b->job->port, STEP_CHECK_HOLDERS);
	use_collect(&options, &none, &report, &uses);
	for (size_t i = 0; i < uses.len; i++) {
		const struct use *use = &uses.items[i];

		if (strcmp(use->device.usb, b->job->port) == 0 &&
		    !(use->reason == USE_UNKNOWN && b->job->allow_unknown))
			(void)run_stop(&b->run, REASON_IN_USE, 0, "the host %s it: %s",
				       use->reason == USE_UNKNOWN ? "may use" : "uses",
				       use->detail);
	}
	uses_done(&uses);
	report_done(&report);
	return b->run.end.reason == REASON_NONE ? 0 : RUN_STOPPED;
}

/* Another machine has it, through the network. */
static int check_driver(struct rebind *b, const char *driver)
{
	if (strcmp(driver, "usbip-host") != 0)
		return 0;
	return run_stop(&b->run, REASON_IN_USE, 0, "the host exports it with USB/IP");
}

/* --- the change ------------------------------------------------------------------------------- */

static int unbind(struct rebind *b, const char *driver)
{
	auto_free char *path = xasprintf("bus/usb/drivers/%s/unbind", driver);
	char now[SYSFS_LINK_MAX + 1] = "";
	int code;

	run_step(&b->run, b->job->port, STEP_UNBIND);
	code = run_write(&b->run, path, b->job->port);
	if (read_driver(b, now) < 0)
		return RUN_STOPPED;
	if (!now[0])
		return 0;
	return run_stop(&b->run, REASON_UNBIND_FAILED, code,
			"take the device in port %s from the driver %s: %s", b->job->port, now,
			code < 0 ? strerror(-code)
				 : "the kernel accepted the write, but the device has its driver");
}

/* The kernel chooses the driver. A device that is gone needs none. */
static int probe(struct rebind *b)
{
	char now[SYSFS_LINK_MAX + 1] = "";
	int code;
	int r;

	run_step(&b->run, b->job->port, STEP_PROBE);
	code = run_write(&b->run, "bus/usb/drivers_probe", b->job->port);
	if (read_driver(b, now) < 0)
		return RUN_STOPPED;
	r = now[0] ? 0 : check_identity(b);
	if (now[0] || r != 0)
		return r;
	return run_stop(&b->run, REASON_PROBE_FAILED, code,
			"give the device in port %s its driver back: %s; plug it in again",
			b->job->port,
			code < 0 ? strerror(-code) : "no driver of the kernel takes it");
}

/* A device without a driver may be left from an interrupted run, or was opened since: bind its
 * driver first. */
static int rebind(struct rebind *b)
{
	char driver[SYSFS_LINK_MAX + 1] = "";
	int r = read_driver(b, driver);

	if (r == 0 && !driver[0]) {
		r = probe(b);
		if (r == 0)
			r = read_driver(b, driver);
	}
	if (r == 0)
		r = check_driver(b, driver);
	if (r == 0)
		r = unbind(b, driver);
	return r == 0 ? probe(b) : r;
}

static int take_lock(struct rebind *b)
{
	auto_free char *name = xasprintf("usb-%s", b->job->port);
	struct err err = { 0 };
	int pid = 0;
	int r;

	run_step(&b->run, b->job->port, STEP_WAIT_LOCK);
	r = run_lock(&b->run, name, &pid, &err);
	if (r < 0)
		return run_stop_state(&b->run, &err);
	if (r == 0)
		return 0;
	return run_stop_busy(&b->run, pid, "another hostdev-helper works on port %s", b->job->port);
}

int usb_rebind(const struct run_options *options, const struct usb_rebind_job *job, struct err *err)
{
	struct rebind b = { .options = options, .job = job };

	run_start(&b.run, options, "port");
	b.run.about = job->port;
	if (run_open_state(&b.run, "") == 0 && take_lock(&b) == 0 && check_identity(&b) == 0 &&
	    check_hub(&b) == 0 && check_uses(&b) == 0)
		(void)rebind(&b);
	return run_finish(&b.run, err);
}
