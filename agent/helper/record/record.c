#include "agent/helper/record/record.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/helper/record/mdev_record.h"
#include "agent/helper/record/record_text.h"
#include "agent/helper/sys/devpath.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/state_file.h"
#include "agent/helper/sys/sysfs.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/str.h"

#define FOLDER "devices"
#define SUFFIX ".json"

_Static_assert((int)RECORD_ABSENT == (int)STATE_FILE_ABSENT, "what is read is handed on");

/* Addresses become names of files: nothing else may. */
static int check_address(const char *address, struct err *err)
{
	if (pci_address_valid(address, strlen(address)))
		return 0;
	return err_set(err, ERR_INVALID, -EINVAL, "'%s' is no PCI address", address);
}

static int read_at(int folder_fd, const char *address, struct record *ret_record, struct err *err)
{
	auto_free char *name = xasprintf("%s" SUFFIX, address);
	auto_record struct record record = { 0 };
	auto_free char *text = NULL;
	size_t len = 0;
	int r = state_file_read(folder_fd, name, &text, &len, err);

	if (r != 0)
		return r;
	if (record_text_parse(text, len, &record, err) < 0)
		return err_wrap(err, "'%s'", name);
	if (strcmp(record.address, address) != 0)
		return err_set(err, ERR_INVALID, -EBADMSG, "'%s' is about '%s'", name,
			       record.address);
	*ret_record = record;
	record = (struct record){ 0 };
	return 0;
}

int record_read(int state_fd, const char *address, struct record *ret_record, struct err *err)
{
	auto_close int fd = -1;
	int r;

	if (check_address(address, err) < 0)
		return -EINVAL;
	r = state_folder_open(state_fd, FOLDER, &fd, err);
	return r == 0 ? read_at(fd, address, ret_record, err) : r;
}

int record_write(int state_fd, const struct record *record, struct err *err)
{
	auto_str struct str text = STR_INIT;
	auto_free char *name = NULL;

	if (record_text_check(record, err) < 0)
		return err->code;
	name = xasprintf("%s" SUFFIX, record->address);
	record_text_write(record, &text);
	return state_file_write(state_fd, FOLDER, name, &text, err);
}

int record_remove(int state_fd, const char *address, struct err *err)
{
	auto_free char *name = NULL;

	if (check_address(address, err) < 0)
		return -EINVAL;
	name = xasprintf("%s" SUFFIX, address);
	return state_file_remove(state_fd, FOLDER, name, err);
}

/* The address that a record's file is named after, NULL if it is none of a record. */
static char *address_of(const char *name)
{
	size_t len = strlen(name);
	size_t suffix = strlen(SUFFIX);

	if (len < suffix || strcmp(name + len - suffix, SUFFIX) != 0)
		return NULL;
	return xstrndup(name, len - suffix);
}

static void write_line(int folder_fd, const char *address, const char *boot, struct report *report)
{
	auto_record struct record record = { 0 };
	struct err err = { 0 };
	const char *bound;
	int r = pci_address_valid(address, strlen(address))
			? read_at(folder_fd, address, &record, &err)
			: err_set(&err, ERR_INVALID, -EINVAL, "'%s' is no PCI address", address);

	if (r < 0)
		report_problem(report, address, "record", "%s; repair the file or remove it",
			       err.msg);
	if (r != 0)
		return;
	report_open(&report->lines, "record");
	record_text_members(&record, &report->lines);
	bound = record.bound ? record.bound : record.boot;
	json_write_bool(&report->lines, "thisBoot", boot[0] && bound && strcmp(bound, boot) == 0);
	report_close(&report->lines);
}

void records_write_lines(int state_fd, int proc_fd, struct report *report)
{
	char boot[64];
	auto_names struct sysfs_names names = { 0 };
	auto_close int fd = -1;
	struct err err = { 0 };

	if (state_folder_list(state_fd, FOLDER, RECORDS_MAX, &fd, &names, &err) < 0)
		report_fail(report, &err);
	mdev_record_boot(proc_fd, boot);
	for (size_t i = 0; i < names.len; i++) {
		auto_free char *address = address_of(names.items[i]);

		if (address)
			write_line(fd, address, boot, report);
	}
}
