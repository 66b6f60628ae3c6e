/* The kind that docs/add-a-kind.md shows, from its first object to a restart in the middle: it
 * works, and the text is the code. */
#include "unit/kinds/beacon.h"

#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/reconcile.h"
#include "unit/kube/kind_bench.h"
#include "unit/kube/random_life.h"
#include "unit/task/fake_task.h"
#include "unit/this_node.h"

#define NAME   "node1"
#define STATUS "PATCH " NAME "/status|"
#define MARKED "'metadata':{'finalizers':['" BEACON_FINALIZER "']}"

/* --- the plan --------------------------------------------------------------------------------- */

static char no_led_reason[] = "NoLed";
static char no_led_message[] = "the node has no LED";
static const struct task_outcome no_led = { TASK_FAILED, .reason = no_led_reason,
					    .message = no_led_message };

static struct plan_case {
	const char *name;
	const char *object;
	bool blinks;
	const char *stuck;
	const struct task_outcome *failure;
	uint64_t hold_ms;
	enum step step;
	const char *text; /* of the job, else of the event; NULL: neither */
} plans[] = {
	{ "a new one gets the finalizer first", "{'spec':{'blink':true}}", .step = STEP_PATCH },
	{ "one that is to blink is switched on", "{'spec':{'blink':true}," MARKED "}",
	  .step = STEP_ACT, .text = "blink=true" },
	{ "one that blinks says so", "{'spec':{'blink':true}," MARKED "}", .blinks = true,
	  .step = STEP_PATCH_STATUS, .text = "Blinking" },
	{ "one that is to be off is switched off", "{'spec':{}," MARKED "}", .blinks = true,
	  .step = STEP_ACT, .text = "blink=false" },
	{ "one that is off says so", "{" MARKED "}", .step = STEP_PATCH_STATUS, .text = "Off" },
	{ "another message of the same reason is no event",
	  "{" MARKED ",'status':{'conditions':[{'type':'Ready','status':'True','reason':'Off',"
	  "'message':'dark'}]}}",
	  .step = STEP_PATCH_STATUS },
	{ "a failure is told while it waits", "{'spec':{'blink':true}," MARKED "}",
	  .failure = &no_led, .hold_ms = 7, .step = STEP_PATCH_STATUS, .text = "!NoLed" },
	{ "after the wait it is tried again", "{'spec':{'blink':true}," MARKED "}",
	  .failure = &no_led, .step = STEP_ACT, .text = "blink=true" },
	{ "a failure that has mended itself is none", "{" MARKED "}", .failure = &no_led,
	  .hold_ms = 7, .step = STEP_PATCH_STATUS, .text = "Off" },
	{ "nothing is begun beside a stuck helper", "{'spec':{'blink':true}," MARKED "}",
	  .stuck = "it hangs", .step = STEP_PATCH_STATUS, .text = "!Stuck" },
	{ "one that is deleted is switched off first",
	  "{'spec':{'blink':true},'metadata':{'deletionTimestamp':'2026-01-02T03:04:05Z',"
	  "'finalizers':['" BEACON_FINALIZER "']}}",
	  .blinks = true, .step = STEP_ACT, .text = "blink=false" },
	{ "then it may go",
	  "{'spec':{'blink':true},'metadata':{'deletionTimestamp':'2026-01-02T03:04:05Z',"
	  "'finalizers':['" BEACON_FINALIZER "']}}",
	  .step = STEP_PATCH },
	{ "but not while a stuck helper may switch it on",
	  "{'metadata':{'deletionTimestamp':'2026-01-02T03:04:05Z','finalizers':['" BEACON_FINALIZER
	  "']}}",
	  .stuck = "it hangs", .step = STEP_PATCH_STATUS, .text = "!Stuck" },
	{ "one that others still keep is left alone",
	  "{'metadata':{'deletionTimestamp':'2026-01-02T03:04:05Z','finalizers':['a.example/b']}}",
	  .blinks = true, .step = STEP_REST },
};

static void plan_matches_table(void **state)
{
	const struct plan_case *c = suite_row(state);
	auto_json json_t *json = object_json(c->object);
	struct beacon beacon = { 0 };
	struct decision d = { 0 };
	struct err err = { 0 };
	auto_free char *event = NULL;

	json_object_set_new(json, "metadata",
			    object_meta(json) ? json_incref(object_meta(json)) : json_object());
	json_object_set_new(object_meta(json), "name", json_string(NAME));
	assert_int_equal(json_map_decode(beacon_kind.map, json, &beacon, &err), 0);
	beacon_plan(&(struct beacon_case){ .beacon = &beacon,
					   .blinks = c->blinks,
					   .stuck = c->stuck,
					   .failure = c->failure,
					   .hold_ms = c->hold_ms },
		    &d);
	assert_int_equal(d.step, c->step);
	event = xasprintf("%s%s", d.warning ? "!" : "", d.event_reason ? d.event_reason : "");
	assert_string_equal(d.job ? d.job : event, c->text ? c->text : "");
	json_decref(d.body);
	free(d.job);
	free(d.event_reason);
	free(d.event_message);
	json_map_done(beacon_kind.map, &beacon);
}

/* --- the bench -------------------------------------------------------------------------------- */

/* kube/events.h without an API server. */
struct events {
	struct str recorded;
};

void events_record(struct events *events, const struct events_about *about, enum events_type type,
		   const char *reason, const char *fmt, ...)
{
	assert_ptr_equal(about->kind, &beacon_kind);
	assert_string_equal(fmt, "%s");
	str_addf(&events->recorded, "%s%s|", type == EVENTS_WARNING ? "!" : "", reason);
}

struct bench {
	struct fake_server *server;
	struct fake_clock *clock;
	struct events events;
	struct this_node node;
	struct beacons *beacons;
	bool led; /* blinks */
	int moves;
};

static void on_moved(void *arg)
{
	struct bench *b = arg;

	b->moves++;
}

/* The agent begins, or begins again; nothing has been scanned. */
static void bench_begin(struct bench *b)
{
	b->node = this_node_of(fake_server_client(b->server), fake_clock_as_clock(b->clock),
			       &b->events);
	b->beacons = beacons_new(&b->node, on_moved, b);
	beacons_start(b->beacons);
}

static void bench_end(struct bench *b)
{
	b->beacons = beacons_free(b->beacons);
	assert_int_equal(fake_client_open(fake_server_client(b->server)), 0);
	assert_false(fake_task.runs);
}

static void bench_open(struct bench *b)
{
	*b = (struct bench){ .server = fake_server_new(&beacon_kind), .clock = fake_clock_new() };
	fake_task_reset();
	bench_begin(b);
}

static void bench_close(struct bench *b)
{
	bench_end(b);
	kube_client_free(fake_server_client(b->server));
	fake_server_free(b->server);
	fake_clock_free(b->clock);
	str_done(&b->events.recorded);
	fake_task_reset();
}

SUITE_FIXTURE(bench, struct bench, bench_open, bench_close);

/* Everything is served and shown at once, until nothing is left to do now. */
static void bench_settle(struct bench *b)
{
	do
		fake_clock_settle(b->clock);
	while (fake_server_serve(b->server, FAULT_NONE) || fake_server_show(b->server, 1));
}

static void bench_run(struct bench *b, uint64_t ms)
{
	kind_bench_run(b, b->clock, bench_settle, ms);
}

/* The node is scanned, a moment later; what follows from that has not been served yet. */
static void bench_begin_scan(struct bench *b)
{
	fake_clock_advance(b->clock, 1);
	beacons_set_scan(b->beacons, b->led, clock_now_ms(fake_clock_as_clock(b->clock)));
	beacons_enqueue_all(b->beacons);
	fake_clock_settle(b->clock);
}

static void bench_scan(struct bench *b)
{
	bench_begin_scan(b);
	bench_settle(b);
}

/* The task does what it is told; the scan that follows sees it. */
static void bench_end_task(struct bench *b)
{
	b->led = strcmp(str_cstr(&fake_task.words), "blink=true") == 0;
	fake_task_end(TASK_DONE, NULL);
}

static void bench_task_does(struct bench *b)
{
	bench_end_task(b);
	bench_settle(b);
}

static void bench_task_fails(struct bench *b)
{
	fake_task_end(TASK_FAILED, "NoLed");
	bench_settle(b);
}

/* The LED does what the object says, and this is written. */
static void bench_light(struct bench *b)
{
	fake_server_write(b->server, NAME, "{'spec':{'blink':true}}");
	bench_scan(b);
	bench_task_does(b);
	bench_scan(b);
	bench_run(b, 5000); /* also for what waits for the cache */
	assert_string_equal(fake_server_log(b->server), "PATCH " NAME "|" STATUS);
	assert_recorded(&b->events.recorded, "Blinking|");
}

static void assert_log(struct bench *b, const char *wanted)
{
	assert_string_equal(fake_server_log(b->server), wanted);
}

/* "True Blinking": status and reason of Ready; "": there is none. */
static void assert_ready(struct bench *b, const char *wanted)
{
	const json_t *status = json_object_get(fake_server_get(b->server, NAME), "status");
	const json_t *ready = json_array_get(json_object_get(status, "conditions"), 0);
	auto_free char *is =
		ready ? xasprintf("%s %s", json_string_value(json_object_get(ready, "status")),
				  json_string_value(json_object_get(ready, "reason")))
		      : xstrdup("");

	assert_string_equal(is, wanted);
}

/* --- its life --------------------------------------------------------------------------------- */

static void it_is_switched_on(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, NAME, "{'spec':{'blink':true}}");
	bench_scan(b);
	assert_log(b, "PATCH " NAME "|"); /* whose answer need not be read once more */
	assert_true(fake_task.runs);
	assert_string_equal(fake_task.verb, "beacon");
	assert_string_equal(fake_task.key, NAME);
	assert_string_equal(str_cstr(&fake_task.words), "blink=true");
	bench_task_does(b);
	assert_int_equal(b->moves, 1);
	assert_log(b, ""); /* before the scan after the task nothing is known */
	bench_scan(b);
	assert_log(b, STATUS);
	assert_ready(b, "True Blinking");
	assert_true(json_is_true(json_object_get(
		json_object_get(fake_server_get(b->server, NAME), "status"), "blinking")));
	assert_recorded(&b->events.recorded, "Blinking|");
	assert_int_equal(fake_task.starts, 1);
}

static void an_unchanged_world_gives_no_write(void **state)
{
	struct bench *b = *state;

	bench_light(b);
	for (int i = 0; i < 3; i++) {
		bench_scan(b);
		bench_run(b, 60000);
	}
	assert_log(b, "");
	assert_int_equal(fake_task.starts, 1);
}

static void a_changed_spec_is_carried_out(void **state)
{
	struct bench *b = *state;

	bench_light(b);
	fake_server_write(b->server, NAME, "{'spec':{'blink':false}}");
	bench_settle(b);
	assert_log(b, "GET " NAME "|"); /* by the engine, before the act */
	assert_string_equal(str_cstr(&fake_task.words), "blink=false");
	bench_task_does(b);
	bench_scan(b);
	assert_log(b, STATUS);
	assert_ready(b, "True Off");
	assert_recorded(&b->events.recorded, "Off|");
}

static void a_change_during_the_act_counts(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, NAME, "{'spec':{'blink':true}}");
	bench_scan(b);
	fake_server_write(b->server, NAME, "{'spec':{'blink':false}}");
	bench_settle(b);
	bench_task_does(b);
	bench_scan(b);
	assert_string_equal(str_cstr(&fake_task.words), "blink=false");
	bench_task_does(b);
	bench_scan(b);
	assert_ready(b, "True Off");
	assert_recorded(&b->events.recorded, "Off|");
}

static void nothing_is_decided_before_the_first_scan(void **state)
{
	auto_str struct str reason = STR_INIT;
	struct bench *b = *state;

	assert_false(beacons_ready(b->beacons, &reason));
	assert_non_null(strstr(str_cstr(&reason), "waiting for beacons: "));
	fake_server_write(b->server, NAME, "{'spec':{'blink':true}}");
	bench_run(b, 10000);
	assert_true(beacons_ready(b->beacons, NULL));
	assert_log(b, "");
	assert_false(fake_task.runs);
}

/* --- what goes wrong -------------------------------------------------------------------------- */

static void an_act_that_fails_is_told_and_tried_again(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, NAME, "{'spec':{'blink':true}}");
	bench_scan(b);
	bench_task_fails(b);
	bench_scan(b);
	assert_ready(b, "False NoLed");
	assert_recorded(&b->events.recorded, "!NoLed|");
	bench_run(b, 900);
	assert_int_equal(fake_task.starts, 1);
	bench_run(b, 200);
	assert_int_equal(fake_task.starts, 2);
	(void)fake_server_log(b->server);
	bench_task_fails(b);
	bench_scan(b);
	assert_log(b, ""); /* it says so already */
	bench_run(b, 1900);
	assert_int_equal(fake_task.starts, 2);
	bench_run(b, 200);
	assert_int_equal(fake_task.starts, 3);
	bench_task_does(b);
	bench_scan(b);
	assert_ready(b, "True Blinking");
	assert_recorded(&b->events.recorded, "Blinking|");
}

/* What has failed for the old one says nothing of it. */
static void another_spec_does_not_wait(void **state)
{
	struct bench *b = *state;

	bench_light(b);
	fake_server_write(b->server, NAME, "{'spec':{'blink':false}}");
	bench_settle(b);
	bench_task_fails(b);
	bench_scan(b);
	assert_ready(b, "False NoLed");
	fake_server_write(b->server, NAME, "{'spec':{'blink':true}}");
	bench_settle(b);
	assert_ready(b, "True Blinking"); /* as it still does */
	fake_server_write(b->server, NAME, "{'spec':{'blink':false}}");
	bench_settle(b);
	assert_int_equal(fake_task.starts, 3);
	bench_task_fails(b);
	bench_scan(b);
	fake_server_delete(b->server, NAME);
	bench_settle(b);
	assert_int_equal(fake_task.starts, 4);
	bench_task_does(b);
}

static void a_helper_that_cannot_be_started_is_told(void **state)
{
	struct bench *b = *state;

	bench_light(b);
	fake_task.refuses = true;
	fake_server_write(b->server, NAME, "{'spec':{'blink':false}}");
	bench_settle(b);
	assert_ready(b, "False HelperFailed");
	fake_task.refuses = false;
	bench_run(b, 1100);
	assert_true(fake_task.runs);
}

static void a_stuck_helper_is_told_and_waited_for(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, NAME, "{'spec':{'blink':true}}");
	bench_scan(b);
	fake_task_get_stuck();
	bench_settle(b);
	assert_ready(b, "False Stuck");
	fake_server_delete(b->server, NAME);
	bench_run(b, 60000);
	bench_scan(b);
	assert_non_null(fake_server_get(b->server, NAME));
	assert_int_equal(fake_task.starts, 1);
	b->led = true; /* in the end it does it */
	fake_task_go();
	assert_int_equal(b->moves, 1);
	beacons_enqueue_all(b->beacons); /* the last scan knows nothing of it */
	bench_settle(b);
	assert_non_null(fake_server_get(b->server, NAME));
	bench_scan(b);
	assert_string_equal(str_cstr(&fake_task.words), "blink=false");
	bench_task_does(b);
	bench_scan(b);
	assert_null(fake_server_get(b->server, NAME));
}

/* Somebody writes the object before the agent does. */
static void a_conflict_is_decided_again(void **state)
{
	struct bench *b = *state;

	bench_scan(b);
	fake_server_write(b->server, NAME, "{'spec':{'blink':true}}");
	assert_true(fake_server_show(b->server, 1));
	fake_server_write(b->server, NAME, "{'spec':{'blink':false}}"); /* not shown yet */
	fake_clock_settle(b->clock);
	assert_true(fake_server_serve(b->server, FAULT_NONE));
	assert_log(b, "PATCH " NAME "|");
	bench_run(b, 1000);
	assert_log(b, "PATCH " NAME "|" STATUS);
	assert_ready(b, "True Off");
	assert_false(fake_task.runs);
}

/* --- random lives ----------------------------------------------------------------------------- */

static void *life_open(struct random_world *world)
{
	struct bench *b = xcalloc(1, sizeof(*b));

	bench_open(b);
	*world = (struct random_world){ .server = b->server, .clock = b->clock };
	return b;
}

static void life_close(void *arg)
{
	bench_close(arg);
	free(arg);
}

static void something(void *arg, uint64_t *seed)
{
	struct bench *b = arg;

	switch (suite_random(seed) % 8) {
	case 0:
		fake_server_write(b->server, NAME, "{'spec':{'blink':false}}");
		return;
	case 1:
		fake_server_delete(b->server, NAME);
		return;
	case 2:
	case 3:
		fake_server_write(b->server, NAME, "{'spec':{'blink':true}}");
		return;
	case 4:
	case 5:
		bench_begin_scan(b);
		return;
	default:
		if (fake_task.runs && suite_random(seed) % 3 == 0)
			fake_task_end(TASK_FAILED, "NoLed");
		else if (fake_task.runs)
			bench_end_task(b);
		return;
	}
}

static void begin_again(void *arg)
{
	bench_end(arg);
	bench_begin(arg);
}

static void end_well(void *arg)
{
	if (fake_task.runs)
		bench_end_task(arg);
	bench_begin_scan(arg);
}

static void assert_end(void *arg)
{
	const struct bench *b = arg;
	const json_t *object = fake_server_get(b->server, NAME);

	assert_int_equal(b->led,
			 json_is_true(json_object_get(json_object_get(object, "spec"), "blink")));
	if (object)
		assert_ready(arg, b->led ? "True Blinking" : "True Off");
}

static const struct random_kind beacons = {
	.name = "Beacons",
	.open = life_open,
	.close = life_close,
	.something = something,
	.begin_again = begin_again,
	.end_well = end_well,
	.assert_end = assert_end,
};

/* --- its end ---------------------------------------------------------------------------------- */

static void it_is_off_before_it_goes(void **state)
{
	struct bench *b = *state;

	bench_light(b);
	fake_server_delete(b->server, NAME);
	bench_settle(b);
	assert_log(b, "GET " NAME "|");
	assert_string_equal(str_cstr(&fake_task.words), "blink=false");
	bench_task_fails(b);
	bench_scan(b);
	assert_log(b, STATUS); /* why it does not go */
	assert_ready(b, "False NoLed");
	bench_run(b, 1100);
	assert_log(b, "GET " NAME "|");
	bench_task_does(b);
	assert_non_null(fake_server_get(b->server, NAME));
	bench_scan(b);
	assert_log(b, "GET " NAME "|PATCH " NAME "|");
	assert_null(fake_server_get(b->server, NAME));
}

static void a_restart_in_an_act_acts_again(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, NAME, "{'spec':{'blink':true}}");
	bench_scan(b);
	assert_true(fake_task.runs);
	bench_end(b); /* the helper ends by itself, and has done nothing */
	bench_begin(b);
	bench_scan(b);
	assert_int_equal(fake_task.starts, 2);
	bench_task_does(b);
	bench_scan(b);
	assert_ready(b, "True Blinking");
}

static void a_restart_after_an_act_does_not(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, NAME, "{'spec':{'blink':true}}");
	bench_scan(b);
	bench_task_does(b);
	bench_end(b);
	bench_begin(b);
	bench_scan(b);
	assert_int_equal(fake_task.starts, 1);
	assert_log(b, "PATCH " NAME "|" STATUS);
	fake_server_delete(b->server, NAME);
	bench_end(b);
	bench_begin(b);
	bench_scan(b);
	bench_task_does(b);
	bench_end(b);
	bench_begin(b);
	bench_scan(b);
	assert_int_equal(fake_task.starts, 2);
	assert_null(fake_server_get(b->server, NAME));
}

/* --- the page --------------------------------------------------------------------------------- */

static const char *skip_blank_lines(const char *text)
{
	return text + strspn(text, "\n");
}

/* The blocks of C are the two files, one after the other. The tests run in the folder of the
 * sources. */
static void text_is_the_code(void **state)
{
	auto_free char *header = NULL;
	auto_free char *source = NULL;
	auto_free char *page = NULL;
	auto_free char *code = NULL;
	const char *block, *at;

	assert_int_equal(
		file_read(AT_FDCWD, "tests/unit/kinds/beacon.h", 1 << 20, &header, NULL, NULL), 0);
	assert_int_equal(
		file_read(AT_FDCWD, "tests/unit/kinds/beacon.c", 1 << 20, &source, NULL, NULL), 0);
	assert_int_equal(file_read(AT_FDCWD, "docs/add-a-kind.md", 1 << 20, &page, NULL, NULL), 0);
	code = xasprintf("%s\n%s\n", header, source); /* which file_read() has cut */
	at = code;
	block = page;
	while ((block = strstr(block, "\n```c\n"))) {
		const char *begin = block + strlen("\n```c\n");
		const char *end = strstr(begin, "```\n");

		assert_non_null(end);
		at = skip_blank_lines(at);
		if (strncmp(at, begin, (size_t)(end - begin)) != 0)
			fail_msg("the page has\n%.300s\nand the code\n%.300s", begin, at);
		at += end - begin;
		block = end;
	}
	assert_string_equal(skip_blank_lines(at), "");
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_add(&suite, "the text of the docs is the code", text_is_the_code, NULL);
	suite_rows(&suite, plans, plan_matches_table);
	random_lives(&suite, &beacons, 30);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "it is switched on", it_is_switched_on, NULL);
	suite_add(&suite, "an unchanged world gives no write", an_unchanged_world_gives_no_write,
		  NULL);
	suite_add(&suite, "a changed spec is carried out", a_changed_spec_is_carried_out, NULL);
	suite_add(&suite, "a change during the act counts", a_change_during_the_act_counts, NULL);
	suite_add(&suite, "nothing is decided before the first scan",
		  nothing_is_decided_before_the_first_scan, NULL);
	suite_add(&suite, "an act that fails is told and tried again",
		  an_act_that_fails_is_told_and_tried_again, NULL);
	suite_add(&suite, "another spec does not wait", another_spec_does_not_wait, NULL);
	suite_add(&suite, "a helper that cannot be started is told",
		  a_helper_that_cannot_be_started_is_told, NULL);
	suite_add(&suite, "a stuck helper is told and waited for",
		  a_stuck_helper_is_told_and_waited_for, NULL);
	suite_add(&suite, "a conflict is decided again", a_conflict_is_decided_again, NULL);
	suite_add(&suite, "it is off before it goes", it_is_off_before_it_goes, NULL);
	suite_add(&suite, "a restart in an act acts again", a_restart_in_an_act_acts_again, NULL);
	suite_add(&suite, "a restart after an act does not", a_restart_after_an_act_does_not, NULL);
	return suite_run(&suite, "beacon");
}
