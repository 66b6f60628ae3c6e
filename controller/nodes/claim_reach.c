#include "controller/nodes/claim_reach.h"

#include <errno.h>
#include <stdlib.h>

#include "api/condition.h"
#include "api/json_map_read.h"
#include "api/meta.h"
#include "api/patch.h"
#include "base/err.h"
#include "base/mem.h"
#include "controller/nodes/node_book.h"
#include "controller/nodes/node_ties.h"
#include "controller/views/errand.h"
#include "kube/apply.h"
#include "kube/clock.h"
#include "kube/fetch.h"
#include "kube/store.h"
#include "kube/workq_run.h"

enum {
	WRITES_MAX = 8, /* at a time */
};

struct claim_reach {
	const struct node_ties *ties;
	struct workq_run *queue; /* of kind and name: "8/node1-000004000" */
};

static void work(void *arg, const char *key, work_end_fn *end, void *end_arg);

struct claim_reach *claim_reach_new(const struct node_ties *ties)
{
	struct claim_reach *told = xcalloc(1, sizeof(*told));

	told->ties = ties;
	told->queue = workq_run_new(&(struct workq_run_spec){
		.name = "claims of nodes",
		.max_running = WRITES_MAX,
		.work = work,
		.arg = told,
		.clock = ties->clock,
		.metrics = ties->metrics,
	});
	return told;
}

struct claim_reach *claim_reach_free(struct claim_reach *told)
{
	if (!told)
		return NULL;
	workq_run_free(told->queue);
	free(told);
	return NULL;
}

void claim_reach_touch(struct claim_reach *told, enum view_kind kind, const char *name)
{
	auto_free char *key = xasprintf("%d/%s", (int)kind, name);

	workq_run_add(told->queue, key);
}

/* --- what is to be said ------------------------------------------------------------------------- */

enum reach claim_reach_plan(enum reach said, enum reach is)
{
	if (is == said || (is == REACH_OK && said == REACH_UNSAID))
		return REACH_UNSAID;
	return is;
}

struct spoken_status {
	struct api_conditions conditions;
};

/* Of a claim of either kind. */
struct spoken {
	struct api_meta meta;
	struct spoken_status status;
};

static const struct json_row status_map[] = {
	API_CONDITIONS(struct spoken_status),
	JSON_END,
};

static const struct json_row spoken_map[] = {
	API_META(struct spoken),
	JSON_STRUCT(struct spoken, status, "status", JSON_OPTIONAL, struct spoken_status,
		    status_map),
	JSON_END,
};

static bool say(struct spoken *claim, enum reach reach, int64_t now_wall_ms)
{
	return api_conditions_set(&claim->status.conditions,
				  &(struct api_condition_value){
					  .type = REACH_CONDITION,
					  .status = reach == REACH_OK ? API_TRUE : API_FALSE,
					  .reason = reach_reason(reach),
					  .message = reach_message(reach),
					  .observed_generation = claim->meta.generation,
				  },
				  now_wall_ms);
}

/* A generation that has changed since is the agent's to write about. */
static json_t *patch_of(struct spoken *claim, enum reach reach, int64_t now_wall_ms)
{
	json_t *body;

	if (claim_reach_plan(reach_said(&claim->status.conditions), reach) == REACH_UNSAID)
		return NULL;
	say(claim, reach, now_wall_ms);
	body = patch_new(&claim->meta);
	json_object_set_new(body, "status", json_map_encode(status_map, &claim->status));
	return body;
}

int claim_reach_patch(const char *text, size_t len, enum reach reach, int64_t now_wall_ms,
		      json_t **ret_body, struct err *err)
{
	struct spoken claim;
	int r = json_map_read(spoken_map, text, len, &claim, err);

	if (r < 0)
		return r;
	*ret_body = patch_of(&claim, reach, now_wall_ms);
	if (claim.status.conditions.len > API_CONDITIONS_MAX) {
		json_decref(*ret_body);
		*ret_body = NULL;
		r = err_set(err, ERR_INVALID, -E2BIG,
			    "status.conditions: no room for one more beside the %d that there are",
			    API_CONDITIONS_MAX);
	}
	json_map_done(spoken_map, &claim);
	return r;
}

/* --- work --------------------------------------------------------------------------------------- */

static void on_told(void *arg, int result, const struct kube_response *response,
		    const struct err *err)
{
	(void)response;
	errand_end(arg, result, err);
}

static void send_patch(struct errand *errand, const json_t *body)
{
	const struct claim_reach *told = errand->owner;

	errand->call = apply_merge(told->ties->client,
				   &(struct apply_request){
					   .kind = view_whole(errand->kind),
					   .name = errand->name,
					   .subresource = "status",
					   .field_manager = "hostdev-controller",
					   .object = body,
				   },
				   on_told, errand);
}

static void on_read(void *arg, int result, const struct kube_response *response,
		    const struct err *read_err)
{
	struct errand *errand = arg;
	const struct claim_reach *told = errand->owner;
	const struct node_ties *ties = told->ties;
	auto_json json_t *body = NULL;
	struct err err = { 0 };

	errand->call = NULL;
	if (result < 0) {
		errand_end(errand, result, read_err);
		return;
	}
	result = claim_reach_patch(response->body, response->body_len, errand->reach,
				   clock_wall_ms(ties->clock), &body, &err);
	if (result < 0)
		errand_end(errand,
			   err_wrap(&err, "%s '%s'", view_whole(errand->kind)->kind, errand->name),
			   &err);
	else if (!body || !ties->leads(ties->arg))
		errand_end(errand, 0, NULL);
	else
		send_patch(errand, body);
}

/* What is to be written; UNSAID: nothing. */
static enum reach wanted(const struct node_ties *ties, enum view_kind kind, const char *name)
{
	const struct view *view = store_object(ties->stores[kind], name);
	const char *node = view ? node_ties_node(ties, kind, name, view) : "";
	uint64_t wait_ms; /* whoever waits for the node touches its claims then */

	if (!node[0] || !ties->leads(ties->arg))
		return REACH_UNSAID;
	return claim_reach_plan(view->reach, node_book_reach(ties->book, node,
							     clock_now_ms(ties->clock), &wait_ms));
}

static void work(void *arg, const char *key, work_end_fn *end, void *end_arg)
{
	struct claim_reach *told = arg;
	enum view_kind kind = (enum view_kind)(key[0] - '0');
	const char *name = key + 2;
	enum reach reach = wanted(told->ties, kind, name);
	struct errand *errand;

	if (reach == REACH_UNSAID) {
		end(end_arg, 0, NULL);
		return;
	}
	errand = errand_new(told->ties->errands, told, name, end, end_arg);
	errand->kind = kind;
	errand->reach = reach;
	errand->call = fetch_object(told->ties->client, view_whole(kind), name, on_read, errand);
}
