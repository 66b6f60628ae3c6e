#include "agent/helper/scan/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper/record/record.h"
#include "agent/helper/scan/host.h"
#include "agent/helper/scan/mdev_scan.h"
#include "agent/helper/scan/pci_line.h"
#include "agent/helper/scan/pci_scan.h"
#include "agent/helper/scan/usb.h"
#include "agent/helper/scan/use_scan.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/mem.h"

/* Every kernel's tree has these. Without them an empty list of devices would pass for the machine's. */
static void check_tree(int sysfs_fd, struct report *report)
{
	static const char *const folders[] = { "bus", "class" };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		struct err err = { 0 };

		if (faccessat(sysfs_fd, folders[i], F_OK, 0) == 0)
			continue;
		(void)err_set(&err, ERR_RETRY, -errno,
			      "the sysfs tree has no folder '%s' (%s): mount the node's /sys, or "
			      "correct --sysfs-root",
			      folders[i], strerror(errno));
		report_fail(report, &err);
		return;
	}
}

void scan_run(const struct scan_options *options, struct report *report)
{
	struct pci_functions functions = { 0 };
	struct err err = { 0 };
	size_t usb_len;

	check_tree(options->sysfs_fd, report);
	host_scan(options->sysfs_fd, report);
	pci_scan(options->sysfs_fd, report, &functions);
	for (size_t i = 0; i < functions.len; i++)
		pci_line_write(&functions.items[i], &report->lines);
	usb_len = usb_scan(options->sysfs_fd, report);
	mdev_scan(options->sysfs_fd, options->proc_fd, options->state_fd, report);
	use_scan(options, &functions, report);
	if (options->state_fd >= 0) {
		records_write_lines(&device_records, options->state_fd, options->proc_fd, report);
		records_write_lines(&autoprobe_records, options->state_fd, options->proc_fd,
				    report);
	}

	if (sysfs_shortage() < 0)
		(void)err_set(&err, ERR_RETRY, sysfs_shortage(), "the scan is not complete: %s",
			      strerror(-sysfs_shortage()));
	if (err.code < 0)
		report_fail(report, &err);
	str_add_mem(&report->lines, str_cstr(&report->problems), report->problems.len);
	str_clear(&report->problems);
	report_open(&report->lines, "end");
	json_write_int(&report->lines, "pci", (int64_t)functions.len);
	json_write_int(&report->lines, "usb", (int64_t)usb_len);
	report_close(&report->lines);
	pci_functions_done(&functions);
}
