#include "controller/pools/pools.h"

#include <string.h>

#include "api/names.h"
#include "base/str.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/suite.h"
#include "unit/views/stage.h"

#define DEVICE "\"status\":{\"nodeName\":\"n\",\"resourceName\":\"a.b/c\"}"

#define LENT(status)                                                                  \
	"\"status\":{\"nodeName\":\"n\",\"resourceName\":\"a.b/c\",\"conditions\":[{" \
	"\"type\":\"Offered\",\"status\":\"" status "\",\"reason\":\"R\"}]}"

struct bench {
	struct stage stage;
	struct kube_client *client;
	struct fake_clock *clock;
	struct pools *pools;
	bool leads;
	char *pool; /* the name of a.b/c's */
};

static bool leads(void *arg)
{
	const struct bench *b = arg;

	return b->leads;
}

static void hear(void *arg, enum view_kind kind, const char *name, const struct entry *before,
		 const struct entry *after)
{
	struct bench *b = arg;

	pools_hear(b->pools, kind, name, before, after);
}

static void open_bench(struct bench *b)
{
	*b = (struct bench){ .client = fake_client_new(),
			     .clock = fake_clock_new(),
			     .leads = true };
	stage_open(&b->stage);
	b->stage.hear = hear;
	b->stage.arg = b;
	b->pool = names_devicepool("a.b/c");
	b->pools = pools_new(&(struct pools_deps){
		.client = b->client,
		.clock = fake_clock_as_clock(b->clock),
		.stores = b->stage.seen,
		.leads = leads,
		.arg = b,
	});
}

static void close_bench(struct bench *b)
{
	pools_free(b->pools);
	assert_int_equal(fake_client_open(b->client), 0);
	stage_close(&b->stage);
	free(b->pool);
	kube_client_free(b->client);
	fake_clock_free(b->clock);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

/* Nothing is under way any more. */
static void assert_idle(const struct bench *b)
{
	assert_int_equal(fake_client_open(b->client), 0);
}

/* The oldest request is this one; it is answered so. */
static void serve(struct bench *b, const char *method, const char *part, int status)
{
	const struct fake_request *request = fake_client_request(b->client);

	assert_string_equal(request->method, method);
	if (!strstr(request->path, part) && !strstr(request->body, part))
		fail_msg("no '%s' in %s %s", part, request->path, request->body);
	fake_client_answer(b->client, status, "{\"kind\":\"Status\"}");
	fake_clock_settle(b->clock);
}

static void assert_quiet(struct bench *b, uint64_t ms)
{
	fake_clock_advance(b->clock, ms);
	assert_int_equal(fake_client_open(b->client), 0);
}

/* As the watch tells it. */
static void put_pool(struct bench *b, const char *status)
{
	auto_free char *rest =
		xasprintf("\"spec\":{\"resourceName\":\"a.b/c\"}%s%s", *status ? "," : "", status);

	stage_put(&b->stage, VIEW_POOL, b->pool, rest);
	fake_clock_settle(b->clock);
}

#define COUNTS(devices, claimed, healthy)                                                     \
	"\"status\":{\"devices\":" #devices ",\"claimed\":" #claimed ",\"healthy\":" #healthy \
	",\"allocated\":0,\"nodes\":1,\"perNode\":[{\"nodeName\":\"n\",\"devices\":" #devices \
	",\"claimed\":" #claimed ",\"healthy\":" #healthy ",\"allocated\":0}]}"

/* A bench with one device, whose pool says so. */
static void open_settled(struct bench *b)
{
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-1", DEVICE);
	pools_look(b->pools);
	fake_clock_settle(b->clock);
	serve(b, "POST", "\"resourceName\":\"a.b/c\"", 201);
	put_pool(b, "");
	serve(b, "PATCH", COUNTS(1, 0, 0), 200);
	put_pool(b, COUNTS(1, 0, 0));
	assert_quiet(b, 60000);
}

static void a_pool_is_made_and_counted(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	assert_idle(b);
}

static void nothing_is_written_before_all_is_known(void **state)
{
	struct bench *b = *state;

	stage_put(&b->stage, VIEW_PCIDEVICE, "n-1", DEVICE);
	put_pool(b, "");
	assert_quiet(b, 60000);
	assert_idle(b);
}

static void who_does_not_lead_counts_and_writes_nothing(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	b->leads = false;
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-2", DEVICE);
	assert_quiet(b, 60000);
	b->leads = true;
	pools_look(b->pools);
	fake_clock_settle(b->clock);
	serve(b, "PATCH", COUNTS(2, 0, 0), 200);
	assert_quiet(b, 0);
	assert_idle(b);
}

static void many_changes_are_one_write_a_second_later(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	for (int i = 2; i <= 100; i++) {
		auto_free char *name = xasprintf("n-%d", i);

		stage_put(&b->stage, VIEW_PCIDEVICE, name, DEVICE);
		fake_clock_advance(b->clock, 10);
	}
	assert_quiet(b, 9); /* the first of them was 999 ms ago */
	fake_clock_advance(b->clock, 1);
	serve(b, "PATCH", COUNTS(100, 0, 0), 200);
	put_pool(b, COUNTS(100, 0, 0));
	assert_quiet(b, 60000);
	assert_idle(b);
}

static void a_change_taken_back_is_no_write(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-2", DEVICE);
	stage_remove(&b->stage, VIEW_PCIDEVICE, "n-2");
	assert_quiet(b, 60000);
	assert_idle(b);
}

static void claims_count(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	stage_put(&b->stage, VIEW_PCICLAIM, "n-1", "\"spec\":{\"nodeName\":\"n\"}");
	stage_put(&b->stage, VIEW_PCICLAIM, "n-9", "\"spec\":{\"nodeName\":\"n\"}");
	fake_clock_advance(b->clock, 1000);
	serve(b, "PATCH", COUNTS(1, 1, 0), 200);
	put_pool(b, COUNTS(1, 1, 0));
	stage_put(&b->stage, VIEW_PCICLAIM, "n-1",
		  "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":"
		  "\"Ready\"}]}");
	fake_clock_advance(b->clock, 1000);
	serve(b, "PATCH", COUNTS(1, 1, 1), 200);
	put_pool(b, COUNTS(1, 1, 1));
	pools_reach(b->pools, "n", false);
	fake_clock_advance(b->clock, 1000);
	serve(b, "PATCH", COUNTS(1, 1, 0), 200);
	assert_idle(b);
}

static void what_a_config_lends_counts_as_claimed(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-1", LENT("True"));
	fake_clock_advance(b->clock, 1000);
	serve(b, "PATCH", COUNTS(1, 1, 1), 200);
	put_pool(b, COUNTS(1, 1, 1));
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-1", LENT("False"));
	fake_clock_advance(b->clock, 1000);
	serve(b, "PATCH", COUNTS(1, 1, 0), 200);
	assert_idle(b);
}

static void a_usb_device_counts_while_it_is_claimed(void **state)
{
	struct bench *b = *state;

	pools_look(b->pools);
	stage_put(&b->stage, VIEW_USBDEVICE, "stick", DEVICE);
	assert_quiet(b, 60000);
	stage_put(&b->stage, VIEW_USBCLAIM, "stick", "");
	fake_clock_advance(b->clock, 1000);
	serve(b, "POST", "a.b/c", 201);
	put_pool(b, "");
	serve(b, "PATCH", COUNTS(1, 1, 0), 200);
	stage_remove(&b->stage, VIEW_USBCLAIM, "stick");
	fake_clock_advance(b->clock, 1000);
	serve(b, "DELETE", "u-a-b-c", 200);
	assert_idle(b);
}

static void the_last_device_takes_its_pool_with_it(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	stage_remove(&b->stage, VIEW_PCIDEVICE, "n-1");
	fake_clock_advance(b->clock, 1000);
	serve(b, "DELETE", "\"resourceVersion\"", 404);
	stage_remove(&b->stage, VIEW_POOL, b->pool);
	assert_quiet(b, 60000);
	assert_idle(b);
}

static void a_write_on_an_older_state_is_refused_and_made_again(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-2", DEVICE);
	fake_clock_advance(b->clock, 1000);
	serve(b, "PATCH", "\"resourceVersion\"", 409);
	put_pool(b, COUNTS(9, 0, 0));
	fake_clock_advance(b->clock, 1000);
	serve(b, "PATCH", COUNTS(2, 0, 0), 200);
	put_pool(b, COUNTS(2, 0, 0));
	assert_quiet(b, 60000);
	assert_idle(b);
}

static void what_others_write_is_put_right(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	put_pool(b, COUNTS(7, 7, 7));
	fake_clock_advance(b->clock, 1000);
	serve(b, "PATCH", COUNTS(1, 0, 0), 200);
	put_pool(b, COUNTS(1, 0, 0));
	stage_put(&b->stage, VIEW_POOL, "stray", "\"spec\":{\"resourceName\":\"a.b/c\"}");
	fake_clock_settle(b->clock);
	serve(b, "DELETE", "/stray", 200);
	stage_put(&b->stage, VIEW_POOL, b->pool, "\"spec\":{\"resourceName\":\"x.y/z\"}");
	fake_clock_advance(b->clock, 1000);
	serve(b, "DELETE", b->pool, 200);
	assert_idle(b);
}

static void what_is_under_way_ends_with_the_pools(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-2", DEVICE);
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-3",
		  "\"status\":{\"nodeName\":\"n\",\"resourceName\":\"x.y/z\"}");
	fake_clock_advance(b->clock, 1000);
	assert_int_equal(fake_client_open(b->client), 2);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "a pool is made and counted", a_pool_is_made_and_counted, NULL);
	suite_add(&suite, "nothing is written before all is known",
		  nothing_is_written_before_all_is_known, NULL);
	suite_add(&suite, "who does not lead counts and writes nothing",
		  who_does_not_lead_counts_and_writes_nothing, NULL);
	suite_add(&suite, "many changes are one write, a second later",
		  many_changes_are_one_write_a_second_later, NULL);
	suite_add(&suite, "a change taken back is no write", a_change_taken_back_is_no_write, NULL);
	suite_add(&suite, "claims count", claims_count, NULL);
	suite_add(&suite, "what a HostDeviceConfig lends counts as claimed",
		  what_a_config_lends_counts_as_claimed, NULL);
	suite_add(&suite, "a USB device counts while it is claimed",
		  a_usb_device_counts_while_it_is_claimed, NULL);
	suite_add(&suite, "the last device takes its pool with it",
		  the_last_device_takes_its_pool_with_it, NULL);
	suite_add(&suite, "a write on an older state is refused and made again",
		  a_write_on_an_older_state_is_refused_and_made_again, NULL);
	suite_add(&suite, "what others write is put right", what_others_write_is_put_right, NULL);
	suite_add(&suite, "what is under way ends with the pools",
		  what_is_under_way_ends_with_the_pools, NULL);
	return suite_run(&suite, "pools");
}
