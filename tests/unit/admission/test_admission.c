/* admission: the lists that are asked for, and what is answered before and after they are read. */
#include "controller/admission/admission.h"

#include <string.h>

#include "api/json_map.h"
#include "base/err.h"
#include "controller/cache/cache.h"
#include "controller/webhook/admission_review.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "kube/audit.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "unit/captured.h"
#include "unit/suite.h"

#define EMPTY "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}"
#define DEVICES                                                                                         \
	"{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{\"name\":\"n-000001000\"," \
	"\"uid\":\"u\"},\"status\":{\"address\":\"0000:01:00.0\",\"nodeName\":\"n\",\"iommuGroup\":"    \
	"\"1\",\"resourceName\":\"x.com/a\"}}]}"

struct bench {
	struct kube_client *client;
	struct fake_clock *clock;
	struct cache *cache;
	struct events *events;
	struct events *doubts;
	bool leads;
	struct admission *admission;
};

/* Its listener is what counts here. */
static void on_change(void *arg, enum view_kind kind, const char *name, const struct entry *before,
		      const struct entry *after)
{
	(void)arg;
	(void)kind;
	(void)name;
	(void)before;
	(void)after;
}

static void on_synced(void *arg)
{
	(void)arg;
}

static struct events *make_events(struct bench *b, const char *host)
{
	return events_new(&(struct events_deps){ .client = b->client,
						 .clock = fake_clock_as_clock(b->clock),
						 .component = "hostdev-controller",
						 .host = host });
}

static bool leads(void *arg)
{
	const struct bench *b = arg;

	return b->leads;
}

static void open_bench(struct bench *b)
{
	*b = (struct bench){ .client = fake_client_new(), .clock = fake_clock_new() };
	b->events = make_events(b, "sure");
	b->doubts = make_events(b, "doubts");
	b->cache = cache_new(&(struct informer_deps){ .client = b->client,
						      .clock = fake_clock_as_clock(b->clock) },
			     &(struct cache_spec){ .machines = true,
						   .on_change = on_change,
						   .on_synced = on_synced });
	b->admission =
		admission_new(&(struct admission_options){ .cache = b->cache,
							   .clock = fake_clock_as_clock(b->clock),
							   .events = b->events,
							   .unverified_events = b->doubts,
							   .leads = leads,
							   .arg = b });
}

static void close_bench(struct bench *b)
{
	admission_free(b->admission);
	events_free(b->events);
	events_free(b->doubts);
	cache_free(b->cache);
	assert_int_equal(fake_client_open(b->client), 0);
	kube_client_free(b->client);
	fake_clock_free(b->clock);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

static void answer_list(struct bench *b, const char *part, const char *body)
{
	fake_client_choose(b->client, part);
	fake_client_answer(b->client, 200, body);
}

static const char *const lists[] = {
	"/pcideviceclaims?",     "/usbdeviceclaims?", "/usbdevices?",
	"/api/v1/nodes?",        "/sriovgpudevices?", "/vgpudevices?",
	"/sriovnetworkdevices?", "/mediateddevices?", "/hostdeviceconfigs?",
};

static bool is_ready(const struct bench *b, struct err *err)
{
	const struct admission_rules *rules = admission_rules(b->admission);

	return rules->ready(rules->arg, err);
}

static void ask(const struct bench *b, struct admission_answer *ret_answer)
{
	const struct admission_rules *rules = admission_rules(b->admission);
	json_t *claim = json_pack("{s:{s:s}}", "metadata", "name", "n-000001000");
	struct admission_request request = { .uid = "1",
					     .group = "devices.harvesterhci.io",
					     .version = "v1beta1",
					     .resource = "pcideviceclaims",
					     .subresource = "",
					     .name = "n-000001000",
					     .ns = "",
					     .user = "alice",
					     .operation = ADMISSION_CREATE,
					     .object = claim };

	admission_answer_init(ret_answer);
	rules->mutate(rules->arg, &request, ret_answer);
	rules->validate(rules->arg, &request, ret_answer);
	json_decref(claim);
}

#define NODES                                                                                 \
	"{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{\"name\":\"n\"," \
	"\"uid\":\"un\",\"resourceVersion\":\"4\"},\"status\":{\"allocatable\":{}}}]}"

/* All lists are there, and nothing waits. */
static void answer_lists(struct bench *b)
{
	answer_list(b, "/pcidevices?", DEVICES);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		answer_list(b, lists[i], strstr(lists[i], "/nodes?") ? NODES : EMPTY);
	answer_list(b, "/virtualmachines?", EMPTY);
	fake_clock_settle(b->clock);
	assert_true(is_ready(b, NULL));
}

/* The event that is sent next says all of @parts, which end with a NULL; without any, none is. */
static void sends(struct bench *b, size_t before, const char *const *parts)
{
	fake_clock_settle(b->clock);
	assert_int_equal(fake_client_sent(b->client) - before, *parts ? 1 : 0);
	if (!*parts)
		return;
	fake_client_choose(b->client, "/events");
	for (; *parts; parts++) {
		if (!strstr(fake_client_request(b->client)->body, *parts))
			fail_msg("no %s in %s", *parts, fake_client_request(b->client)->body);
	}
	fake_client_answer(b->client, 201, "{}");
}

#define PINNED                                                                                       \
	"{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\",\"uid\":\"pu\"},\"spec\":{"               \
	"\"nodeName\":\"n\",\"containers\":[{\"name\":\"m\",\"resources\":{\"limits\":{\"x.com/a\":" \
	"\"1\"}}}]}}"
/* Of a device that is known, for another address than its own. */
#define WRONG                                                                                \
	"{\"metadata\":{\"name\":\"n-000001000\"},\"spec\":{\"nodeName\":\"n\",\"address\":" \
	"\"0000:09:00.0\"}}"

static struct review_case {
	const char *name;
	const char *resource;
	const char *object;
	bool verified;
	bool refused;
	const char *event[4]; /* NULL: none */
} reviews[] = {
	/* clang-format off */
	{ "a pod that an API server asks about", "pods", PINNED, true, false,
	  { "DeviceNotOffered", "\"namespace\":\"d\"", "\"host\":\"sure\"" } },
	{ "one that anybody may have made up", "pods", PINNED, false, false, { NULL } },
	{ "a claim that is admitted is told when it is seen", "pcideviceclaims",
	  "{\"metadata\":{\"name\":\"n-000001000\"}}", true, false, { NULL } },
	{ "a claim that is refused to an API server", "pcideviceclaims", WRONG, true, true,
	  { "ClaimRefused", "user and the cause\"", "\"host\":\"sure\"" } },
	{ "a refusal of what may be made up has another budget", "pcideviceclaims", WRONG, false, true,
	  { "ClaimRefused", "not verified", "\"host\":\"doubts\"" } },
	/* clang-format on */
};

static void a_review_is_recorded(void **state)
{
	const struct review_case *c = suite_row(state);
	struct bench *b = *state;
	const struct admission_rules *rules = admission_rules(b->admission);
	auto_json json_t *object = json_loads(c->object, 0, NULL);
	struct admission_request request = {
		.uid = "1",
		.group = strcmp(c->resource, "pods") == 0 ? "" : "devices.harvesterhci.io",
		.version = strcmp(c->resource, "pods") == 0 ? "v1" : "v1beta1",
		.resource = c->resource,
		.subresource = "",
		.name = "",
		.ns = "",
		.user = "alice",
		.operation = ADMISSION_CREATE,
		.verified = c->verified,
		.object = object
	};
	struct admission_answer answer;
	size_t before;

	answer_lists(b);
	before = fake_client_sent(b->client);
	admission_answer_init(&answer);
	rules->validate(rules->arg, &request, &answer);
	assert_int_equal(answer.allowed, !c->refused);
	sends(b, before, c->event);
	admission_answer_done(&answer);
}

static struct flood_case {
	const char *name;
	const char *resource;
	const char *object;
	bool verified;
} floods[] = {
	{ "claims that API servers ask about are all in the log", "pcideviceclaims", WRONG, true },
	{ "claims that may be made up are some", "pcideviceclaims", WRONG, false },
	{ "and so are refused deletions of devices", "pcidevices",
	  "{\"metadata\":{\"name\":\"n-000001000\"},\"status\":{}}", false },
};

static void the_log_is_bounded(void **state)
{
	enum { ASKED = AUDIT_QUOTA_BURST + 5 };
	const struct flood_case *c = suite_row(state);
	struct bench *b = *state;
	const struct admission_rules *rules = admission_rules(b->admission);
	auto_json json_t *object = json_loads(c->object, 0, NULL);
	bool device = strcmp(c->resource, "pcidevices") == 0;
	struct admission_request request = { .uid = "1",
					     .group = "devices.harvesterhci.io",
					     .version = "v1beta1",
					     .resource = c->resource,
					     .subresource = "",
					     .name = "",
					     .ns = "",
					     .user = "alice",
					     .operation =
						     device ? ADMISSION_DELETE : ADMISSION_CREATE,
					     .verified = c->verified,
					     .object = object };
	auto_free char *text = NULL;
	struct captured captured;
	size_t lines = 0;

	answer_lists(b);
	captured_begin(&captured);
	for (int i = 0; i < ASKED; i++) {
		struct admission_answer answer;

		admission_answer_init(&answer);
		if (device)
			admission_answer_refuse(&answer, 403, "no");
		rules->validate(rules->arg, &request, &answer);
		admission_answer_done(&answer);
	}
	text = captured_end(&captured);
	for (const char *at = text; (at = strstr(at, "msg=audit ")) != NULL; at++)
		lines++;
	assert_int_equal(lines, c->verified ? ASKED : AUDIT_QUOTA_BURST);
}

#define ADDED                                                                                   \
	"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"n-000001000\",\"uid\":\"c\"," \
	"\"resourceVersion\":\"6\",\"generation\":1},\"spec\":{\"nodeName\":\"n\"}}}\n"

/* Not what the first list has: that was there before. */
static void a_claim_that_is_seen_is_told_by_the_leader(void **state)
{
	static const char *const claimed[] = { "\"Claimed\"", "\"uid\":\"u\"", "\"host\":\"sure\"",
					       NULL };
	static const char *const none[] = { NULL };

	for (int leading = 0; leading < 2; leading++) {
		struct bench bench;
		struct bench *b = &bench;
		size_t before;

		open_bench(b);
		b->leads = leading;
		answer_lists(b);
		before = fake_client_sent(b->client);
		fake_client_choose(b->client, "/pcideviceclaims?");
		fake_client_begin(b->client);
		assert_int_equal(fake_client_line(b->client, ADDED), 0);
		sends(b, before, leading ? claimed : none);
		close_bench(b);
	}
}

static void what_was_there_before_is_not_told(void **state)
{
	static const char *const none[] = { NULL };
	struct bench *b = *state;

	b->leads = true;
	answer_list(b, "/pcidevices?", DEVICES);
	answer_list(b, "/pcideviceclaims?",
		    "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{\"name\":"
		    "\"n-000001000\",\"uid\":\"c\",\"resourceVersion\":\"4\"}}]}");
	fake_clock_settle(b->clock);
	sends(b, fake_client_sent(b->client), none);
	assert_int_equal(fake_client_open(b->client), 14);
}

static void it_is_ready_once_all_is_read(void **state)
{
	struct admission_answer answer;
	struct bench *b = *state;
	struct err err = { 0 };

	assert_int_equal(fake_client_open(b->client),
			 14); /* what pools and nodes need among them */
	assert_false(is_ready(b, &err));
	assert_non_null(strstr(err.msg, "pcidevices"));
	ask(b, &answer);
	assert_int_equal(answer.code, 503);
	admission_answer_done(&answer);

	answer_list(b, "/pcidevices?", DEVICES);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		assert_false(is_ready(b, NULL));
		answer_list(b, lists[i], EMPTY);
	}
	assert_false(is_ready(b, &err));
	assert_non_null(strstr(err.msg, "virtualmachines"));
	fake_client_choose(b->client, "/apis/kubevirt.io/v1/virtualmachines?");
	fake_client_answer(b->client, 404, "404 page not found\n"); /* KubeVirt is not installed */
	assert_true(is_ready(b, &err));
	ask(b, &answer);
	assert_true(answer.allowed);
	assert_int_equal(json_array_size(answer.patch), 3); /* spec, owners, the owner */
	admission_answer_done(&answer);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &bench_fixture);
	suite_rows(&suite, floods, the_log_is_bounded);
	suite_rows(&suite, reviews, a_review_is_recorded);
	suite_add(&suite, "a claim that is seen is told, by the leader",
		  a_claim_that_is_seen_is_told_by_the_leader, NULL);
	suite_add(&suite, "what was there before is not told", what_was_there_before_is_not_told,
		  NULL);
	suite_add(&suite, "it is ready once all is read", it_is_ready_once_all_is_read, NULL);
	return suite_run(&suite, "admission");
}
