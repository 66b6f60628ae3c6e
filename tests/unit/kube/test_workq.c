#include "kube/workq.h"

#include <errno.h>
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

enum happens {
	END_OF_SCRIPT,
	ADD,    /* at @n */
	ADD_AT, /* for @n */
	TAKE,   /* at @n; the key that comes, NULL for none */
	END,
	RETRY, /* at @n */
	FORGET,
	WAITS,  /* so many keys wait */
	RUNS,   /* so many keys run */
	ADDED,  /* so many were added */
	WAITED, /* so long the key waited */
	FAILED, /* so often the key failed */
};

#define NEVER UINT64_MAX

/* What happens or holds, with which key, at which time or how often, and when there is work after
 * it. */
/* clang-format off */
static struct script_case {
	const char *name;
	struct step {
		enum happens what;
		const char *key;
		uint64_t n;
		uint64_t due_ms;
	} steps[16];
} scripts[] = {
	{ "keys come in order of arrival", {
		{ ADD,    "b",  0,    0 },
		{ ADD,    "a",  0,    0 },
		{ ADD,    "c",  0,    0 },
		{ TAKE,   "b",  0,    0 },
		{ TAKE,   "a",  0,    0 },
		{ TAKE,   "c",  0,    NEVER },
		{ TAKE,   NULL, 0,    NEVER },
		{ RUNS,   NULL, 3,    NEVER } } },
	{ "a waiting key waits once", {
		{ ADD,    "a",  0,    0 },
		{ ADD,    "a",  0,    0 },
		{ WAITS,  NULL, 1,    0 },
		{ TAKE,   "a",  0,    NEVER },
		{ END,    "a",  0,    NEVER },
		{ TAKE,   NULL, 0,    NEVER } } },
	{ "a key added while it runs runs once more", {
		{ ADD,    "a",  0,    0 },
		{ TAKE,   "a",  0,    NEVER },
		{ ADD,    "a",  0,    NEVER },
		{ ADD,    "a",  0,    NEVER },
		{ TAKE,   NULL, 0,    NEVER },
		{ END,    "a",  0,    0 },
		{ TAKE,   "a",  0,    NEVER },
		{ END,    "a",  0,    NEVER },
		{ TAKE,   NULL, 0,    NEVER } } },
	{ "success forgets failures", {
		{ RETRY,  "a",  0,    5 },
		{ RETRY,  "a",  0,    5 },
		{ FORGET, "a",  0,    5 },
		{ FAILED, "a",  0,    5 },
		{ TAKE,   "a",  10,   NEVER },
		{ RETRY,  "a",  10,   15 },
		{ END,    "a",  0,    15 } } },
	{ "an edit does not wait for a backoff", {
		{ ADD_AT, "a",  1000, 1000 },
		{ ADD,    "a",  0,    0 },
		{ TAKE,   "a",  0,    1000 },
		{ END,    "a",  0,    1000 }, /* the promised look still comes */
		{ TAKE,   NULL, 999,  1000 },
		{ TAKE,   "a",  1000, NEVER } } },
	{ "a running key knows how long it waited", {
		{ ADD,    "a",  100,  0 },
		{ ADD,    "a",  200,  0 }, /* it waits already */
		{ TAKE,   "a",  350,  NEVER },
		{ WAITED, "a",  250,  NEVER },
		{ ADD,    "a",  400,  NEVER }, /* once more, from now on */
		{ END,    "a",  0,    0 },
		{ TAKE,   "a",  1000, NEVER },
		{ WAITED, "a",  600,  NEVER },
		{ END,    "a",  0,    NEVER },
		{ ADD_AT, "a",  2000, 2000 }, /* until then no timer runs */
		{ ADDED,  NULL, 2,    2000 },
		{ TAKE,   "a",  2007, NEVER },
		{ WAITED, "a",  7,    NEVER },
		{ ADDED,  NULL, 3,    NEVER } } },
	{ "of two times the earlier counts", {
		{ ADD_AT, "a",  1000, 1000 },
		{ ADD_AT, "a",  2000, 1000 },
		{ ADD_AT, "a",  500,  500 },
		{ TAKE,   "a",  500,  NEVER },
		{ END,    "a",  0,    NEVER } } },
};
/* clang-format on */

static void do_step(struct workq *q, const struct step *step)
{
	switch (step->what) {
	case END_OF_SCRIPT:
		break;
	case ADD:
		workq_add(q, step->key, step->n);
		break;
	case ADD_AT:
		workq_add_at(q, step->key, step->n);
		break;
	case TAKE:
		assert_takes(q, step->key, step->n);
		break;
	case END:
		workq_end(q, step->key);
		break;
	case RETRY:
		workq_retry(q, step->key, -EIO, &workq_usual_pace, step->n);
		break;
	case FORGET:
		workq_forget(q, step->key);
		break;
	case WAITS:
		assert_int_equal(workq_waiting(q), step->n);
		break;
	case RUNS:
		assert_int_equal(workq_running(q), step->n);
		break;
	case ADDED:
		assert_int_equal(workq_added(q), step->n);
		break;
	case WAITED:
		assert_int_equal(workq_waited_ms(q, step->key), step->n);
		break;
	case FAILED:
		assert_int_equal(workq_failures(q, step->key), step->n);
		break;
	}
}

static void script_is_followed(void **state)
{
	struct workq *q = *state;
	const struct script_case *c = suite_row(state);

	for (size_t i = 0; i < ARRAY_LEN(c->steps) && c->steps[i].what != END_OF_SCRIPT; i++) {
		do_step(q, &c->steps[i]);
		if (workq_due_ms(q) != c->steps[i].due_ms)
			fail_msg("step %zu: due %lld instead of %lld", i + 1,
				 (long long)workq_due_ms(q), (long long)c->steps[i].due_ms);
	}
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
		workq_retry(q, "a", -EIO, &workq_usual_pace, now_ms);
		workq_end(q, "a");
		assert_int_equal(workq_due_ms(q), now_ms + delays[i]);
		assert_takes(q, NULL, now_ms + delays[i] - 1);
		now_ms += delays[i];
	}
	assert_int_equal(workq_failures(q, "a"), ARRAY_LEN(delays));
	assert_int_equal(workq_failed_with(q, "a"), -EIO);
	workq_forget(q, "a");
	assert_int_equal(workq_failed_with(q, "a"), 0);
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
	suite_rows(&suite, scripts, script_is_followed);
	suite_add(&suite, "failures space retries from 5 ms to 1000 s", failures_space_retries,
		  NULL);
	suite_add(&suite, "the queue does as the model", the_queue_does_as_the_model, NULL);
	return suite_run(&suite, "workq");
}
