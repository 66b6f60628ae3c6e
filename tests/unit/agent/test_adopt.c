/* adopt: which objects without a label are listed, read and labelled. */
#include "agent/adopt.h"

#include <string.h>

#include "api/kind.h"
#include "api/migconfiguration.h"
#include "api/sriovnetworkdevice.h"
#include "base/log.h"
#include "base/mem.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/suite.h"
#include "unit/this_node.h"

#define CARD "node1-000061000"

enum { MINUTE_MS = 60000 };

struct bench {
	struct kube_client *client;
	struct fake_clock *clock;
	struct this_node node;
	struct adopt *adopt;
};

static void bench_open(struct bench *b)
{
	*b = (struct bench){ .client = fake_client_new(), .clock = fake_clock_new() };
	b->node = this_node_of(b->client, fake_clock_as_clock(b->clock), NULL);
	b->adopt = adopt_new(&b->node);
	fake_clock_settle(b->clock);
}

static void bench_close(struct bench *b)
{
	adopt_free(b->adopt);
	kube_client_free(b->client);
	fake_clock_free(b->clock);
}

SUITE_FIXTURE(bench, struct bench, bench_open, bench_close);

/* The lists of all kinds are asked for; that of @kind is @items, the others are empty. */
static void bench_list(struct bench *b, const struct api_kind *kind, const char *items)
{
	auto_free char *body = xasprintf("{\"metadata\":{},\"items\":[%s]}", items);
	auto_free char *path = xasprintf("/%s?", kind->plural);

	assert_int_equal(fake_client_open(b->client), 4);
	for (int i = 0; i < 4; i++) {
		const struct fake_request *request = fake_client_request(b->client);
		bool chosen = strstr(request->path, path) != NULL;

		assert_string_equal(request->method, "GET");
		assert_non_null(strstr(request->path, "labelSelector=%21nodename"));
		fake_client_answer(b->client, 200, chosen ? body : "{\"items\":[]}");
	}
	fake_clock_settle(b->clock);
}

static struct adopt_case {
	const char *name;
	const char *object; /* its name */
	const char *labels;
	const char *spec;
	bool listed;                 /* it is read after the list, and labelled */
	const struct api_kind *kind; /* NULL: MigConfiguration */
} cases[] = {
	{ "what says this node is labelled", CARD, "", "\"nodeName\":\"node1\"", true, NULL },
	{ "under a name of no function it is of no use", "mine", "", "\"nodeName\":\"node1\"",
	  false, NULL },
	{ "what says no node is known by its name", CARD, "", "", true, NULL },
	{ "an empty node is none", CARD, "", "\"nodeName\":\"\"", true, NULL },
	{ "what says another node is left alone", CARD, "", "\"nodeName\":\"node2\"", false, NULL },
	{ "so is what says no node and has a name of none", "node1-x", "", "", false, NULL },
	{ "so is what another node has the name of", "node1-a-000061000", "", "", false, NULL },
	{ "what has the label by now is seen anyway", CARD, "\"nodename\":\"node1\"",
	  "\"nodeName\":\"node1\"", false, NULL },
	{ "a network card that says this node is labelled", "node1-eth0", "",
	  "\"nodeName\":\"node1\"", true, &sriovnetworkdevice_kind },
	{ "the name of a network card says nothing", CARD, "", "", false,
	  &sriovnetworkdevice_kind },
	{ "what has another node's label is left alone", CARD, "\"nodename\":\"node2\"",
	  "\"nodeName\":\"node1\"", false, NULL },
};

static char *object_of(const struct adopt_case *row)
{
	return xasprintf("{\"metadata\":{\"name\":\"%s\",\"uid\":\"u1\",\"resourceVersion\":\"7\","
			 "\"labels\":{%s}},\"spec\":{%s}}",
			 row->object, row->labels, row->spec);
}

static void labels_match_table(void **state)
{
	const struct adopt_case *row = suite_row(state);
	auto_free char *object = object_of(row);
	const struct api_kind *kind = row->kind ? row->kind : &migconfiguration_kind;
	auto_free char *path = xasprintf("/%s/%s", kind->plural, row->object);
	struct bench *b = *state;

	bench_list(b, kind, object);
	assert_int_equal(fake_client_open(b->client), row->listed);
	if (!row->listed)
		return;
	assert_string_equal(fake_client_request(b->client)->method, "GET");
	assert_non_null(strstr(fake_client_request(b->client)->path, path));
	fake_client_answer(b->client, 200, object);
	assert_string_equal(fake_client_request(b->client)->method, "PATCH");
	assert_string_equal(fake_client_request(b->client)->content_type,
			    "application/merge-patch+json");
	assert_non_null(strstr(fake_client_request(b->client)->body,
			       "\"labels\":{\"nodename\":\"node1\"}"));
	assert_non_null(strstr(fake_client_request(b->client)->body, "\"resourceVersion\":\"7\""));
	fake_client_answer(b->client, 200, "{}");
	fake_clock_settle(b->clock);
	assert_int_equal(fake_client_open(b->client), 0);
}

/* Another one has given it the label between the list and the read. */
static void what_has_the_label_by_now_is_not_written(void **state)
{
	struct bench *b = *state;

	bench_list(b, &migconfiguration_kind, "{\"metadata\":{\"name\":\"" CARD "\"}}");
	fake_client_answer(b->client, 200,
			   "{\"metadata\":{\"name\":\"" CARD
			   "\",\"labels\":{\"nodename\":\"node1\"}}}");
	fake_clock_settle(b->clock);
	assert_int_equal(fake_client_open(b->client), 0);
}

static void lists_come_in_pages_and_again_after_a_while(void **state)
{
	struct bench *b = *state;

	assert_null(strstr(fake_client_request(b->client)->path, "continue="));
	fake_client_answer(b->client, 200, "{\"metadata\":{\"continue\":\"abc\"},\"items\":[]}");
	fake_client_choose(b->client, "continue=abc");
	fake_client_answer(b->client, 200, "{\"items\":[]}");
	while (fake_client_open(b->client) > 0) /* not installed */
		fake_client_answer(b->client, 404, "{}");
	fake_clock_advance(b->clock, UINT64_C(9) * MINUTE_MS);
	assert_int_equal(fake_client_open(b->client), 0);
	fake_clock_advance(b->clock, MINUTE_MS);
	bench_list(b, &migconfiguration_kind, "");
}

static void what_fails_is_tried_again(void **state)
{
	struct bench *b = *state;

	bench_list(b, &migconfiguration_kind, "{\"metadata\":{\"name\":\"" CARD "\"}}");
	fake_client_answer(b->client, 500, "{}");
	fake_clock_advance(b->clock, MINUTE_MS);
	assert_string_equal(fake_client_request(b->client)->method, "GET");
	fake_client_answer(b->client, 404, "{}"); /* deleted meanwhile */
	fake_clock_advance(b->clock, MINUTE_MS);
	assert_int_equal(fake_client_open(b->client), 0);
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_fixture(&suite, &bench_fixture);
	suite_rows(&suite, cases, labels_match_table);
	suite_add(&suite, "what has the label by now is not written",
		  what_has_the_label_by_now_is_not_written, NULL);
	suite_add(&suite, "lists come in pages, and again after ten minutes",
		  lists_come_in_pages_and_again_after_a_while, NULL);
	suite_add(&suite, "what fails is tried again", what_fails_is_tried_again, NULL);
	return suite_run(&suite, "adopt");
}
