#include "agent/helper/record/vf_record.h"

#include <string.h>
#include <unistd.h>

#include "agent/helper/sys/devpath.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/state_file.h"
#include "agent/helper/sys/sysfs.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/str.h"

#define FOLDER "autoprobe"

enum { RECORDS_MAX = 4096 }; /* one for each physical function of a node */

/* "on <boot id>": the whole file. The caller frees. */
static char *text_of(int proc_fd, bool on)
{
	struct sysfs_attr boot;

	if (proc_fd < 0 || sysfs_read(proc_fd, "sys/kernel/random/boot_id", &boot, NULL) != 0)
		boot.text[0] = '\0';
	return xasprintf("%s %.64s", on ? "on" : "off", boot.text);
}

static int read_at(int folder_fd, int proc_fd, const char *address, bool *ret_on, struct err *err)
{
	auto_free char *on = text_of(proc_fd, true);
	auto_free char *off = text_of(proc_fd, false);
	auto_free char *text = NULL;
	size_t len = 0;
	int r = state_file_read(folder_fd, address, &text, &len, err);

	if (r < 0 && err->kind != ERR_INVALID)
		return r;
	if (r != 0 || (strcmp(text, on) != 0 && strcmp(text, off) != 0))
		return VF_RECORD_ABSENT;
	*ret_on = strcmp(text, on) == 0;
	return 0;
}

int vf_record_read(int state_fd, int proc_fd, const char *address, bool *ret_on, struct err *err)
{
	auto_close int fd = -1;
	int r = state_folder_open(state_fd, FOLDER, &fd, err);

	if (r != 0)
		return r < 0 ? r : VF_RECORD_ABSENT;
	return read_at(fd, proc_fd, address, ret_on, err);
}

int vf_record_write(int state_fd, int proc_fd, const char *address, bool on, struct err *err)
{
	auto_free char *text = text_of(proc_fd, on);
	auto_str struct str line = STR_INIT;

	str_addf(&line, "%s\n", text);
	return state_file_write(state_fd, FOLDER, address, &line, err);
}

int vf_record_remove(int state_fd, const char *address, struct err *err)
{
	return state_file_remove(state_fd, FOLDER, address, err);
}

void vf_records_write_lines(int state_fd, int proc_fd, struct report *report)
{
	auto_names struct sysfs_names names = { 0 };
	auto_close int fd = -1;
	struct err err = { 0 };

	if (state_folder_list(state_fd, FOLDER, RECORDS_MAX, &fd, &names, &err) < 0)
		report_fail(report, &err);
	for (size_t i = 0; i < names.len; i++) {
		const char *address = names.items[i];
		bool on;

		if (!pci_address_valid(address, strlen(address)) ||
		    read_at(fd, proc_fd, address, &on, &err) != 0)
			continue;
		report_open(&report->lines, "autoprobe");
		json_write_str(&report->lines, "address", address);
		report_close(&report->lines);
	}
}
