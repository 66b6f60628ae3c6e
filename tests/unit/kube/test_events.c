#include "kube/events.h"

#include <errno.h>
#include <string.h>

#include "api/pcidevice.h"
#include "base/log.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/suite.h"

struct bench {
	struct kube_client *client;
	struct fake_clock *clock;
	struct events *events;
	struct api_meta meta;
	struct events_about about;
};

static void open_bench(struct bench *b)
{
	*b = (struct bench){ .client = fake_client_new(), .clock = fake_clock_new() };
	b->events = events_new(&(struct events_deps){ .client = b->client,
						      .clock = fake_clock_as_clock(b->clock),
						      .component = "hostdev-agent",
						      .host = "node1" });
	b->meta.name = xstrdup("n-1");
	b->meta.uid = xstrdup("u-1");
	b->about = (struct events_about){ .kind = &pcidevice_kind, .meta = &b->meta };
}

static void close_bench(struct bench *b)
{
	events_free(b->events);
	kube_client_free(b->client);
	fake_clock_free(b->clock);
	json_map_done(api_meta_map, &b->meta);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

static void record(struct bench *b, const char *message)
{
	events_record(b->events, &b->about, EVENTS_WARNING, "Refused", "%s", message);
	fake_clock_settle(b->clock);
}

static void asks(const struct bench *b, const char *method, const char *body_part)
{
	const struct fake_request *request = fake_client_request(b->client);

	assert_int_equal(fake_client_open(b->client), 1);
	assert_string_equal(request->method, method);
	if (!strstr(request->body, body_part))
		fail_msg("%s has no %s", request->body, body_part);
}

static void an_event_says_it_all(void **state)
{
	struct bench *b = *state;

	events_record(b->events, &b->about, EVENTS_NORMAL, "Bound", "took %d ms", 41);
	assert_int_equal(fake_client_open(b->client), 0);
	fake_clock_settle(b->clock);
	assert_string_equal(fake_client_request(b->client)->path,
			    "/api/v1/namespaces/default/events");
	asks(b, "POST", "\"name\":\"n-1.");
	asks(b, "POST", "\"namespace\":\"default\"");
	asks(b, "POST", "\"kind\":\"PCIDevice\"");
	asks(b, "POST", "\"uid\":\"u-1\"");
	asks(b, "POST", "\"type\":\"Normal\"");
	asks(b, "POST", "\"reason\":\"Bound\"");
	asks(b, "POST", "\"message\":\"took 41 ms\"");
	asks(b, "POST", "\"count\":1");
	asks(b, "POST", "\"firstTimestamp\":\"2026-01-02T03:04:05Z\"");
	asks(b, "POST", "\"reportingComponent\":\"hostdev-agent\"");
	asks(b, "POST", "\"host\":\"node1\"");
}

static void the_same_again_is_counted(void **state)
{
	struct bench *b = *state;
	auto_free char *path = NULL;

	record(b, "x");
	fake_client_answer(b->client, 201, "{}");
	fake_clock_advance(b->clock, 60000);
	record(b, "x");
	asks(b, "PATCH", "\"count\":2");
	asks(b, "PATCH", "\"lastTimestamp\":\"2026-01-02T03:05:05Z\"");
	path = xstrdup(fake_client_request(b->client)->path);
	assert_non_null(strstr(path, "/events/n-1."));
	fake_client_answer(b->client, 200, "{}");
	record(b, "x");
	asks(b, "PATCH", "\"count\":3");
	assert_string_equal(fake_client_request(b->client)->path, path);
	fake_client_answer(b->client, 200, "{}");
	record(b, "y");
	asks(b, "POST", "\"count\":1");
}

static void one_that_expired_is_made_anew(void **state)
{
	struct bench *b = *state;

	record(b, "x");
	fake_client_answer(b->client, 201, "{}");
	fake_clock_advance(b->clock, 60000);
	record(b, "x");
	fake_client_answer(b->client, 404, "{}");
	asks(b, "POST", "\"count\":2");
	asks(b, "POST", "\"firstTimestamp\":\"2026-01-02T03:04:05Z\"");
	fake_client_answer(b->client, 201, "{}");
	assert_int_equal(fake_client_open(b->client), 0);
}

/* Answer all that is asked, and count it. */
static size_t drain(struct bench *b)
{
	size_t n = 0;

	for (; fake_client_open(b->client) > 0; n++)
		fake_client_answer(b->client, 201, "{}");
	return n;
}

static void an_object_has_a_budget(void **state)
{
	struct bench *b = *state;

	for (int i = 0; i < 100; i++)
		record(b, "x");
	assert_int_equal(drain(b), EVENTS_BURST);
	fake_clock_advance(b->clock, EVENTS_REFILL_MS - 1);
	record(b, "x");
	assert_int_equal(drain(b), 0);
	fake_clock_advance(b->clock, 1);
	record(b, "x");
	record(b, "x");
	assert_int_equal(drain(b), 1);
	/* Another's is its own. */
	free(b->meta.uid);
	b->meta.uid = xstrdup("u-2");
	record(b, "x");
	assert_int_equal(drain(b), 1);
}

static void record_of(struct bench *b, int object)
{
	free(b->meta.uid);
	b->meta.uid = xasprintf("u-%d", object);
	record(b, "x");
}

/* More objects than are remembered, so that the budgets of each do not bound it. */
static void all_together_have_one_where_that_is_asked_for(void **state)
{
	struct bench *b = *state;

	events_free(b->events);
	b->events = events_new(&(struct events_deps){ .client = b->client,
						      .clock = fake_clock_as_clock(b->clock),
						      .component = "hostdev-controller",
						      .host = "c-1",
						      .together = true });
	for (int i = 0; i < 3 * EVENTS_KNOWN; i++)
		record_of(b, i);
	assert_int_equal(drain(b), EVENTS_TOGETHER_BURST);
	fake_clock_advance(b->clock, EVENTS_TOGETHER_REFILL_MS - 1);
	record_of(b, -1);
	assert_int_equal(drain(b), 0);
	fake_clock_advance(b->clock, 1);
	record_of(b, -2);
	record_of(b, -3);
	assert_int_equal(drain(b), 1);
}

static void what_waits_is_bounded(void **state)
{
	struct bench *b = *state;

	for (int i = 0; i < 2000; i++) {
		free(b->meta.uid);
		b->meta.uid = xasprintf("u-%d", i);
		record(b, "x");
	}
	assert_int_equal(fake_client_open(b->client), 1);
	assert_int_equal(drain(b), EVENTS_QUEUE);
}

static void an_outage_is_outlasted_for_a_while(void **state)
{
	struct bench *b = *state;
	size_t attempts = 0;

	record(b, "x");
	record(b, "y");
	while (strstr(fake_client_request(b->client)->body, "\"message\":\"x\"")) {
		attempts++;
		fake_client_fail(b->client, -EIO);
		if (fake_client_open(b->client) > 0)
			break;
		assert_in_range(fake_clock_next(b->clock), 1000, 45000);
		fake_clock_advance(b->clock, fake_clock_next(b->clock));
	}
	assert_int_equal(attempts, 5);
	asks(b, "POST", "\"message\":\"y\"");
	fake_client_answer(b->client, 403, "{}");
	assert_int_equal(fake_client_open(b->client), 0);
	/* What could not be said was not said: it begins at one. */
	record(b, "x");
	asks(b, "POST", "\"count\":1");
}

static void a_message_may_be_anything(void **state)
{
	struct bench *b = *state;
	char text[4000];

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	record(b, text);
	asks(b, "POST", "aaa...\"");
	assert_true(strlen(fake_client_request(b->client)->body) < EVENTS_MESSAGE_MAX + 800);
	fake_client_answer(b->client, 201, "{}");
	record(b, "line\nfeed \xff");
	asks(b, "POST", "line\\\\x0afeed \\\\xff\"");
}

static struct pods_case {
	const char *name;
	const char *said;
	const char *shown;
} pods[] = {
	{ "a pod has no name in an event of the cluster", "pod team-a/vm-1 has 0000:01:00.0",
	  "\"message\":\"a pod has 0000:01:00.0\"" },
	{ "each of several pods has none", "process 7 (qemu) of pod a/b and (pod c/d.e)",
	  "\"message\":\"process 7 (qemu) of a pod and (a pod)\"" },
	{ "a word that ends like it stays", "tripod a/b, pod x, pod /y and pod z/",
	  "\"message\":\"tripod a/b, pod x, pod /y and pod z/\"" },
};

static void the_message_is(void **state)
{
	const struct pods_case *c = suite_row(state);
	struct bench *b = *state;

	record(b, c->said);
	asks(b, "POST", c->shown);
}

static void in_a_namespace_a_pod_has_its_name(void **state)
{
	struct bench *b = *state;

	b->meta.namespace_ = xstrdup("team-a");
	record(b, "pod team-a/vm-1 has it");
	asks(b, "POST", "\"message\":\"pod team-a/vm-1 has it\"");
}

static void freeing_forgets_what_waits(void **state)
{
	struct bench *b = *state;

	record(b, "x");
	record(b, "y");
	b->events = events_free(b->events);
	assert_int_equal(fake_client_open(b->client), 0);
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "an event says it all", an_event_says_it_all, NULL);
	suite_add(&suite, "the same again is counted", the_same_again_is_counted, NULL);
	suite_add(&suite, "one that expired is made anew", one_that_expired_is_made_anew, NULL);
	suite_add(&suite, "an object has a budget", an_object_has_a_budget, NULL);
	suite_add(&suite, "all together have one where that is asked for",
		  all_together_have_one_where_that_is_asked_for, NULL);
	suite_add(&suite, "what waits is bounded", what_waits_is_bounded, NULL);
	suite_add(&suite, "an outage is outlasted for a while", an_outage_is_outlasted_for_a_while,
		  NULL);
	suite_add(&suite, "a message may be anything", a_message_may_be_anything, NULL);
	suite_rows(&suite, pods, the_message_is);
	suite_add(&suite, "in a namespace a pod has its name", in_a_namespace_a_pod_has_its_name,
		  NULL);
	suite_add(&suite, "freeing forgets what waits", freeing_forgets_what_waits, NULL);
	return suite_run(&suite, "events");
}
