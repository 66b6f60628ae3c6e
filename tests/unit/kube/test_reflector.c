#include "kube/reflector.h"

#include <stdbool.h>
#include <stdio.h>

#include "unit/suite.h"

enum { STEPS_MAX = 8 };

/* What happens and what the reflector is to do about it. @version and @page come with a list, and
 * @version with an object that the watch brings just before the event. */
struct step {
	enum reflector_event event;
	const char *version;
	const char *page;
	uint64_t after_ms; /* time since the step before */
	uint64_t retry_after_ms;
	enum reflector_act act; /* 0: end of the script */
	const char *query;      /* what is asked next, "" where nothing is */
	bool news;
};

static struct script_case {
	const char *name;
	struct step steps[STEPS_MAX];
} scripts[] = {
	{ "a list in one page, then a watch from its version",
	  { { .event = REFLECTOR_STARTED, .act = REFLECTOR_DO_LIST, .query = "rv=0 limit=500" },
	    { .event = REFLECTOR_LISTED,
	      .version = "7",
	      .act = REFLECTOR_DO_SWAP,
	      .query = "rv=7 timeout" } } },
	{ "a list in pages",
	  { { .event = REFLECTOR_STARTED, .act = REFLECTOR_DO_LIST, .query = "rv=0 limit=500" },
	    { .event = REFLECTOR_MORE,
	      .version = "7",
	      .page = "tok",
	      .act = REFLECTOR_DO_LIST,
	      .query = "continue=tok limit=500" },
	    { .event = REFLECTOR_LISTED,
	      .version = "7",
	      .act = REFLECTOR_DO_SWAP,
	      .query = "rv=7 timeout" } } },
	{ "410 between pages: all of it in one piece, the newest",
	  { { .event = REFLECTOR_STARTED, .act = REFLECTOR_DO_LIST, .query = "rv=0 limit=500" },
	    { .event = REFLECTOR_MORE,
	      .version = "7",
	      .page = "tok",
	      .act = REFLECTOR_DO_LIST,
	      .query = "continue=tok limit=500" },
	    { .event = REFLECTOR_GONE, .act = REFLECTOR_DO_LIST_ANEW, .query = "", .news = true },
	    { .event = REFLECTOR_LISTED,
	      .version = "9",
	      .act = REFLECTOR_DO_SWAP,
	      .query = "rv=9 timeout" } } },
	{ "a watch that ran its time goes on where it was",
	  { { .event = REFLECTOR_STARTED, .act = REFLECTOR_DO_LIST, .query = "rv=0 limit=500" },
	    { .event = REFLECTOR_LISTED,
	      .version = "7",
	      .act = REFLECTOR_DO_SWAP,
	      .query = "rv=7 timeout" },
	    { .event = REFLECTOR_ENDED,
	      .after_ms = 400000,
	      .act = REFLECTOR_DO_STREAM,
	      .query = "rv=7 timeout" } } },
	{ "a bookmark moves the place to go on from",
	  { { .event = REFLECTOR_STARTED, .act = REFLECTOR_DO_LIST, .query = "rv=0 limit=500" },
	    { .event = REFLECTOR_LISTED,
	      .version = "7",
	      .act = REFLECTOR_DO_SWAP,
	      .query = "rv=7 timeout" },
	    { .event = REFLECTOR_ENDED,
	      .version = "12",
	      .act = REFLECTOR_DO_STREAM,
	      .query = "rv=12 timeout" } } },
	{ "410 on the watch: a list no older than what we have, then the newest",
	  { { .event = REFLECTOR_STARTED, .act = REFLECTOR_DO_LIST, .query = "rv=0 limit=500" },
	    { .event = REFLECTOR_LISTED,
	      .version = "7",
	      .act = REFLECTOR_DO_SWAP,
	      .query = "rv=7 timeout" },
	    { .event = REFLECTOR_GONE,
	      .after_ms = 5000,
	      .act = REFLECTOR_DO_LIST_ANEW,
	      .query = "rv=7 match=NotOlderThan",
	      .news = true },
	    { .event = REFLECTOR_GONE, .act = REFLECTOR_DO_LIST_ANEW, .query = "limit=500" },
	    { .event = REFLECTOR_GONE, .act = REFLECTOR_DO_WAIT, .query = "" },
	    { .event = REFLECTOR_TIMER, .act = REFLECTOR_DO_LIST_ANEW, .query = "limit=500" },
	    { .event = REFLECTOR_LISTED,
	      .version = "90",
	      .act = REFLECTOR_DO_SWAP,
	      .query = "rv=90 timeout" } } },
	{ "410 at once after a list: not without a pause, and then the newest",
	  { { .event = REFLECTOR_STARTED, .act = REFLECTOR_DO_LIST, .query = "rv=0 limit=500" },
	    { .event = REFLECTOR_LISTED,
	      .version = "7",
	      .act = REFLECTOR_DO_SWAP,
	      .query = "rv=7 timeout" },
	    { .event = REFLECTOR_GONE,
	      .after_ms = 10,
	      .act = REFLECTOR_DO_WAIT,
	      .query = "",
	      .news = true },
	    { .event = REFLECTOR_TIMER, .act = REFLECTOR_DO_LIST_ANEW, .query = "limit=500" } } },
	{ "the server is behind what we have seen: the newest it has",
	  { { .event = REFLECTOR_STARTED, .act = REFLECTOR_DO_LIST, .query = "rv=0 limit=500" },
	    { .event = REFLECTOR_LISTED,
	      .version = "7",
	      .act = REFLECTOR_DO_SWAP,
	      .query = "rv=7 timeout" },
	    { .event = REFLECTOR_TOO_LARGE,
	      .after_ms = 5000,
	      .act = REFLECTOR_DO_LIST_ANEW,
	      .query = "limit=500",
	      .news = true },
	    { .event = REFLECTOR_LISTED,
	      .version = "3",
	      .act = REFLECTOR_DO_SWAP,
	      .query = "rv=3 timeout" } } },
	{ "connection refused on the watch: the version is kept",
	  { { .event = REFLECTOR_STARTED, .act = REFLECTOR_DO_LIST, .query = "rv=0 limit=500" },
	    { .event = REFLECTOR_LISTED,
	      .version = "7",
	      .act = REFLECTOR_DO_SWAP,
	      .query = "rv=7 timeout" },
	    { .event = REFLECTOR_FAILED, .act = REFLECTOR_DO_WAIT, .query = "", .news = true },
	    { .event = REFLECTOR_TIMER,
	      .after_ms = 800,
	      .act = REFLECTOR_DO_STREAM,
	      .query = "rv=7 timeout" },
	    { .event = REFLECTOR_FAILED, .act = REFLECTOR_DO_WAIT, .query = "" } } },
	{ "a watch over within a second counts as a failure",
	  { { .event = REFLECTOR_STARTED, .act = REFLECTOR_DO_LIST, .query = "rv=0 limit=500" },
	    { .event = REFLECTOR_LISTED,
	      .version = "7",
	      .act = REFLECTOR_DO_SWAP,
	      .query = "rv=7 timeout" },
	    { .event = REFLECTOR_ENDED,
	      .after_ms = 999,
	      .act = REFLECTOR_DO_WAIT,
	      .query = "",
	      .news = true },
	    { .event = REFLECTOR_TIMER, .act = REFLECTOR_DO_STREAM, .query = "rv=7 timeout" },
	    { .event = REFLECTOR_ENDED,
	      .after_ms = 1000,
	      .act = REFLECTOR_DO_STREAM,
	      .query = "rv=7 timeout" } } },
	{ "a short watch that brought something is none",
	  { { .event = REFLECTOR_STARTED, .act = REFLECTOR_DO_LIST, .query = "rv=0 limit=500" },
	    { .event = REFLECTOR_LISTED,
	      .version = "7",
	      .act = REFLECTOR_DO_SWAP,
	      .query = "rv=7 timeout" },
	    { .event = REFLECTOR_ENDED,
	      .version = "8",
	      .after_ms = 10,
	      .act = REFLECTOR_DO_STREAM,
	      .query = "rv=8 timeout" } } },
	{ "a stalled watch goes on from its version after a pause",
	  { { .event = REFLECTOR_STARTED, .act = REFLECTOR_DO_LIST, .query = "rv=0 limit=500" },
	    { .event = REFLECTOR_LISTED,
	      .version = "7",
	      .act = REFLECTOR_DO_SWAP,
	      .query = "rv=7 timeout" },
	    { .event = REFLECTOR_STALLED,
	      .after_ms = 630000,
	      .act = REFLECTOR_DO_WAIT,
	      .query = "",
	      .news = true },
	    { .event = REFLECTOR_TIMER, .act = REFLECTOR_DO_STREAM, .query = "rv=7 timeout" } } },
	{ "a kind that is not installed is empty, said once, and asked for again",
	  { { .event = REFLECTOR_STARTED, .act = REFLECTOR_DO_LIST, .query = "rv=0 limit=500" },
	    { .event = REFLECTOR_ABSENT,
	      .act = REFLECTOR_DO_EMPTY_WAIT,
	      .query = "",
	      .news = true },
	    { .event = REFLECTOR_TIMER, .act = REFLECTOR_DO_LIST_ANEW, .query = "rv=0 limit=500" },
	    { .event = REFLECTOR_ABSENT, .act = REFLECTOR_DO_EMPTY_WAIT, .query = "" },
	    { .event = REFLECTOR_TIMER, .act = REFLECTOR_DO_LIST_ANEW, .query = "rv=0 limit=500" },
	    { .event = REFLECTOR_LISTED,
	      .version = "7",
	      .act = REFLECTOR_DO_SWAP,
	      .query = "rv=7 timeout" } } },
	{ "a kind removed under a watch: the list decides",
	  { { .event = REFLECTOR_STARTED, .act = REFLECTOR_DO_LIST, .query = "rv=0 limit=500" },
	    { .event = REFLECTOR_LISTED,
	      .version = "7",
	      .act = REFLECTOR_DO_SWAP,
	      .query = "rv=7 timeout" },
	    { .event = REFLECTOR_ABSENT, .act = REFLECTOR_DO_WAIT, .query = "", .news = true },
	    { .event = REFLECTOR_TIMER,
	      .act = REFLECTOR_DO_LIST_ANEW,
	      .query = "rv=7 match=NotOlderThan" },
	    { .event = REFLECTOR_ABSENT, .act = REFLECTOR_DO_EMPTY_WAIT, .query = "" } } },
	{ "a list that makes no sense is asked for in smaller pages",
	  { { .event = REFLECTOR_STARTED, .act = REFLECTOR_DO_LIST, .query = "rv=0 limit=500" },
	    { .event = REFLECTOR_BROKEN, .act = REFLECTOR_DO_WAIT, .query = "", .news = true },
	    { .event = REFLECTOR_TIMER, .act = REFLECTOR_DO_LIST_ANEW, .query = "limit=250" },
	    { .event = REFLECTOR_BROKEN, .act = REFLECTOR_DO_WAIT, .query = "" },
	    { .event = REFLECTOR_TIMER, .act = REFLECTOR_DO_LIST_ANEW, .query = "limit=125" },
	    { .event = REFLECTOR_LISTED,
	      .version = "7",
	      .act = REFLECTOR_DO_SWAP,
	      .query = "rv=7 timeout" } } },
	{ "a watch that makes no sense: list again, for something may be lost",
	  { { .event = REFLECTOR_STARTED, .act = REFLECTOR_DO_LIST, .query = "rv=0 limit=500" },
	    { .event = REFLECTOR_LISTED,
	      .version = "7",
	      .act = REFLECTOR_DO_SWAP,
	      .query = "rv=7 timeout" },
	    { .event = REFLECTOR_BROKEN,
	      .version = "8",
	      .act = REFLECTOR_DO_WAIT,
	      .query = "",
	      .news = true },
	    { .event = REFLECTOR_TIMER,
	      .act = REFLECTOR_DO_LIST_ANEW,
	      .query = "rv=8 match=NotOlderThan" } } },
};

static void query_text(const struct reflector *r, enum reflector_act act, char *text, size_t size)
{
	struct reflector_query q = reflector_query(r);
	size_t len;

	text[0] = '\0';
	if (act == REFLECTOR_DO_WAIT || act == REFLECTOR_DO_EMPTY_WAIT)
		return;
	len = (size_t)snprintf(text, size, "%s%s%s%s%s%s", q.continue_ ? " continue=" : "",
			       q.continue_ ? q.continue_ : "", q.resource_version ? " rv=" : "",
			       q.resource_version ? q.resource_version : "",
			       q.resource_version_match ? " match=" : "",
			       q.resource_version_match ? q.resource_version_match : "");
	if (q.limit)
		len += (size_t)snprintf(text + len, size - len, " limit=%u", q.limit);
	if (q.timeout_s)
		len += (size_t)snprintf(text + len, size - len, " timeout");
	assert_true(len < size);
}

static void prepare(struct reflector *r, const struct step *step)
{
	if (step->event == REFLECTOR_LISTED || step->event == REFLECTOR_MORE)
		reflector_listed(r, step->version, step->page);
	else if (step->version)
		reflector_seen(r, step->version);
}

SUITE_FIXTURE(reflector, struct reflector, reflector_init, reflector_done);

static void script_is_followed(void **state)
{
	const struct script_case *row = suite_row(state);
	struct reflector *r = *state;
	uint64_t now_ms = 1000;

	for (const struct step *step = row->steps; step < row->steps + STEPS_MAX && step->act != 0;
	     step++) {
		struct reflector_step got;
		char query[128];

		now_ms += step->after_ms;
		prepare(r, step);
		got = reflector_handle(r, step->event, step->retry_after_ms, now_ms, 0);
		assert_int_equal(got.act, step->act);
		assert_int_equal(got.news, step->news);
		query_text(r, got.act, query, sizeof(query));
		assert_string_equal(query[0] == ' ' ? query + 1 : query, step->query);
	}
}

/* A reflector that watches, since @now_ms. */
static struct reflector watching(uint64_t now_ms)
{
	struct reflector r;

	reflector_init(&r);
	reflector_handle(&r, REFLECTOR_STARTED, 0, now_ms, 0);
	reflector_listed(&r, "7", NULL);
	reflector_handle(&r, REFLECTOR_LISTED, 0, now_ms, 0);
	return r;
}

static void timeouts_are_random_in_their_range(void **state)
{
	uint64_t seed = 3;
	unsigned low = UINT32_MAX;
	unsigned high = 0;
	struct reflector r = watching(0);

	for (int i = 0; i < 20000; i++) {
		struct reflector_step step = reflector_handle(
			&r, REFLECTOR_ENDED, 0, (uint64_t)(i + 1) * 400000, suite_random(&seed));
		unsigned timeout_s = reflector_query(&r).timeout_s;

		assert_int_equal(step.stall_ms, timeout_s * 1000 + 30000);
		low = timeout_s < low ? timeout_s : low;
		high = timeout_s > high ? timeout_s : high;
	}
	assert_int_equal(low, 300);
	assert_int_equal(high, 600);
	reflector_done(&r);
}

/* What can happen in each state: what the owner has under way decides. */
static const bool possible[REFLECTOR_NSTATES][REFLECTOR_NEVENTS] = {
	[REFLECTOR_LISTING] = { [REFLECTOR_MORE] = true,
				[REFLECTOR_LISTED] = true,
				[REFLECTOR_FAILED] = true,
				[REFLECTOR_DENIED] = true,
				[REFLECTOR_GONE] = true,
				[REFLECTOR_TOO_LARGE] = true,
				[REFLECTOR_ABSENT] = true,
				[REFLECTOR_BROKEN] = true },
	[REFLECTOR_STREAMING] = { [REFLECTOR_ENDED] = true,
				  [REFLECTOR_FAILED] = true,
				  [REFLECTOR_STALLED] = true,
				  [REFLECTOR_DENIED] = true,
				  [REFLECTOR_GONE] = true,
				  [REFLECTOR_TOO_LARGE] = true,
				  [REFLECTOR_ABSENT] = true,
				  [REFLECTOR_BROKEN] = true },
	[REFLECTOR_LIST_WAIT] = { [REFLECTOR_TIMER] = true },
	[REFLECTOR_STREAM_WAIT] = { [REFLECTOR_TIMER] = true },
};

static enum reflector_event pick(const struct reflector *r, uint64_t *seed)
{
	enum reflector_event event;

	do
		event = (enum reflector_event)(suite_random(seed) % REFLECTOR_NEVENTS);
	while (!possible[r->state][event]);
	return event;
}

/*
 * Whatever a server answers, and however often: every answer leads to an act, a server that only
 * says no is never asked more than three times without a pause, and a watch begins only from a
 * version.
 */
static void no_answer_leads_to_a_storm(void **state)
{
	uint64_t seed = 11;
	struct reflector *r = *state;
	int without_pause = 0;

	reflector_handle(r, REFLECTOR_STARTED, 0, 0, 0);
	for (int i = 0; i < 200000; i++) {
		enum reflector_event event = pick(r, &seed);
		struct reflector_step step;

		if (event == REFLECTOR_MORE || event == REFLECTOR_LISTED)
			reflector_listed(r, "7", event == REFLECTOR_MORE ? "tok" : NULL);
		step = reflector_handle(r, event, 0, 0, suite_random(&seed));
		assert_true(step.act != 0);
		if (r->state == REFLECTOR_STREAMING)
			assert_non_null(reflector_query(r).resource_version);
		if (step.wait_ms > 0 || event == REFLECTOR_TIMER)
			without_pause = 0;
		else if (event != REFLECTOR_MORE && event != REFLECTOR_LISTED)
			assert_true(++without_pause <= 3);
		if (event == REFLECTOR_MORE || event == REFLECTOR_LISTED)
			without_pause = 0; /* the server gave what was asked for */
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "timeouts are random between 5 and 10 minutes",
		  timeouts_are_random_in_their_range, NULL);
	suite_fixture(&suite, &reflector_fixture);
	suite_rows(&suite, scripts, script_is_followed);
	suite_add(&suite, "no answer leads to a storm", no_answer_leads_to_a_storm, NULL);
	return suite_run(&suite, "reflector");
}
