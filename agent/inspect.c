#include "agent/inspect.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "base/str.h"

struct inspection {
	struct inventory *inventory;
	struct err err;
};

static void on_scanned(void *arg, struct inventory *inventory, const struct err *err)
{
	struct inspection *inspection = arg;

	inspection->inventory = inventory;
	if (!inventory)
		inspection->err = *err;
}

static int write_out(const struct str *text, struct err *err)
{
	size_t at = 0;

	while (at < text->len) {
		ssize_t n = write(STDOUT_FILENO, text->buf + at, text->len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, ERR_RETRY, -errno, "write to standard output: %s",
				       strerror(errno));
		at += (size_t)n;
	}
	return 0;
}

int inspect_run(const struct scan_options *options, enum print_format format, struct err *err)
{
	auto_str struct str text = STR_INIT;
	struct inspection inspection = { 0 };
	struct scan *scan;
	uv_loop_t loop;

	uv_loop_init(&loop);
	scan = scan_new(&loop, options, on_scanned, &inspection);
	scan_start(scan);
	while (!inspection.inventory && !inspection.err.code && uv_run(&loop, UV_RUN_ONCE))
		;
	scan_free(scan);
	uv_run(&loop, UV_RUN_NOWAIT);
	uv_loop_close(&loop);

	if (!inspection.inventory) {
		*err = inspection.err;
		return err->code;
	}
	print_inventory(&text, inspection.inventory, format);
	inventory_free(inspection.inventory);
	return write_out(&text, err);
}
