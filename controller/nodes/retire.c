#include "controller/nodes/retire.h"

#include <jansson.h>
#include <string.h>

#include "api/json_map_read.h"
#include "api/meta.h"
#include "api/names.h"
#include "api/patch.h"
#include "base/err.h"
#include "controller/nodes/node_ties.h"
#include "controller/views/errand.h"
#include "kube/apply.h"
#include "kube/fetch.h"
#include "kube/store.h"

enum retire_step retire_plan(enum view_kind kind, const struct view *view)
{
	bool claim = node_ties_is_claim(kind);

	if (claim && !view->marked)
		return RETIRE_NOTHING;
	if (!view->deleting)
		return RETIRE_DELETE;
	return claim ? RETIRE_STRIP : RETIRE_NOTHING;
}

static void on_done(void *arg, int result, const struct kube_response *response,
		    const struct err *err)
{
	(void)response;
	errand_end(arg, result, err);
}

void retire_delete(struct node_ties *ties, enum view_kind kind, const struct entry *entry,
		   work_end_fn *end, void *end_arg)
{
	struct errand *errand = errand_new(ties->errands, ties, entry->name, end, end_arg);

	errand->call = apply_delete(ties->client,
				    &(struct delete_request){
					    .kind = view_whole(kind),
					    .name = entry->name,
					    .uid = entry->uid,
					    .version = entry->version,
				    },
				    on_done, errand);
}

/* --- finalizers --------------------------------------------------------------------------------- */

/* Of a claim of either kind. */
struct retired {
	struct api_meta meta;
};

static const struct json_row retired_map[] = {
	API_META(struct retired),
	JSON_END,
};

static const char *finalizer_of(enum view_kind kind)
{
	return kind == VIEW_PCICLAIM ? NAMES_FINALIZER_HARVESTER_PCI
				     : NAMES_FINALIZER_HARVESTER_USB;
}

/* Without our finalizer; NULL: there is nothing to take off, or it is not being deleted. */
static json_t *stripped(const struct api_meta *meta, const char *ours)
{
	json_t *body;

	if (!meta->deletion_timestamp || !api_meta_has_finalizer(meta, ours))
		return NULL;
	body = patch_new(meta);
	patch_remove_finalizer(body, meta, ours);
	return body;
}

static void send_strip(struct errand *errand, const json_t *body)
{
	const struct node_ties *ties = errand->owner;

	errand->call = apply_merge(ties->client,
				   &(struct apply_request){
					   .kind = view_whole(errand->kind),
					   .name = errand->name,
					   .field_manager = "hostdev-controller",
					   .object = body,
				   },
				   on_done, errand);
}

static void on_read(void *arg, int result, const struct kube_response *response,
		    const struct err *read_err)
{
	struct errand *errand = arg;
	const struct node_ties *ties = errand->owner;
	auto_json json_t *body = NULL;
	struct retired claim;
	struct err err = { 0 };

	errand->call = NULL;
	if (result < 0) {
		errand_end(errand, result, read_err);
		return;
	}
	result = json_map_read(retired_map, response->body, response->body_len, &claim, &err);
	if (result < 0) {
		errand_end(errand, result, &err);
		return;
	}
	body = stripped(&claim.meta, finalizer_of(errand->kind));
	json_map_done(retired_map, &claim);
	if (body && ties->leads(ties->arg))
		send_strip(errand, body);
	else
		errand_end(errand, 0, NULL);
}

void retire_strip(struct node_ties *ties, enum view_kind kind, const char *name, work_end_fn *end,
		  void *end_arg)
{
	struct errand *errand = errand_new(ties->errands, ties, name, end, end_arg);

	errand->kind = kind;
	errand->call = fetch_object(ties->client, view_whole(kind), name, on_read, errand);
}
