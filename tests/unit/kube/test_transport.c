#include "unit/suite.h"

#include "kube/transport.h"

enum { START = 1000000 };

static void a_connection_that_talks_is_left_alone(void **state)
{
	struct liveness l = { 0 };

	for (uint64_t now = START; now < START + 300000; now += 20000) {
		liveness_received(&l, now);
		assert_int_equal(liveness_check(&l, now + 19999), LIVENESS_FINE);
	}
}

static void silence_is_asked_once_and_then_dead(void **state)
{
	struct liveness l = { 0 };

	liveness_received(&l, START);
	assert_int_equal(liveness_check(&l, START + LIVENESS_SILENT_MS - 1), LIVENESS_FINE);
	assert_int_equal(liveness_check(&l, START + LIVENESS_SILENT_MS), LIVENESS_PROBE);
	assert_int_equal(liveness_check(&l, START + LIVENESS_SILENT_MS + 5000), LIVENESS_FINE);
	assert_int_equal(liveness_check(&l, START + LIVENESS_SILENT_MS + LIVENESS_ANSWER_MS),
			 LIVENESS_DEAD);
}

static void an_answer_starts_it_all_over(void **state)
{
	struct liveness l = { 0 };

	liveness_received(&l, START);
	assert_int_equal(liveness_check(&l, START + LIVENESS_SILENT_MS), LIVENESS_PROBE);
	liveness_received(&l, START + 26000);
	assert_int_equal(liveness_check(&l, START + 26000 + LIVENESS_ANSWER_MS), LIVENESS_FINE);
	assert_int_equal(liveness_check(&l, START + 26000 + LIVENESS_SILENT_MS), LIVENESS_PROBE);
}

/* The transport looks every five seconds at the latest. */
static void a_dead_peer_is_found_within_45_seconds(void **state)
{
	assert_in_range(LIVENESS_SILENT_MS + LIVENESS_ANSWER_MS + 5000, 1, 45000);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "a connection that talks is left alone",
		  a_connection_that_talks_is_left_alone, NULL);
	suite_add(&suite, "silence is asked once and then dead",
		  silence_is_asked_once_and_then_dead, NULL);
	suite_add(&suite, "an answer starts it all over", an_answer_starts_it_all_over, NULL);
	suite_add(&suite, "a dead peer is found within 45 seconds",
		  a_dead_peer_is_found_within_45_seconds, NULL);
	return suite_run(&suite, "transport");
}
