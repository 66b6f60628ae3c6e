/* Allocations that a device type answers later: who hears what, whatever comes in between. */
#include "agent/plugin/deferred.h"

#include "fake/fake_clock.h"
#include "unit/plugin/plugin_scene.h"

SUITE_OBJECT(scene, scene_of(&later_type, "a b c x!"), scene_free);

/* Until @n containers wait for the type. */
static void await_waiting(struct scene *scene, size_t n)
{
	fake_clock_settle(scene->stage.fake);
	while (scene->toy.nwaiting != n)
		stage_turn(&scene->stage);
	assert_string_equal(str_cstr(&scene->stage.log), "");
}

static void answer_all(struct scene *scene)
{
	while (scene->toy.nwaiting > 0)
		toy_answer(&scene->toy, 0);
}

#define GIVEN(id) "container: t.io/toy=" id " /dev/toy/" id ":mrw /dev/toy/all:rw|"

/* --- what the type answers -------------------------------------------------------------------- */

static struct answer_case {
	const char *name;
	const char *ids;
	size_t waiting; /* containers that the type is asked for */
	const char *log;
	const char *broken;
	const char *nothing;
	bool at_once;
} answers[] = {
	{ "an answer later", "a", 1, "allocated: a|" GIVEN("a") "OK|", NULL, NULL, false },
	{ "an answer at once", "a", 0, "allocated: a|" GIVEN("a") "OK|", NULL, NULL, true },
	{ "each container gets its own", "b / a", 2,
	  "allocated: b|allocated: a|" GIVEN("b") GIVEN("a") "OK|", NULL, NULL, false },
	{ "containers may share a device", "a / a", 2,
	  "allocated: a|allocated: a|" GIVEN("a") GIVEN("a") "OK|", NULL, NULL, false },
	{ "the type has a reason not to", "a", 1,
	  "refused a|Unavailable: t.io/toy: device 'a' does not answer|", "a", NULL, false },
	{ "the type refuses at once", "a / b", 0,
	  "refused a b|Unavailable: t.io/toy: device 'a' does not answer|", "a", NULL, true },
	{ "one container is refused", "a / b / c", 3,
	  "refused a b c|Unavailable: t.io/toy: device 'b' does not answer|", "b", NULL, false },
	{ "the type gives nothing", "b", 1,
	  "refused b|FailedPrecondition: t.io/toy: device type 'toy' has nothing to give for 'b'|",
	  NULL, "b", false },
	{ "the type is not asked for what is not ready", "a / x", 0,
	  "refused a x|FailedPrecondition: device 'x' of 't.io/toy' is not ready: it is on fire|",
	  NULL, NULL, false },
	{ "the type is not asked for what is unknown", "z", 0,
	  "refused z|NotFound: resource 't.io/toy' has no device 'z'|", NULL, NULL, false },
};

static void answer_matches_table(void **state)
{
	struct scene *scene = *state;
	const struct answer_case *c = suite_row(state);

	scene->toy.broken = c->broken;
	scene->toy.nothing = c->nothing;
	scene->toy.at_once = c->at_once;
	caller_allocate(&scene->caller, c->ids);
	if (c->waiting > 0) {
		await_waiting(scene, c->waiting);
		stage_pass(&scene->stage, DEFERRED_MS - 1);
		answer_all(scene);
	}
	stage_await(&scene->stage, c->log);
	stage_pass(&scene->stage, 2UL * DEFERRED_MS);
}

static void containers_may_be_answered_in_any_order(void **state)
{
	struct scene *scene = *state;

	caller_allocate(&scene->caller, "a / b / c");
	await_waiting(scene, 3);
	toy_answer(&scene->toy, 2);
	toy_answer(&scene->toy, 0);
	stage_settle(&scene->stage, "");
	toy_answer(&scene->toy, 0);
	stage_await(&scene->stage, "allocated: a|allocated: b|allocated: c|" GIVEN("a") GIVEN("b")
					   GIVEN("c") "OK|");
}

static void calls_do_not_wait_for_each_other(void **state)
{
	struct scene *scene = *state;
	struct caller other;

	caller_init(&other, &scene->stage, scene->path);
	caller_allocate(&scene->caller, "a");
	await_waiting(scene, 1);
	caller_allocate(&other, "b");
	await_waiting(scene, 2);
	caller_allocate(&scene->caller, "c");
	await_waiting(scene, 3);
	toy_answer(&scene->toy, 1);
	stage_await(&scene->stage, "allocated: b|" GIVEN("b") "OK|");
	toy_answer(&scene->toy, 1);
	stage_await(&scene->stage, "allocated: c|" GIVEN("c") "OK|");
	toy_answer(&scene->toy, 0);
	stage_await(&scene->stage, "allocated: a|" GIVEN("a") "OK|");
	caller_done(&other);
}

static void a_device_is_in_one_call_at_a_time(void **state)
{
	struct scene *scene = *state;
	static const char refused[] = "refused b a|Unavailable: device 'a' of 't.io/toy' is being "
				      "allocated by another request|";

	caller_allocate(&scene->caller, "a");
	await_waiting(scene, 1);
	caller_allocate(&scene->caller, "b a");
	stage_await(&scene->stage, refused);
	/* The refused call does not keep b, nor gives a away. */
	caller_allocate(&scene->caller, "b");
	await_waiting(scene, 2);
	toy_answer(&scene->toy, 1);
	stage_await(&scene->stage, "allocated: b|" GIVEN("b") "OK|");
	caller_allocate(&scene->caller, "b a");
	stage_await(&scene->stage, refused);
	toy_answer(&scene->toy, 0);
	stage_await(&scene->stage, "allocated: a|" GIVEN("a") "OK|");
	caller_allocate(&scene->caller, "a");
	await_waiting(scene, 1);
	toy_answer(&scene->toy, 0);
	stage_await(&scene->stage, "allocated: a|" GIVEN("a") "OK|");
}

/* --- what comes in between -------------------------------------------------------------------- */

static void deadline_is_reported_with_its_reason(void **state)
{
	static const struct device_type hasty_type = { .name = "hasty",
						       .allocate_later = toy_allocate_later,
						       .later_ms = 500 };
	static const struct {
		const struct device_type *type;
		unsigned ms;
		const char *log;
	} cases[] = {
		{ &later_type, DEFERRED_MS,
		  "refused a b|Unavailable: t.io/toy: device type 'toy' has not prepared device 'b' "
		  "within 10000 ms|" },
		{ &hasty_type, 500,
		  "refused a b|Unavailable: t.io/toy: device type 'hasty' has not prepared device "
		  "'b' within 500 ms|" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct scene *scene = scene_of(cases[i].type, "a b");

		caller_allocate(&scene->caller, "a / b");
		await_waiting(scene, 2);
		toy_answer(&scene->toy, 0);
		stage_pass(&scene->stage, cases[i].ms - 1);
		assert_true(deferred_is_wanted(scene->toy.waiting[0].deferred));
		fake_clock_advance(scene->stage.fake, 1);
		stage_await(&scene->stage, cases[i].log);
		assert_false(deferred_is_wanted(scene->toy.waiting[0].deferred));
		answer_all(scene);
		stage_settle(&scene->stage, "");
		scene_free(scene);
	}
}

static void a_call_that_the_kubelet_ends_is_forgotten(void **state)
{
	struct scene *scene = *state;
	struct caller other;
	struct grpc_rpc *rpc = caller_allocate(&scene->caller, "a / b");

	await_waiting(scene, 2);
	toy_answer(&scene->toy, 0);
	grpc_rpc_cancel(rpc);
	stage_settle(&scene->stage, "");
	assert_false(deferred_is_wanted(scene->toy.waiting[0].deferred));
	/* The devices are free for the next call, whose answer is its own. */
	caller_init(&other, &scene->stage, scene->path);
	caller_allocate(&other, "b");
	await_waiting(scene, 2);
	toy_answer(&scene->toy, 0);
	stage_settle(&scene->stage, "");
	caller_done(&other);
	stage_settle(&scene->stage, "");
	assert_false(deferred_is_wanted(scene->toy.waiting[0].deferred));
	answer_all(scene);
	stage_pass(&scene->stage, 2UL * DEFERRED_MS);
}

/* The client's own deadline, by the real clock. */
static void a_call_may_have_a_deadline(void **state)
{
	struct scene *scene = *state;
	struct plugin_ids ids = caller_ids("a");
	auto_str struct str data = STR_INIT;

	assert_int_equal(plugin_codec_write_allocate(&ids, &data, NULL), 0);
	plugin_ids_done(&ids);
	caller_call(&scene->caller, (struct grpc_request){ .path = "/v1beta1.DevicePlugin/Allocate",
							   .data = str_cstr(&data),
							   .len = data.len,
							   .timeout_ms = 50,
							   .on_message = caller_on_allocations });
	await_waiting(scene, 1);
	stage_await(&scene->stage, "DeadlineExceeded: deadline exceeded|");
	while (deferred_is_wanted(scene->toy.waiting[0].deferred))
		stage_turn(&scene->stage);
	answer_all(scene);
	stage_settle(&scene->stage, "");
}

static struct change_case {
	const char *name;
	const char *list;
	const char *log;
} changes[] = {
	{ "another device changes", "a b! d", "allocated: a|" GIVEN("a") "OK|" },
	{ "the device is withdrawn", "b c",
	  "refused a|NotFound: resource 't.io/toy' has no device 'a'|" },
	{ "the device falls ill", "a! b",
	  "refused a|FailedPrecondition: device 'a' of 't.io/toy' is not ready: it is not "
	  "healthy|" },
};

static void list_at_the_answer_counts(void **state)
{
	struct scene *scene = *state;
	const struct change_case *c = suite_row(state);

	caller_allocate(&scene->caller, "a");
	await_waiting(scene, 1);
	scene_update(scene, c->list);
	stage_settle(&scene->stage, "");
	toy_answer(&scene->toy, 0);
	stage_await(&scene->stage, c->log);
}

static void on_stopped(void *arg)
{
	struct scene *scene = arg;

	stage_log(&scene->stage, "stopped");
	scene->plugin = plugin_free(scene->plugin);
}

static void await_stop(struct scene *scene)
{
	while (scene->plugin) {
		stage_rest(&scene->stage);
		fake_clock_advance(scene->stage.fake, 1);
	}
}

/* The kubelet hears at once why the pod fails, and the owner of the plugin nothing any more. */
static void a_stop_refuses_what_waits(void **state)
{
	struct scene *scene = *state;

	caller_allocate(&scene->caller, "a");
	caller_allocate(&scene->caller, "b");
	await_waiting(scene, 2);
	plugin_stop(scene->plugin, on_stopped, scene);
	assert_false(deferred_is_wanted(scene->toy.waiting[0].deferred));
	toy_answer(&scene->toy, 0);
	await_stop(scene);
	stage_settle(&scene->stage, "Unavailable: resource 't.io/toy' is withdrawn|"
				    "Unavailable: resource 't.io/toy' is withdrawn|stopped|");
	answer_all(scene);
	stage_settle(&scene->stage, "");
}

static void stop_in_between(void *arg, const char *resource, const struct json_strs *ids,
			    struct deferred *deferred)
{
	char *toy = arg;
	void *owner = toy - offsetof(struct scene, toy);
	struct scene *scene = owner;

	plugin_stop(scene->plugin, on_stopped, scene);
	assert_true(deferred_is_wanted(deferred));
	scene->toy.at_once = true;
	scene->toy.broken = "a";
	toy_allocate_later(arg, resource, ids, deferred);
}

/* A type that finds that its devices are gone. The first reason counts. */
static void a_type_may_withdraw_when_it_is_asked(void **state)
{
	static const struct device_type type = { .name = "toy", .allocate_later = stop_in_between };
	struct scene *scene = scene_of(&type, "a b");

	caller_allocate(&scene->caller, "a / b");
	while (scene->toy.allocations == 0)
		stage_turn(&scene->stage);
	await_stop(scene);
	stage_settle(&scene->stage, "Unavailable: resource 't.io/toy' is withdrawn|stopped|");
	assert_int_equal(scene->toy.allocations, 1);
	scene_free(scene);
}

static void an_end_without_a_word(void **state)
{
	struct scene *scene = *state;

	caller_allocate(&scene->caller, "a / b");
	await_waiting(scene, 2);
	scene->plugin = plugin_free(scene->plugin);
	assert_false(deferred_is_wanted(scene->toy.waiting[0].deferred));
	toy_answer(&scene->toy, 0);
	while (!strstr(str_cstr(&scene->stage.log), "Unavailable"))
		stage_turn(&scene->stage);
	str_clear(&scene->stage.log);
	answer_all(scene);
	stage_settle(&scene->stage, "");
}

/* --- all of it in any order ------------------------------------------------------------------- */

enum { CALLS_MAX = 8, STEPS = 1500, DEVICES = 6 };

struct chaos {
	struct scene *scene;
	uint64_t seed;
	struct chaos_call {
		struct caller caller;
		struct chaos *chaos;
		struct grpc_rpc *rpc; /* NULL: none */
		struct plugin_ids ids;
	} calls[CALLS_MAX];
	size_t answered; /* containers, as the kubelet hears it */
	size_t ended;    /* calls that were not cancelled       */
};

/* A caller is the first member of its call. */
static void on_chaos_message(void *arg, const char *data, size_t len)
{
	const struct chaos_call *call = arg;
	struct plugin_allocations all = { 0 };

	assert_int_equal(plugin_codec_read_allocations(data, len, &all, NULL), 0);
	assert_int_equal(all.len, call->ids.len);
	for (size_t i = 0; i < all.len; i++)
		assert_string_equal(all.items[i].devices.items[0].host_path + strlen("/dev/toy/"),
				    call->ids.items[i].items[0]);
	call->chaos->answered += all.len;
	plugin_allocations_done(&all);
}

static void on_chaos_end(void *arg, const struct grpc_result *result)
{
	struct chaos_call *call = arg;

	assert_non_null(call->rpc);
	assert_int_not_equal(result->status, GRPC_INTERNAL);
	call->rpc = NULL;
	call->chaos->ended++;
}

static size_t pick(struct chaos *chaos, size_t n)
{
	return suite_random(&chaos->seed) % n;
}

static void chaos_allocate(struct chaos *chaos, struct chaos_call *call)
{
	auto_str struct str words = STR_INIT;
	auto_str struct str data = STR_INIT;

	for (size_t i = 0, n = 1 + pick(chaos, 3); i < n; i++)
		str_addf(&words, "%s%c", pick(chaos, 2) ? " " : " / ",
			 (char)('a' + pick(chaos, DEVICES)));
	plugin_ids_done(&call->ids);
	call->ids = caller_ids(str_cstr(&words) + (words.buf[1] == '/' ? 2 : 0));
	assert_int_equal(plugin_codec_write_allocate(&call->ids, &data, NULL), 0);
	call->rpc = caller_call(&call->caller,
				(struct grpc_request){ .path = "/v1beta1.DevicePlugin/Allocate",
						       .data = str_cstr(&data),
						       .len = data.len,
						       .on_message = on_chaos_message,
						       .on_end = on_chaos_end });
}

static void chaos_call_hang_up(struct chaos *chaos, struct chaos_call *call)
{
	caller_done(&call->caller);
	call->rpc = NULL;
	caller_init(&call->caller, &chaos->scene->stage, chaos->scene->path);
}

static void chaos_step(struct chaos *chaos)
{
	static const char *const lists[] = { "a b c d e f", "a b c d! e f", "b c d e" };
	static const char *const broken[] = { NULL, NULL, "a", "e" };
	struct toy *toy = &chaos->scene->toy;
	struct chaos_call *call = &chaos->calls[pick(chaos, CALLS_MAX)];
	size_t what = pick(chaos, 16);

	toy->broken = broken[pick(chaos, ARRAY_LEN(broken))];
	toy->at_once = pick(chaos, 5) == 0;
	if (what == 0)
		scene_update(chaos->scene, lists[pick(chaos, ARRAY_LEN(lists))]);
	else if (what == 1)
		fake_clock_advance(chaos->scene->stage.fake, pick(chaos, DEFERRED_MS));
	else if (what == 2 && call->rpc)
		grpc_rpc_cancel(take_ptr(call->rpc));
	else if (what == 3)
		chaos_call_hang_up(chaos, call);
	else if (what < 9 && toy->nwaiting > 0)
		toy_answer(toy, pick(chaos, toy->nwaiting));
	else if (!call->rpc && toy->nwaiting + 4 < TOY_WAITING_MAX)
		chaos_allocate(chaos, call);
}

/* Each call that the kubelet waits for waits for the type, and for devices that no other waits for.
 * Each container that was told as allocated was answered. */
static void chaos_check(const struct chaos *chaos)
{
	struct toy *toy = &chaos->scene->toy;
	size_t told = 0;
	size_t wanted = 0;
	size_t open = 0;
	struct json_strs taken = { 0 };

	for (const char *at = str_cstr(&chaos->scene->stage.log); (at = strstr(at, "allocated:"));
	     at++)
		told++;
	assert_int_equal(told, chaos->answered);
	for (size_t i = 0; i < toy->nwaiting; i++)
		wanted += deferred_is_wanted(toy->waiting[i].deferred);
	for (size_t i = 0; i < CALLS_MAX; i++) {
		const struct plugin_ids *ids = &chaos->calls[i].ids;

		if (!chaos->calls[i].rpc)
			continue;
		open++;
		for (size_t k = 0; k < ids->len; k++) {
			for (size_t j = 0; j < ids->items[k].len; j++)
				assert_false(json_strs_has(&taken, ids->items[k].items[j]));
		}
		for (size_t k = 0; k < ids->len; k++) {
			for (size_t j = 0; j < ids->items[k].len; j++)
				json_strs_add(&taken, ids->items[k].items[j]);
		}
	}
	assert_true(wanted >= open);
	assert_true((wanted > 0) == (open > 0));
	json_strs_done(&taken);
}

static void any_order_is_answered_once(void **state)
{
	struct chaos *chaos = xcalloc(1, sizeof(*chaos));

	chaos->scene = scene_of(&later_type, "a b c d e f");
	chaos->seed = 7;
	for (size_t i = 0; i < CALLS_MAX; i++) {
		chaos->calls[i].chaos = chaos;
		caller_init(&chaos->calls[i].caller, &chaos->scene->stage, chaos->scene->path);
	}
	for (int step = 0; step < STEPS; step++) {
		chaos_step(chaos);
		stage_rest(&chaos->scene->stage);
		chaos_check(chaos);
	}
	assert_true(chaos->answered > 100);
	assert_true(chaos->ended > chaos->answered / 3);
	fake_clock_advance(chaos->scene->stage.fake, DEFERRED_MS);
	stage_rest(&chaos->scene->stage);
	for (size_t i = 0; i < CALLS_MAX; i++) {
		assert_null(chaos->calls[i].rpc);
		caller_done(&chaos->calls[i].caller);
		plugin_ids_done(&chaos->calls[i].ids);
	}
	scene_free(chaos->scene);
	free(chaos);
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_add(&suite, "the deadline is reported with its reason",
		  deadline_is_reported_with_its_reason, NULL);
	suite_add(&suite, "a type may withdraw when it is asked",
		  a_type_may_withdraw_when_it_is_asked, NULL);
	suite_add(&suite, "any order is answered once", any_order_is_answered_once, NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_rows(&suite, answers, answer_matches_table);
	suite_add(&suite, "containers may be answered in any order",
		  containers_may_be_answered_in_any_order, NULL);
	suite_add(&suite, "calls do not wait for each other", calls_do_not_wait_for_each_other,
		  NULL);
	suite_add(&suite, "a device is in one call at a time", a_device_is_in_one_call_at_a_time,
		  NULL);
	suite_add(&suite, "a call that the kubelet ends is forgotten",
		  a_call_that_the_kubelet_ends_is_forgotten, NULL);
	suite_add(&suite, "a call may have a deadline", a_call_may_have_a_deadline, NULL);
	suite_rows(&suite, changes, list_at_the_answer_counts);
	suite_add(&suite, "a stop refuses what waits", a_stop_refuses_what_waits, NULL);
	suite_add(&suite, "an end without a word", an_end_without_a_word, NULL);
	return suite_run(&suite, "deferred");
}
