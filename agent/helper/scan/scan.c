#include "agent/helper/scan/scan.h"

#include <string.h>

#include "agent/helper/record/record.h"
#include "agent/helper/record/vf_record.h"
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

void scan_run(const struct scan_options *options, struct report *report)
{
	struct pci_functions functions = { 0 };
	struct err err = { 0 };
	size_t usb_len;

	host_scan(options->sysfs_fd, report);
	pci_scan(options->sysfs_fd, report, &functions);
	for (size_t i = 0; i < functions.len; i++)
		pci_line_write(&functions.items[i], &report->lines);
	usb_len = usb_scan(options->sysfs_fd, report);
	mdev_scan(options->sysfs_fd, options->proc_fd, options->state_fd, report);
	use_scan(options, &functions, report);
	if (options->state_fd >= 0) {
		records_write_lines(options->state_fd, options->proc_fd, report);
		vf_records_write_lines(options->state_fd, options->proc_fd, report);
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
