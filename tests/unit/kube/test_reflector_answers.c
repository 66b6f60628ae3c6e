/* What the reflector makes of answers: which event they are, and how long they make it wait. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "kube/client.h"
#include "kube/reflector.h"
#include "unit/suite.h"

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

static struct wait_case {
	const char *name;
	enum reflector_event event;
	uint64_t retry_after_ms;
	uint64_t low_ms;
	uint64_t high_ms;
} waits[] = {
	{ "a failure waits for 0.8 to 1.6 s", REFLECTOR_FAILED, 0, 800, 1600 },
	{ "a kind that is not installed is asked for soon", REFLECTOR_ABSENT, 0, 1000, 1500 },
	{ "401 and 403 wait longer than failures", REFLECTOR_DENIED, 0, 5000, 7500 },
	{ "Retry-After is honoured, and spread", REFLECTOR_FAILED, 10000, 10000, 16000 },
	{ "a Retry-After below our own wait changes nothing", REFLECTOR_FAILED, 100, 800, 1600 },
	{ "a Retry-After of a year is five minutes", REFLECTOR_FAILED, 31536000000, 300000,
	  451000 },
};

static void wait_is_in_range(void **state)
{
	const struct wait_case *row = *state;
	uint64_t seed = 5;
	uint64_t low = UINT64_MAX;
	uint64_t high = 0;

	for (int i = 0; i < 2000; i++) {
		struct reflector r = watching(0);
		struct reflector_step step = reflector_handle(&r, row->event, row->retry_after_ms,
							      5000, suite_random(&seed));

		low = step.wait_ms < low ? step.wait_ms : low;
		high = step.wait_ms > high ? step.wait_ms : high;
		reflector_done(&r);
	}
	assert_in_range(low, row->low_ms, row->high_ms);
	assert_in_range(high, row->low_ms, row->high_ms);
	/* It is spread, not one value. */
	assert_true(high - low > (row->high_ms - row->low_ms) / 2);
}

static struct end_case {
	const char *name;
	int status;
	int code; /* 0: a 2xx that ended */
	const char *body;
	enum reflector_event event;
} ends[] = {
	{ "200", 200, 0, "", REFLECTOR_ENDED },
	{ "410", 410, -ESTALE, "{}", REFLECTOR_GONE },
	{ "404", 404, -ENOENT, "{}", REFLECTOR_ABSENT },
	{ "403", 403, -EACCES, "{}", REFLECTOR_DENIED },
	{ "429", 429, -EAGAIN, "{}", REFLECTOR_FAILED },
	{ "500", 500, -EREMOTEIO, "{}", REFLECTOR_FAILED },
	{ "504 of a proxy", 504, -EREMOTEIO, "<html>Too large resource version", REFLECTOR_FAILED },
	{ "504 that says too large", 504, -EREMOTEIO,
	  "{\"message\":\"Too large resource version: 9, current: 7\"}", REFLECTOR_TOO_LARGE },
	{ "400", 400, -EINVAL, "{}", REFLECTOR_BROKEN },
	{ "no connection", 0, -EIO, "", REFLECTOR_FAILED },
	{ "no answer in time", 0, -ETIMEDOUT, "", REFLECTOR_FAILED },
	{ "an answer that is too long", 200, -EMSGSIZE, "", REFLECTOR_BROKEN },
};

static void end_is_classified(void **state)
{
	const struct end_case *row = *state;
	struct kube_response response = {
		.status = row->status,
		.body = row->body,
		.body_len = strlen(row->body),
	};
	struct err err = { .code = row->code };

	assert_int_equal(reflector_classify(row->code, &response, &err), row->event);
}

static struct status_case {
	const char *name;
	int code;
	const char *reason;
	const char *message;
	enum reflector_event event;
} statuses[] = {
	{ "expired by code", 410, NULL, NULL, REFLECTOR_GONE },
	{ "expired by reason", 0, "Expired", "too old resource version", REFLECTOR_GONE },
	{ "too large", 504, "Timeout", "Too large resource version: 9", REFLECTOR_TOO_LARGE },
	{ "forbidden", 403, "Forbidden", NULL, REFLECTOR_DENIED },
	{ "removed", 404, "NotFound", NULL, REFLECTOR_ABSENT },
	{ "internal error", 500, "InternalError", "etcd", REFLECTOR_FAILED },
	{ "too many requests", 429, "TooManyRequests", NULL, REFLECTOR_FAILED },
	{ "nothing in it", 0, NULL, NULL, REFLECTOR_BROKEN },
};

static void status_is_classified(void **state)
{
	const struct status_case *row = *state;

	assert_int_equal(reflector_classify_status(row->code, row->reason, row->message),
			 row->event);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, waits, wait_is_in_range);
	suite_rows(&suite, ends, end_is_classified);
	suite_rows(&suite, statuses, status_is_classified);
	return suite_run(&suite, "reflector_answers");
}
