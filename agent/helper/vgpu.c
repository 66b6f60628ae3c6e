#include "agent/helper/vgpu.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper/frame/run.h"
#include "agent/helper/sys/bind_state.h"
#include "agent/helper/sys/holders.h"
#include "agent/helper/sys/job.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/mem.h"

#define CURRENT   "nvidia/current_vgpu_type"
#define CREATABLE "nvidia/creatable_vgpu_types"

bool vgpu_type_check(const char *text)
{
	size_t len = strlen(text);

	return len > 0 && len < VGPU_NUMBER_SIZE - 1 && strspn(text, "0123456789") == len &&
	       (text[0] != '0' || len == 1);
}

/* --- looking ---------------------------------------------------------------------------------- */

static void write_lines(struct str *lines, const char *key, char *text)
{
	char *rest = NULL;
	size_t n = 0;

	json_write_open(lines, key, '[');
	for (char *line = strtok_r(text, "\n", &rest); line && n++ < VGPU_LINES_MAX;
	     line = strtok_r(NULL, "\n", &rest))
		json_write_str(lines, NULL, line);
	json_write_close(lines, ']');
}

void vgpu_write_line(int sysfs_fd, const char *address, struct report *report)
{
	auto_free char *path = xasprintf("bus/pci/devices/%s", address);
	auto_close int dir_fd = -1;
	struct sysfs_attr current;
	struct sysfs_attr creatable;
	struct err err = { 0 };
	int r;

	sysfs_forget_failure();
	dir_fd = sysfs_open_dir(sysfs_fd, path);
	r = dir_fd < 0 ? SYSFS_ABSENT : sysfs_read(dir_fd, CURRENT, &current, &err);
	/* Else it would pass for one that is no vGPU. */
	if (dir_fd < 0 && sysfs_failure()->code < 0)
		report_fail(report, sysfs_failure());
	if (r < 0)
		report_problem(report, address, CURRENT, "%s", err.msg);
	if (r != 0)
		return;
	if (!vgpu_type_check(current.text)) {
		report_problem(report, address, CURRENT, "'%.32s' is no number of a vGPU type",
			       current.text);
		return;
	}
	r = sysfs_read(dir_fd, CREATABLE, &creatable, &err);
	if (r < 0)
		report_problem(report, address, CREATABLE, "%s", err.msg);
	report_open(&report->lines, "vgpu");
	json_write_str(&report->lines, "address", address);
	json_write_str(&report->lines, "current", current.text);
	if (r == 0)
		write_lines(&report->lines, "creatable", creatable.text);
	report_close(&report->lines);
}

/* --- changing --------------------------------------------------------------------------------- */

/* One change under way. */
struct change {
	struct run run;
	const struct run_options *options;
	const char *address;
	const char *type;
	struct bind_state seen;
	int dir_fd;
};

static int open_function(struct change *c)
{
	auto_free char *path = xasprintf("bus/pci/devices/%s", c->address);
	struct err err = { 0 };
	char link[SYSFS_LINK_MAX + 1];

	c->dir_fd = sysfs_open_dir(c->options->sysfs_fd, path);
	if (c->dir_fd < 0 ||
	    bind_state_read(c->options->sysfs_fd, c->address, &c->seen, &err) < 0 ||
	    !c->seen.present)
		return run_stop(&c->run, REASON_DEVICE_GONE, 0, "there is no PCI function %s",
				c->address);
	if (sysfs_link(c->dir_fd, "physfn", link, NULL) != 0)
		return run_stop(&c->run, REASON_NOT_VIRTUAL_FUNCTION, 0,
				"%s is no virtual function: it is not made a vGPU", c->address);
	if (strcmp(c->seen.driver, "nvidia") != 0)
		return run_stop(&c->run, REASON_NO_BACKEND, 0, "%s is on '%s', not on 'nvidia'",
				c->address, c->seen.driver);
	return 0;
}

/* The IOMMU group of the function, "-" for none. */
static void group_text(const struct change *c, char ret_group[16])
{
	(void)snprintf(ret_group, 16, "%d", c->seen.group);
	if (c->seen.group < 0)
		(void)snprintf(ret_group, 16, "-");
}

/* A transition of the function to another driver takes the same lock. */
static int take_lock(struct change *c)
{
	char group[16];
	struct err err = { 0 };
	int pid = 0;
	int r;

	group_text(c, group);
	r = run_lock_group(&c->run, group, &pid, &err);
	if (r < 0)
		return run_stop(&c->run, REASON_STATE_NOT_WRITABLE, 0, "%s", err.msg);
	if (r == 0)
		return 0;
	return run_stop_busy(&c->run, 0,
			     "another hostdev-helper (pid %d) is at work on IOMMU group %s", pid,
			     group);
}

static int read_current(struct change *c, char ret_type[VGPU_NUMBER_SIZE])
{
	struct sysfs_attr attr;
	struct err err = { 0 };
	int r = sysfs_read(c->dir_fd, CURRENT, &attr, &err);

	if (r < 0)
		return run_stop(&c->run, REASON_WRITE_FAILED, 0, "%s", err.msg);
	if (r == SYSFS_ABSENT)
		return run_stop(&c->run, REASON_NO_BACKEND, 0, "the driver of %s has no %s",
				c->address, CURRENT);
	if (!vgpu_type_check(attr.text))
		return run_stop(&c->run, REASON_WRITE_FAILED, 0, "%s of %s says '%.32s'", CURRENT,
				c->address, attr.text);
	memcpy(ret_type, attr.text, attr.len + 1);
	return 0;
}

static int check_free(struct change *c)
{
	auto_holders struct holders holders = { 0 };
	struct job_function function = { .address = c->address };
	struct job job = { .items = &function, .len = 1, .cap = 1 };
	char group[16];

	group_text(c, group);
	holders_find(
		&(struct holders_query){
			.sysfs_fd = c->options->sysfs_fd,
			.proc_fd = c->options->proc_fd,
			.dev_fd = c->options->dev_fd,
			.group = group,
			.confirm_by_open = true,
		},
		&job, &holders);
	if (holders.len == 0)
		return 0;
	return run_stop(&c->run, REASON_HELD, 0, "%s is in use: %s", c->address,
			holders.items[0].detail);
}

/* Write, and believe only what is read back. */
static int write_type(struct change *c, const char *type)
{
	auto_free char *path = xasprintf("bus/pci/devices/%s/" CURRENT, c->address);
	char now[VGPU_NUMBER_SIZE];
	int r = run_write(&c->run, path, type);

	if (read_current(c, now) < 0)
		return RUN_STOPPED;
	if (strcmp(now, type) == 0)
		return 0;
	if (r < 0)
		return run_stop(&c->run, REASON_WRITE_FAILED, 0, "write '%s' to %s of %s: %s", type,
				CURRENT, c->address, strerror(-r));
	return run_stop(&c->run, REASON_WRITE_FAILED, 0,
			"'%s' was written to %s of %s, and it says '%s' all the same", type,
			CURRENT, c->address, now);
}

static int change(struct change *c)
{
	char now[VGPU_NUMBER_SIZE];

	if (open_function(c) < 0 || run_open_state(&c->run, "") < 0 || take_lock(c) < 0 ||
	    read_current(c, now) < 0)
		return RUN_STOPPED;
	if (strcmp(now, c->type) == 0)
		return 0;
	if (strcmp(now, "0") != 0 && (check_free(c) < 0 || write_type(c, "0") < 0))
		return RUN_STOPPED;
	return strcmp(c->type, "0") == 0 ? 0 : write_type(c, c->type);
}

int vgpu_set(const struct run_options *options, const char *address, const char *type,
	     struct err *err)
{
	struct change c = {
		.options = options,
		.address = address,
		.type = type,
		.seen = { .group = -1 },
		.dir_fd = -1,
	};
	struct report report = { 0 };
	int r;

	run_start(&c.run, options, "address");
	c.run.times = RUN_TIMES_NONE;
	(void)change(&c);
	vgpu_write_line(options->sysfs_fd, address, &report);
	run_end_add(&c.run, &report.lines);
	r = report_print(&report, options->out_fd, err);
	report_done(&report);
	if (c.dir_fd >= 0)
		close(c.dir_fd);
	run_done(&c.run);
	return r;
}
