#include "kube/workq.h"

#include <stdbool.h>
#include <string.h>

#include "unit/suite.h"

/* Take the next key and check that it is @key (NULL: none). */
static void assert_takes(struct workq *q, const char *key, uint64_t now_ms)
{
	const char *taken = workq_take(q, now_ms);

	if (!key) {
		assert_null(taken);
		return;
	}
	assert_non_null(taken);
	assert_string_equal(taken, key);
}

SUITE_OBJECT(workq, workq_new(), workq_free);

static void keys_come_in_order(void **state)
{
	struct workq *q = *state;

	workq_add(q, "b", 0);
	workq_add(q, "a", 0);
	workq_add(q, "c", 0);
	assert_int_equal(workq_due_ms(q), 0);
	assert_takes(q, "b", 0);
	assert_takes(q, "a", 0);
	assert_takes(q, "c", 0);
	assert_takes(q, NULL, 0);
	assert_int_equal(workq_running(q), 3);
}

static void a_waiting_key_waits_once(void **state)
{
	struct workq *q = *state;

	workq_add(q, "a", 0);
	workq_add(q, "a", 0);
	assert_int_equal(workq_waiting(q), 1);
	assert_takes(q, "a", 0);
	workq_end(q, "a");
	assert_takes(q, NULL, 0);
}

static void a_running_key_knows_how_long_it_waited(void **state)
{
	struct workq *q = *state;

	workq_add(q, "a", 100);
	workq_add(q, "a", 200); /* it waits already */
	assert_takes(q, "a", 350);
	assert_int_equal(workq_waited_ms(q, "a"), 250);
	workq_add(q, "a", 400); /* once more, from now on */
	workq_end(q, "a");
	assert_takes(q, "a", 1000);
	assert_int_equal(workq_waited_ms(q, "a"), 600);
	workq_end(q, "a");
	workq_add_at(q, "a", 2000); /* until then nobody waits */
	assert_int_equal(workq_added(q), 2);
	assert_takes(q, "a", 2007);
	assert_int_equal(workq_waited_ms(q, "a"), 7);
	assert_int_equal(workq_added(q), 3);
}

static void a_running_key_runs_once_more(void **state)
{
	struct workq *q = *state;

	workq_add(q, "a", 0);
	assert_takes(q, "a", 0);
	workq_add(q, "a", 0);
	workq_add(q, "a", 0);
	assert_takes(q, NULL, 0);
	assert_int_equal(workq_due_ms(q), UINT64_MAX);
	workq_end(q, "a");
	assert_int_equal(workq_due_ms(q), 0);
	assert_takes(q, "a", 0);
	workq_end(q, "a");
	assert_takes(q, NULL, 0);
}

static void failures_space_retries(void **state)
{
	static const uint64_t delays[] = { 5,     10,     20,     40,     80,      160,    320,
					   640,   1280,   2560,   5120,   10240,   20480,  40960,
					   81920, 163840, 327680, 655360, 1000000, 1000000 };
	struct workq *q = *state;
	uint64_t now_ms = 100;

	workq_add(q, "a", 0);
	for (size_t i = 0; i < ARRAY_LEN(delays); i++) {
		assert_takes(q, "a", now_ms);
		workq_retry(q, "a", &workq_usual_pace, now_ms);
		workq_end(q, "a");
		assert_int_equal(workq_due_ms(q), now_ms + delays[i]);
		assert_takes(q, NULL, now_ms + delays[i] - 1);
		now_ms += delays[i];
	}
	assert_int_equal(workq_failures(q, "a"), ARRAY_LEN(delays));
}

static void success_forgets_failures(void **state)
{
	struct workq *q = *state;

	workq_retry(q, "a", &workq_usual_pace, 0);
	workq_retry(q, "a", &workq_usual_pace, 0);
	workq_forget(q, "a");
	assert_int_equal(workq_failures(q, "a"), 0);
	assert_takes(q, "a", 10);
	workq_retry(q, "a", &workq_usual_pace, 10);
	workq_end(q, "a");
	assert_int_equal(workq_due_ms(q), 15);
}

static void an_edit_does_not_wait_for_a_backoff(void **state)
{
	struct workq *q = *state;

	workq_add_at(q, "a", 1000);
	workq_add(q, "a", 0);
	assert_takes(q, "a", 0);
	workq_end(q, "a");
	/* The promised look still comes. */
	assert_takes(q, NULL, 999);
	assert_takes(q, "a", 1000);
}

static void the_earlier_time_counts(void **state)
{
	struct workq *q = *state;

	workq_add_at(q, "a", 1000);
	workq_add_at(q, "a", 2000);
	assert_int_equal(workq_due_ms(q), 1000);
	workq_add_at(q, "a", 500);
	assert_int_equal(workq_due_ms(q), 500);
	assert_takes(q, "a", 500);
	workq_end(q, "a");
	assert_int_equal(workq_due_ms(q), UINT64_MAX);
}

enum { KEYS = 8, STEPS = 200000 };

struct model {
	bool waiting[KEYS];
	bool running[KEYS];
	uint64_t due_ms[KEYS]; /* 0: none */
};

static void model_move(struct model *m, uint64_t now_ms)
{
	for (int i = 0; i < KEYS; i++) {
		if (m->due_ms[i] && m->due_ms[i] <= now_ms) {
			m->waiting[i] = true;
			m->due_ms[i] = 0;
		}
	}
}

static bool model_has(const struct model *m)
{
	for (int i = 0; i < KEYS; i++) {
		if (m->waiting[i] && !m->running[i])
			return true;
	}
	return false;
}

static void model_take(struct model *m, struct workq *q, uint64_t now_ms)
{
	const char *key = workq_take(q, now_ms);

	model_move(m, now_ms);
	assert_int_equal(key != NULL, model_has(m));
	if (!key)
		return;
	assert_true(m->waiting[key[0] - 'a']);
	assert_false(m->running[key[0] - 'a']);
	m->waiting[key[0] - 'a'] = false;
	m->running[key[0] - 'a'] = true;
}

static void model_add_at(struct model *m, struct workq *q, int i, uint64_t due_ms)
{
	const char key[] = { (char)('a' + i), '\0' };

	workq_add_at(q, key, due_ms);
	if (!m->due_ms[i] || due_ms < m->due_ms[i])
		m->due_ms[i] = due_ms;
}

/* Whatever is done in whatever order, the queue does as a model that is too simple to be wrong:
 * nothing added is lost, and no key runs twice at a time. */
static void the_queue_does_as_the_model(void **state)
{
	struct workq *q = *state;
	struct model m = { 0 };
	uint64_t seed = 7;
	uint64_t now_ms = 1;

	for (int step = 0; step < STEPS; step++) {
		uint64_t n = suite_random(&seed);
		int i = (int)(n % KEYS);
		const char key[] = { (char)('a' + i), '\0' };

		now_ms += (n >> 8) % 3;
		switch ((n >> 16) % 4) {
		case 0:
			workq_add(q, key, 0);
			m.waiting[i] = true;
			break;
		case 1:
			model_add_at(&m, q, i, now_ms + (n >> 24) % 50);
			break;
		case 2:
			model_take(&m, q, now_ms);
			break;
		default:
			if (m.running[i])
				workq_end(q, key);
			m.running[i] = false;
			break;
		}
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &workq_fixture);
	suite_add(&suite, "keys come in order of arrival", keys_come_in_order, NULL);
	suite_add(&suite, "a waiting key waits once", a_waiting_key_waits_once, NULL);
	suite_add(&suite, "a key added while it runs runs once more", a_running_key_runs_once_more,
		  NULL);
	suite_add(&suite, "failures space retries from 5 ms to 1000 s", failures_space_retries,
		  NULL);
	suite_add(&suite, "success forgets failures", success_forgets_failures, NULL);
	suite_add(&suite, "an edit does not wait for a backoff",
		  an_edit_does_not_wait_for_a_backoff, NULL);
	suite_add(&suite, "a running key knows how long it waited",
		  a_running_key_knows_how_long_it_waited, NULL);
	suite_add(&suite, "of two times the earlier counts", the_earlier_time_counts, NULL);
	suite_add(&suite, "the queue does as the model", the_queue_does_as_the_model, NULL);
	return suite_run(&suite, "workq");
}
