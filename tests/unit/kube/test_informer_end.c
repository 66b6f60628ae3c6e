/* An informer that is stopped or freed, from within and from without. */
#include "base/log.h"
#include "fake/fake_client.h"
#include "unit/kube/informer_bench.h"

static struct leave_case {
	const char *name;
	bool by_free;
	bool in_list;
	size_t additions; /* told of two that a list has; in an order that nobody knows */
} leaves[] = {
	{ "freed by its handler, in a watch", true, false, 1 },
	{ "freed by its handler, in a list", true, true, 1 },
	{ "stopped by its handler, in a watch", false, false, 1 },
	{ "stopped by its handler, in a list: the rest of it is told", false, true, 2 },
};

static size_t count(const char *text, char c)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == c;
	return n;
}

static void a_handler_may_end_it(void **state)
{
	const struct leave_case *row = suite_row(state);
	struct bench *b = *state;

	b->free_on_change = row->by_free;
	b->stop_on_change = !row->by_free;
	if (!row->in_list)
		fake_client_answer(b->client, 200, EMPTY_LIST);
	str_clear(&b->log);
	if (row->in_list)
		fake_client_answer(
			b->client, 200,
			"{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{"
			"\"name\":\"a\"}},{\"metadata\":{\"name\":\"b\"}}]}");
	else
		send_event(b, "ADDED", "a", "6");
	assert_int_equal(count(str_cstr(&b->log), '+'), row->additions);
	assert_int_equal(fake_client_open(b->client), 0);
	assert_int_equal(fake_clock_next(b->clock), UINT64_MAX);
}

static void a_stopped_one_may_start_again(void **state)
{
	struct bench *b = *state;

	open_watching(b);
	send_event(b, "ADDED", "a", "6");
	informer_stop(b->informer);
	assert_int_equal(fake_client_open(b->client), 0);
	informer_start(b->informer);
	fake_client_answer(b->client, 200, EMPTY_LIST);
	heard(b, " +a -a");
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_fixture(&suite, &bench_fixture);
	suite_rows(&suite, leaves, a_handler_may_end_it);
	suite_add(&suite, "a stopped one may start again", a_stopped_one_may_start_again, NULL);
	return suite_run(&suite, "informer_end");
}
