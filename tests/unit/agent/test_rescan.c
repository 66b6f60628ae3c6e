#include "agent/monitor/rescan.h"

#include "unit/suite.h"

/* What happens, at which time, and when the next scan is due after it. */
enum happens {
	END_OF_SCRIPT,
	HINT_LATE,
	HINT_LAZY,
	HINT_DEVICE,
	HINT_NOW,
	BEGINS,
	ENDS_WELL,
	FAILS
};

static struct script_case {
	const char *name;
	uint64_t interval_ms;
	struct {
		enum happens what;
		uint64_t now_ms;
		uint64_t due_ms;
	} steps[9];
} scripts[] = {
	{ "the first look comes at once", 0, { { HINT_NOW, 7, 7 } } },
	{ "a device hint waits for a short calm", 0, { { HINT_DEVICE, 100, 120 } } },
	{ "a lazy hint waits for a long calm", 0, { { HINT_LAZY, 100, 600 } } },
	{ "a late hint waits for a minute, whatever else is late",
	  0,
	  { { HINT_LATE, 100, 60100 }, { HINT_LATE, 200, 60100 }, { HINT_LATE, 60050, 60100 } } },
	{ "a late hint delays nothing",
	  0,
	  { { HINT_LAZY, 100, 600 }, { HINT_LATE, 200, 600 }, { HINT_LAZY, 300, 800 } } },
	{ "a late hint is not late for ever while others come",
	  0,
	  { { HINT_LATE, 0, 60000 }, { HINT_LAZY, 59900, 60000 }, { HINT_LAZY, 59990, 60000 } } },
	{ "any scan answers late hints",
	  0,
	  { { HINT_LATE, 0, 60000 },
	    { HINT_DEVICE, 100, 120 },
	    { BEGINS, 120, RESCAN_NEVER },
	    { ENDS_WELL, 130, RESCAN_NEVER },
	    { HINT_LATE, 70000, 130000 } } },
	{ "a late hint while a scan runs is answered by the next",
	  0,
	  { { HINT_NOW, 0, 0 },
	    { BEGINS, 0, RESCAN_NEVER },
	    { HINT_LATE, 10, RESCAN_NEVER },
	    { ENDS_WELL, 20, 60010 } } },
	{ "the net may come before what is late",
	  1000,
	  { { HINT_NOW, 0, 0 },
	    { BEGINS, 0, RESCAN_NEVER },
	    { ENDS_WELL, 30, 1030 },
	    { HINT_LATE, 40, 1030 } } },
	{ "every device hint restarts the short calm",
	  0,
	  { { HINT_DEVICE, 100, 120 }, { HINT_DEVICE, 110, 130 }, { HINT_DEVICE, 129, 149 } } },
	{ "every lazy hint restarts the long calm",
	  0,
	  { { HINT_LAZY, 100, 600 }, { HINT_LAZY, 300, 800 }, { HINT_LAZY, 700, 1200 } } },
	{ "a lazy hint does not delay a device",
	  0,
	  { { HINT_DEVICE, 100, 120 }, { HINT_LAZY, 110, 120 }, { HINT_LAZY, 120, 120 } } },
	{ "a lazy hint in the same millisecond does not delay a device",
	  0,
	  { { HINT_DEVICE, 100, 120 }, { HINT_LAZY, 100, 120 } } },
	{ "a device hint hurries a lazy one",
	  0,
	  { { HINT_LAZY, 100, 600 }, { HINT_DEVICE, 200, 220 } } },
	{ "lost messages hurry everything",
	  0,
	  { { HINT_LAZY, 100, 600 }, { HINT_DEVICE, 110, 130 }, { HINT_NOW, 115, 115 } } },
	{ "what follows lost messages does not delay their scan",
	  0,
	  { { HINT_NOW, 100, 100 },
	    { HINT_DEVICE, 100, 100 },
	    { HINT_LAZY, 100, 100 },
	    { HINT_DEVICE, 103, 100 } } },
	{ "a calm that has passed is not restarted",
	  0,
	  { { HINT_DEVICE, 100, 120 }, { HINT_DEVICE, 125, 120 } } },
	{ "nothing is due while a scan runs",
	  1000,
	  { { HINT_NOW, 0, 0 },
	    { BEGINS, 0, RESCAN_NEVER },
	    { HINT_NOW, 10, RESCAN_NEVER },
	    { HINT_DEVICE, 20, RESCAN_NEVER } } },
	{ "hints while a scan runs lead to one after it",
	  0,
	  { { HINT_NOW, 0, 0 },
	    { BEGINS, 0, RESCAN_NEVER },
	    { HINT_DEVICE, 10, RESCAN_NEVER },
	    { HINT_DEVICE, 25, RESCAN_NEVER },
	    { ENDS_WELL, 40, 45 },
	    { BEGINS, 50, RESCAN_NEVER },
	    { ENDS_WELL, 60, RESCAN_NEVER } } },
	{ "a hint that has waited while a scan ran is due at its end",
	  0,
	  { { HINT_NOW, 0, 0 },
	    { BEGINS, 0, RESCAN_NEVER },
	    { HINT_DEVICE, 10, RESCAN_NEVER },
	    { HINT_LAZY, 60, RESCAN_NEVER },
	    { HINT_DEVICE, 70, RESCAN_NEVER },
	    { ENDS_WELL, 80, 30 } } },
	{ "a scan answers the hints before it",
	  0,
	  { { HINT_DEVICE, 0, 20 },
	    { BEGINS, 20, RESCAN_NEVER },
	    { ENDS_WELL, 30, RESCAN_NEVER } } },
	{ "the net comes an interval after the last scan",
	  60000,
	  { { HINT_NOW, 0, 0 },
	    { BEGINS, 0, RESCAN_NEVER },
	    { ENDS_WELL, 30, 60030 },
	    { HINT_DEVICE, 1000, 1020 } } },
	{ "a hint beyond the net does not delay it",
	  400,
	  { { HINT_NOW, 0, 0 },
	    { BEGINS, 0, RESCAN_NEVER },
	    { ENDS_WELL, 0, 400 },
	    { HINT_LAZY, 0, 400 } } },
	{ "a failed scan comes again, later and later",
	  0,
	  { { HINT_NOW, 0, 0 },
	    { BEGINS, 0, RESCAN_NEVER },
	    { FAILS, 10, 1010 },
	    { BEGINS, 1010, RESCAN_NEVER },
	    { FAILS, 1020, 3020 },
	    { BEGINS, 3020, RESCAN_NEVER },
	    { FAILS, 3030, 7030 } } },
	{ "hints do not undo the back-off",
	  100,
	  { { HINT_NOW, 0, 0 },
	    { BEGINS, 0, RESCAN_NEVER },
	    { FAILS, 10, 1010 },
	    { HINT_NOW, 20, 1010 },
	    { HINT_DEVICE, 30, 1010 } } },
	{ "success forgets the failures",
	  0,
	  { { HINT_NOW, 0, 0 },
	    { BEGINS, 0, RESCAN_NEVER },
	    { FAILS, 10, 1010 },
	    { BEGINS, 1010, RESCAN_NEVER },
	    { ENDS_WELL, 1020, RESCAN_NEVER },
	    { HINT_NOW, 2000, 2000 },
	    { BEGINS, 2000, RESCAN_NEVER },
	    { FAILS, 2010, 3010 } } },
};

static void do_step(struct rescan *r, enum happens what, uint64_t now_ms)
{
	switch (what) {
	case END_OF_SCRIPT:
		break;
	case HINT_LATE:
		rescan_hint(r, RESCAN_LATE, now_ms);
		break;
	case HINT_LAZY:
		rescan_hint(r, RESCAN_LAZY, now_ms);
		break;
	case HINT_DEVICE:
		rescan_hint(r, RESCAN_DEVICE, now_ms);
		break;
	case HINT_NOW:
		rescan_hint(r, RESCAN_NOW, now_ms);
		break;
	case BEGINS:
		rescan_begin(r);
		break;
	case ENDS_WELL:
	case FAILS:
		rescan_end(r, what == ENDS_WELL, now_ms);
		break;
	}
}

static void script_matches_table(void **state)
{
	const struct script_case *c = *state;
	struct rescan r = { .interval_ms = c->interval_ms };

	for (size_t i = 0; i < ARRAY_LEN(c->steps) && c->steps[i].what != END_OF_SCRIPT; i++) {
		do_step(&r, c->steps[i].what, c->steps[i].now_ms);
		if (rescan_due(&r) != c->steps[i].due_ms)
			fail_msg("step %zu at %lu: due %ld instead of %ld", i,
				 (unsigned long)c->steps[i].now_ms, (long)rescan_due(&r),
				 (long)c->steps[i].due_ms);
	}
}

static struct deaf_case {
	const char *name;
	uint64_t interval_ms;
	uint64_t due_ms;
} deaf[] = {
	{ "row 20: while nothing tells of changes, the net is closer", 600000, RESCAN_DEAF_MS },
	{ "row 20: and there is one where none was asked for", 0, RESCAN_DEAF_MS },
	{ "row 20: one that is closer already stays", 5000, 5000 },
};

static void the_deaf_look_more_often(void **state)
{
	const struct deaf_case *c = *state;
	struct rescan r = { .interval_ms = c->interval_ms, .deaf = true };

	rescan_hint(&r, RESCAN_NOW, 0);
	rescan_begin(&r);
	rescan_end(&r, true, 0);
	assert_int_equal(rescan_due(&r), c->due_ms);
	r.deaf = false;
	assert_true(rescan_due(&r) == (c->interval_ms ? c->interval_ms : RESCAN_NEVER));
}

static void quiet_engine_is_never_due(void **state)
{
	struct rescan r = { .interval_ms = 0 };

	assert_true(rescan_due(&r) == RESCAN_NEVER);
}

/* A loop with a virtual clock around the engine: scans begin when due and take a while. */
struct loop {
	struct rescan rescan;
	uint64_t scan_takes_ms;
	uint64_t ends_ms; /* when the running scan ends */
	size_t scans;
};

static void loop_turn(struct loop *l, uint64_t now_ms)
{
	if (l->rescan.running && now_ms >= l->ends_ms)
		rescan_end(&l->rescan, true, l->ends_ms);
	if (rescan_due(&l->rescan) <= now_ms) {
		rescan_begin(&l->rescan);
		l->ends_ms = now_ms + l->scan_takes_ms;
		l->scans++;
	}
}

/* 5,000 uevents, three in each millisecond, and then calm. */
static void one_scan_answers_a_burst(void **state)
{
	struct loop l = { .scan_takes_ms = 15 };
	uint64_t last_ms = 0;

	for (uint64_t now_ms = 0; now_ms < 30000; now_ms++) {
		for (uint64_t i = 0; i < 3 && now_ms * 3 + i < 5000; i++) {
			rescan_hint(&l.rescan, i == 2 ? RESCAN_LAZY : RESCAN_DEVICE, now_ms);
			last_ms = now_ms;
		}
		loop_turn(&l, now_ms);
		assert_int_equal(l.scans, now_ms >= last_ms + RESCAN_DEVICE_QUIET_MS);
	}
	assert_int_equal(l.scans, 1);
}

/* A minute of hints without a calm: a scan each five seconds, not one for each hint. */
static void endless_burst_is_looked_at(void **state)
{
	struct loop l = { .scan_takes_ms = 15 };

	for (uint64_t now_ms = 0; now_ms < 60000; now_ms++) {
		if (now_ms % 10 == 0)
			rescan_hint(&l.rescan, RESCAN_DEVICE, now_ms);
		loop_turn(&l, now_ms);
	}
	assert_in_range(l.scans, 11, 12);
}

static void back_off_ends_at_its_maximum(void **state)
{
	struct rescan r = { .interval_ms = 0 };
	uint64_t wait_ms = RESCAN_RETRY_MS;
	uint64_t now_ms = 0;

	rescan_hint(&r, RESCAN_NOW, now_ms);
	for (int i = 0; i < 100; i++) {
		rescan_begin(&r);
		rescan_end(&r, false, now_ms);
		assert_int_equal(rescan_due(&r) - now_ms, wait_ms);
		now_ms += wait_ms;
		wait_ms = wait_ms * 2 < RESCAN_RETRY_MAX_MS ? wait_ms * 2 : RESCAN_RETRY_MAX_MS;
	}
}

static void hint_at_random(struct rescan *r, uint64_t now_ms, uint64_t random, uint64_t often)
{
	if (random % often == 0)
		rescan_hint(r, (enum rescan_urgency)((random >> 32) % 3), now_ms);
}

/*
 * From any sequence of hints: whatever has waited is due within RESCAN_LONGEST_MS of its first
 * hint, no hint makes a scan later that is due already, and a hint that asks for a scan now gets
 * it.
 */
static void no_hint_waits_too_long(void **state)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		uint64_t random = seed;
		struct rescan r = { .interval_ms = 0 };
		uint64_t first_ms = RESCAN_NEVER;

		for (uint64_t now_ms = 1; now_ms < 12000; now_ms++) {
			uint64_t before_ms = rescan_due(&r);

			hint_at_random(&r, now_ms, suite_random(&random), 1 + seed % 50);
			if (!r.wanted)
				continue;
			if (first_ms == RESCAN_NEVER)
				first_ms = now_ms;
			assert_true(rescan_due(&r) <= first_ms + RESCAN_LONGEST_MS);
			if (before_ms <= now_ms)
				assert_true(rescan_due(&r) == before_ms);
			if (rescan_due(&r) > now_ms || suite_random(&random) % 4)
				continue;
			rescan_begin(&r);
			rescan_end(&r, true, now_ms);
			first_ms = RESCAN_NEVER;
		}
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, scripts, script_matches_table);
	suite_rows(&suite, deaf, the_deaf_look_more_often);
	suite_add(&suite, "without hints and interval nothing is due", quiet_engine_is_never_due,
		  NULL);
	suite_add(&suite, "exactly one scan answers a burst of 5,000", one_scan_answers_a_burst,
		  NULL);
	suite_add(&suite, "a burst without end is looked at now and then",
		  endless_burst_is_looked_at, NULL);
	suite_add(&suite, "the back-off ends at its maximum", back_off_ends_at_its_maximum, NULL);
	suite_add(&suite, "no hint waits longer than the longest", no_hint_waits_too_long, NULL);
	return suite_run(&suite, "rescan");
}
