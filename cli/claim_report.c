#include "cli/claim_report.h"

#include <string.h>

#include "api/json_map.h"
#include "base/str.h"
#include "cli/ask/claims.h"
#include "cli/show/out.h"

static const char *deed(const struct claim_report *report, const struct claim_wait *wait)
{
	static const char *const existed[] = {
		[DRY_RUN_NONE] = "unchanged",
		[DRY_RUN_SERVER] = "unchanged (server dry run)",
	};
	static const char *const created[] = {
		[DRY_RUN_NONE] = "created",
		[DRY_RUN_CLIENT] = "created (dry run)",
		[DRY_RUN_SERVER] = "created (server dry run)",
	};
	static const char *const deleted[] = {
		[DRY_RUN_NONE] = "deleted",
		[DRY_RUN_CLIENT] = "deleted (dry run)",
		[DRY_RUN_SERVER] = "deleted (server dry run)",
	};
	static const char *const patched[] = {
		[DRY_RUN_NONE] = "patched",
		[DRY_RUN_SERVER] = "patched (server dry run)",
	};

	if (report->goal == CLAIM_READY && wait->existed && !report->waited)
		return wait->patched ? patched[report->dry_run] : existed[report->dry_run];
	if (report->goal == CLAIM_READY)
		return report->waited ? "ready" : created[report->dry_run];
	return report->waited ? "released" : deleted[report->dry_run];
}

static void print_lines(const struct claim_report *report, struct out *out)
{
	for (size_t i = 0; i < report->len; i++) {
		const struct claim_wait *wait = &report->waits[i];

		if (wait->skip || (report->waited && !wait->done))
			continue;
		out_kind_name(&out->text, cluster_kind(claim_kind(wait->target.type)),
			      wait->target.name);
		if (out->format != OUT_NAME)
			str_addf(&out->text, " %s", deed(report, wait));
		str_add_char(&out->text, '\n');
	}
}

/* The objects as the API server returned them, without the fields that kubectl omits: one
 * object, or a list. */
static void print_objects(const struct claim_report *report, struct out *out)
{
	json_t *items = json_array();

	for (size_t i = 0; i < report->len; i++) {
		const char *text = report->waits[i].object;
		json_t *object = NULL;

		if (!report->waits[i].skip && text &&
		    json_map_load(text, strlen(text), &object, NULL) == 0) {
			(void)json_object_del(json_object_get(object, "metadata"), "managedFields");
			json_array_append_new(items, object);
		}
	}
	if (report->len == 1 && json_array_size(items) == 1) {
		out_json(out, json_array_get(items, 0));
		json_decref(items);
	} else {
		out_json_list(out, items);
	}
}

bool claim_report_print(const struct claim_report *report, struct out *out)
{
	if (out_is_json(out))
		print_objects(report, out);
	else
		print_lines(report, out);
	return out_flush(out);
}
