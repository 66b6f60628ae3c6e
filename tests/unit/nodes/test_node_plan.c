#include "controller/nodes/node_plan.h"

#include <errno.h>
#include <string.h>

#include "api/json_map.h"
#include "base/err.h"
#include "base/str.h"
#include "unit/suite.h"

#define META \
	"\"metadata\":{\"name\":\"c\",\"uid\":\"u\",\"resourceVersion\":\"7\",\"generation\":3}"
#define READY                                                                             \
	"{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"Ready\",\"message\":\"m\"," \
	"\"lastTransitionTime\":\"2026-01-01T00:00:00Z\",\"observedGeneration\":3}"
#define GONE                                                                                          \
	"{\"type\":\"NodeReachable\",\"status\":\"False\",\"reason\":\"NodeGone\",\"message\":\"m\"," \
	"\"lastTransitionTime\":\"2026-01-01T00:00:00Z\",\"observedGeneration\":3}"

enum { NOW_MS = 1000 };

static struct plan_case {
	const char *name;
	enum reach said, is, want;
} plans[] = {
	{ "all is well and nothing was ever said: nothing", REACH_UNKNOWN, REACH_OK,
	  REACH_UNKNOWN },
	{ "nobody knows yet: nothing", REACH_NODE_GONE, REACH_UNKNOWN, REACH_UNKNOWN },
	{ "said already: nothing", REACH_NODE_GONE, REACH_NODE_GONE, REACH_UNKNOWN },
	{ "news", REACH_UNKNOWN, REACH_NODE_NOT_READY, REACH_NODE_NOT_READY },
	{ "other news", REACH_NODE_NOT_READY, REACH_NODE_GONE, REACH_NODE_GONE },
	{ "well again", REACH_AGENT_DOWN, REACH_OK, REACH_OK },
};

static void plan_matches(void **state)
{
	const struct plan_case *c = *state;

	assert_int_equal(claim_reach_plan(c->said, c->is), c->want);
}

static json_t *patch(const char *text, enum reach reach)
{
	struct err err = { 0 };
	json_t *body = NULL;

	if (claim_reach_patch(text, strlen(text), reach, NOW_MS, &body, &err) < 0)
		fail_msg("%s", err.msg);
	return body;
}

static const char *said(json_t *body, size_t index, const char *key)
{
	json_t *list = json_object_get(json_object_get(body, "status"), "conditions");

	return json_string_value(json_object_get(json_array_get(list, index), key));
}

static void others_conditions_stay(void **state)
{
	auto_json json_t *body = patch(
		"{" META ",\"status\":{\"passthroughEnabled\":true,\"conditions\":[" READY "]}}",
		REACH_NODE_GONE);
	auto_json json_t *ready = json_loads(READY, 0, NULL);
	json_t *list = json_object_get(json_object_get(body, "status"), "conditions");
	json_t *meta = json_object_get(body, "metadata");

	assert_true(json_equal(json_array_get(list, 0), ready));
	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(said(body, 1, "type"), "NodeReachable");
	assert_string_equal(said(body, 1, "status"), "False");
	assert_string_equal(said(body, 1, "reason"), "NodeGone");
	assert_string_equal(said(body, 1, "lastTransitionTime"), "1970-01-01T00:00:01Z");
	assert_int_equal(json_object_size(json_object_get(body, "status")), 1);
	assert_string_equal(json_string_value(json_object_get(meta, "uid")), "u");
	assert_string_equal(json_string_value(json_object_get(meta, "resourceVersion")), "7");
	assert_int_equal(json_object_size(meta), 2);
}

static void well_again_is_true(void **state)
{
	auto_json json_t *body =
		patch("{" META ",\"status\":{\"conditions\":[" GONE "]}}", REACH_OK);

	assert_string_equal(said(body, 0, "status"), "True");
	assert_string_equal(said(body, 0, "reason"), "Reachable");
}

static void what_it_says_already_is_no_patch(void **state)
{
	assert_null(patch("{" META ",\"status\":{\"conditions\":[" GONE "]}}", REACH_NODE_GONE));
	assert_null(patch("{" META "}", REACH_OK));
}

/* A claim with @n conditions of others. */
static void add_claim(struct str *text, int n)
{
	str_add(text, "{" META ",\"status\":{\"conditions\":[");
	for (int i = 0; i < n; i++)
		str_addf(text, "%s{\"type\":\"t%d\",\"status\":\"True\"}", i ? "," : "", i);
	str_add(text, "]}}");
}

static void the_last_place_in_a_list_is_taken(void **state)
{
	auto_str struct str text = STR_INIT;
	auto_json json_t *body = NULL;

	add_claim(&text, 15);
	body = patch(str_cstr(&text), REACH_NODE_GONE);
	assert_string_equal(said(body, 15, "type"), "NodeReachable");
}

static void a_full_list_is_left_alone(void **state)
{
	auto_str struct str text = STR_INIT;
	json_t *body = NULL;
	struct err err = { 0 };

	add_claim(&text, 16);
	assert_int_equal(claim_reach_patch(text.buf, text.len, REACH_NODE_GONE, 0, &body, &err),
			 -E2BIG);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_null(body);
	assert_true(claim_reach_patch("[]", 2, REACH_NODE_GONE, 0, &body, &err) < 0);
}

static struct retire_case {
	const char *name;
	enum view_kind kind;
	struct view view;
	enum retire_step step;
} retires[] = {
	{ "a device goes", VIEW_PCIDEVICE, { .node = "n" }, RETIRE_DELETE },
	{ "a device that is going is others' to let go",
	  VIEW_MEDIATEDDEVICE,
	  { .deleting = true },
	  RETIRE_NOTHING },
	{ "a claim with the finalizer goes",
	  VIEW_PCICLAIM,
	  { .has_finalizer = true },
	  RETIRE_DELETE },
	{ "and then loses our finalizer",
	  VIEW_USBCLAIM,
	  { .has_finalizer = true, .deleting = true },
	  RETIRE_REMOVE_FINALIZER },
	{ "a claim that no agent has seen stays", VIEW_PCICLAIM, { .node = "n" }, RETIRE_NOTHING },
	{ "others' finalizers stay", VIEW_PCICLAIM, { .deleting = true }, RETIRE_NOTHING },
};

static void retire_matches(void **state)
{
	const struct retire_case *c = *state;

	assert_int_equal(retire_plan(c->kind, &c->view), c->step);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, plans, plan_matches);
	suite_add(&suite, "the conditions of others stay as they are", others_conditions_stay,
		  NULL);
	suite_add(&suite, "well again is True", well_again_is_true, NULL);
	suite_add(&suite, "what it says already is no patch", what_it_says_already_is_no_patch,
		  NULL);
	suite_add(&suite, "the last place in a list is taken", the_last_place_in_a_list_is_taken,
		  NULL);
	suite_add(&suite, "a full list is left alone, with an error", a_full_list_is_left_alone,
		  NULL);
	suite_rows(&suite, retires, retire_matches);
	return suite_run(&suite, "node_plan");
}
