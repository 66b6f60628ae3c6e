#include "kube/informer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "api/pcidevice.h"
#include "base/log.h"
#include "base/str.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "kube/store.h"
#include "unit/suite.h"

#define LIST_PATH  "/apis/devices.harvesterhci.io/v1beta1/pcidevices?"
#define EMPTY_LIST "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}"
#define GONE       "{\"type\":\"ERROR\",\"object\":{\"code\":410,\"reason\":\"Expired\"}}"

/* One informer with its surroundings; what its handlers heard goes to the log. */
struct bench {
	struct kube_client *client;
	struct fake_clock *clock;
	struct informer *informer;
	struct str log;
	bool free_on_change;
	bool stop_on_change;
};

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct bench *b = arg;

	str_addf(&b->log, " %c%s", before && after ? '~' : after ? '+' : '-', name);
	if (b->free_on_change)
		b->informer = informer_free(b->informer);
	else if (b->stop_on_change)
		informer_stop(b->informer);
}

static void on_synced(void *arg)
{
	struct bench *b = arg;

	str_add(&b->log, " synced");
}

static void open_bench(struct bench *b)
{
	*b = (struct bench){ .client = fake_client_new(), .clock = fake_clock_new() };
	b->informer =
		informer_new(&(struct informer_deps){ .client = b->client,
						      .clock = fake_clock_as_clock(b->clock) },
			     &(struct informer_spec){ .kind = &pcidevice_kind,
						      .label_selector = "nodename=n",
						      .handlers = { on_change, on_synced },
						      .arg = b });
	informer_start(b->informer);
	assert_string_equal(str_cstr(&b->log), "");
}

static void close_bench(struct bench *b)
{
	informer_free(b->informer);
	assert_int_equal(fake_client_open(b->client), 0);
	kube_client_free(b->client);
	fake_clock_free(b->clock);
	str_done(&b->log);
}

static void heard(struct bench *b, const char *log)
{
	assert_string_equal(str_cstr(&b->log), log);
	str_clear(&b->log);
}

static void asks(const struct bench *b, const char *part)
{
	const char *path = fake_client_request(b->client)->path;

	assert_int_equal(fake_client_open(b->client), 1);
	assert_int_equal(strncmp(path, LIST_PATH, strlen(LIST_PATH)), 0);
	if (!strstr(path, part))
		fail_msg("'%s' asks nothing of '%s'", path, part);
}

static char *object(const char *name, const char *uid, const char *version)
{
	return xasprintf(
		"{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":\"%s\"}}", name,
		uid, version);
}

static void send_event(struct bench *b, const char *type, const char *name, const char *version)
{
	auto_free char *text = object(name, "u", version);
	auto_free char *line = xasprintf("{\"type\":\"%s\",\"object\":%s}", type, text);

	fake_client_line(b->client, line);
}

/* A bench that watches an empty collection at version 5. */
static void open_watching(struct bench *b)
{
	open_bench(b);
	fake_client_answer(b->client, 200, EMPTY_LIST);
	heard(b, " synced");
	asks(b, "watch=true");
}

static void lists_then_watches(void **state)
{
	struct bench b;

	(void)state;
	open_bench(&b);
	assert_false(informer_synced(b.informer));
	asks(&b, "labelSelector=nodename%3Dn");
	asks(&b, "resourceVersion=0");
	asks(&b, "limit=500");
	fake_client_answer(b.client, 200,
			   "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{"
			   "\"name\":\"a\",\"uid\":\"u\"},\"status\":{\"address\":\"x\"}}]}");
	heard(&b, " +a synced");
	assert_true(informer_synced(b.informer));
	assert_string_equal(
		((const struct pcidevice *)store_object(informer_store(b.informer), "a"))
			->status.address,
		"x");
	asks(&b, "resourceVersion=5");
	asks(&b, "watch=true");
	asks(&b, "allowWatchBookmarks=true");
	asks(&b, "labelSelector=nodename%3Dn");
	assert_true(fake_client_request(b.client)->stream);
	send_event(&b, "ADDED", "b", "6");
	send_event(&b, "MODIFIED", "a", "7");
	send_event(&b, "DELETED", "b", "8");
	heard(&b, " +b ~a -b");
	close_bench(&b);
}

static void pages_become_one_change(void **state)
{
	struct bench b;

	(void)state;
	open_bench(&b);
	fake_client_answer(
		b.client, 200,
		"{\"metadata\":{\"resourceVersion\":\"5\",\"continue\":\"t/1\"},\"items\":[{"
		"\"metadata\":{\"name\":\"a\"}}]}");
	heard(&b, "");
	assert_int_equal(store_len(informer_store(b.informer)), 0);
	asks(&b, "continue=t%2F1");
	fake_client_answer(b.client, 200,
			   "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}");
	heard(&b, " +a synced");
	close_bench(&b);
}

static void a_token_that_expires_drops_its_pages(void **state)
{
	struct bench b;

	(void)state;
	open_bench(&b);
	fake_client_answer(
		b.client, 200,
		"{\"metadata\":{\"resourceVersion\":\"5\",\"continue\":\"t\"},\"items\":[{"
		"\"metadata\":{\"name\":\"a\"}}]}");
	fake_client_answer(b.client, 410, "{}");
	assert_null(strstr(fake_client_request(b.client)->path, "continue"));
	assert_null(strstr(fake_client_request(b.client)->path, "resourceVersion"));
	fake_client_answer(b.client, 200, EMPTY_LIST);
	heard(&b, " synced");
	assert_int_equal(store_len(informer_store(b.informer)), 0);
	close_bench(&b);
}

static void deletions_missed_are_found(void **state)
{
	struct bench b;

	(void)state;
	open_watching(&b);
	send_event(&b, "ADDED", "a", "6");
	send_event(&b, "ADDED", "b", "7");
	fake_clock_advance(b.clock, 5000);
	fake_client_line(b.client, GONE);
	asks(&b, "resourceVersion=7");
	fake_client_answer(b.client, 200,
			   "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[{\"metadata\":{"
			   "\"name\":\"b\",\"uid\":\"u\",\"resourceVersion\":\"7\"}}]}");
	heard(&b, " +a +b -a");
	close_bench(&b);
}

static void a_recreation_is_two_changes(void **state)
{
	struct bench b;
	auto_free char *text = object("a", "other", "9");
	auto_free char *line = xasprintf("{\"type\":\"MODIFIED\",\"object\":%s}", text);

	(void)state;
	open_watching(&b);
	send_event(&b, "ADDED", "a", "6");
	fake_client_line(b.client, line);
	/* The deletion of the first one, late: it is not the second's. */
	send_event(&b, "DELETED", "a", "8");
	heard(&b, " +a -a +a");
	assert_non_null(store_get(informer_store(b.informer), "a"));
	close_bench(&b);
}

static void duplicates_are_silent(void **state)
{
	struct bench b;

	(void)state;
	open_watching(&b);
	send_event(&b, "ADDED", "a", "6");
	send_event(&b, "ADDED", "a", "6");
	send_event(&b, "DELETED", "a", "7");
	send_event(&b, "DELETED", "a", "7");
	heard(&b, " +a -a");
	close_bench(&b);
}

static void an_outage_keeps_the_version(void **state)
{
	struct bench b;

	(void)state;
	open_watching(&b);
	send_event(&b, "ADDED", "a", "6");
	for (int i = 0; i < 20; i++) {
		fake_client_fail(b.client, -EIO);
		assert_int_equal(fake_client_open(b.client), 0);
		assert_in_range(fake_clock_next(b.clock), 800, 60000);
		fake_clock_advance(b.clock, fake_clock_next(b.clock));
		asks(&b, "resourceVersion=6");
		asks(&b, "watch=true");
	}
	heard(&b, " +a");
	assert_string_equal(informer_text(b.informer), "pcidevices: watching (failed)");
	close_bench(&b);
}

static void a_server_that_is_down_at_start_is_waited_for(void **state)
{
	struct bench b;

	(void)state;
	open_bench(&b);
	fake_client_fail(b.client, -EIO);
	assert_string_equal(informer_text(b.informer), "pcidevices: waiting to list (failed)");
	fake_clock_advance(b.clock, fake_clock_next(b.clock));
	fake_client_answer_later(b.client, 429, "{}", 7000);
	assert_in_range(fake_clock_next(b.clock), 7000, 11500);
	fake_clock_advance(b.clock, fake_clock_next(b.clock));
	fake_client_answer(b.client, 403, "{}");
	assert_in_range(fake_clock_next(b.clock), 30000, 45000);
	assert_false(informer_synced(b.informer));
	fake_clock_advance(b.clock, fake_clock_next(b.clock));
	fake_client_answer(b.client, 200, "<html>");
	fake_clock_advance(b.clock, fake_clock_next(b.clock));
	fake_client_answer(b.client, 200, EMPTY_LIST);
	heard(&b, " synced");
	assert_string_equal(informer_text(b.informer), "pcidevices: watching");
	close_bench(&b);
}

static void a_kind_that_is_not_installed_is_empty(void **state)
{
	struct bench b;

	(void)state;
	open_bench(&b);
	fake_client_answer(b.client, 404, "{}");
	heard(&b, " synced");
	assert_true(informer_synced(b.informer));
	fake_clock_advance(b.clock, fake_clock_next(b.clock));
	fake_client_answer(b.client, 404, "{}");
	heard(&b, "");
	fake_clock_advance(b.clock, fake_clock_next(b.clock));
	fake_client_answer(b.client, 200, EMPTY_LIST);
	heard(&b, "");
	asks(&b, "watch=true");
	close_bench(&b);
}

static void a_silent_watch_is_cancelled(void **state)
{
	struct bench b;

	(void)state;
	open_watching(&b);
	/* Lines put it off. */
	fake_clock_advance(b.clock, 300000);
	send_event(&b, "ADDED", "a", "6");
	fake_clock_advance(b.clock, 329000);
	assert_int_equal(fake_client_open(b.client), 1);
	fake_clock_advance(b.clock, 302000);
	assert_int_equal(fake_client_sent(b.client), 3);
	asks(&b, "resourceVersion=6");
	close_bench(&b);
}

static void garbage_on_the_watch_leads_to_a_list(void **state)
{
	struct bench b;

	(void)state;
	open_watching(&b);
	send_event(&b, "ADDED", "a", "6");
	fake_client_line(b.client, "{\"type\":");
	assert_int_equal(fake_client_open(b.client), 0);
	fake_clock_advance(b.clock, fake_clock_next(b.clock));
	assert_null(strstr(fake_client_request(b.client)->path, "watch"));
	heard(&b, " +a");
	close_bench(&b);
}

static void an_unreadable_object_hurts_nothing_else(void **state)
{
	struct bench b;

	(void)state;
	open_watching(&b);
	fake_client_line(b.client, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\","
				   "\"resourceVersion\":\"6\"},\"status\":[]}}");
	fake_client_line(b.client, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{"
				   "\"resourceVersion\":\"7\"}}}");
	send_event(&b, "ADDED", "b", "8");
	heard(&b, " +a +b");
	assert_int_equal(store_unreadable(informer_store(b.informer)), 1);
	fake_clock_advance(b.clock, 5000);
	fake_client_answer(b.client, 200, "");
	asks(&b, "resourceVersion=8");
	close_bench(&b);
}

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
	const struct leave_case *row = *state;
	struct bench b;

	open_bench(&b);
	b.free_on_change = row->by_free;
	b.stop_on_change = !row->by_free;
	if (!row->in_list)
		fake_client_answer(b.client, 200, EMPTY_LIST);
	str_clear(&b.log);
	if (row->in_list)
		fake_client_answer(
			b.client, 200,
			"{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{"
			"\"name\":\"a\"}},{\"metadata\":{\"name\":\"b\"}}]}");
	else
		send_event(&b, "ADDED", "a", "6");
	assert_int_equal(count(str_cstr(&b.log), '+'), row->additions);
	assert_int_equal(fake_client_open(b.client), 0);
	assert_int_equal(fake_clock_next(b.clock), UINT64_MAX);
	close_bench(&b);
}

static void a_stopped_one_may_start_again(void **state)
{
	struct bench b;

	(void)state;
	open_watching(&b);
	send_event(&b, "ADDED", "a", "6");
	informer_stop(b.informer);
	assert_int_equal(fake_client_open(b.client), 0);
	informer_start(b.informer);
	fake_client_answer(b.client, 200, EMPTY_LIST);
	heard(&b, " +a -a");
	close_bench(&b);
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_add(&suite, "it lists, then watches", lists_then_watches, NULL);
	suite_add(&suite, "pages become one change", pages_become_one_change, NULL);
	suite_add(&suite, "a token that expires drops its pages",
		  a_token_that_expires_drops_its_pages, NULL);
	suite_add(&suite, "deletions that were missed are found", deletions_missed_are_found, NULL);
	suite_add(&suite, "a recreation is two changes", a_recreation_is_two_changes, NULL);
	suite_add(&suite, "duplicates are silent", duplicates_are_silent, NULL);
	suite_add(&suite, "an outage keeps the version", an_outage_keeps_the_version, NULL);
	suite_add(&suite, "a server that is down at start is waited for",
		  a_server_that_is_down_at_start_is_waited_for, NULL);
	suite_add(&suite, "a kind that is not installed is empty",
		  a_kind_that_is_not_installed_is_empty, NULL);
	suite_add(&suite, "a silent watch is cancelled", a_silent_watch_is_cancelled, NULL);
	suite_add(&suite, "garbage on the watch leads to a list",
		  garbage_on_the_watch_leads_to_a_list, NULL);
	suite_add(&suite, "an unreadable object hurts nothing else",
		  an_unreadable_object_hurts_nothing_else, NULL);
	suite_rows(&suite, leaves, a_handler_may_end_it);
	suite_add(&suite, "a stopped one may start again", a_stopped_one_may_start_again, NULL);
	return suite_run(&suite, "informer");
}
