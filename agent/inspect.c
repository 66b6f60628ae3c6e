#include "agent/inspect.h"

#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "agent/print.h"
#include "base/err.h"
#include "base/str.h"
#include "kube/loop.h"

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

int inspect_run(const struct scan_options *options, enum out_format format, struct err *err)
{
	struct inspection inspection = { 0 };
	struct scan *scan;
	struct out out;
	uv_loop_t loop;
	int r = loop_open(&loop, err);

	if (r < 0)
		return r;
	scan = scan_new(&loop, options, on_scanned, &inspection);
	scan_start(scan);
	while (!inspection.inventory && !inspection.err.code && uv_run(&loop, UV_RUN_ONCE))
		;
	scan_free(scan);
	loop_close(&loop);

	if (!inspection.inventory) {
		*err = inspection.err;
		return err->code;
	}
	out_init(&out, format);
	print_inventory(&out, inspection.inventory);
	inventory_free(inspection.inventory);
	r = print_text(&out.text, err);
	str_done(&out.text);
	return r;
}
