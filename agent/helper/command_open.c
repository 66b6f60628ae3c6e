#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/helper/command.h"
#include "agent/helper/sys/report.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/mem.h"

/* Open the character device @path once. A driver that lets nobody else in is loaded all the same. */
static int open_node(const char *path, struct err *err)
{
	auto_close int node = open(path, O_PATH | O_CLOEXEC);
	auto_free char *again = NULL;
	auto_close int fd = -1;
	struct stat st;

	if (node < 0)
		return err_set(err, ERR_RETRY, -errno, "%s", strerror(errno));
	/* What is no device, a FIFO above all, is not opened. */
	if (fstat(node, &st) < 0 || !S_ISCHR(st.st_mode))
		return err_set(err, ERR_INVALID, -ENODEV, "it is no character device");
	again = xasprintf("/proc/self/fd/%d", node);
	fd = open(again, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno != EBUSY)
		return err_set(err, ERR_RETRY, -errno, "%s", strerror(errno));
	return 0;
}

int command_open_node(const struct command *command, const char *verb, char **args)
{
	static const char dev[] = "/dev/";
	struct report report = { 0 };
	struct err err = { 0 };
	auto_free char *path = NULL;

	if (!args[0] || args[1] || strncmp(args[0], dev, strlen(dev)) != 0) {
		(void)err_set(&err, ERR_INVALID, -EINVAL, "%s takes one path below /dev", verb);
		return command_fail(COMMAND_USAGE, &err);
	}
	path = xasprintf("%s/%s", command->dev_root ? command->dev_root : "/dev",
			 args[0] + strlen(dev));
	report_open(&report.lines, verb);
	json_write_str(&report.lines, "path", args[0]);
	if (open_node(path, &err) < 0) {
		json_write_str(&report.lines, "result", "Failed");
		json_write_str(&report.lines, "message", err.msg);
	} else {
		json_write_str(&report.lines, "result", "Opened");
	}
	report_close(&report.lines);
	return command_finish(&report);
}
