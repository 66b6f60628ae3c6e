/* registration_fsm: each cell, the waits, and that it always comes to rest at a kubelet that
 * works. */
#include "agent/plugin/registration_fsm.h"

#include <stdbool.h>

#include "unit/suite.h"

/* clang-format off */
static struct step_case {
	const char *name;
	enum registration_step from;
	enum registration_event event;
	enum registration_act act;
	enum registration_step to;
} steps[] = {
	{ "a wait ends with a call",                    REGISTRATION_STEP_WAITING,    REGISTRATION_TIMER,  REGISTRATION_CALL,    REGISTRATION_STEP_CALLING    },
	{ "a kubelet ends a wait",                      REGISTRATION_STEP_WAITING,    REGISTRATION_CAME,   REGISTRATION_CALL,    REGISTRATION_STEP_CALLING    },
	{ "who waits need not be told to",              REGISTRATION_STEP_WAITING,    REGISTRATION_AGAIN,  REGISTRATION_NOTHING, REGISTRATION_STEP_WAITING    },
	{ "a call that hangs is given up",              REGISTRATION_STEP_CALLING,    REGISTRATION_TIMER,  REGISTRATION_WAIT,    REGISTRATION_STEP_WAITING    },
	{ "another kubelet is called instead",          REGISTRATION_STEP_CALLING,    REGISTRATION_CAME,   REGISTRATION_CALL,    REGISTRATION_STEP_CALLING    },
	{ "a call that works is the end",               REGISTRATION_STEP_CALLING,    REGISTRATION_OK,     REGISTRATION_REPORT,    REGISTRATION_STEP_REGISTERED },
	{ "a call that fails is followed by a wait",    REGISTRATION_STEP_CALLING,    REGISTRATION_FAILED, REGISTRATION_WAIT,    REGISTRATION_STEP_WAITING    },
	{ "a stream of before says nothing of a call",  REGISTRATION_STEP_CALLING,    REGISTRATION_AGAIN,  REGISTRATION_NOTHING, REGISTRATION_STEP_CALLING    },
	{ "a new kubelet is called at once",            REGISTRATION_STEP_REGISTERED, REGISTRATION_CAME,   REGISTRATION_CALL,    REGISTRATION_STEP_CALLING    },
	{ "a dropped stream is followed by a wait",     REGISTRATION_STEP_REGISTERED, REGISTRATION_AGAIN,  REGISTRATION_WAIT,    REGISTRATION_STEP_WAITING    },
	{ "who has a stream of before is called later", REGISTRATION_STEP_CALLING,    REGISTRATION_CLEARED, REGISTRATION_WAIT,   REGISTRATION_STEP_CLEARING   },
	{ "he is called then",                          REGISTRATION_STEP_CLEARING,   REGISTRATION_TIMER,  REGISTRATION_CALL,    REGISTRATION_STEP_CALLING    },
	{ "and not sooner",                             REGISTRATION_STEP_CLEARING,   REGISTRATION_CAME,   REGISTRATION_NOTHING, REGISTRATION_STEP_CLEARING   },
	{ "the stream that was ended is no news",       REGISTRATION_STEP_CLEARING,   REGISTRATION_AGAIN,  REGISTRATION_NOTHING, REGISTRATION_STEP_CLEARING   },
};
/* clang-format on */

static void step_matches_table(void **state)
{
	const struct step_case *c = *state;
	struct registration_fsm fsm;

	registration_fsm_init(&fsm);
	fsm.step = c->from;
	assert_int_equal(registration_fsm_next(&fsm, c->event, 1000, 0), c->act);
	assert_int_equal(fsm.step, c->to);
}

static uint64_t fail_once(struct registration_fsm *fsm, uint64_t now_ms, uint64_t random)
{
	if (fsm->step != REGISTRATION_STEP_CALLING)
		registration_fsm_next(fsm, REGISTRATION_TIMER, now_ms, random);
	assert_int_equal(registration_fsm_next(fsm, REGISTRATION_FAILED, now_ms, random),
			 REGISTRATION_WAIT);
	return fsm->wait_ms;
}

static void waits_double(void **state)
{
	static const uint64_t waits[] = { 50,   100,  200,   400,   800,  1600,
					  3200, 6400, 10000, 10000, 10000 };
	struct registration_fsm fsm;
	uint64_t now_ms = 5;

	registration_fsm_init(&fsm);
	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		assert_int_equal(fail_once(&fsm, now_ms, 0), waits[i]);
		now_ms += waits[i];
	}
}

static void waits_have_jitter(void **state)
{
	struct registration_fsm fsm;
	bool differ = false;

	for (uint64_t random = 0; random < 100; random++) {
		registration_fsm_init(&fsm);
		assert_in_range(fail_once(&fsm, 1, random), 50, 75);
		differ = differ || fsm.wait_ms != 50;
	}
	assert_true(differ);
}

static void new_kubelet_is_tried_quickly(void **state)
{
	struct registration_fsm fsm;

	registration_fsm_init(&fsm);
	for (int i = 0; i < 8; i++)
		fail_once(&fsm, 1, 0);
	registration_fsm_next(&fsm, REGISTRATION_CAME, 1, 0);
	for (uint64_t wait_ms = 2; wait_ms <= 32; wait_ms *= 2)
		assert_int_equal(fail_once(&fsm, 1, 0), wait_ms);
	assert_int_equal(fail_once(&fsm, 1, 0), REGISTRATION_FIRST_MS);
}

static void kubelet_seen_while_it_is_called_is_tried_quickly(void **state)
{
	struct registration_fsm fsm;

	registration_fsm_init(&fsm);
	registration_fsm_next(&fsm, REGISTRATION_TIMER, 1, 0);
	registration_fsm_hurry(&fsm);
	assert_int_equal(fsm.step, REGISTRATION_STEP_CALLING);
	assert_int_equal(fail_once(&fsm, 1, 0), REGISTRATION_SOON_MS);
}

/* A kubelet that takes us and drops its stream at once is not asked without an end. */
static void drops_back_off(void **state)
{
	struct registration_fsm fsm;
	uint64_t expected = 50;
	uint64_t now_ms = 5;

	registration_fsm_init(&fsm);
	registration_fsm_next(&fsm, REGISTRATION_CAME, now_ms, 0);
	for (int i = 0; i < 12; i++) {
		registration_fsm_next(&fsm, REGISTRATION_OK, now_ms, 0);
		registration_fsm_next(&fsm, REGISTRATION_AGAIN, now_ms, 0);
		assert_int_equal(fsm.wait_ms, expected);
		now_ms += fsm.wait_ms;
		registration_fsm_next(&fsm, REGISTRATION_TIMER, now_ms, 0);
		expected = expected < 6400 ? expected * 2 : 10000;
	}
	registration_fsm_next(&fsm, REGISTRATION_OK, now_ms, 0);
	now_ms += REGISTRATION_CALM_MS;
	registration_fsm_next(&fsm, REGISTRATION_AGAIN, now_ms, 0);
	assert_int_equal(fsm.wait_ms, REGISTRATION_FIRST_MS);
}

/* What can happen in a step, in any order: there is always a call, a timer or a registration, and
 * never two; and a kubelet that works ends it within two events. */
static void something_is_always_under_way(void **state)
{
	static const enum registration_event possible[REGISTRATION_NSTEPS][5] = {
		[REGISTRATION_STEP_WAITING] = { REGISTRATION_TIMER, REGISTRATION_CAME,
						REGISTRATION_AGAIN, REGISTRATION_TIMER,
						REGISTRATION_AGAIN },
		[REGISTRATION_STEP_CALLING] = { REGISTRATION_TIMER, REGISTRATION_CAME,
						REGISTRATION_OK, REGISTRATION_FAILED,
						REGISTRATION_CLEARED },
		[REGISTRATION_STEP_CLEARING] = { REGISTRATION_TIMER, REGISTRATION_CAME,
						 REGISTRATION_AGAIN, REGISTRATION_TIMER,
						 REGISTRATION_AGAIN },
		[REGISTRATION_STEP_REGISTERED] = { REGISTRATION_CAME, REGISTRATION_AGAIN,
						   REGISTRATION_AGAIN, REGISTRATION_CAME,
						   REGISTRATION_CAME },
	};
	struct registration_fsm fsm;
	uint64_t seed = 1;
	bool waiting = true;
	bool calling = false;

	registration_fsm_init(&fsm);
	for (uint64_t i = 0; i < 100000; i++) {
		enum registration_event event = possible[fsm.step][suite_random(&seed) % 5];

		switch (registration_fsm_next(&fsm, event, i, suite_random(&seed))) {
		case REGISTRATION_CALL:
			calling = true;
			waiting = false;
			break;
		case REGISTRATION_WAIT:
			calling = false;
			waiting = true;
			assert_in_range(fsm.wait_ms, REGISTRATION_SOON_MS, 15000);
			break;
		case REGISTRATION_REPORT:
			calling = false;
			break;
		case REGISTRATION_NOTHING:
			break;
		case REGISTRATION_ILLEGAL:
			fail();
		}
		assert_int_equal(calling, fsm.step == REGISTRATION_STEP_CALLING);
		assert_int_equal(waiting, fsm.step == REGISTRATION_STEP_WAITING ||
						  fsm.step == REGISTRATION_STEP_CLEARING);
	}
	if (waiting)
		registration_fsm_next(&fsm, REGISTRATION_TIMER, 1, 0);
	if (fsm.step == REGISTRATION_STEP_CALLING)
		registration_fsm_next(&fsm, REGISTRATION_OK, 1, 0);
	assert_int_equal(fsm.step, REGISTRATION_STEP_REGISTERED);
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_rows(&suite, steps, step_matches_table);
	suite_add(&suite, "waits double up to ten seconds", waits_double, NULL);
	suite_add(&suite, "waits have jitter", waits_have_jitter, NULL);
	suite_add(&suite, "a new kubelet is tried quickly", new_kubelet_is_tried_quickly, NULL);
	suite_add(&suite, "a kubelet that is seen while it is called is tried quickly",
		  kubelet_seen_while_it_is_called_is_tried_quickly, NULL);
	suite_add(&suite, "dropped streams back off until a minute went well", drops_back_off,
		  NULL);
	suite_add(&suite, "something is always under way", something_is_always_under_way, NULL);
	return suite_run(&suite, "registration_fsm");
}
