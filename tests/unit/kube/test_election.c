#include "kube/election.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

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

static void the_first_makes_the_lease(void **state)
{
	struct bench *b = *state;

	asks(b, "GET", "");
	fake_client_answer(b->client, 404, "{}");
	asks(b, "POST", "\"holderIdentity\":\"us\"");
	heard(b, "");
	answer(b, "us", "1", "10");
	heard(b, " started");
	assert_true(election_leads(b->election));
	assert_string_equal(election_leader(b->election), "us");
}

static void a_race_for_it_has_one_winner(void **state)
{
	struct bench *b = *state;

	fake_client_answer(b->client, 404, "{}");
	fake_client_answer(b->client, 409, "{\"reason\":\"AlreadyExists\"}");
	heard(b, "");
	assert_in_range(fake_clock_next(b->clock), 1000, 2000);
	next_turn(b);
	answer(b, "other", "1", "10");
	assert_false(election_leads(b->election));
	assert_string_equal(election_leader(b->election), "other");
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

static void a_hanging_server_does_not_prolong_it(void **state)
{
	struct bench *b = *state;

	open_leading(b);
	next_turn(b);
	fake_clock_advance(b->clock, 8000);
	heard(b, " stopped");
	assert_false(election_leads(b->election));
}

static void a_leader_that_was_paused_loses(void **state)
{
	struct bench *b = *state;

	open_leading(b);
	fake_clock_jump(b->clock, 60000);
	/* No timer has run yet, but who asks is told the truth. */
	assert_false(election_leads(b->election));
	fake_clock_settle(b->clock);
	heard(b, " stopped");
	asks(b, "PATCH", "\"resourceVersion\":\"11\"");
	fake_client_answer(b->client, 409, "{}");
	next_turn(b);
	asks(b, "GET", "");
	answer(b, "other", "7", "20");
	heard(b, "");
	assert_false(election_leads(b->election));
}

static void a_deposed_leader_stops(void **state)
{
	struct bench *b = *state;

	open_leading(b);
	next_turn(b);
	fake_client_answer(b->client, 409, "{}");
	next_turn(b);
	answer(b, "other", "7", "20");
	heard(b, " stopped");
}

static void stopping_releases(void **state)
{
	struct bench *b = *state;

	open_leading(b);
	election_stop(b->election, on_released, b);
	heard(b, " stopped");
	asks(b, "PATCH", "\"holderIdentity\":\"\"");
	asks(b, "PATCH", "\"leaseDurationSeconds\":1");
	asks(b, "PATCH", "\"resourceVersion\":\"11\"");
	answer(b, "", "9", "12");
	heard(b, " released");
	assert_int_equal(fake_clock_next(b->clock), UINT64_MAX);
}

static void stopping_waits_for_a_renewal_under_way(void **state)
{
	struct bench *b = *state;

	open_leading(b);
	next_turn(b);
	election_stop(b->election, on_released, b);
	heard(b, " stopped");
	answer(b, "us", "3", "12");
	asks(b, "PATCH", "\"resourceVersion\":\"12\"");
	asks(b, "PATCH", "\"holderIdentity\":\"\"");
	fake_client_fail(b->client, -EIO);
	heard(b, " released");
}

static void a_follower_has_nothing_to_release(void **state)
{
	struct bench *b = *state;

	answer(b, "other", "1", "10");
	election_stop(b->election, on_released, b);
	heard(b, "");
	fake_clock_settle(b->clock);
	heard(b, " released");
	assert_int_equal(fake_client_open(b->client), 0);
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

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "the first makes the lease", the_first_makes_the_lease, NULL);
	suite_add(&suite, "a race for it has one winner", a_race_for_it_has_one_winner, NULL);
	suite_add(&suite, "a silent leader is replaced", a_silent_leader_is_replaced, NULL);
	suite_add(&suite, "a leader renews every two seconds", a_leader_renews_every_two_seconds,
		  NULL);
	suite_add(&suite, "a leader that cannot renew gives up after ten seconds",
		  a_leader_that_cannot_renew_gives_up, NULL);
	suite_add(&suite, "a hanging server does not prolong it",
		  a_hanging_server_does_not_prolong_it, NULL);
	suite_add(&suite, "a leader that was paused loses", a_leader_that_was_paused_loses, NULL);
	suite_add(&suite, "a deposed leader stops", a_deposed_leader_stops, NULL);
	suite_add(&suite, "stopping releases", stopping_releases, NULL);
	suite_add(&suite, "stopping waits for a renewal under way",
		  stopping_waits_for_a_renewal_under_way, NULL);
	suite_add(&suite, "a follower has nothing to release", a_follower_has_nothing_to_release,
		  NULL);
	suite_add(&suite, "it may be freed by its callback", it_may_be_freed_by_its_callback, NULL);
	return suite_run(&suite, "election");
}
