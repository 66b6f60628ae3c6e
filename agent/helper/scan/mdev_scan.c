#include "agent/helper/scan/mdev_scan.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "agent/helper/record/record.h"
#include "agent/helper/sys/mdev.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/num.h"

/* The attribute "@folder/@attr" in one line of text, "" if there is none. */
static const char *read_text(int dir_fd, const char *folder, const char *attr,
			     struct sysfs_attr *text)
{
	auto_free char *path = xasprintf("%s/%s", folder, attr);

	if (sysfs_read(dir_fd, path, text, NULL) != 0)
		return "";
	for (char *c = text->text; *c; c++) {
		if (*c == '\n' || *c == '\t')
			*c = ' ';
	}
	return text->text;
}

static void write_text(struct str *lines, const char *key, const char *text)
{
	if (text[0])
		json_write_str(lines, key, text);
}

/* Of the PCI function at @pci; nothing where that has none. */
static void write_place(int sysfs_fd, const char *pci, struct str *lines)
{
	auto_free char *path = xasprintf("bus/pci/devices/%s/numa_node", pci);
	struct sysfs_attr attr;
	uint64_t node;

	if (!pci[0])
		return;
	json_write_str(lines, "pciAddress", pci);
	if (sysfs_read(sysfs_fd, path, &attr, NULL) == 0 && str_to_u64(attr.text, &node) &&
	    node <= INT_MAX)
		json_write_int(lines, "numaNode", (int64_t)node);
}

/* --- parents ---------------------------------------------------------------------------------- */

static void write_type(int types_fd, const char *id, const char *parent, struct report *report)
{
	struct str *lines = &report->lines;
	struct sysfs_attr text;
	uint64_t available;

	json_write_open(lines, NULL, '{');
	json_write_str(lines, "id", id);
	write_text(lines, "name", read_text(types_fd, id, "name", &text));
	write_text(lines, "description", read_text(types_fd, id, "description", &text));
	write_text(lines, "deviceAPI", read_text(types_fd, id, "device_api", &text));
	if (str_to_u64(read_text(types_fd, id, "available_instances", &text), &available) &&
	    available <= INT_MAX)
		json_write_int(lines, "available", (int64_t)available);
	else
		report_problem(report, parent, "available_instances",
			       "no number can be read for the type '%s'", id);
	json_write_close(lines, '}');
}

static void write_types(int parents_fd, const char *parent, struct report *report)
{
	auto_free char *path = xasprintf("%s/mdev_supported_types", parent);
	auto_names struct sysfs_names names = { 0 };
	auto_close int types_fd = -1;
	struct err err = { 0 };
	size_t count = 0;

	json_write_open(&report->lines, "types", '[');
	if (sysfs_open_list(parents_fd, path, &types_fd, &names, &err) < 0)
		report_problem(report, parent, "mdev_supported_types", "%s", err.msg);
	for (size_t i = 0; i < names.len && count < MDEV_TYPES_MAX; i++) {
		if (!mdev_name_valid(names.items[i], strlen(names.items[i])))
			continue;
		write_type(types_fd, names.items[i], parent, report);
		count++;
	}
	json_write_close(&report->lines, ']');
}

static void scan_parent(int sysfs_fd, int parents_fd, const char *name, struct report *report)
{
	char target[SYSFS_LINK_MAX + 1];
	struct devpath devpath;
	struct err err = { 0 };
	int r;

	if (!mdev_name_valid(name, strlen(name)))
		return;
	r = sysfs_link(parents_fd, name, target, &err);
	if (r < 0)
		report_fail(report, &err);
	if (r != 0)
		return;
	devpath_parse(target, &devpath);
	report_open(&report->lines, "mdevParent");
	json_write_str(&report->lines, "name", name);
	write_place(sysfs_fd, devpath.pci, &report->lines);
	write_types(parents_fd, name, report);
	report_close(&report->lines);
}

static void scan_parents(int sysfs_fd, struct report *report)
{
	auto_names struct sysfs_names names = { 0 };
	auto_close int fd = -1;
	struct err err = { 0 };

	if (sysfs_open_list(sysfs_fd, MDEV_PARENTS, &fd, &names, &err) < 0)
		report_fail(report, &err);
	for (size_t i = 0; i < names.len; i++)
		scan_parent(sysfs_fd, fd, names.items[i], report);
}

/* --- instances -------------------------------------------------------------------------------- */

static void write_instance(int sysfs_fd, const char *uuid, const struct mdev_instance *seen,
			   struct str *lines)
{
	auto_free char *folder = xasprintf(MDEV_DEVICES "/%s/mdev_type", uuid);
	auto_free char *group = seen->group < 0 ? NULL : xasprintf("%d", seen->group);
	struct sysfs_attr text;

	report_open(lines, "mdev");
	json_write_str(lines, "uuid", uuid);
	json_write_str(lines, "parent", seen->parent);
	write_place(sysfs_fd, seen->pci, lines);
	write_text(lines, "type", seen->type);
	write_text(lines, "typeName", read_text(sysfs_fd, folder, "name", &text));
	write_text(lines, "deviceAPI", read_text(sysfs_fd, folder, "device_api", &text));
	if (group)
		json_write_str(lines, "iommuGroup", group);
	report_close(lines);
}

static void scan_instance(int sysfs_fd, const char *uuid, struct report *report)
{
	struct mdev_instance seen;
	struct err err = { 0 };

	if (mdev_instance_read(sysfs_fd, uuid, &seen, &err) < 0)
		report_fail(report, &err);
	else if (seen.present && !seen.parent[0])
		report_problem(report, uuid, "mdev", "it hangs on no parent that has a name");
	else if (seen.present)
		write_instance(sysfs_fd, uuid, &seen, &report->lines);
}

static void scan_instances(int sysfs_fd, struct report *report)
{
	auto_names struct sysfs_names names = { 0 };
	struct err err = { 0 };
	size_t count = 0;

	if (sysfs_list(sysfs_fd, MDEV_DEVICES, &names, &err) < 0)
		report_fail(report, &err);
	for (size_t i = 0; i < names.len; i++) {
		if (!mdev_uuid_valid(names.items[i], strlen(names.items[i])))
			continue;
		if (count++ == MDEV_INSTANCES_MAX) {
			report_problem(report, "", MDEV_DEVICES, "more than %d instances",
				       MDEV_INSTANCES_MAX);
			return;
		}
		scan_instance(sysfs_fd, names.items[i], report);
	}
}

void mdev_scan(int sysfs_fd, int proc_fd, int state_fd, struct report *report)
{
	scan_parents(sysfs_fd, report);
	scan_instances(sysfs_fd, report);
	if (state_fd >= 0)
		records_write_lines(&mdev_records, state_fd, proc_fd, report);
}
