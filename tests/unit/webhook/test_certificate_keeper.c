#include "controller/webhook/certificate_keeper.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "api/json_map.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "controller/webhook/certificate.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/suite.h"

static const int64_t day = (int64_t)24 * 60 * 60 * 1000;

struct bench {
	struct kube_client *client;
	struct fake_clock *clock;
	struct certificate_keeper *keeper;
	struct json_strs hosts;
	bool leads;
	bool trusted;
	unsigned sets; /* times that one was told */
	bool serves;   /* of the last one         */
};

static bool leads(void *arg)
{
	return ((struct bench *)arg)->leads;
}

static bool trusted(void *arg)
{
	return ((struct bench *)arg)->trusted;
}

static void on_set(void *arg, const struct certificate_set *set, bool serves)
{
	struct bench *b = arg;

	(void)set;
	b->sets++;
	b->serves = serves;
}

static void open_bench(struct bench *b)
{
	*b = (struct bench){ .client = fake_client_new(),
			     .clock = fake_clock_new(),
			     .leads = true,
			     .trusted = true };
	json_strs_add(&b->hosts, "a.svc");
	b->keeper = certificate_keeper_new(&(struct certificate_keeper_options){
		.client = b->client,
		.clock = fake_clock_as_clock(b->clock),
		.ns = "sys",
		.hosts = b->hosts,
		.leads = leads,
		.trusted = trusted,
		.on_set = on_set,
		.arg = b,
	});
	certificate_keeper_start(b->keeper);
}

static void close_bench(struct bench *b)
{
	certificate_keeper_free(b->keeper);
	kube_client_free(b->client);
	fake_clock_free(b->clock);
	json_strs_done(&b->hosts);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

static int64_t now_of(struct bench *b)
{
	return clock_wall_ms(fake_clock_as_clock(b->clock));
}

/* The first list: a Secret with this text of metadata and data, or none. */
static void list(struct bench *b, const char *item)
{
	auto_free char *body =
		xasprintf("{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[%s]}", item);

	assert_non_null(strstr(fake_client_request(b->client)->path,
			       "/api/v1/namespaces/sys/secrets?fieldSelector="
			       "metadata.name%3Dhostdev-webhook-tls&"));
	fake_client_answer(b->client, 200, body);
	fake_clock_settle(b->clock);
}

/* A change, as the watch brings it. */
static void watch(struct bench *b, const char *type, const char *item)
{
	auto_free char *line = xasprintf("{\"type\":\"%s\",\"object\":%s}", type, item);

	fake_client_choose(b->client, "watch=true");
	fake_client_line(b->client, line);
	fake_clock_settle(b->clock);
}

/* A Secret of @version with the set that has been through @steps, made so many days ago. */
static char *secret(struct bench *b, const char *version, const char *annotation, int64_t days,
		    const enum certificate_step *steps)
{
	struct certificate_set set = { 0 };
	struct json_pairs pairs = { 0 };
	auto_str struct str data = STR_INIT;
	char *text;

	for (; steps && *steps; steps++)
		assert_int_equal(certificate_set_apply(&set, *steps, &b->hosts,
						       now_of(b) - days * day, NULL),
				 0);
	certificate_set_encode(&set, &pairs);
	for (size_t i = 0; i < pairs.len; i++)
		str_addf(&data, "%s\"%s\":\"%s\"", i ? "," : "", pairs.items[i].key,
			 pairs.items[i].value);
	text = xasprintf("{\"metadata\":{\"name\":\"hostdev-webhook-tls\",\"uid\":\"u\","
			 "\"resourceVersion\":\"%s\",\"annotations\":{%s}},\"data\":{%s}}",
			 version, annotation, str_cstr(&data));
	json_pairs_done(&pairs);
	certificate_set_done(&set);
	return text;
}

static const enum certificate_step whole[] = { CERTIFICATE_START_OVER, CERTIFICATE_KEEP };

/* The write under way, NULL if there is none. */
static const struct fake_request *write_of(struct bench *b)
{
	if (fake_client_open(b->client) < 2)
		return NULL; /* only the watch */
	fake_client_choose(b->client, "/secrets/hostdev-webhook-tls?");
	return fake_client_request(b->client);
}

static void an_empty_one_is_made_first(void **state)
{
	auto_free char *item = NULL;
	const struct fake_request *request;
	struct bench *b = *state;

	list(b, "");
	request = write_of(b);
	assert_string_equal(request->method, "PATCH");
	assert_string_equal(request->content_type, "application/apply-patch+yaml");
	assert_non_null(strstr(request->path, "fieldManager=hostdev-controller-create"));
	assert_null(strstr(request->body, "\"data\""));
	item = secret(b, "10", "", 0, NULL);
	fake_client_answer(b->client, 201, item);
	request = write_of(b);
	assert_string_equal(request->content_type, "application/merge-patch+json");
	assert_non_null(strstr(request->body, "\"resourceVersion\":\"10\""));
	assert_non_null(strstr(request->body, "\"ca.crt\":\""));
}

/* What the keeper has written, as the API server then has it. */
static char *written(const struct fake_request *request, const char *version)
{
	auto_json json_t *json = json_loads(request->body, 0, NULL);
	auto_free char *data = json_map_text(json_object_get(json, "data"));

	return xasprintf("{\"metadata\":{\"name\":\"hostdev-webhook-tls\",\"uid\":\"u\","
			 "\"resourceVersion\":\"%s\"},\"data\":%s}",
			 version, data);
}

static void what_it_made_is_not_made_again(void **state)
{
	auto_free char *item = NULL;
	auto_free char *made = NULL;
	struct bench *b = *state;

	item = secret(b, "10", "", 0, NULL);
	list(b, item);
	made = written(write_of(b), "11");
	fake_client_answer(b->client, 200, made);
	/* The watch is late, and somebody asks for a look. */
	certificate_keeper_enqueue(b->keeper);
	fake_clock_settle(b->clock);
	assert_null(write_of(b));
	watch(b, "MODIFIED", made);
	assert_true(b->serves);
	assert_null(write_of(b));
}

static const enum certificate_step overlapping[] = { CERTIFICATE_START_OVER, CERTIFICATE_ADD_CA,
						     CERTIFICATE_KEEP };

static struct keep_case {
	const char *name;
	const char *annotation;
	int64_t days; /* since it was made */
	const enum certificate_step *steps;
	bool leads;
	bool trusted;
	bool writes;
	bool serves;
} keeps[] = {
	{ "a young one stays", "", 1, whole, true, true, false, true },
	{ "an old one is renewed", "", 61, whole, true, true, true, true },
	{ "one that has run out is renewed", "", 91, whole, true, true, true, false },
	{ "who does not lead writes nothing", "", 61, whole, false, true, false, true },
	{ "cert-manager's is not written", "\"cert-manager.io/certificate-name\":\"x\"", 61, whole,
	  true, true, false, true },
	{ "a new CA signs once it is trusted", "", 1, overlapping, true, true, true, true },
	{ "but not before", "", 1, overlapping, true, false, false, true },
};

static void secret_is_kept(void **state)
{
	const struct keep_case *c = suite_row(state);
	auto_free char *item = NULL;
	struct bench *b = *state;

	b->leads = c->leads;
	b->trusted = c->trusted;
	item = secret(b, "10", c->annotation, c->days, c->steps);
	list(b, item);
	assert_int_equal(b->sets, 1);
	assert_int_equal(b->serves, c->serves);
	assert_int_equal(write_of(b) != NULL, c->writes);
}

static void time_brings_the_renewal(void **state)
{
	auto_free char *item = NULL;
	struct bench *b = *state;

	item = secret(b, "10", "", 0, whole);
	list(b, item);
	assert_null(write_of(b));
	fake_clock_advance(b->clock, (uint64_t)(60 * day - 1000));
	assert_null(write_of(b));
	fake_clock_advance(b->clock, 2000);
	assert_non_null(strstr(write_of(b)->body, "\"resourceVersion\":\"10\""));
}

static void who_begins_to_lead_makes_it(void **state)
{
	struct bench *b = *state;

	b->leads = false;
	list(b, "");
	assert_null(write_of(b));
	b->leads = true;
	certificate_keeper_enqueue(b->keeper);
	fake_clock_settle(b->clock);
	assert_non_null(write_of(b));
}

static void a_refused_write_is_tried_again(void **state)
{
	static const int codes[] = { 403, 404, 409, 422, 500 };
	auto_free char *item = NULL;
	struct bench *b = *state;

	item = secret(b, "10", "", 0, NULL);
	list(b, item);
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		assert_non_null(write_of(b));
		fake_client_answer(b->client, codes[i], "{}");
		for (int wait = 0; wait < 64 && fake_client_open(b->client) < 2; wait++)
			fake_clock_advance(b->clock, fake_clock_next(b->clock));
	}
	assert_non_null(write_of(b));
}

static void a_deleted_one_is_told(void **state)
{
	auto_free char *item = NULL;
	struct bench *b = *state;

	item = secret(b, "10", "", 0, whole);
	list(b, item);
	assert_true(b->serves);
	watch(b, "DELETED", item);
	assert_int_equal(b->sets, 2);
	assert_false(b->serves);
	assert_string_equal(write_of(b)->content_type, "application/apply-patch+yaml");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "an empty one is made first", an_empty_one_is_made_first, NULL);
	suite_add(&suite, "what it made is not made again", what_it_made_is_not_made_again, NULL);
	suite_rows(&suite, keeps, secret_is_kept);
	suite_add(&suite, "time brings the renewal", time_brings_the_renewal, NULL);
	suite_add(&suite, "who begins to lead makes it", who_begins_to_lead_makes_it, NULL);
	suite_add(&suite, "a refused write is tried again", a_refused_write_is_tried_again, NULL);
	suite_add(&suite, "a deleted one is told", a_deleted_one_is_told, NULL);
	return suite_run(&suite, "certificate_keeper");
}
