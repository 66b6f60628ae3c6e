#include "agent/helper/sys/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json_write.h"
#include "base/mem.h"

void report_open(struct str *lines, const char *kind)
{
	json_write_open(lines, NULL, '{');
	json_write_str(lines, "kind", kind);
}

void report_close(struct str *lines)
{
	json_write_close(lines, '}');
	str_add_char(lines, '\n');
}

void report_problem(struct report *report, const char *device, const char *attribute,
		    const char *fmt, ...)
{
	auto_free char *message = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&message, fmt, args);
	va_end(args);
	if (n < 0)
		abort();
	report_open(&report->problems, "problem");
	json_write_str(&report->problems, "device", device);
	json_write_str(&report->problems, "attribute", attribute);
	json_write_str(&report->problems, "message", message);
	report_close(&report->problems);
}

void report_fail(struct report *report, const struct err *err)
{
	if (report->failure.code == 0)
		report->failure = *err;
}

void report_rewind(struct report *report, size_t mark)
{
	if (report->problems.len == mark)
		return;
	report->problems.len = mark;
	report->problems.buf[mark] = '\0';
}

static int print(struct str *lines, int fd, struct err *err)
{
	int r = file_write_all(fd, str_cstr(lines), lines->len);

	return r < 0 ? err_set(err, ERR_RETRY, r, "write the result: %s", strerror(-r)) : 0;
}

int report_print(struct report *report, int fd, struct err *err)
{
	int r;

	if (report->failure.code < 0) {
		str_clear(&report->lines);
		str_clear(&report->problems);
		report_open(&report->lines, "failed");
		json_write_str(&report->lines, "message", report->failure.msg);
		report_close(&report->lines);
	}
	r = print(&report->lines, fd, err);
	return r < 0 ? r : print(&report->problems, fd, err);
}

void report_done(struct report *report)
{
	str_done(&report->lines);
	str_done(&report->problems);
}
