#include "kube/election.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "api/lease.h"
#include "api/object.h"
#include "base/log.h"
#include "base/str.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/suite.h"

struct bench {
	struct kube_client *client;
	struct fake_clock *clock;
	struct election *election;
	struct str log;
	bool free_on_started;
};

static void on_started(void *arg)
{
	struct bench *b = arg;

	str_add(&b->log, " started");
	if (b->free_on_started)
		b->election = election_free(b->election);
}

static void on_stopped(void *arg)
{
	str_add(&((struct bench *)arg)->log, " stopped");
}

static void on_released(void *arg)
{
	str_add(&((struct bench *)arg)->log, " released");
}

static void open_bench(struct bench *b)
{
	*b = (struct bench){ .client = fake_client_new(), .clock = fake_clock_new() };
	b->election = election_new(&(struct election_spec){
		.client = b->client,
		.clock = fake_clock_as_clock(b->clock),
		.ns = "sys",
		.name = "ctl",
		.identity = "us",
		.on_started = on_started,
		.on_stopped = on_stopped,
		.arg = b,
	});
	election_start(b->election);
}

static void close_bench(struct bench *b)
{
	election_free(b->election);
	assert_int_equal(fake_client_open(b->client), 0);
	kube_client_free(b->client);
	fake_clock_free(b->clock);
	str_done(&b->log);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

static void heard(struct bench *b, const char *log)
{
	assert_string_equal(str_cstr(&b->log), log);
	str_clear(&b->log);
}

static void asks(const struct bench *b, const char *method, const char *body_part)
{
	const struct fake_request *request = fake_client_request(b->client);

	assert_string_equal(request->method, method);
	assert_non_null(strstr(request->body, body_part));
	assert_non_null(strstr(request->path, "/namespaces/sys/leases"));
	assert_true(request->timeout_ms > 0 && request->timeout_ms < ELECTION_RENEW_MS);
}

static void answer(struct bench *b, const char *holder, const char *renewed, const char *version)
{
	auto_free char *text = xasprintf(
		"{\"metadata\":{\"name\":\"ctl\",\"resourceVersion\":\"%s\"},\"spec\":{"
		"\"holderIdentity\":\"%s\",\"renewTime\":\"%s\",\"leaseDurationSeconds\":15,"
		"\"leaseTransitions\":3}}",
		version, holder, renewed);

	fake_client_answer(b->client, 200, text);
}

static void next_turn(struct bench *b)
{
	fake_clock_advance(b->clock, fake_clock_next(b->clock));
}

/* A bench that leads, its next renewal not yet sent. */
static void open_leading(struct bench *b)
{
	answer(b, "", "1", "10");
	answer(b, "us", "2", "11");
	heard(b, " started");
}

/* clang-format off */
enum happens {
	END_OF_SCRIPT,
	HELD_BY,  /* the answer is the lease, @text holds it, at version @n */
	ANSWERED, /* the answer is the status @n with the body @text */
	FAILS,    /* there is no answer */
	TURN,     /* the next timer comes, from @n to @to ms later */
	ADVANCE,  /* @n ms go by */
	JUMP,     /* @n ms have gone by before any timer runs */
	SETTLE,   /* the timers run that are due */
	STOP,     /* we leave */
	NO_TIMER, /* nothing is to come */
};

/* What happens, and after it: what was told, what is asked, and whether we lead. */
static struct script_case {
	const char *name;
	bool leading; /* from the start */
	struct step {
		enum happens what;
		const char *text;
		uint64_t n;
		uint64_t to;
		const char *heard;
		const char *method; /* NULL: no request is under way */
		const char *body[3];
		bool leads;
		const char *leader; /* NULL: does not matter */
	} steps[8];
} scripts[] = {
	{ "the first makes the lease", .steps = {
		{ SETTLE,                    .method = "GET" },
		{ ANSWERED, "{}", 404,       .method = "POST", .body = { "\"holderIdentity\":\"us\"" } },
		{ HELD_BY,  "us", 10,        .heard = " started", .leads = true, .leader = "us" } } },
	{ "a race for it has one winner", .steps = {
		{ ANSWERED, "{}", 404,       .method = "POST" },
		{ ANSWERED, "{\"reason\":\"AlreadyExists\"}", .n = 409 },
		{ TURN, NULL, 1000, 2000,    .method = "GET" },
		{ HELD_BY,  "other", 10,     .leader = "other" } } },
	{ "a hanging server does not prolong it", .leading = true, .steps = {
		{ TURN, NULL, 2000, 2000,    .method = "PATCH", .leads = true },
		{ ADVANCE, NULL, 8000,       .heard = " stopped", .method = "PATCH" } } },
	{ "a leader that was paused loses", .leading = true, .steps = {
		{ JUMP, .n = 60000 }, /* no timer has run yet, but who asks is told the truth */
		{ SETTLE,                    .heard = " stopped", .method = "PATCH", .body = { "\"resourceVersion\":\"11\"" } },
		{ ANSWERED, "{}", .n = 409 },
		{ TURN, NULL, 1000, 2000,    .method = "GET" },
		{ HELD_BY,  "other", 20,     .leader = "other" } } },
	{ "a deposed leader stops", .leading = true, .steps = {
		{ TURN, NULL, 2000, 2000,    .method = "PATCH", .leads = true },
		{ ANSWERED, "{}", 409,       .leads = true },
		{ TURN, NULL, 1000, 2000,    .method = "GET", .leads = true },
		{ HELD_BY,  "other", 20,     .heard = " stopped", .leader = "other" } } },
	{ "stopping releases", .leading = true, .steps = {
		{ STOP,                      .heard = " stopped", .method = "PATCH",
		  .body = { "\"holderIdentity\":\"\"", "\"leaseDurationSeconds\":1", "\"resourceVersion\":\"11\"" } },
		{ HELD_BY,  "", 12,          .heard = " released" },
		{ .what = NO_TIMER } } },
	{ "stopping waits for a renewal under way", .leading = true, .steps = {
		{ TURN, NULL, 2000, 2000,    .method = "PATCH", .leads = true },
		{ STOP,                      .heard = " stopped", .method = "PATCH", .body = { "\"renewTime\"" } },
		{ HELD_BY,  "us", 12,        .method = "PATCH",
		  .body = { "\"holderIdentity\":\"\"", "\"resourceVersion\":\"12\"" } },
		{ FAILS,                     .heard = " released" } } },
	{ "a follower has nothing to release", .steps = {
		{ HELD_BY,  "other", .n = 10 },
		{ .what = STOP },
		{ SETTLE,                    .heard = " released" } } },
};
/* clang-format on */

static void do_step(struct bench *b, const struct step *step)
{
	auto_free char *renewed = xasprintf("t%zu", fake_client_sent(b->client));
	auto_free char *version = xasprintf("%d", (int)step->n);

	switch (step->what) {
	case END_OF_SCRIPT:
		break;
	case HELD_BY:
		answer(b, step->text, renewed, version);
		break;
	case ANSWERED:
		fake_client_answer(b->client, (int)step->n, step->text);
		break;
	case FAILS:
		fake_client_fail(b->client, -EIO);
		break;
	case TURN:
		assert_in_range(fake_clock_next(b->clock), step->n, step->to);
		next_turn(b);
		break;
	case ADVANCE:
		fake_clock_advance(b->clock, step->n);
		break;
	case JUMP:
		fake_clock_jump(b->clock, step->n);
		break;
	case SETTLE:
		fake_clock_settle(b->clock);
		break;
	case STOP:
		election_stop(b->election, on_released, b);
		break;
	case NO_TIMER:
		assert_int_equal(fake_clock_next(b->clock), UINT64_MAX);
		break;
	}
}

static void script_is_followed(void **state)
{
	struct bench *b = *state;
	const struct script_case *c = suite_row(state);

	if (c->leading)
		open_leading(b);
	for (size_t i = 0; c->steps[i].what != END_OF_SCRIPT; i++) {
		const struct step *step = &c->steps[i];
		const char *want = step->heard ? step->heard : "";

		do_step(b, step);
		if (strcmp(str_cstr(&b->log), want) != 0)
			fail_msg("step %zu: heard '%s' instead of '%s'", i + 1, str_cstr(&b->log),
				 want);
		str_clear(&b->log);
		if (election_leads(b->election) != step->leads)
			fail_msg("step %zu: %s", i + 1, step->leads ? "does not lead" : "leads");
		if (fake_client_open(b->client) != (step->method ? 1 : 0))
			fail_msg("step %zu: %zu requests", i + 1, fake_client_open(b->client));
		if (step->method)
			asks(b, step->method, "");
		for (size_t j = 0; j < ARRAY_LEN(step->body) && step->body[j]; j++)
			asks(b, step->method, step->body[j]);
		if (step->leader)
			assert_string_equal(election_leader(b->election), step->leader);
	}
}

static void a_silent_leader_is_replaced(void **state)
{
	struct bench *b = *state;
	uint64_t waited_ms = 0;

	for (;;) {
		answer(b, "other", "1", "10");
		if (fake_client_open(b->client) > 0)
			break;
		waited_ms += fake_clock_next(b->clock);
		next_turn(b);
	}
	assert_in_range(waited_ms, 15000, 19400);
	/* Only if nobody else wrote meanwhile. */
	asks(b, "PATCH", "\"resourceVersion\":\"10\"");
	asks(b, "PATCH", "\"leaseTransitions\":4");
	answer(b, "us", "2", "11");
	heard(b, " started");
}

static void a_leader_renews_every_two_seconds(void **state)
{
	struct bench *b = *state;

	open_leading(b);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(fake_clock_next(b->clock), 2000);
		next_turn(b);
		asks(b, "PATCH", "\"renewTime\"");
		assert_null(strstr(fake_client_request(b->client)->body, "acquireTime"));
		answer(b, "us", "3", "12");
	}
	heard(b, "");
}

static void a_leader_that_cannot_renew_gives_up(void **state)
{
	struct bench *b = *state;
	uint64_t lost_ms = 0;

	open_leading(b);
	while (election_leads(b->election)) {
		uint64_t wait_ms = fake_clock_next(b->clock);

		lost_ms += wait_ms;
		fake_clock_advance(b->clock, wait_ms);
		if (fake_client_open(b->client) > 0)
			fake_client_fail(b->client, -EIO);
	}
	assert_int_equal(lost_ms, 10000);
	heard(b, " stopped");
	/* And comes back when it can, for nobody took it. */
	while (fake_client_open(b->client) == 0)
		next_turn(b);
	answer(b, "us", "2", "11");
	answer(b, "us", "3", "12");
	heard(b, " started");
}

static void it_may_be_freed_by_its_callback(void **state)
{
	struct bench *b = *state;

	b->free_on_started = true;
	answer(b, "", "1", "10");
	answer(b, "us", "2", "11");
	heard(b, " started");
	assert_int_equal(fake_clock_next(b->clock), UINT64_MAX);
}

enum { ACTS_MAX = 6 };

static struct see_case {
	const char *name;
	struct {
		const char *holder; /* NULL: nobody's; "none": there is no Lease */
		const char *renewed;
		uint64_t after_ms;
		enum elector_act act;
	} looks[ACTS_MAX];
} sees[] = {
	{ "there is no Lease", { { "none", "", 0, ELECTOR_CREATE } } },
	{ "nobody holds it", { { NULL, "1", 0, ELECTOR_CLAIM } } },
	{ "we hold it", { { "us", "1", 0, ELECTOR_RENEW } } },
	{ "another gives signs of life for ever",
	  { { "b", "1", 0, ELECTOR_WAIT },
	    { "b", "2", 14000, ELECTOR_WAIT },
	    { "b", "3", 14000, ELECTOR_WAIT },
	    { "b", "4", 14000, ELECTOR_WAIT } } },
	{ "another is silent for as long as its Lease lasts",
	  { { "b", "1", 0, ELECTOR_WAIT },
	    { "b", "1", 14999, ELECTOR_WAIT },
	    { "b", "1", 1, ELECTOR_CLAIM } } },
	{ "its clock is a day ahead: only that it ticks counts",
	  { { "b", "2099-01-01T00:00:00Z", 0, ELECTOR_WAIT },
	    { "b", "2099-01-01T00:00:00Z", 15000, ELECTOR_CLAIM } } },
	{ "its clock goes backwards: that is a sign of life too",
	  { { "b", "9", 0, ELECTOR_WAIT },
	    { "b", "1", 14000, ELECTOR_WAIT },
	    { "b", "1", 14000, ELECTOR_WAIT } } },
	{ "another took over from another",
	  { { "b", "1", 0, ELECTOR_WAIT },
	    { "c", "1", 14000, ELECTOR_WAIT },
	    { "c", "1", 14000, ELECTOR_WAIT } } },
	{ "it was released", { { "b", "1", 0, ELECTOR_WAIT }, { NULL, "2", 10, ELECTOR_CLAIM } } },
};

static struct lease *lease_of(const char *holder, const char *renewed)
{
	struct lease *lease;

	if (holder && strcmp(holder, "none") == 0)
		return NULL;
	lease = api_object_new(&lease_kind);
	lease->spec.holder_identity = xstrdup_or_null(holder);
	lease->spec.renew_time = xstrdup(renewed);
	lease->spec.lease_duration_seconds = 15;
	return lease;
}

SUITE_CLOSING(elector, struct elector, elector_done);

static void lease_is_judged(void **state)
{
	const struct see_case *row = suite_row(state);
	struct elector *e = *state;
	uint64_t now_ms = 77;

	e->identity = "us";
	for (size_t i = 0; i < ACTS_MAX && row->looks[i].act != 0; i++) {
		struct lease *lease = lease_of(row->looks[i].holder, row->looks[i].renewed);

		now_ms += row->looks[i].after_ms;
		assert_int_equal(elector_observe(e, lease, now_ms), row->looks[i].act);
		api_object_free(&lease_kind, lease);
	}
}

static void leading_ends_with_the_renewal(void **state)
{
	struct elector *e = *state;
	struct lease *lease = lease_of("us", "1");

	e->identity = "us";
	assert_false(elector_may_lead(e, 0));
	elector_won(e, lease, 1000, 4000);
	api_object_free(&lease_kind, lease);
	/* From when it was sent, not from when the answer came. */
	assert_true(elector_may_lead(e, 10999));
	assert_false(elector_may_lead(e, 11000));
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_fixture(&suite, &bench_fixture);
	suite_rows(&suite, scripts, script_is_followed);
	suite_add(&suite, "a silent leader is replaced", a_silent_leader_is_replaced, NULL);
	suite_add(&suite, "a leader renews every two seconds", a_leader_renews_every_two_seconds,
		  NULL);
	suite_add(&suite, "a leader that cannot renew gives up after ten seconds",
		  a_leader_that_cannot_renew_gives_up, NULL);
	suite_add(&suite, "it may be freed by its callback", it_may_be_freed_by_its_callback, NULL);
	suite_fixture(&suite, &elector_fixture);
	suite_rows(&suite, sees, lease_is_judged);
	suite_add(&suite, "leading ends with the renewal", leading_ends_with_the_renewal, NULL);
	return suite_run(&suite, "election");
}
