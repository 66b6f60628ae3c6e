#include <errno.h>

#include "base/log.h"
#include "base/num.h"
#include "fake/fake_client.h"
#include "unit/kube/informer_bench.h"

#define GONE "{\"type\":\"ERROR\",\"object\":{\"code\":410,\"reason\":\"Expired\"}}"

static void lists_then_watches(void **state)
{
	struct bench *b = *state;

	assert_false(informer_synced(b->informer));
	asks(b, "labelSelector=nodename%3Dn");
	asks(b, "resourceVersion=0");
	asks(b, "limit=500");
	fake_client_answer(b->client, 200,
			   "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{"
			   "\"name\":\"a\",\"uid\":\"u\"},\"status\":{\"address\":\"x\"}}]}");
	heard(b, " +a synced");
	assert_true(informer_synced(b->informer));
	assert_string_equal(
		((const struct pcidevice *)store_object(informer_store(b->informer), "a"))
			->status.address,
		"x");
	asks(b, "resourceVersion=5");
	asks(b, "watch=true");
	asks(b, "allowWatchBookmarks=true");
	asks(b, "labelSelector=nodename%3Dn");
	assert_true(fake_client_request(b->client)->stream);
	send_event(b, "ADDED", "b", "6");
	send_event(b, "MODIFIED", "a", "7");
	send_event(b, "DELETED", "b", "8");
	heard(b, " +b ~a -b");
}

static void pages_become_one_change(void **state)
{
	struct bench *b = *state;

	fake_client_answer(
		b->client, 200,
		"{\"metadata\":{\"resourceVersion\":\"5\",\"continue\":\"t/1\"},\"items\":[{"
		"\"metadata\":{\"name\":\"a\"}}]}");
	heard(b, "");
	assert_int_equal(store_len(informer_store(b->informer)), 0);
	asks(b, "continue=t%2F1");
	fake_client_answer(b->client, 200,
			   "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}");
	heard(b, " +a synced");
}

static void a_token_that_expires_drops_its_pages(void **state)
{
	struct bench *b = *state;

	fake_client_answer(
		b->client, 200,
		"{\"metadata\":{\"resourceVersion\":\"5\",\"continue\":\"t\"},\"items\":[{"
		"\"metadata\":{\"name\":\"a\"}}]}");
	fake_client_answer(b->client, 410, "{}");
	assert_null(strstr(fake_client_request(b->client)->path, "continue"));
	assert_null(strstr(fake_client_request(b->client)->path, "resourceVersion"));
	fake_client_answer(b->client, 200, EMPTY_LIST);
	heard(b, " synced");
	assert_int_equal(store_len(informer_store(b->informer)), 0);
}

static void deletions_missed_are_found(void **state)
{
	struct bench *b = *state;

	open_watching(b);
	send_event(b, "ADDED", "a", "6");
	send_event(b, "ADDED", "b", "7");
	fake_clock_advance(b->clock, 5000);
	fake_client_line(b->client, GONE);
	asks(b, "resourceVersion=7");
	fake_client_answer(b->client, 200,
			   "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[{\"metadata\":{"
			   "\"name\":\"b\",\"uid\":\"u\",\"resourceVersion\":\"7\"}}]}");
	heard(b, " +a +b -a");
}

static void a_recreation_is_two_changes(void **state)
{
	struct bench *b = *state;
	auto_free char *text = object("a", "other", "9");
	auto_free char *line = xasprintf("{\"type\":\"MODIFIED\",\"object\":%s}", text);

	open_watching(b);
	send_event(b, "ADDED", "a", "6");
	fake_client_line(b->client, line);
	/* The deletion of the first one, late: it is not the second's. */
	send_event(b, "DELETED", "a", "8");
	heard(b, " +a -a +a");
	assert_non_null(store_get(informer_store(b->informer), "a"));
}

static void duplicates_are_silent(void **state)
{
	struct bench *b = *state;

	open_watching(b);
	send_event(b, "ADDED", "a", "6");
	send_event(b, "ADDED", "a", "6");
	send_event(b, "DELETED", "a", "7");
	send_event(b, "DELETED", "a", "7");
	heard(b, " +a -a");
}

static void an_outage_keeps_the_version(void **state)
{
	struct bench *b = *state;

	open_watching(b);
	send_event(b, "ADDED", "a", "6");
	for (int i = 0; i < 20; i++) {
		fake_client_fail(b->client, -EIO);
		assert_int_equal(fake_client_open(b->client), 0);
		assert_in_range(fake_clock_next(b->clock), 800, 60000);
		fake_clock_advance(b->clock, fake_clock_next(b->clock));
		asks(b, "resourceVersion=6");
		asks(b, "watch=true");
	}
	heard(b, " +a");
	assert_string_equal(informer_text(b->informer), "pcidevices: watching (failed)");
}

static void a_watch_that_is_answered_ends_the_trouble(void **state)
{
	struct bench *b = *state;

	open_watching(b);
	fake_client_fail(b->client, -EIO);
	assert_string_equal(informer_text(b->informer), "pcidevices: waiting to watch (failed)");
	fake_clock_advance(b->clock, fake_clock_next(b->clock));
	assert_string_equal(informer_text(b->informer), "pcidevices: watching (failed)");
	assert_non_null(strstr(informer_error(b->informer), "no answer"));
	fake_client_begin(b->client);
	assert_string_equal(informer_text(b->informer), "pcidevices: watching");
	assert_string_equal(informer_error(b->informer), "");
	fake_client_fail(b->client, -EIO);
	assert_string_equal(informer_text(b->informer), "pcidevices: waiting to watch (failed)");
	assert_non_null(strstr(informer_error(b->informer), "no answer"));
}

static void a_watch_that_is_refused_is_allowed_again_by_what_it_brings(void **state)
{
	struct bench *b = *state;

	open_watching(b);
	fake_client_answer(b->client, 403, "{}");
	heard(b, " denied");
	fake_clock_advance(b->clock, fake_clock_next(b->clock));
	asks(b, "watch=true");
	send_event(b, "ADDED", "x", "6");
	heard(b, " +x allowed");
}

static void a_server_that_is_down_at_start_is_waited_for(void **state)
{
	struct bench *b = *state;

	fake_client_fail(b->client, -EIO);
	assert_string_equal(informer_text(b->informer), "pcidevices: waiting to list (failed)");
	fake_clock_advance(b->clock, fake_clock_next(b->clock));
	fake_client_answer_later(b->client, 429, "{}", 7000);
	assert_in_range(fake_clock_next(b->clock), 7000, 11500);
	fake_clock_advance(b->clock, fake_clock_next(b->clock));
	fake_client_answer(b->client, 403, "{}");
	heard(b, " denied");
	assert_in_range(fake_clock_next(b->clock), 5000, 7500);
	assert_false(informer_synced(b->informer));
	fake_clock_advance(b->clock, fake_clock_next(b->clock));
	fake_client_answer(b->client, 403, "{}");
	heard(b, "");
	fake_clock_advance(b->clock, fake_clock_next(b->clock));
	fake_client_answer(b->client, 200, "<html>");
	heard(b, " allowed");
	fake_clock_advance(b->clock, fake_clock_next(b->clock));
	fake_client_answer(b->client, 200, EMPTY_LIST);
	heard(b, " synced");
	assert_string_equal(informer_text(b->informer), "pcidevices: watching");
}

static void a_kind_that_is_not_installed_is_empty(void **state)
{
	struct bench *b = *state;

	fake_client_answer(b->client, 404, "{}");
	heard(b, " synced");
	assert_true(informer_synced(b->informer));
	fake_clock_advance(b->clock, fake_clock_next(b->clock));
	fake_client_answer(b->client, 404, "{}");
	heard(b, "");
	fake_clock_advance(b->clock, fake_clock_next(b->clock));
	fake_client_answer(b->client, 200, EMPTY_LIST);
	heard(b, "");
	asks(b, "watch=true");
}

static uint64_t timeout_ms(const struct bench *b)
{
	const char *at = strstr(fake_client_request(b->client)->path, "timeoutSeconds=");
	auto_free char *digits = NULL;
	uint64_t seconds = 0;

	assert_non_null(at);
	digits = xstrndup(at + strlen("timeoutSeconds="), 3);
	assert_true(str_to_u64(digits, &seconds));
	return seconds * 1000;
}

static void a_silent_watch_is_cancelled(void **state)
{
	struct bench *b = *state;

	open_watching(b);
	/* A line puts it off. */
	fake_clock_advance(b->clock, 300000);
	send_event(b, "ADDED", "a", "6");
	fake_clock_advance(b->clock, timeout_ms(b) + 30000 - 1);
	assert_int_equal(fake_client_open(b->client), 1);
	assert_int_equal(fake_client_sent(b->client), 2);
	fake_clock_advance(b->clock, 1);
	assert_int_equal(fake_client_open(b->client), 0);
	assert_string_equal(informer_text(b->informer), "pcidevices: waiting to watch (stalled)");
	fake_clock_advance(b->clock, fake_clock_next(b->clock));
	asks(b, "resourceVersion=6");
}

static void garbage_on_the_watch_leads_to_a_list(void **state)
{
	struct bench *b = *state;

	open_watching(b);
	send_event(b, "ADDED", "a", "6");
	fake_client_line(b->client, "{\"type\":");
	assert_int_equal(fake_client_open(b->client), 0);
	fake_clock_advance(b->clock, fake_clock_next(b->clock));
	assert_null(strstr(fake_client_request(b->client)->path, "watch"));
	heard(b, " +a");
}

static void an_unreadable_object_hurts_nothing_else(void **state)
{
	struct bench *b = *state;

	open_watching(b);
	fake_client_line(b->client, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\","
				    "\"resourceVersion\":\"6\"},\"status\":[]}}");
	fake_client_line(b->client, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{"
				    "\"resourceVersion\":\"7\"}}}");
	send_event(b, "ADDED", "b", "8");
	heard(b, " +a +b");
	assert_int_equal(store_unreadable(informer_store(b->informer)), 1);
	fake_clock_advance(b->clock, 5000);
	fake_client_answer(b->client, 200, "");
	asks(b, "resourceVersion=8");
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "it lists, then watches", lists_then_watches, NULL);
	suite_add(&suite, "pages become one change", pages_become_one_change, NULL);
	suite_add(&suite, "a token that expires drops its pages",
		  a_token_that_expires_drops_its_pages, NULL);
	suite_add(&suite, "deletions that were missed are found", deletions_missed_are_found, NULL);
	suite_add(&suite, "a recreation is two changes", a_recreation_is_two_changes, NULL);
	suite_add(&suite, "duplicates are silent", duplicates_are_silent, NULL);
	suite_add(&suite, "an outage keeps the version", an_outage_keeps_the_version, NULL);
	suite_add(&suite, "a watch that is answered ends the trouble",
		  a_watch_that_is_answered_ends_the_trouble, NULL);
	suite_add(&suite, "a watch that is refused is allowed again by what it brings",
		  a_watch_that_is_refused_is_allowed_again_by_what_it_brings, NULL);
	suite_add(&suite, "a server that is down at start is waited for",
		  a_server_that_is_down_at_start_is_waited_for, NULL);
	suite_add(&suite, "a kind that is not installed is empty",
		  a_kind_that_is_not_installed_is_empty, NULL);
	suite_add(&suite, "a silent watch is cancelled", a_silent_watch_is_cancelled, NULL);
	suite_add(&suite, "garbage on the watch leads to a list",
		  garbage_on_the_watch_leads_to_a_list, NULL);
	suite_add(&suite, "an unreadable object hurts nothing else",
		  an_unreadable_object_hurts_nothing_else, NULL);
	return suite_run(&suite, "informer");
}
