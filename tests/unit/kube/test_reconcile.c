#include "kube/reconcile.h"

#include <errno.h>

#include "base/err.h"
#include "base/json_read.h"
#include "base/log.h"
#include "fake/fake_server.h"
#include "kube/expectations.h"
#include "unit/captured.h"
#include "unit/kube/reconcile_bench.h"

#define LIFE "PATCH a|PATCH a/status|"

static void a_life_is_written_step_by_step(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	bench_settle(b);
	assert_log(b, LIFE);
	assert_events(b, "Told a|");
	assert_string_equal(fake_server_text(b->server, "a", "status.portPath"), "one");
	fake_server_write(b->server, "a", "{'spec':{'userName':'two'}}");
	bench_settle(b);
	assert_log(b, "PATCH a/status|");
	assert_events(b, "Told a|");
	fake_server_delete(b->server, "a");
	bench_settle(b);
	assert_log(b, "GET a|PATCH a|");
	assert_events(b, "Released a|");
	assert_null(fake_server_get(b->server, "a"));
}

static void what_is_wanted_is_made(void **state)
{
	struct bench *b = *state;

	b->starts_wanted = true;
	bench_settle(b);
	assert_log(b,
		   "POST|PATCH wapply|PATCH w1|PATCH wapply|PATCH w1/status|PATCH wapply/status|");
	assert_string_equal(fake_server_text(b->server, "w1", "status.portPath"), "made");
	assert_string_equal(fake_server_text(b->server, "wapply", "status.portPath"), "made");
	assert_events(b, "Told w1|Told wapply|");
}

static void what_is_unwanted_is_deleted(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, "x1", "{'spec':{}}");
	bench_settle(b);
	assert_log(b, "DELETE x1|");
	assert_null(fake_server_get(b->server, "x1"));
	fake_server_write(b->server, "x2", "{'metadata':{'finalizers':['" TOY_FINALIZER "']}}");
	bench_settle(b);
	assert_log(b, "DELETE x2|PATCH x2|");
	assert_null(fake_server_get(b->server, "x2"));
}

static void an_unchanged_world_gives_no_write(void **state)
{
	struct bench *b = *state;

	b->starts_wanted = true;
	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	bench_settle(b);
	(void)fake_server_log(b->server);
	for (int i = 0; i < 3; i++) {
		bench_enqueue_all(b);
		reconcile_changed(b->reconcile, "a");
		bench_run(b, 5000);
		assert_log(b, "");
	}
	bench_end(b);
	bench_begin(b);
	bench_run(b, 60000);
	assert_log(b, "");
}

static void one_that_the_cache_does_not_show_is_read(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, "w1", "{'spec':{'userName':'theirs'}}");
	fake_server_hide(b->server, "w1");
	bench_settle(b);
	str_clear(&b->steps);
	b->starts_wanted = true;
	reconcile_enqueue(b->reconcile, "w1");
	bench_settle(b);
	assert_log(b, "POST|GET w1|PATCH w1|PATCH w1/status|");
	assert_steps(b, "hidden w1|hidden w1|hidden w1|rests w1|");
}

static void plan_and_tell(void *arg, const struct reconcile_view *view, struct decision *d)
{
	struct bench *b = arg;

	assert_true(view->fresh || view->last == STEP_REST);
	str_addf(&b->steps, "%d ", (int)view->last);
	toy_plan(arg, view, d);
}

static void a_plan_sees_what_its_run_has_done(void **state)
{
	struct bench *b = *state;

	assert_int_equal(STEP_PATCH, 2);
	assert_int_equal(STEP_PATCH_STATUS, 3);
	bench_end(b);
	b->plan = plan_and_tell;
	bench_begin(b);
	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	bench_settle(b);
	assert_log(b, LIFE);
	assert_steps(b, "0 2 3 rests a|0 rests a|");
}

/* After the act, whose answer has been forgotten. */
static void a_finalizer_is_removed_from_what_has_been_read(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	bench_settle(b);
	assert_log(b, LIFE);
	(void)map_set(b->acted, fake_server_text(b->server, "a", "metadata.uid"), b);
	fake_server_delete(b->server, "a");
	bench_settle(b);
	assert_log(b, "GET a|PATCH a|");
	assert_null(fake_server_get(b->server, "a"));
}

/* --- an informer of its own ------------------------------------------------------------------- */

static void note_change(void *arg, const char *key, const struct entry *before,
			const struct entry *after)
{
	struct bench *b = arg;

	str_addf(&b->steps, "%s %s|", before && after ? "changed" : after ? "new" : "deleted", key);
}

static void note_list(void *arg)
{
	struct bench *b = arg;

	str_add(&b->steps, "listed|");
}

static void begin_with_own_informer(struct bench *b)
{
	bench_end(b);
	b->reconcile = reconcile_new(&(struct reconcile_spec){
		.name = "toys",
		.kind = b->kind,
		.label_selector = "l=1",
		.field_selector = "metadata.name=a",
		.on_change = note_change,
		.on_synced = note_list,
		.field_manager = "toy",
		.max_running = 4,
		.is_ours = toy_is_ours,
		.plan = toy_plan,
		.act = toy_act,
		.arg = b,
		.client = fake_server_client(b->server),
		.clock = fake_clock_as_clock(b->clock),
		.events = &b->events,
	});
}

static void an_informer_of_its_own_enqueues_what_changes(void **state)
{
	auto_str struct str reason = STR_INIT;
	const struct fake_request *request;
	struct bench *b = *state;

	begin_with_own_informer(b);
	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	fake_clock_settle(b->clock);
	assert_int_equal(fake_client_open(fake_server_client(b->server)), 0);
	assert_false(reconcile_is_synced(b->reconcile, NULL));
	assert_false(reconcile_is_synced(b->reconcile, &reason));
	assert_string_equal(str_cstr(&reason), "waiting for usbdeviceclaims: idle");
	reconcile_start(b->reconcile);
	request = fake_client_request(fake_server_client(b->server));
	assert_non_null(strstr(request->path, "labelSelector=l%3D1"));
	assert_non_null(strstr(request->path, "fieldSelector=metadata.name%3Da"));
	bench_settle(b);
	assert_true(reconcile_is_synced(b->reconcile, &reason));
	assert_log(b, LIFE);
	assert_steps(b, "new a|listed|changed a|changed a|");
	assert_non_null(store_object(reconcile_store(b->reconcile), "a"));
	fake_server_write(b->server, "a", "{'spec':{'userName':'two'}}");
	bench_settle(b);
	assert_log(b, "PATCH a/status|");
	fake_server_delete(b->server, "a");
	bench_settle(b);
	assert_log(b, "GET a|PATCH a|");
	assert_null(store_object(reconcile_store(b->reconcile), "a"));
}

/* --- a queue of several ----------------------------------------------------------------------- */

enum { TOGETHER = 3, WATCHES = 1 };

static void plan_one_read(void *arg, const struct reconcile_view *view, struct decision *d)
{
	(void)arg;
	d->step = view->last == STEP_READ ? STEP_REST : STEP_READ;
}

static struct reconcile *share(struct bench *b, struct reconcile_queue *queue, const char *prefix)
{
	return reconcile_new(&(struct reconcile_spec){
		.name = "both",
		.queue = queue,
		.prefix = prefix,
		.kind = b->kind,
		.objects = b->informer,
		.field_manager = "toy",
		.is_ours = toy_is_ours,
		.plan = plan_one_read,
		.arg = b,
		.client = fake_server_client(b->server),
		.clock = fake_clock_as_clock(b->clock),
	});
}

static struct reconcile_queue *queue_of_two(struct bench *b, struct reconcile *two[2])
{
	struct reconcile_queue *queue =
		reconcile_queue_new("both", TOGETHER, fake_clock_as_clock(b->clock), NULL);

	b->reconcile = reconcile_free(b->reconcile);
	fake_server_write(b->server, "a", "{}");
	fake_server_write(b->server, "b", "{}");
	bench_settle(b);
	two[0] = share(b, queue, "p/");
	two[1] = share(b, queue, "u/");
	for (size_t i = 0; i < 2; i++) { /* the cache has no order */
		reconcile_enqueue(two[i], "a");
		reconcile_enqueue(two[i], "b");
	}
	fake_clock_settle(b->clock);
	return queue;
}

static void a_queue_is_shared_key_by_key(void **state)
{
	struct reconcile_queue *queue;
	struct reconcile *two[2];
	struct bench *b = *state;

	queue = queue_of_two(b, two);
	assert_int_equal(fake_client_open(fake_server_client(b->server)), WATCHES + TOGETHER);
	assert_false(reconcile_is_settled(two[0], "a"));
	assert_false(reconcile_queue_is_idle(queue));
	bench_settle(b);
	assert_log(b, "GET a|GET b|GET a|GET b|");
	assert_true(reconcile_queue_is_idle(queue));
	reconcile_enqueue_after(two[1], "b", 1000);
	fake_clock_settle(b->clock);
	assert_int_equal(fake_client_open(fake_server_client(b->server)), WATCHES);
	bench_run(b, 1000);
	assert_log(b, "GET b|");
	reconcile_free(two[0]);
	reconcile_free(two[1]);
	reconcile_queue_free(queue);
}

static void keys_of_one_that_has_left_a_queue_end(void **state)
{
	struct reconcile_queue *queue;
	struct reconcile *two[2];
	struct bench *b = *state;

	queue = queue_of_two(b, two);
	reconcile_enqueue(two[0], "a"); /* again, after its run */
	reconcile_free(two[0]);
	bench_settle(b);
	assert_log(b, "GET a|GET b|");
	assert_true(reconcile_queue_is_idle(queue));
	reconcile_free(two[1]);
	assert_null(reconcile_queue_free(queue));
	assert_null(reconcile_queue_free(NULL));
}

static void a_shared_queue_tells_of_keys_with_their_prefix(void **state)
{
	struct captured captured;
	auto_free char *text = NULL;
	struct reconcile_queue *queue;
	struct reconcile *two[2];
	struct bench *b = *state;

	log_set_level(LOG_WARN);
	captured_begin(&captured);
	queue = queue_of_two(b, two);
	while (fake_server_serve(b->server, FAULT_TROUBLE))
		fake_clock_settle(b->clock);
	text = captured_end(&captured);
	log_set_level(LOG_ERROR);
	assert_non_null(strstr(text, "queue=both key=p/a "));
	assert_null(strstr(strstr(text, "queue=both") + 1, "queue=both")); /* one trouble of all */
	reconcile_free(two[1]);
	reconcile_free(two[0]);
	reconcile_queue_free(queue);
}

/* --- before a decision ------------------------------------------------------------------------ */

static void nothing_is_decided_before_the_list_is_there(void **state)
{
	struct bench *b = *state;

	b->starts_wanted = true;
	reconcile_enqueue(b->reconcile, "w1");
	fake_clock_advance(b->clock, 60000);
	assert_int_equal(b->plans, 0);
	bench_settle(b);
	assert_true(b->plans > 0);
}

static void nothing_is_decided_before_it_is_ready(void **state)
{
	struct bench *b = *state;

	b->ready = false;
	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	bench_run(b, 1000);
	reconcile_enqueue(b->reconcile, "a");
	bench_run(b, 1000);
	assert_int_equal(b->plans, 0);
	b->ready = true;
	reconcile_enqueue_all(b->reconcile);
	bench_settle(b);
	assert_log(b, LIFE);
}

static void what_is_enqueued_too_early_is_run_later(void **state)
{
	struct bench *b = *state;

	b->ready = false;
	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	bench_run(b, 5000);
	b->ready = true;
	bench_run(b, RECONCILE_AGAIN_MS);
	assert_log(b, LIFE);
}

/* The second list comes late. */
static void nothing_is_decided_before_other_lists_are_there(void **state)
{
	struct bench *b = *state;
	struct informer *other =
		informer_new(&(struct informer_deps){ .client = fake_server_client(b->server),
						      .clock = fake_clock_as_clock(b->clock) },
			     &(struct informer_spec){ .kind = &usbdevice_kind,
						      .handlers = { .on_change = bench_on_change },
						      .arg = b });

	bench_end(b);
	b->needs[0] = other;
	bench_begin(b);
	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	bench_run(b, 1000);
	assert_int_equal(b->plans, 0);
	informer_start(other);
	fake_client_choose(fake_server_client(b->server), "/usbdevices?");
	fake_client_answer(fake_server_client(b->server), 200,
			   "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}");
	reconcile_enqueue_all(b->reconcile);
	bench_settle(b);
	assert_log(b, LIFE);
	informer_free(other);
	b->needs[0] = NULL;
}

static void others_objects_are_left_alone(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, "o", "{'spec':{}}");
	bench_settle(b);
	reconcile_enqueue_all(b->reconcile);
	bench_settle(b);
	assert_log(b, "");
	assert_steps(b, "gone o|");
	assert_int_equal(b->plans, 0);
}

static void what_cannot_be_read_is_left_alone(void **state)
{
	struct bench *b = *state;

	b->starts_wanted = true;
	fake_server_write(b->server, "wapply", "{'spec':{'userName':'one'}}");
	fake_server_write(b->server, "w1", "{'spec':{'userName':{'not':'a text'}}}");
	bench_settle(b);
	(void)fake_server_log(b->server);
	b->plans = 0;
	reconcile_enqueue(b->reconcile, "w1");
	bench_settle(b);
	assert_log(b, "");
	assert_int_equal(b->plans, 0);
	fake_server_write(b->server, "w1", "{'spec':{'userName':'one'}}");
	bench_settle(b);
	assert_log(b, "PATCH w1|PATCH w1/status|");
}

/* No list comes of it, and no write would be possible. */
static void nothing_is_decided_before_the_kind_is_installed(void **state)
{
	struct bench *b = *state;

	b->starts_wanted = true;
	fake_clock_settle(b->clock);
	assert_true(fake_server_serve(b->server, FAULT_NOT_SERVED));
	fake_clock_settle(b->clock);
	assert_true(informer_synced(b->informer));
	assert_false(informer_installed(b->informer));
	assert_int_equal(b->plans, 0);
	bench_run(b, 60000);
	assert_true(informer_installed(b->informer));
	assert_string_equal(fake_server_text(b->server, "w1", "status.portPath"), "made");
}

/* The watch is slow: a write that it does not show yet is not made again. */
static void a_cache_behind_an_answer_is_not_believed(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	fake_clock_settle(b->clock);
	while (fake_server_serve(b->server, FAULT_NONE))
		fake_clock_settle(b->clock);
	assert_true(fake_server_log(b->server) != NULL);
	fake_server_write(b->server, "a", "{'spec':{'userName':'two'}}");
	b->plans = 0;
	reconcile_enqueue(b->reconcile, "a");
	fake_clock_advance(b->clock, EXPECTATIONS_MS - 100);
	assert_int_equal(b->plans, 0);
	assert_true(fake_server_show(b->server, 1)); /* the finalizer */
	fake_clock_advance(b->clock, 10);
	assert_int_equal(b->plans, 0);
	assert_true(fake_server_show(b->server, 1)); /* the status */
	fake_clock_advance(b->clock, 10);
	assert_int_equal(b->plans, 1);
	bench_settle(b);
	assert_string_equal(fake_server_text(b->server, "a", "status.portPath"), "two");
}

/* The cache had what was waited for, if only until the next change. */
static void a_cache_that_is_ahead_of_an_answer_is_believed(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	fake_clock_settle(b->clock);
	while (fake_server_serve(b->server, FAULT_NONE))
		fake_clock_settle(b->clock);
	fake_server_write(b->server, "a", "{'spec':{'userName':'two'}}");
	assert_true(fake_server_show(b->server, 9));
	bench_settle(b);
	assert_string_equal(fake_server_text(b->server, "a", "status.portPath"), "two");
}

/* What was decided on the cache was refused: nothing is tried before the cache has changed. */
static void a_conflict_waits_for_the_cache(void **state)
{
	struct bench *b = *state;

	bench_settle(b);
	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	assert_true(fake_server_show(b->server, 1));
	fake_server_write(b->server, "a", "{'spec':{'userName':'two'}}");
	fake_clock_settle(b->clock);
	assert_true(fake_server_serve(b->server, FAULT_NONE));
	assert_log(b, "PATCH a|");
	assert_int_equal(b->plans, 1);
	fake_clock_advance(b->clock, EXPECTATIONS_MS - 100);
	assert_int_equal(b->plans, 1);
	bench_settle(b);
	assert_log(b, LIFE);
}

/* What it was decided on was an answer, which the cache does not show yet. */
static void a_conflict_on_an_answer_leaves_the_cache_behind(void **state)
{
	struct bench *b = *state;

	bench_settle(b);
	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	assert_true(fake_server_show(b->server, 1));
	fake_clock_settle(b->clock);
	assert_true(fake_server_serve(b->server, FAULT_NONE));
	assert_true(fake_server_serve(b->server, FAULT_CONFLICT));
	assert_log(b, LIFE);
	assert_int_equal(b->plans, 2);
	fake_clock_advance(b->clock, EXPECTATIONS_MS - 100);
	assert_int_equal(b->plans, 2);
	bench_settle(b);
	assert_log(b, "PATCH a/status|");
}

/* --- who leads -------------------------------------------------------------------------------- */

static void who_does_not_lead_plans_nothing(void **state)
{
	struct bench *b = *state;

	b->follows = true;
	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	bench_run(b, 60000);
	bench_enqueue_all(b);
	bench_run(b, 60000);
	b->ready = false; /* nor does it wait for that */
	reconcile_enqueue(b->reconcile, "a");
	bench_run(b, 100);
	b->ready = true;
	assert_int_equal(b->plans, 0);
	assert_steps(b, "");
	b->follows = false;
	bench_run(b, 60000); /* its keys are dropped, and looked at by nobody */
	assert_int_equal(b->plans, 0);
	bench_enqueue_all(b);
	bench_settle(b);
	assert_log(b, LIFE);
}

/* It ends between two steps. */
static void who_leads_no_more_writes_nothing_more(void **state)
{
	struct bench *b = *state;

	bench_settle(b);
	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	assert_true(fake_server_show(b->server, 1));
	fake_clock_settle(b->clock);
	b->follows = true;
	bench_run(b, 60000);
	assert_log(b, "PATCH a|");
	b->follows = false;
	bench_enqueue_all(b);
	bench_settle(b);
	assert_log(b, "PATCH a/status|");
}

static void many_changes_make_one_run(void **state)
{
	struct bench *b = *state;

	bench_end(b);
	b->quiet_ms = 1000;
	bench_begin(b);
	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	bench_run(b, 10000);
	assert_log(b, LIFE);
	for (int i = 0; i < 9; i++) {
		auto_free char *text = xasprintf("{'spec':{'userName':'u%d'}}", i);

		fake_server_write(b->server, "a", text);
		bench_run(b, 100);
	}
	assert_log(b, "");
	bench_run(b, 200);
	assert_log(b, "PATCH a/status|");
	assert_string_equal(fake_server_text(b->server, "a", "status.portPath"), "u8");
	fake_server_write(b->server, "a", "{'spec':{'userName':'now'}}");
	assert_true(fake_server_show(b->server, 1));
	reconcile_enqueue_after(b->reconcile, "a", 500);
	bench_run(b, 400);
	assert_log(b, "");
	bench_run(b, 200);
	assert_log(b, "PATCH a/status|");
	bench_run(b, 10000);
	fake_server_write(b->server, "a", "{'spec':{'userName':'at once'}}");
	assert_true(fake_server_show(b->server, 1));
	reconcile_enqueue(b->reconcile, "a");
	bench_settle(b);
	assert_log(b, "PATCH a/status|");
}

/* --- the end of a run ------------------------------------------------------------------------- */

/* A plan that is never content, although its writes change nothing any more. */
static void a_run_has_sixteen_steps(void **state)
{
	struct bench *b = *state;

	b->writes_always = true;
	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	bench_run(b, 100);
	assert_int_equal(fake_server_writes(b->server), 3);
	assert_int_equal(b->plans % RECONCILE_STEPS_MAX, 0);
	b->plans = 0;
	bench_run(b, RECONCILE_AGAIN_MS - 300);
	assert_int_equal(b->plans, 0);
	bench_run(b, 300);
	assert_int_equal(b->plans, RECONCILE_STEPS_MAX);
}

static void a_rest_may_be_for_a_while(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	bench_run(b, EXPECTATIONS_MS + 100);
	b->again_ms = 5000;
	reconcile_enqueue(b->reconcile, "a");
	bench_settle(b);
	b->plans = 0;
	bench_run(b, 4900);
	assert_int_equal(b->plans, 0);
	bench_run(b, 200);
	assert_int_equal(b->plans, 1);
}

static void a_rest_may_be_a_failure(void **state)
{
	struct bench *b = *state;

	err_set(&b->failure, ERR_RETRY, -EAGAIN, "not yet");
	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	bench_run(b, 3000);
	assert_in_range(b->plans, 6, 12);
	b->failure = (struct err){ 0 };
	bench_run(b, 60000);
	b->plans = 0;
	bench_run(b, 60000);
	assert_int_equal(b->plans, 0);
	assert_log(b, LIFE);
}

/* --- acts ------------------------------------------------------------------------------------- */

static void an_act_that_cannot_be_begun_is_tried_when_it_can(void **state)
{
	struct bench *b = *state;

	b->busy = true;
	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	bench_settle(b);
	fake_server_delete(b->server, "a");
	bench_run(b, EXPECTATIONS_MS + 100); /* and what waited for the cache is over */
	assert_log(b, LIFE "GET a|GET a|");
	bench_run(b, 60000);
	assert_log(b, "");
	b->busy = false;
	reconcile_enqueue(b->reconcile, "a");
	bench_settle(b);
	assert_log(b, "GET a|PATCH a|");
}

static void a_key_has_one_run_while_it_acts(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, "a", "{'metadata':{'finalizers':['" TOY_FINALIZER "']}}");
	fake_server_delete(b->server, "a");
	for (int i = 0; i < 4; i++) {
		fake_clock_settle(b->clock);
		(void)fake_server_serve(b->server, FAULT_NONE);
		(void)fake_server_show(b->server, 9);
	}
	assert_int_equal(b->acting.len, 1);
	reconcile_changed(b->reconcile, "a");
	fake_clock_advance(b->clock, 60000);
	assert_int_equal(b->acting.len, 1);
	assert_log(b, "GET a|");
	str_clear(&b->steps);
	bench_settle(b);
	assert_log(b, "PATCH a|");
	assert_steps(b, "after 8 102|before 7 102|after 7 102|gone a|gone a|");
}

/* The plan is asked what is to be done of the object as it is now, not as it was before the act. */
static void a_change_during_an_act_counts(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, "a", "{'metadata':{'finalizers':['" TOY_FINALIZER "']}}");
	fake_server_delete(b->server, "a");
	for (int i = 0; i < 4; i++) {
		fake_clock_settle(b->clock);
		(void)fake_server_serve(b->server, FAULT_NONE);
		(void)fake_server_show(b->server, 9);
	}
	assert_int_equal(b->acting.len, 1);
	fake_server_write(b->server, "a", "{'metadata':{'labels':{'l':'1'}}}");
	assert_true(fake_server_show(b->server, 9));
	assert_log(b, "GET a|");
	str_clear(&b->steps);
	bench_settle(b);
	assert_log(b, "GET a|PATCH a|");
	assert_steps(b, "after 8 102|before 7 103|after 7 103|gone a|gone a|");
}

/* An object that is gone meanwhile is not written. */
static void a_deletion_during_an_act_counts(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, "a", "{'metadata':{'finalizers':['" TOY_FINALIZER "']}}");
	fake_server_delete(b->server, "a");
	for (int i = 0; i < 4; i++) {
		fake_clock_settle(b->clock);
		(void)fake_server_serve(b->server, FAULT_NONE);
		(void)fake_server_show(b->server, 9);
	}
	assert_int_equal(b->acting.len, 1);
	fake_server_write(b->server, "a", "{'metadata':{'finalizers':[]}}");
	assert_true(fake_server_show(b->server, 9));
	bench_settle(b);
	assert_log(b, "GET a|");
}

/* The watch has shown a later object than the answer that the act would be done on. */
static void an_act_is_not_done_on_an_answer_that_was_overtaken(void **state)
{
	struct bench *b = *state;

	bench_settle(b);
	fake_server_write(b->server, "a", "{'metadata':{'finalizers':['" TOY_FINALIZER "']}}");
	fake_server_delete(b->server, "a");
	assert_true(fake_server_show(b->server, 9));
	fake_clock_settle(b->clock);
	assert_true(fake_server_serve(b->server, FAULT_OVERTAKEN));
	assert_int_equal(b->acting.len, 0);
	assert_log(b, "GET a|");
	assert_true(fake_server_serve(b->server, FAULT_NONE));
	assert_int_equal(b->acting.len, 1);
	assert_log(b, "GET a|");
	bench_settle(b);
	assert_null(fake_server_get(b->server, "a"));
}

static void a_key_is_settled_when_the_cache_shows_all(void **state)
{
	struct bench *b = *state;

	bench_settle(b);
	assert_true(reconcile_is_settled(b->reconcile, "a"));
	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	assert_true(fake_server_show(b->server, 1));
	fake_clock_settle(b->clock);
	assert_false(reconcile_is_settled(b->reconcile, "a")); /* a call is under way */
	assert_true(reconcile_is_settled(b->reconcile, "b"));
	assert_true(fake_server_serve(b->server, FAULT_NONE));
	assert_true(fake_server_serve(b->server, FAULT_NONE));
	assert_false(reconcile_is_settled(b->reconcile, "a")); /* the watch is behind */
	assert_true(fake_server_show(b->server, 9));
	fake_clock_settle(b->clock);
	assert_true(reconcile_is_settled(b->reconcile, "a"));
}

static void an_act_that_failed_is_repeated(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	bench_settle(b);
	(void)fake_server_log(b->server);
	err_set(&b->trouble, ERR_RETRY, -EIO, "no answer");
	fake_server_delete(b->server, "a");
	str_clear(&b->steps);
	bench_settle(b);
	assert_log(b, "GET a|");
	assert_steps(b, "before 8 104|");
	bench_run(b, 1000);
	assert_log(b, "GET a|PATCH a|");
	assert_null(fake_server_get(b->server, "a"));
}

static void the_end_leaves_nothing(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, "a", "{'metadata':{'finalizers':['" TOY_FINALIZER "']}}");
	fake_server_write(b->server, "b", "{'spec':{'userName':'one'}}");
	fake_server_delete(b->server, "a");
	for (int i = 0; i < 4 && b->acting.len == 0; i++) {
		fake_clock_settle(b->clock);
		(void)fake_server_serve(b->server, FAULT_NONE);
	}
	assert_int_equal(b->acting.len, 1); /* and the fixture ends it, with a call of "b" */
}

/* --- reports ---------------------------------------------------------------------------------- */

/* The toy acts on "a", which is being deleted, until the test ends that. */
static void begin_act(struct bench *b)
{
	b->acts_long = true;
	fake_server_write(b->server, "a", "{'metadata':{'finalizers':['" TOY_FINALIZER "']}}");
	fake_server_delete(b->server, "a");
	bench_settle(b);
	assert_int_equal(b->acting.len, 1);
	(void)fake_server_log(b->server);
	str_clear(&b->steps);
}

static void end_act(struct bench *b)
{
	b->acts_long = false;
	assert_true(bench_end_act(b));
	bench_settle(b);
}

/* The write after the act knows the version that the report has made. */
static void a_report_is_written_while_it_acts(void **state)
{
	struct bench *b = *state;

	begin_act(b);
	b->report = "late";
	reconcile_report(b->reconcile, "a");
	bench_settle(b);
	assert_log(b, "PATCH a/status|");
	assert_string_equal(fake_server_text(b->server, "a", "status.portPath"), "late");
	reconcile_report(b->reconcile, "a"); /* it says so already */
	bench_settle(b);
	assert_log(b, "");
	assert_steps(b, "");
	end_act(b);
	assert_log(b, "PATCH a|");
	assert_steps(b, "after 8 103|before 7 103|after 7 103|gone a|gone a|");
	assert_events(b, "Released a|");
}

static void only_a_key_that_acts_is_reported_of(void **state)
{
	struct bench *b = *state;

	b->report = "late";
	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	bench_settle(b);
	assert_log(b, LIFE);
	reconcile_report(b->reconcile, "a");
	reconcile_report(b->reconcile, "b");
	bench_settle(b);
	assert_log(b, "");
}

static void who_leads_no_more_reports_nothing(void **state)
{
	struct bench *b = *state;

	begin_act(b);
	b->report = "late";
	b->follows = true;
	reconcile_report(b->reconcile, "a");
	bench_settle(b);
	assert_log(b, "");
}

static struct report_case {
	const char *name;
	enum fake_fault fault;
	bool fails;      /* the act       */
	bool edited;     /* by somebody   */
	const char *log; /* after the act */
} reports[] = {
	{ "an act that ends before the answer waits for it", FAULT_NONE, false, false, "PATCH a|" },
	{ "so does one that fails", FAULT_NONE, true, false, "GET a|PATCH a|" },
	{ "a report that fails fails nothing else", FAULT_TROUBLE, false, false, "PATCH a|" },
	{ "an edit before it is seen before the next write", FAULT_NONE, false, true,
	  "GET a|PATCH a|" },
};

static void an_end_waits_for_the_report(void **state)
{
	const struct report_case *c = suite_row(state);
	struct bench *b = *state;

	begin_act(b);
	b->report = "late";
	if (c->edited)
		fake_server_write(b->server, "a", "{'metadata':{'labels':{'l':'1'}}}");
	reconcile_report(b->reconcile, "a");
	reconcile_report(b->reconcile, "a"); /* one at a time */
	if (c->fails)
		err_set(&b->trouble, ERR_RETRY, -EIO, "it did not work");
	assert_true(bench_end_act(b));
	fake_clock_settle(b->clock);
	assert_steps(b, c->fails ? "" : "after 8 102|");
	assert_true(fake_server_serve(b->server, c->fault));
	assert_log(b, "PATCH a/status|");
	b->acts_long = false;
	bench_run(b, 1000);
	assert_null(fake_server_get(b->server, "a"));
	assert_log(b, c->log);
}

static void the_end_leaves_no_report(void **state)
{
	struct bench *b = *state;

	begin_act(b);
	b->report = "late";
	reconcile_report(b->reconcile, "a"); /* and the fixture ends it */
}

/* --- faults ----------------------------------------------------------------------------------- */

static struct fault_case {
	const char *name;
	enum fake_fault fault;
} faults[] = {
	{ "no answer", FAULT_NO_ANSWER },
	{ "an answer that is lost", FAULT_LOST },
	{ "a server in trouble", FAULT_TROUBLE },
	{ "too many requests", FAULT_TOO_MANY },
	{ "access denied", FAULT_DENIED },
	{ "a conflict", FAULT_CONFLICT },
	{ "gone", FAULT_GONE },
	{ "an answer that is too large", FAULT_TOO_LARGE },
	{ "an answer that is something else", FAULT_STRANGE },
	{ "an answer that is no JSON", FAULT_NO_JSON },
	{ "an answer without a version", FAULT_NO_VERSION },
	{ "an answer about another object", FAULT_ANOTHER },
	{ "an answer that does not decode", FAULT_UNREADABLE },
	{ "a path that is not served", FAULT_NOT_SERVED },
};

/* Serve what there is, the request number @at badly. */
static void run_badly(struct bench *b, int at, enum fake_fault fault)
{
	for (int i = 0, quiet = 0; quiet < 700; i++) {
		bool served;

		fake_clock_settle(b->clock);
		served = fake_server_serve(b->server, i == at ? fault : FAULT_NONE);
		if (fake_server_show(b->server, 1) || bench_end_act(b) || served) {
			quiet = 0;
		} else {
			i--;
			quiet++;
			fake_clock_advance(b->clock, 100);
		}
	}
}

/* One fault at each request of a life, in turn. An event comes once, unless its answer was lost. */
static void a_fault_is_outlived(void **state)
{
	const struct fault_case *c = *state;
	bool loses = c->fault == FAULT_LOST || c->fault == FAULT_TOO_LARGE;

	for (int at = 0; at < 6; at++) {
		struct bench b;

		bench_open(&b);
		fake_server_write(b.server, "a", "{'spec':{'userName':'one'}}");
		run_badly(&b, at, c->fault);
		assert_string_equal(fake_server_text(b.server, "a", "status.portPath"), "one");
		fake_server_delete(b.server, "a");
		run_badly(&b, at - 3, c->fault);
		assert_null(fake_server_get(b.server, "a"));
		assert_in_range(b.events.count, loses ? 1 : 2, 2);
		bench_close(&b);
	}
}

/* Nothing can mend it but a change. */
static void an_invalid_write_waits_for_a_change(void **state)
{
	struct bench *b = *state;

	bench_settle(b);
	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	assert_true(fake_server_show(b->server, 1));
	fake_clock_settle(b->clock);
	assert_true(fake_server_serve(b->server, FAULT_INVALID));
	assert_log(b, "PATCH a|");
	bench_run(b, 60000);
	assert_log(b, "");
	fake_server_write(b->server, "a", "{'spec':{'userName':'two'}}");
	bench_settle(b);
	assert_log(b, LIFE);
}

/* The server has the object @name, which somebody deletes, and the program has sent a request. */
static void an_invalid_write_of_one_that_insists_is_tried_again(void **state)
{
	struct bench *b = *state;

	bench_end(b);
	b->insists = true;
	bench_begin(b);
	bench_settle(b);
	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	assert_true(fake_server_show(b->server, 1));
	fake_clock_settle(b->clock);
	assert_true(fake_server_serve(b->server, FAULT_INVALID));
	assert_log(b, "PATCH a|");
	bench_run(b, 1000);
	assert_log(b, LIFE);
}

/* A namespace that is not there yet is no conflict, of which only debug logs would tell. */
static void an_object_that_cannot_be_made_is_tried_again(void **state)
{
	struct bench *b = *state;
	struct captured captured;
	auto_free char *text = NULL;

	b->manager = "somebody";
	bench_settle(b);
	b->starts_wanted = true;
	reconcile_enqueue(b->reconcile, "wapply");
	fake_clock_settle(b->clock);
	log_set_level(LOG_WARN);
	captured_begin(&captured);
	assert_true(fake_client_choose_call(fake_server_client(b->server)));
	assert_non_null(strstr(fake_client_request(fake_server_client(b->server))->path,
			       "fieldManager=somebody"));
	assert_true(fake_server_serve(b->server, FAULT_NOT_SERVED));
	text = captured_end(&captured);
	log_set_level(LOG_ERROR);
	assert_non_null(strstr(text, "kind=retry"));
	bench_run(b, 1000);
	assert_string_equal(fake_server_text(b->server, "wapply", "status.portPath"), "made");
}

static void send_for_deletion(struct bench *b, const char *name)
{
	bench_settle(b);
	fake_server_write(b->server, name, "{'metadata':{'finalizers':['" TOY_FINALIZER "']}}");
	if (name[0] != 'x')
		fake_server_delete(b->server, name);
	assert_true(fake_server_show(b->server, 9));
	fake_clock_settle(b->clock);
	str_clear(&b->steps);
}

static void an_invalid_deletion_is_tried_again(void **state)
{
	struct bench *b = *state;

	send_for_deletion(b, "x1");
	assert_true(fake_server_serve(b->server, FAULT_INVALID));
	bench_run(b, 10000);
	assert_null(fake_server_get(b->server, "x1"));
}

/* It vanishes before the answer; the watch is slow. */
static void what_is_gone_is_not_read_again(void **state)
{
	struct bench *b = *state;

	send_for_deletion(b, "a");
	fake_server_write(b->server, "a", "{'metadata':{'finalizers':[]}}");
	assert_null(fake_server_get(b->server, "a"));
	assert_true(fake_server_serve(b->server, FAULT_NONE));
	assert_steps(b, "gone a|");
	fake_clock_advance(b->clock, EXPECTATIONS_MS - 100);
	assert_log(b, "GET a|");
	assert_false(fake_server_serve(b->server, FAULT_NONE));
}

static void what_is_gone_is_not_deleted_again(void **state)
{
	struct bench *b = *state;

	send_for_deletion(b, "x1");
	fake_server_delete(b->server, "x1");
	fake_server_write(b->server, "x1", "{'metadata':{'finalizers':[]}}");
	assert_true(fake_server_serve(b->server, FAULT_NONE));
	assert_steps(b, "gone x1|");
	assert_log(b, "DELETE x1|");
}

static void plan_detail(void *arg, const struct reconcile_view *view, struct decision *d)
{
	toy_plan(arg, view, d);
	d->detail = (int)d->step;
}

/* The watch shows a newer object before the answer comes: after() gets the same object as
 * before(). */
static void what_a_step_was_decided_on_is_kept(void **state)
{
	struct bench *b = *state;
	auto_free char *version = NULL;
	auto_free char *wanted = NULL;

	bench_end(b);
	b->plan = plan_detail;
	bench_begin(b);
	bench_settle(b);
	fake_server_write(b->server, "apply1",
			  "{'metadata':{'finalizers':['" TOY_FINALIZER "']},"
			  "'spec':{'userName':'one'}}");
	version = xstrdup(fake_server_text(b->server, "apply1", "metadata.resourceVersion"));
	assert_true(fake_server_show(b->server, 9));
	fake_clock_settle(b->clock);
	fake_server_write(b->server, "apply1", "{'spec':{'userName':'two'}}");
	assert_true(fake_server_show(b->server, 9));
	assert_true(fake_server_serve(b->server, FAULT_NONE));
	wanted = xasprintf("before %d %s|after %d %s|", STEP_APPLY_STATUS, version,
			   STEP_APPLY_STATUS, version);
	assert_memory_equal(str_cstr(&b->steps), wanted, strlen(wanted));
	assert_events(b, "Told apply1|");
}

static void what_a_deletion_was_decided_on_is_kept(void **state)
{
	struct bench *b = *state;
	auto_free char *wanted = NULL;

	bench_end(b);
	b->plan = plan_detail;
	bench_begin(b);
	send_for_deletion(b, "x1");
	wanted = xasprintf("after %d %s|gone x1|", STEP_DELETE,
			   fake_server_text(b->server, "x1", "metadata.resourceVersion"));
	fake_server_delete(b->server, "x1");
	fake_server_write(b->server, "x1", "{'metadata':{'finalizers':[]}}");
	assert_true(fake_server_show(b->server, 9));
	assert_null(store_get(informer_store(b->informer), "x1"));
	assert_true(fake_server_serve(b->server, FAULT_NONE));
	assert_steps(b, wanted);
}

/* A 404 of the path says nothing of the object: the cache is as good as before. */
static void a_path_that_is_not_served_is_asked_again_soon(void **state)
{
	struct bench *b = *state;

	send_for_deletion(b, "a");
	assert_true(fake_server_serve(b->server, FAULT_NOT_SERVED));
	assert_steps(b, "");
	fake_clock_advance(b->clock, 1000);
	assert_true(fake_server_serve(b->server, FAULT_NONE));
	assert_log(b, "GET a|GET a|");
}

static void a_deletion_on_a_path_that_is_not_served_is_repeated(void **state)
{
	struct bench *b = *state;

	send_for_deletion(b, "x1");
	assert_true(fake_server_serve(b->server, FAULT_NOT_SERVED));
	assert_steps(b, "");
	bench_run(b, 1000);
	assert_log(b, "DELETE x1|DELETE x1|PATCH x1|");
}

/* --- digests ---------------------------------------------------------------------------------- */

static void a_digest_is_read_before_it_is_patched(void **state)
{
	struct bench *b = *state;

	begin_with_digests(b);
	fake_server_write(b->server, "a",
			  "{'spec':{'userName':'one'},'metadata':{'finalizers':['" TOY_FINALIZER
			  "']}}");
	bench_settle(b);
	assert_log(b, "GET a|PATCH a/status|");
	assert_string_equal(fake_server_text(b->server, "a", "status.portPath"), "one");
	assert_events(b, "Told a|");
	fake_server_delete(b->server, "a");
	bench_settle(b);
	assert_log(b, "GET a|PATCH a|");
	assert_events(b, "Released a|");
	assert_null(fake_server_get(b->server, "a"));
}

/* The answer to the last patch shows the object once more. */
static void a_digest_without_finalizers_is_gone(void **state)
{
	struct bench *b = *state;

	begin_with_digests(b);
	fake_server_write(b->server, "a",
			  "{'spec':{'userName':'one'},'metadata':{'finalizers':['" TOY_FINALIZER
			  "']}}");
	bench_settle(b);
	fake_server_delete(b->server, "a");
	str_clear(&b->steps);
	bench_settle(b);
	assert_steps(b, "gone a|gone a|");
}

/* Of the read that the patch is made from. */
static void faults_of_digests_are_outlived(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		struct bench b;

		bench_open(&b);
		begin_with_digests(&b);
		bench_settle(&b);
		fake_server_write(b.server, "a", "{'spec':{'userName':'one'}}");
		assert_true(fake_server_show(b.server, 1));
		fake_clock_settle(b.clock);
		assert_true(fake_server_serve(b.server, faults[i].fault));
		assert_log(&b, "GET a|");
		bench_run(&b, 60000);
		assert_string_equal(fake_server_text(b.server, "a", "status.portPath"), "one");
		bench_close(&b);
	}
}

/* --- namespaces ------------------------------------------------------------------------------- */

/* The toy's objects are of the whole cluster; their keys do not say so. */
static void an_object_of_a_namespace_is_known_by_both(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, "a",
			  "{'spec':{'userName':'one'},'metadata':{'namespace':'space'}}");
	bench_settle(b);
	assert_log(b, LIFE);
	assert_events(b, "Told a|");
	assert_string_equal(fake_server_text(b->server, "a", "status.portPath"), "one");
	str_clear(&b->steps);
	fake_server_delete(b->server, "a");
	fake_clock_settle(b->clock);
	assert_true(fake_server_show(b->server, 9));
	fake_clock_settle(b->clock);
	assert_true(fake_client_choose_call(fake_server_client(b->server)));
	assert_non_null(strstr(fake_client_request(fake_server_client(b->server))->path,
			       "/namespaces/space/usbdeviceclaims/a"));
	bench_settle(b);
	assert_log(b, "GET a|PATCH a|");
	assert_steps(b, "before 8 104|after 8 104|before 7 104|after 7 104|"
			"gone space/a|gone space/a|");
	fake_server_write(b->server, "b",
			  "{'spec':{'userName':'one'},'metadata':{'namespace':'space'}}");
	bench_settle(b);
	fake_server_delete(b->server, "b");
	assert_true(fake_server_show(b->server, 9));
	fake_server_write(b->server, "b", "{'metadata':{'finalizers':[]}}");
	str_clear(&b->steps);
	fake_clock_settle(b->clock);
	assert_true(fake_server_serve(b->server, FAULT_NONE));
	assert_steps(b, "gone space/b|");
}

/* Something that is needed goes away between two steps. */
static void what_is_not_ready_any_more_waits(void **state)
{
	struct bench *b = *state;

	bench_settle(b);
	fake_server_write(b->server, "a", "{'spec':{'userName':'one'}}");
	assert_true(fake_server_show(b->server, 1));
	fake_clock_settle(b->clock);
	b->ready = false;
	bench_run(b, 60000);
	assert_log(b, "PATCH a|");
	b->ready = true;
	bench_run(b, RECONCILE_AGAIN_MS);
	assert_log(b, "PATCH a/status|");
}

/* --- the whole -------------------------------------------------------------------------------- */

static void add_decisions(struct suite *suite)
{
	suite_add(suite, "a queue is shared key by key", a_queue_is_shared_key_by_key, NULL);
	suite_add(suite, "keys of one that has left a queue end",
		  keys_of_one_that_has_left_a_queue_end, NULL);
	suite_add(suite, "a shared queue tells of keys with their prefix",
		  a_shared_queue_tells_of_keys_with_their_prefix, NULL);
	suite_add(suite, "a plan sees what its run has done", a_plan_sees_what_its_run_has_done,
		  NULL);
	suite_add(suite, "a finalizer is removed from what has been read",
		  a_finalizer_is_removed_from_what_has_been_read, NULL);
	suite_add(suite, "an informer of its own enqueues what changes",
		  an_informer_of_its_own_enqueues_what_changes, NULL);
	suite_add(suite, "nothing is decided before the list is there",
		  nothing_is_decided_before_the_list_is_there, NULL);
	suite_add(suite, "nothing is decided before the kind is ready",
		  nothing_is_decided_before_it_is_ready, NULL);
	suite_add(suite, "what is enqueued too early is run later",
		  what_is_enqueued_too_early_is_run_later, NULL);
	suite_add(suite, "nothing is decided before other lists are there",
		  nothing_is_decided_before_other_lists_are_there, NULL);
	suite_add(suite, "objects of others are left alone", others_objects_are_left_alone, NULL);
	suite_add(suite, "what cannot be read is left alone", what_cannot_be_read_is_left_alone,
		  NULL);
	suite_add(suite, "nothing is decided before the kind is installed",
		  nothing_is_decided_before_the_kind_is_installed, NULL);
	suite_add(suite, "a cache that is ahead of an answer is believed",
		  a_cache_that_is_ahead_of_an_answer_is_believed, NULL);
	suite_add(suite, "a cache that is behind an answer is not believed",
		  a_cache_behind_an_answer_is_not_believed, NULL);
	suite_add(suite, "a conflict waits for the cache", a_conflict_waits_for_the_cache, NULL);
	suite_add(suite, "a conflict on an answer leaves the cache behind",
		  a_conflict_on_an_answer_leaves_the_cache_behind, NULL);
}

static void add_digests(struct suite *suite)
{
	suite_add(suite, "a digest is read before it is patched",
		  a_digest_is_read_before_it_is_patched, NULL);
	suite_add(suite, "a digest without finalizers is gone", a_digest_without_finalizers_is_gone,
		  NULL);
	suite_add(suite, "faults of digests are outlived", faults_of_digests_are_outlived, NULL);
}

static void add_leads(struct suite *suite)
{
	suite_add(suite, "what is not ready any more waits", what_is_not_ready_any_more_waits,
		  NULL);
	suite_add(suite, "an object of a namespace is known by both",
		  an_object_of_a_namespace_is_known_by_both, NULL);
	suite_add(suite, "a program that does not lead plans nothing",
		  who_does_not_lead_plans_nothing, NULL);
	suite_add(suite, "a program that leads no more writes nothing more",
		  who_leads_no_more_writes_nothing_more, NULL);
	suite_add(suite, "many changes make one run", many_changes_make_one_run, NULL);
}

static void add_reports(struct suite *suite)
{
	suite_add(suite, "a report is written while it acts", a_report_is_written_while_it_acts,
		  NULL);
	suite_add(suite, "only a key that acts is reported of", only_a_key_that_acts_is_reported_of,
		  NULL);
	suite_add(suite, "who leads no more reports nothing", who_leads_no_more_reports_nothing,
		  NULL);
	suite_rows(suite, reports, an_end_waits_for_the_report);
	suite_add(suite, "the end leaves no report", the_end_leaves_no_report, NULL);
}

static void add_faults(struct suite *suite)
{
	suite_add(suite, "an invalid write waits for a change", an_invalid_write_waits_for_a_change,
		  NULL);
	suite_add(suite, "an invalid write of one that insists is tried again",
		  an_invalid_write_of_one_that_insists_is_tried_again, NULL);
	suite_add(suite, "an object that cannot be made is tried again",
		  an_object_that_cannot_be_made_is_tried_again, NULL);
	suite_add(suite, "an invalid deletion is tried again", an_invalid_deletion_is_tried_again,
		  NULL);
	suite_add(suite, "what is gone is not read again", what_is_gone_is_not_read_again, NULL);
	suite_add(suite, "what is gone is not deleted again", what_is_gone_is_not_deleted_again,
		  NULL);
	suite_add(suite, "what a step was decided on is kept", what_a_step_was_decided_on_is_kept,
		  NULL);
	suite_add(suite, "what a deletion was decided on is kept",
		  what_a_deletion_was_decided_on_is_kept, NULL);
	suite_add(suite, "a path that is not served is asked again soon",
		  a_path_that_is_not_served_is_asked_again_soon, NULL);
	suite_add(suite, "a deletion on a path that is not served is repeated",
		  a_deletion_on_a_path_that_is_not_served_is_repeated, NULL);
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_rows(&suite, faults, a_fault_is_outlived);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "a life is written step by step", a_life_is_written_step_by_step, NULL);
	suite_add(&suite, "what is wanted is made", what_is_wanted_is_made, NULL);
	suite_add(&suite, "what is unwanted is deleted", what_is_unwanted_is_deleted, NULL);
	suite_add(&suite, "an unchanged world gives no write", an_unchanged_world_gives_no_write,
		  NULL);
	suite_add(&suite, "one that the cache does not show is read",
		  one_that_the_cache_does_not_show_is_read, NULL);
	add_decisions(&suite);
	add_faults(&suite);
	add_leads(&suite);
	add_reports(&suite);
	add_digests(&suite);
	suite_add(&suite, "a run has sixteen steps", a_run_has_sixteen_steps, NULL);
	suite_add(&suite, "a rest may be for a while", a_rest_may_be_for_a_while, NULL);
	suite_add(&suite, "a rest may be a failure", a_rest_may_be_a_failure, NULL);
	suite_add(&suite, "an act that cannot be begun is tried when it can",
		  an_act_that_cannot_be_begun_is_tried_when_it_can, NULL);
	suite_add(&suite, "an act that failed is repeated", an_act_that_failed_is_repeated, NULL);
	suite_add(&suite, "a key has one run while it acts", a_key_has_one_run_while_it_acts, NULL);
	suite_add(&suite, "a change during an act counts", a_change_during_an_act_counts, NULL);
	suite_add(&suite, "a deletion during an act counts", a_deletion_during_an_act_counts, NULL);
	suite_add(&suite, "an act is not done on an answer that was overtaken",
		  an_act_is_not_done_on_an_answer_that_was_overtaken, NULL);
	suite_add(&suite, "a key is settled when the cache shows all that is known",
		  a_key_is_settled_when_the_cache_shows_all, NULL);
	suite_add(&suite, "the end in the middle of an act and of a call leaves nothing",
		  the_end_leaves_nothing, NULL);
	return suite_run(&suite, "reconcile");
}
