/* What a plugin answers to the calls that have one answer. */
#include "fake/fake_clock.h"
#include "unit/plugin/plugin_scene.h"

/* --- Allocate --------------------------------------------------------------------------------- */

/* The list is "a b x! y! c@1". */
static struct allocate_case {
	const char *name;
	const char *ids;
	const char *log;
	const char *broken;
	const char *nothing;
} allocations[] = {
	{ "one device", "a",
	  "allocated: a|container: t.io/toy=a /dev/toy/a:mrw /dev/toy/all:rw|OK|", NULL, NULL },
	{ "the order asked for, and no other device", "c a",
	  "allocated: c a|"
	  "container: t.io/toy=c,a /dev/toy/c:mrw /dev/toy/a:mrw /dev/toy/all:rw|OK|",
	  NULL, NULL },
	{ "each container gets its own", "b / a",
	  "allocated: b|allocated: a|container: t.io/toy=b /dev/toy/b:mrw /dev/toy/all:rw|"
	  "container: t.io/toy=a /dev/toy/a:mrw /dev/toy/all:rw|OK|",
	  NULL, NULL },
	{ "an unknown device", "a z",
	  "refused a z|NotFound: resource 't.io/toy' has no device 'z'|", NULL, NULL },
	{ "an unknown device in the second container", "a / z",
	  "refused a z|NotFound: resource 't.io/toy' has no device 'z'|", NULL, NULL },
	{ "a device that is not ready", "a y",
	  "refused a y|FailedPrecondition: device 'y' of 't.io/toy' is not ready: it is not healthy|",
	  NULL, NULL },
	{ "a device that is not ready for a known reason", "x",
	  "refused x|FailedPrecondition: device 'x' of 't.io/toy' is not ready: it is on fire|",
	  NULL, NULL },
	{ "a device twice", "a b a",
	  "refused a b a|InvalidArgument: device 'a' of 't.io/toy' is requested twice|", NULL,
	  NULL },
	{ "no device", "", "refused|InvalidArgument: a container requests no device of 't.io/toy'|",
	  NULL, NULL },
	{ "the type has a reason not to", "a b",
	  "refused a b|Unavailable: t.io/toy: device 'b' does not answer|", "b", NULL },
	{ "the type gives nothing", "b",
	  "refused b|FailedPrecondition: t.io/toy: device type 'toy' has nothing to give for 'b'|",
	  NULL, "b" },
};

static void allocation_matches_table(void **state)
{
	const struct allocate_case *c = *state;
	struct scene *scene = scene_new("a b x! y! c@1");

	scene->toy.broken = c->broken;
	scene->toy.nothing = c->nothing;
	caller_allocate(&scene->caller, c->ids);
	stage_await(&scene->stage, c->log);
	scene_free(scene);
}

SUITE_OBJECT(scene, scene_new("a"), scene_free);

static void bytes_are_no_request(void **state)
{
	struct scene *scene = *state;

	caller_allocate_bytes(&scene->caller, "\xff\xff", 2);
	stage_await(&scene->stage, "refused|InvalidArgument: no v1beta1.AllocateRequest in these 2 "
				   "bytes|");
	caller_allocate_bytes(&scene->caller, "", 0);
	stage_await(&scene->stage, "refused|InvalidArgument: a request for no container|");
	assert_int_equal(scene->toy.allocations, 0);
}

/* All or nothing: no allocation is reported if one container of the call is refused. */
static void too_many_containers(void **state)
{
	struct scene *scene = *state;
	auto_str struct str words = STR_INIT;

	for (int i = 0; i < PLUGIN_CONTAINERS_MAX; i++)
		str_add(&words, "a / ");
	str_add(&words, "a");
	caller_allocate(&scene->caller, str_cstr(&words));
	stage_await(
		&scene->stage,
		"refused|ResourceExhausted: 65 containers in one request; at most 64 are allowed|");
}

/* --- the other calls -------------------------------------------------------------------------- */

static void a_type_that_lists_its_nodes_is_asked_before_a_start(void **state)
{
	struct scene *scene = *state;

	caller_options(&scene->caller);
	stage_await(&scene->stage, "pre-start 1, preferred 1|OK|");
}

static void another_is_not_asked(void **state)
{
	struct scene *scene = scene_of(&later_type, "a");

	(void)state;
	caller_options(&scene->caller);
	stage_await(&scene->stage, "pre-start 0, preferred 1|OK|");
	caller_pre_start(&scene->caller, "a");
	stage_await(&scene->stage, "0 bytes|OK|");
	scene_free(scene);
}

/* The answers to Allocate are base64: "/dev/toy/a" and "/dev/toy/all", or "/dev/toy/z". */
#define GIVEN(resource, id, answer)                                                             \
	"{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":\"p\",\"ResourceName\":\"" resource "\"," \
	"\"DeviceIDs\":{\"-1\":[\"" id "\"]},\"AllocResp\":\"" answer "\"}]}}"
#define OWN     "GhgKCi9kZXYvdG95L2ESCi9kZXYvdG95L2EaHAoML2Rldi90b3kvYWxsEgwvZGV2L3RveS9hbGw="
#define FOREIGN "GhgKCi9kZXYvdG95L3oSCi9kZXYvdG95L3o="

static struct start_case {
	const char *name;
	const char *checkpoint; /* NULL: there is none */
	const char *ids;
	const char *log;
} starts[] = {
	{ "a container gets the nodes that its device has", GIVEN("t.io/toy", "a", OWN), "a",
	  "0 bytes|OK|" },
	{ "one that would get another's node does not start", GIVEN("t.io/toy", "a", FOREIGN), "a",
	  "FailedPrecondition: t.io/toy: /dev/toy/z, which the container was given for 'a', is not the "
	  "node of this device any more: delete the pod|" },
	{ "nor one with several devices", GIVEN("t.io/toy", "b", FOREIGN), "ab",
	  "FailedPrecondition: t.io/toy: /dev/toy/z, which the container was given for 'a', is not the "
	  "node of this device any more: delete the pod|" },
	{ "what another resource's device was given counts for nothing",
	  GIVEN("t.io/other", "a", FOREIGN), "a", "0 bytes|OK|" },
	{ "without a checkpoint the device counts", NULL, "a", "0 bytes|OK|" },
	{ "an answer that is none counts for nothing", GIVEN("t.io/toy", "a", "!"), "a",
	  "0 bytes|OK|" },
	{ "no device is no trouble", GIVEN("t.io/toy", "a", FOREIGN), "", "0 bytes|OK|" },
};

static void start_is_answered(void **state)
{
	const struct start_case *c = suite_row(state);
	struct scene *scene = *state;

	if (c->checkpoint)
		folder_put(&scene->stage.folder, "checkpoint", c->checkpoint);
	caller_pre_start(&scene->caller, c->ids);
	stage_await(&scene->stage, c->log);
}

static void pass(struct scene *scene, uint64_t ms)
{
	stage_rest(&scene->stage);
	for (uint64_t gone = 0; gone < ms; gone += 50) {
		fake_clock_advance(scene->stage.fake, 50);
		stage_rest(&scene->stage);
	}
}

/* What hinders the device may end soon, and the kubelet would try again much later. */
static void a_start_waits_for_what_may_end(void **state)
{
	struct scene *scene = *state;

	scene->toy.broken = "a";
	caller_pre_start(&scene->caller, "a");
	pass(scene, 7000);
	assert_string_equal(str_cstr(&scene->stage.log), "");
	scene->toy.broken = NULL;
	pass(scene, 250);
	stage_await(&scene->stage, "0 bytes|OK|");

	scene->toy.broken = "a";
	caller_pre_start(&scene->caller, "a");
	pass(scene, 7900);
	assert_string_equal(str_cstr(&scene->stage.log), "");
	pass(scene, 500);
	stage_await(&scene->stage, "Unavailable: t.io/toy: device 'a' does not answer|");
}

static void on_stopped_start(void *arg)
{
	struct scene *scene = arg;

	scene->plugin = plugin_free(scene->plugin);
}

/* By a kubelet that does not wait any more, and by the end of the resource. */
static void a_start_that_waits_is_ended(void **state)
{
	struct scene *scene = *state;
	struct grpc_rpc *rpc;

	scene->toy.broken = "a";
	rpc = caller_pre_start(&scene->caller, "a");
	pass(scene, 1000);
	grpc_rpc_cancel(rpc);
	pass(scene, 10000);
	assert_string_equal(str_cstr(&scene->stage.log), "");
	caller_pre_start(&scene->caller, "a");
	caller_pre_start(&scene->caller, "a");
	pass(scene, 1000);
	plugin_stop(scene->plugin, on_stopped_start, scene);
	stage_await(&scene->stage, "Unavailable: resource 't.io/toy' is withdrawn|"
				   "Unavailable: resource 't.io/toy' is withdrawn|");
	while (scene->plugin)
		pass(scene, 50);
}

static struct prefer_case {
	const char *name;
	const char *available;
	const char *musts;
	size_t size;
	bool backwards;
	const char *log;
} preferences[] = {
	{ "the order of the list, whatever the kubelet's", "d b a", "", 2, false,
	  "preferred: a b|OK|" },
	{ "the type's own order", "d b a", "", 2, true, "preferred: b a|OK|" },
	{ "what it must have, and its node", "a b c d e", "d", 2, false, "preferred: d c|OK|" },
	{ "a must that is not available comes all the same", "a b", "e", 2, false,
	  "preferred: e a|OK|" },
	{ "a must that is available comes once", "a b", "b", 2, false, "preferred: b a|OK|" },
	{ "what the list does not have is left out", "z e", "", 2, false, "preferred: e|OK|" },
	{ "what is not healthy is left out", "f e", "", 2, false, "preferred: e|OK|" },
	{ "a must that the list does not have is left out", "a b", "z", 2, false,
	  "preferred: a b|OK|" },
	{ "a must that is not healthy stays", "a b", "f", 2, false, "preferred: f a|OK|" },
	{ "nothing available", "", "", 2, false, "preferred:|OK|" },
	{ "nothing wanted", "a", "", 0, false, "preferred:|OK|" },
	{ "the same device twice", "a a b", "", 2, false, "preferred: a b|OK|" },
};

static void preference_matches_table(void **state)
{
	const struct prefer_case *c = *state;
	struct scene *scene = scene_new("a@0 b@0 c@1 d@1 e f!");

	scene->toy.backwards = c->backwards;
	caller_prefer(&scene->caller, c->available, c->musts, c->size);
	stage_await(&scene->stage, c->log);
	scene_free(scene);
}

/* The kubelet takes it itself if it has no other. */
static void what_a_former_pod_has_is_not_proposed(void **state)
{
	struct scene *scene = scene_new("a@0 b@0 c@1 d@1 e f!");

	(void)state;
	scene->toy.left = "a";
	caller_prefer(&scene->caller, "a b c d", "", 2);
	stage_await(&scene->stage, "preferred: c d|OK|");
	caller_prefer(&scene->caller, "a", "", 1);
	stage_await(&scene->stage, "preferred:|OK|");
	caller_prefer(&scene->caller, "a b", "a", 2); /* of its own pod */
	stage_await(&scene->stage, "preferred: a b|OK|");
	scene_free(scene);
}

static enum device_choice choice_of_toy(void *arg, const char *resource)
{
	const struct toy *toy = arg;

	assert_string_equal(resource, "t.io/toy");
	return toy->choice;
}

/* b and d, and c and e, belong together; more so the former. */
static uint16_t weight_of_toys(void *arg, const char *resource, const char *a, const char *b)
{
	static const char *const pairs[] = { "ec", "db" };

	(void)arg;
	assert_string_equal(resource, "t.io/toy");
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		if (strchr(pairs[i], a[0]) && strchr(pairs[i], b[0]))
			return (uint16_t)(100 + i);
	}
	return 1;
}

static struct rule_case {
	const char *name;
	enum device_choice choice;
	const char *available;
	const char *musts;
	size_t size;
	bool backwards;
	const char *log;
} rules[] = {
	{ "near: of one node", CHOICE_NEAR, "a b c d e", "d", 2, false, "preferred: d c|OK|" },
	{ "weights: the heaviest pair", CHOICE_WEIGHTS, "a b c d e", "", 2, false,
	  "preferred: b d|OK|" },
	{ "weights: with what it must have", CHOICE_WEIGHTS, "a b c d e", "e", 2, false,
	  "preferred: e c|OK|" },
	{ "weights: of what is available", CHOICE_WEIGHTS, "a c d e", "", 2, false,
	  "preferred: c e|OK|" },
	{ "weights: unknown devices count for nothing", CHOICE_WEIGHTS, "z a c y f e", "x", 2,
	  false, "preferred: c e|OK|" },
	{ "weights: more musts than it needs", CHOICE_WEIGHTS, "a b c", "a b c", 2, false,
	  "preferred: a b|OK|" },
	{ "weights: more than there are", CHOICE_WEIGHTS, "b a", "", 5, false,
	  "preferred: a b|OK|" },
	{ "weights: nothing available", CHOICE_WEIGHTS, "", "", 2, false, "preferred:|OK|" },
	{ "weights: nothing wanted", CHOICE_WEIGHTS, "a b", "", 0, false, "preferred:|OK|" },
	{ "weights: the type's order decides between equals", CHOICE_WEIGHTS, "a b c", "", 2, true,
	  "preferred: c b|OK|" },
	{ "distributed: of two cards", CHOICE_DISTRIBUTED, "a b c d e", "", 2, false,
	  "preferred: a c|OK|" },
	{ "packed: of one card", CHOICE_PACKED, "a c d e", "", 2, false, "preferred: a c|OK|" },
};

/* a and b are shares of one card, c and d of another. */
static void rule_matches_table(void **state)
{
	static const struct device_type type = { .name = "toy",
						 .allocate = toy_allocate,
						 .prefer = toy_prefer,
						 .choose = choice_of_toy,
						 .weight = weight_of_toys };
	const struct rule_case *c = *state;
	struct scene *scene = scene_of(&type, "a%g@0 b%g@0 c%h@1 d%h@1 e f!");

	scene->toy.choice = c->choice;
	scene->toy.backwards = c->backwards;
	caller_prefer(&scene->caller, c->available, c->musts, c->size);
	stage_await(&scene->stage, c->log);
	scene_free(scene);
}

/* More than can be weighed: the first ones are, and the rest fills up. */
static void many_devices_are_answered(void **state)
{
	static const struct device_type type = { .name = "toy",
						 .allocate = toy_allocate,
						 .choose = choice_of_toy,
						 .weight = weight_of_toys };
	struct scene *scene = scene_of(&type, "a");
	struct herd *herd = *state;
	struct device_list *list = NULL;
	auto_str struct str words = STR_INIT;

	herd_init(herd, 200, 4);
	for (size_t i = 0; i < herd->len; i++) {
		herd->devices[i].healthy = true;
		str_addf(&words, "%s ", herd->ids[i]);
	}
	assert_int_equal(device_list_new(herd->devices, herd->len, toys_refused, NULL, &list, NULL),
			 0);
	plugin_update(scene->plugin, list);
	device_list_unref(list);
	scene->toy.choice = CHOICE_WEIGHTS;
	caller_prefer(&scene->caller, str_cstr(&words), "", 3);
	stage_await(&scene->stage, "preferred: 0000 0001 0002|OK|");
	caller_prefer(&scene->caller, str_cstr(&words), "0199", 3);
	stage_await(&scene->stage, "preferred: 0199 0000 0001|OK|");
	caller_prefer(&scene->caller, str_cstr(&words), "", 199);
	while (!strstr(str_cstr(&scene->stage.log), "0198|OK|"))
		stage_turn(&scene->stage);
	scene_free(scene);
}

static void preference_never_fails(void **state)
{
	static const struct {
		const char *data;
		size_t len;
		const char *log;
	} requests[] = {
		{ "", 0, "OK|" },
		{ "\xff\xff", 2, "OK|" },
		/* One container whose only device is "\xff", which no list could hold. */
		{ "\x0a\x05\x0a\x01\xff\x18\x01", 7, "preferred:|OK|" },
		/* The size is -1. */
		{ "\x0a\x0e\x0a\x01"
		  "a\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		  16, "preferred:|OK|" },
	};
	struct scene *scene = *state;

	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		caller_prefer_bytes(&scene->caller, requests[i].data, requests[i].len);
		stage_await(&scene->stage, requests[i].log);
	}
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_rows(&suite, allocations, allocation_matches_table);
	suite_rows(&suite, preferences, preference_matches_table);
	suite_rows(&suite, rules, rule_matches_table);
	suite_fixture(&suite, &herd_fixture);
	suite_add(&suite, "many devices are answered", many_devices_are_answered, NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "bytes that are no request", bytes_are_no_request, NULL);
	suite_add(&suite, "too many containers", too_many_containers, NULL);
	suite_add(&suite, "a type that lists its nodes is asked before a start",
		  a_type_that_lists_its_nodes_is_asked_before_a_start, NULL);
	suite_add(&suite, "another is not asked", another_is_not_asked, NULL);
	suite_rows(&suite, starts, start_is_answered);
	suite_add(&suite, "what a former pod has is not proposed",
		  what_a_former_pod_has_is_not_proposed, NULL);
	suite_add(&suite, "a start waits for what may end", a_start_waits_for_what_may_end, NULL);
	suite_add(&suite, "a start that waits is ended", a_start_that_waits_is_ended, NULL);
	suite_add(&suite, "a preference never fails", preference_never_fails, NULL);
	return suite_run(&suite, "plugin: calls");
}
