/* sriov: a card's object, and the number of its virtual functions, made by helpers that may
 * fail. */
#include "agent/sriov/sriov.h"

#include "base/log.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/sriov/sriov_bench.h"

static void a_card_gets_an_object_and_then_nothing_is_written(void **state)
{
	struct bench *b = *state;

	bench_begin(b, NULL, none);
	assert_log(b, "POST|" STATUS_OF);
	assert_ready(b, "True AsFound");
	for (int i = 0; i < 3; i++)
		bench_scan(b, none);
	bench_run(b, A_MINUTE);
	assert_log(b, "");
	assert_int_equal(fake_task.starts, 0);
}

static void an_object_without_the_label_is_taken_up(void **state)
{
	struct bench *b = *state;

	fake_server_hide(b->server, NAME);
	fake_server_write(b->server, NAME, "{'spec':{'numVFs':0}}");
	bench_begin(b, NULL, none);
	assert_log(b, "POST|GET " NAME "|PATCH " NAME "|" STATUS_OF);
	assert_ready(b, "True Ready");
}

/* It is the other node's to write. */
static void an_object_of_another_node_is_left_alone(void **state)
{
	struct bench *b = *state;

	fake_server_hide(b->server, NAME);
	fake_server_write(b->server, NAME, "{'spec':{'nodeName':'node2','numVFs':2}}");
	bench_begin(b, NULL, none);
	bench_run(b, A_MINUTE);
	assert_log(b, "POST|GET " NAME "|");
	assert_int_equal(fake_task.starts, 0);
}

static void a_number_is_created_and_reported_when_a_scan_has_seen_it(void **state)
{
	struct bench *b = *state;

	bench_begin(b, OBJECT_SEEN("0"), none);
	bench_edit(b, "{'numVFs':2}");
	bench_settle(b);
	assert_true(fake_task.runs);
	assert_string_equal(str_cstr(&fake_task.words), JOB " count=2 autoprobe=0");
	assert_ready(b, "False Applying");
	bench_task_done(b);
	assert_int_equal(b->moves, 1);
	assert_ready(b, "False Applying");
	bench_scan(b, two);
	bench_settle(b);
	assert_ready(b, "True Ready");
	assert_int_equal(fake_task.starts, 1);
	assert_string_equal(str_cstr(&b->events.recorded), "Applied ");
}

/* The helper is to remove what the spec has wanted until now, as far as the cache shows. */
static void a_number_is_not_made_by_an_old_spec(void **state)
{
	struct bench *b = *state;

	bench_begin(b, OBJECT_SEEN("2"), none);
	bench_task_fails(b, "NumVFsFailed");
	bench_scan(b, none);
	bench_settle(b);
	assert_int_equal(fake_task.starts, 1);
	bench_edit(b, "{'numVFs':0}");
	fake_clock_advance(b->clock, 2000); /* the watch has not shown it */
	while (fake_server_serve(b->server, FAULT_NONE))
		fake_clock_settle(b->clock);
	assert_int_equal(fake_task.starts, 1);
	bench_settle(b);
	assert_int_equal(fake_task.starts, 1);
	assert_ready(b, "True Ready");
}

/* The card goes while its functions are made: nothing of it is believed before the next scan. */
static void an_object_that_is_deleted_meanwhile_is_made_again_by_a_later_scan(void **state)
{
	struct bench *b = *state;

	bench_begin(b, OBJECT_SEEN("2"), none);
	fake_server_delete(b->server, NAME);
	bench_settle(b);
	bench_task_done(b);
	sriov_enqueue_all(b->sriov);
	bench_run(b, 10000);
	assert_null(fake_server_get(b->server, NAME));
	bench_scan(b, two);
	bench_settle(b);
	assert_ready(b, "True AsFound");
	assert_int_equal(fake_task.starts, 1);
}

static void a_failure_is_reported_and_tried_again(void **state)
{
	struct bench *b = *state;

	bench_begin(b, OBJECT_SEEN("0"), none);
	bench_edit(b, "{'numVFs':2}");
	bench_settle(b);
	bench_task_fails(b, "NumVFsFailed");
	bench_scan(b, none);
	bench_settle(b);
	assert_ready(b, "False NumVFsFailed");
	assert_int_equal(fake_task.starts, 1);
	bench_run(b, 1000);
	assert_int_equal(fake_task.starts, 2);
	bench_task_fails(b, "NumVFsFailed");
	bench_scan(b, none);
	bench_run(b, 1900);
	assert_int_equal(fake_task.starts, 2);
	bench_run(b, 200);
	assert_int_equal(fake_task.starts, 3);
	assert_string_equal(str_cstr(&b->events.recorded), "!NumVFsFailed ");
}

static void a_helper_that_cannot_be_started_is_reported(void **state)
{
	struct bench *b = *state;

	bench_begin(b, OBJECT_SEEN("0"), none);
	fake_task.refuses = true;
	bench_edit(b, "{'numVFs':2}");
	bench_settle(b);
	assert_ready(b, "False HelperFailed");
	fake_task.refuses = false;
	bench_run(b, 29000);
	assert_int_equal(fake_task.starts, 0);
	bench_run(b, 1000);
	assert_int_equal(fake_task.starts, 1);
}

static void nothing_else_is_tried_while_the_helper_is_stuck(void **state)
{
	struct bench *b = *state;

	bench_begin(b, OBJECT_SEEN("0"), none);
	bench_edit(b, "{'numVFs':2}");
	bench_settle(b);
	fake_task_get_stuck();
	bench_settle(b);
	assert_ready(b, "False Stuck");
	assert_non_null(strstr(fake_server_log(b->server), STATUS_OF));
	for (int i = 0; i < 3; i++)
		bench_scan(b, none);
	bench_run(b, A_MINUTE);
	assert_log(b, "");
	assert_int_equal(fake_task.starts, 1);

	fake_task_go();
	assert_int_equal(b->moves, 1);
	bench_run(b, 1000);
	assert_int_equal(fake_task.starts, 1);
	bench_scan(b, two);
	bench_settle(b);
	assert_ready(b, "True Ready");
}

/* Its task is all that is known of it, until that has ended. */
static void a_stuck_helper_outlives_card_and_object(void **state)
{
	static const char *const nothing[] = { NULL };
	struct bench *b = *state;

	bench_begin(b, OBJECT_SEEN("2"), none);
	fake_task_get_stuck();
	bench_settle(b);
	bench_scan(b, nothing);
	fake_server_delete(b->server, NAME);
	bench_settle(b);
	assert_true(fake_task.runs);
	bench_scan(b, none);
	bench_settle(b);
	assert_ready(b, "False Stuck");
	fake_task_go();
	bench_settle(b);
	assert_ready(b, "False Stuck");
	bench_scan(b, none);
	bench_settle(b);
	assert_ready(b, "True AsFound");
	assert_int_equal(fake_task.starts, 1);
}

static void a_card_goes_to_the_other_object_when_the_first_is_deleted(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, "node1-card", OBJECT_OF("node1-card", MARKED, SPEC("0"), ""));
	bench_begin(b, OBJECT("0"), none);
	assert_ready(b, "False Duplicate");
	fake_server_delete(b->server, "node1-card");
	bench_settle(b);
	assert_ready(b, "True Ready");
}

static void a_helper_under_way_is_left_to_end_by_itself(void **state)
{
	struct bench *b = *state;

	bench_begin(b, OBJECT_SEEN("2"), none);
	assert_true(fake_task.runs);
}

static void an_object_whose_card_is_gone_goes_if_it_asks_for_nothing(void **state)
{
	static const char *const nothing[] = { NULL };
	struct bench *b = *state;

	bench_begin(b, NULL, none);
	(void)fake_server_log(b->server);
	bench_scan(b, nothing);
	bench_settle(b);
	assert_log(b, "DELETE " NAME "|");
	assert_null(fake_server_get(b->server, NAME));
	bench_scan(b, none);
	bench_settle(b);
	assert_ready(b, "True AsFound");
}

/* --- at random -------------------------------------------------------------------------------- */

/* The kernel and a user, beside what the bench has. */
struct life {
	struct bench b;
	bool has_card;
	int vfs;     /* of the kernel                                 */
	int scanned; /* changes of the bench that a scan has followed */
};

static void life_scan(struct life *l)
{
	static const char *const nothing[] = { NULL };

	l->scanned = l->b.moves;
	bench_scan(&l->b, !l->has_card ? nothing : l->vfs > 0 ? two : none);
}

/* The kernel does what the task that runs was told. */
static void life_obey(struct life *l)
{
	static const char word[] = " count=";
	const char *count = strstr(str_cstr(&fake_task.words), word);

	if (count && l->has_card)
		l->vfs = count[strlen(word)] - '0';
}

static void life_end_task(struct life *l, uint64_t *seed)
{
	static const char *const reasons[] = { "Held", "Refused", "NumVFsFailed" };
	uint64_t what = suite_random(seed) % 8;

	if (!fake_task.runs)
		return;
	if (what < 4)
		life_obey(l);
	if (fake_task.task.stuck) {
		fake_task.runs = false;
		fake_task.task.spec.on_gone(fake_task.task.spec.arg);
	} else if (what < 4) {
		bench_end_task(&l->b, TASK_DONE, NULL);
	} else if (what < 7) {
		bench_end_task(&l->b, TASK_HELD + (enum task_result)(what - 4), reasons[what - 4]);
	} else {
		fake_task.task.stuck = true;
		fake_task.task.spec.on_end(fake_task.task.spec.arg, NULL);
	}
}

static void life_user(struct life *l, uint64_t *seed)
{
	switch (suite_random(seed) % 5) {
	case 0:
		fake_server_delete(l->b.server, NAME);
		return;
	case 1:
		l->has_card = !l->has_card;
		l->vfs = 0;
		return;
	case 2:
		bench_edit(&l->b, "{'virtualFunctions':[{'index':1,'vlan':5}]}");
		return;
	case 3:
		bench_edit(&l->b, "{'virtualFunctions':null}");
		return;
	default:
		bench_edit(&l->b, suite_random(seed) % 2 ? "{'numVFs':2}" : "{'numVFs':0}");
		return;
	}
}

static void life_step(struct life *l, uint64_t *seed)
{
	struct bench *b = &l->b;
	enum fake_fault fault = FAULT_NONE;

	fake_clock_settle(b->clock);
	(void)fake_server_serve(b->claim_server, FAULT_NONE);
	switch (suite_random(seed) % 20) {
	case 0:
		life_user(l, seed);
		return;
	case 1:
	case 2:
		life_scan(l);
		return;
	case 3:
	case 4:
		life_end_task(l, seed);
		return;
	case 5:
	case 6:
	case 7:
	case 8:
		(void)fake_server_show(b->server, 1 + suite_random(seed) % 3);
		return;
	case 9:
	case 10:
		fake_clock_advance(b->clock, suite_random(seed) % 2000);
		return;
	case 11:
		if (suite_random(seed) % 8 == 0) {
			bench_end(b);
			bench_start(b);
		} else if (suite_random(seed) % 4 == 0) {
			fake_server_end_watch(b->server);
		}
		return;
	case 12:
		fault = (enum fake_fault)(suite_random(seed) % FAKE_FAULTS);
		break;
	default:
		break;
	}
	(void)fake_server_serve(b->server, fault);
}

/* Tasks succeed, and scans follow, until nothing happens any more. */
static void life_settle(struct life *l)
{
	life_scan(l);
	for (int i = 0; i < 700; i++) {
		bench_run(&l->b, 100);
		if (fake_task.runs && fake_task.task.stuck) {
			fake_task.runs = false;
			fake_task.task.spec.on_gone(fake_task.task.spec.arg);
		} else if (fake_task.runs) {
			life_obey(l);
			bench_end_task(&l->b, TASK_DONE, NULL);
		}
		if (l->scanned != l->b.moves)
			life_scan(l);
	}
}

/* Whatever happens: in the end the card has what its object says, and then nothing is written. The
 * server, the reconcile and the fake task assert on the way what they promise. */
static void a_random_life_ends_well(void **state)
{
	for (uint64_t run = 0; run < 200; run++) {
		struct life l = { .has_card = true };
		uint64_t seed = run;
		size_t writes;
		auto_free char *ready = NULL;
		const json_t *spec;

		bench_open(&l.b);
		for (int i = 0; i < 400; i++)
			life_step(&l, &seed);
		l.has_card = true;
		life_settle(&l);
		ready = bench_ready(&l.b);
		if (strncmp(ready, "True ", strlen("True ")) != 0 &&
		    strcmp(ready, "False NoSuchVF") != 0)
			fail_msg("run %d: %s", (int)run, ready);
		spec = json_object_get(fake_server_get(l.b.server, NAME), "spec");
		assert_int_equal(json_integer_value(json_object_get(spec, "numVFs")), l.vfs);
		writes = fake_server_writes(l.b.server);
		sriov_enqueue_all(l.b.sriov);
		bench_run(&l.b, 10000);
		assert_int_equal(fake_server_writes(l.b.server), writes);
		bench_close(&l.b);
	}
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_add(&suite, "a random life ends well", a_random_life_ends_well, NULL);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "a card gets an object, and then nothing is written",
		  a_card_gets_an_object_and_then_nothing_is_written, NULL);
	suite_add(&suite, "a number is made, and told when a scan has seen it",
		  a_number_is_created_and_reported_when_a_scan_has_seen_it, NULL);
	suite_add(&suite, "a failure is reported and tried again",
		  a_failure_is_reported_and_tried_again, NULL);
	suite_add(&suite, "a helper that cannot be started is reported",
		  a_helper_that_cannot_be_started_is_reported, NULL);
	suite_add(&suite, "nothing else is tried while the helper is stuck",
		  nothing_else_is_tried_while_the_helper_is_stuck, NULL);
	suite_add(&suite, "a helper under way is left to end by itself",
		  a_helper_under_way_is_left_to_end_by_itself, NULL);
	suite_add(&suite, "an object without the label is taken up",
		  an_object_without_the_label_is_taken_up, NULL);
	suite_add(&suite, "a stuck helper outlives card and object",
		  a_stuck_helper_outlives_card_and_object, NULL);
	suite_add(&suite, "a card goes to the other object when the first is deleted",
		  a_card_goes_to_the_other_object_when_the_first_is_deleted, NULL);
	suite_add(&suite, "an object of another node is left alone",
		  an_object_of_another_node_is_left_alone, NULL);
	suite_add(&suite, "a number is not made by an old spec",
		  a_number_is_not_made_by_an_old_spec, NULL);
	suite_add(&suite, "an object that is deleted meanwhile is made again by a later scan",
		  an_object_that_is_deleted_meanwhile_is_made_again_by_a_later_scan, NULL);
	suite_add(&suite, "an object whose card is gone goes if it asks for nothing",
		  an_object_whose_card_is_gone_goes_if_it_asks_for_nothing, NULL);
	return suite_run(&suite, "sriov");
}
