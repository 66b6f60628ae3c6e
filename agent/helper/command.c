#include "agent/helper/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "base/err.h"

int command_fail(int status, const struct err *err)
{
	(void)fprintf(stderr, "hostdev-helper: %s\n", err->msg);
	return status;
}

int command_finish(struct report *report)
{
	struct err err = { 0 };
	int r = report_print(report, STDOUT_FILENO, &err);

	if (r == 0 && report->failure.code < 0)
		err = report->failure;
	report_done(report);
	return err.code < 0 ? command_fail(EXIT_FAILURE, &err) : EXIT_SUCCESS;
}

int command_open(const char *path, int *ret_fd, struct err *err)
{
	int fd = sysfs_open_dir(AT_FDCWD, path);

	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open '%s': %s", path, strerror(errno));
	*ret_fd = fd;
	return 0;
}
