#include "controller/webhook/ca_bundle.h"

#include <stdbool.h>
#include <string.h>

#include "base/base64.h"
#include "base/str.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/suite.h"

#define PEM "pem one\n"

struct bench {
	struct kube_client *client;
	struct fake_clock *clock;
	struct ca_bundle *bundle;
	bool leads;
	unsigned trusted; /* times that it was told */
};

static bool leads(void *arg)
{
	return ((struct bench *)arg)->leads;
}

static void on_trusted(void *arg)
{
	((struct bench *)arg)->trusted++;
}

static void open_bench(struct bench *b)
{
	*b = (struct bench){ .client = fake_client_new(),
			     .clock = fake_clock_new(),
			     .leads = true };
	b->bundle = ca_bundle_new(&(struct ca_bundle_options){
		.client = b->client,
		.clock = fake_clock_as_clock(b->clock),
		.leads = leads,
		.on_trusted = on_trusted,
		.arg = b,
	});
	ca_bundle_start(b->bundle);
}

static void close_bench(struct bench *b)
{
	ca_bundle_free(b->bundle);
	kube_client_free(b->client);
	fake_clock_free(b->clock);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

/* A configuration of @version with two webhooks of this bundle; "" for NULL. The caller frees. */
static char *configuration(const char *version, const char *pem)
{
	auto_free char *base64 = pem ? base64_encode(pem, strlen(pem)) : NULL;

	if (!pem)
		return xstrdup("");
	return xasprintf("{\"metadata\":{\"name\":\"hostdev-webhook\",\"uid\":\"u\","
			 "\"resourceVersion\":\"%s\"},\"webhooks\":[{\"name\":\"a\","
			 "\"failurePolicy\":\"Fail\",\"clientConfig\":{\"caBundle\":\"%s\"}},"
			 "{\"name\":\"b\",\"clientConfig\":{\"url\":\"https://x\","
			 "\"caBundle\":\"%s\"}}]}",
			 version, base64, base64);
}

/* Configurations as the API has them; NULL: none there. */
static void list(struct bench *b, const char *kind, const char *pem)
{
	auto_free char *items = configuration("7", pem);
	auto_free char *body =
		xasprintf("{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[%s]}", items);

	fake_client_choose(b->client, kind);
	assert_non_null(strstr(fake_client_request(b->client)->path,
			       "fieldSelector=metadata.name%3Dhostdev-webhook"));
	fake_client_answer(b->client, 200, body);
	fake_clock_settle(b->clock);
}

/* The patch under way, NULL if there is none. */
static const struct fake_request *patch_of(struct bench *b, const char *kind)
{
	auto_free char *part = xasprintf("%s/hostdev-webhook?", kind);

	if (fake_client_open(b->client) < 3)
		return NULL; /* only the two watches */
	fake_client_choose(b->client, part);
	return fake_client_request(b->client);
}

#define VALIDATING "validatingwebhookconfigurations"
#define MUTATING   "mutatingwebhookconfigurations"

static void only_the_bundle_is_written(void **state)
{
	auto_free char *base64 = base64_encode(PEM, strlen(PEM));
	auto_free char *written = configuration("8", PEM);
	auto_free char *line = xasprintf("{\"type\":\"MODIFIED\",\"object\":%s}", written);
	auto_free char *expected =
		xasprintf("{\"metadata\":{\"resourceVersion\":\"7\",\"name\":\"hostdev-webhook\"},"
			  "\"webhooks\":[{\"name\":\"a\",\"clientConfig\":{\"caBundle\":\"%s\"}},"
			  "{\"name\":\"b\",\"clientConfig\":{\"caBundle\":\"%s\"}}],"
			  "\"apiVersion\":\"admissionregistration.k8s.io/v1\","
			  "\"kind\":\"ValidatingWebhookConfiguration\"}",
			  base64, base64);
	const struct fake_request *request;
	struct bench *b = *state;

	ca_bundle_set(b->bundle, PEM);
	list(b, VALIDATING, "old");
	list(b, MUTATING, PEM);
	request = patch_of(b, VALIDATING);
	assert_string_equal(request->method, "PATCH");
	assert_string_equal(request->content_type, "application/apply-patch+yaml");
	assert_non_null(strstr(request->path, "fieldManager=hostdev-controller"));
	assert_non_null(strstr(request->path, "force=true"));
	assert_string_equal(request->body, expected);
	assert_false(ca_bundle_trusted(b->bundle));
	fake_client_answer(b->client, 200, written);
	fake_clock_advance(b->clock, 60000);
	assert_int_equal(fake_client_open(b->client), 2);
	assert_false(ca_bundle_trusted(b->bundle)); /* before the watch shows it */
	assert_true(fake_client_choose_stream(b->client, VALIDATING));
	fake_client_line(b->client, line);
	assert_true(ca_bundle_trusted(b->bundle));
	assert_int_equal(b->trusted, 1);
}

static struct rest_case {
	const char *name;
	const char *set;        /* NULL: nothing */
	const char *validating; /* what there is; NULL: no configuration */
	const char *mutating;
	bool leads;
	bool writes; /* of the validating one */
	bool trusted;
} rests[] = {
	{ "what is right stays", PEM, PEM, PEM, true, false, true },
	{ "what is not there is not made", PEM, NULL, NULL, true, false, true },
	{ "what is wrong is written", PEM, "old", PEM, true, true, false },
	{ "who does not lead writes nothing", PEM, "old", PEM, false, false, false },
	{ "without a certificate nothing is known", NULL, "old", "old", true, false, false },
	{ "one of both is not enough", PEM, PEM, "old", false, false, false },
};

static void rest_is_kept(void **state)
{
	const struct rest_case *c = suite_row(state);
	struct bench *b = *state;

	b->leads = c->leads;
	if (c->set)
		ca_bundle_set(b->bundle, c->set);
	list(b, VALIDATING, c->validating);
	list(b, MUTATING, c->mutating);
	assert_int_equal(patch_of(b, VALIDATING) != NULL, c->writes);
	assert_int_equal(ca_bundle_trusted(b->bundle), c->trusted);
	assert_int_equal(b->trusted, c->trusted);
}

static void who_begins_to_lead_writes(void **state)
{
	struct bench *b = *state;

	b->leads = false;
	ca_bundle_set(b->bundle, PEM);
	list(b, VALIDATING, "old");
	list(b, MUTATING, PEM);
	assert_null(patch_of(b, VALIDATING));
	b->leads = true;
	ca_bundle_enqueue(b->bundle);
	fake_clock_settle(b->clock);
	assert_non_null(patch_of(b, VALIDATING));
}

static void a_refused_write_is_tried_again(void **state)
{
	static const int codes[] = { 403, 404, 409, 422, 500 };
	struct bench *b = *state;

	ca_bundle_set(b->bundle, PEM);
	list(b, VALIDATING, "old");
	list(b, MUTATING, PEM);
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		assert_non_null(patch_of(b, VALIDATING));
		fake_client_answer(b->client, codes[i], "{}");
		for (int wait = 0; wait < 64 && fake_client_open(b->client) < 3; wait++)
			fake_clock_advance(b->clock, fake_clock_next(b->clock));
	}
	assert_non_null(patch_of(b, VALIDATING));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "only the bundle is written", only_the_bundle_is_written, NULL);
	suite_rows(&suite, rests, rest_is_kept);
	suite_add(&suite, "who begins to lead writes", who_begins_to_lead_writes, NULL);
	suite_add(&suite, "a refused write is tried again", a_refused_write_is_tried_again, NULL);
	return suite_run(&suite, "ca_bundle");
}
