#include "controller/pools/pools.h"

#include <string.h>

#include "api/names.h"
#include "base/str.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "kube/informer.h"
#include "unit/cache/stage.h"
#include "unit/kube/random_life.h"
#include "unit/suite.h"

#define DEVICE "\"status\":{\"nodeName\":\"n\",\"resourceName\":\"a.b/c\"}"

#define LENT(status)                                                                  \
	"\"status\":{\"nodeName\":\"n\",\"resourceName\":\"a.b/c\",\"conditions\":[{" \
	"\"type\":\"Offered\",\"status\":\"" status "\",\"reason\":\"R\"}]}"

struct bench {
	struct stage stage; /* of devices and claims */
	struct fake_server *server;
	struct fake_clock *clock;
	struct informer *informer;
	struct pools *pools;
	bool follows; /* another replica leads */
	char *pool;   /* the name of a.b/c's   */
};

static bool leads(void *arg)
{
	const struct bench *b = arg;

	return !b->follows;
}

static void on_change(void *arg, enum view_kind kind, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct bench *b = arg;

	pools_on_change(b->pools, kind, name, before, after);
}

static void on_pool(void *arg, const char *name, const struct entry *before,
		    const struct entry *after)
{
	on_change(arg, VIEW_POOL, name, before, after);
}

/* Everything is served and shown at once. */
static void settle(struct bench *b)
{
	do {
		fake_clock_settle(b->clock);
	} while (fake_server_serve(b->server, FAULT_NONE) || fake_server_show(b->server, 9));
}

static void run(struct bench *b, uint64_t ms)
{
	settle(b);
	for (uint64_t gone = 0; gone < ms; gone += 10) {
		fake_clock_advance(b->clock, ms - gone < 10 ? ms - gone : 10);
		settle(b);
	}
}

static void open_bench(struct bench *b)
{
	struct clock *clock;

	*b = (struct bench){ .clock = fake_clock_new(), .pool = names_devicepool("a.b/c") };
	clock = fake_clock_as_clock(b->clock);
	stage_open(&b->stage);
	b->stage.hear = on_change;
	b->stage.arg = b;
	b->server = fake_server_new(&b->stage.kinds[VIEW_POOL]);
	b->informer = informer_new(
		&(struct informer_deps){ .client = fake_server_client(b->server), .clock = clock },
		&(struct informer_spec){ .kind = &b->stage.kinds[VIEW_POOL],
					 .handlers = { .on_change = on_pool },
					 .arg = b });
	b->pools = pools_new(&(struct pools_deps){
		.client = fake_server_client(b->server),
		.clock = clock,
		.stores = b->stage.seen,
		.pools = b->informer,
		.leads = leads,
		.arg = b,
	});
	informer_start(b->informer);
	settle(b);
}

static void close_bench(struct bench *b)
{
	pools_free(b->pools);
	informer_free(b->informer);
	assert_int_equal(fake_client_open(fake_server_client(b->server)), 0);
	stage_close(&b->stage);
	kube_client_free(fake_server_client(b->server));
	fake_server_free(b->server);
	free(b->pool);
	fake_clock_free(b->clock);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

static int count(const json_t *object, const char *key)
{
	return (int)json_integer_value(json_object_get(object, key));
}

/* These requests have been made, in which $ is the pool. */
static void assert_log(struct bench *b, const char *wanted)
{
	auto_str struct str text = STR_INIT;

	for (const char *c = wanted; *c; c++) {
		if (*c == '$')
			str_add(&text, b->pool);
		else
			str_add_mem(&text, c, 1);
	}
	assert_string_equal(fake_server_log(b->server), str_cstr(&text));
}

/* Its only node has as many. */
static void assert_counts(struct bench *b, int devices, int claimed, int healthy)
{
	const json_t *status = json_object_get(fake_server_get(b->server, b->pool), "status");
	const json_t *node = json_array_get(json_object_get(status, "perNode"), 0);

	assert_int_equal(count(status, "nodes"), 1);
	assert_string_equal(json_string_value(json_object_get(node, "nodeName")), "n");
	for (int i = 0; i < 2; i++, status = node) {
		assert_int_equal(count(status, "devices"), devices);
		assert_int_equal(count(status, "claimed"), claimed);
		assert_int_equal(count(status, "healthy"), healthy);
		assert_int_equal(count(status, "allocated"), 0);
	}
}

/* A bench with one device, whose pool says so. */
static void open_settled(struct bench *b)
{
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-1", DEVICE);
	pools_enqueue_all(b->pools);
	settle(b);
	assert_log(b, "POST|PATCH $/status|");
	assert_counts(b, 1, 0, 0);
	run(b, 10000);
	assert_log(b, "");
}

static void a_pool_is_made_and_counted(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	assert_string_equal(fake_server_text(b->server, b->pool, "spec.resourceName"), "a.b/c");
}

static void nothing_is_written_before_all_is_known(void **state)
{
	struct bench *b = *state;

	stage_put(&b->stage, VIEW_PCIDEVICE, "n-1", DEVICE);
	fake_server_write(b->server, b->pool, "{'spec':{'resourceName':'a.b/c'}}");
	run(b, 10000);
	assert_log(b, "");
}

static void who_does_not_lead_counts_and_writes_nothing(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	b->follows = true;
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-2", DEVICE);
	fake_server_write(b->server, "stray", "{'spec':{'resourceName':'x.y/z'}}");
	run(b, 10000);
	assert_log(b, "");
	b->follows = false;
	pools_enqueue_all(b->pools);
	settle(b);
	assert_log(b, "PATCH $/status|DELETE stray|");
	assert_counts(b, 2, 0, 0);
}

static void many_changes_are_one_write_a_second_later(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	for (int i = 2; i <= 100; i++) {
		auto_free char *name = xasprintf("n-%d", i);

		stage_put(&b->stage, VIEW_PCIDEVICE, name, DEVICE);
		run(b, 10);
	}
	run(b, 9);
	assert_log(b, ""); /* the first of them was 999 ms ago */
	run(b, 1);
	assert_log(b, "PATCH $/status|");
	assert_counts(b, 100, 0, 0);
	run(b, 10000);
	assert_log(b, "");
}

/* What the watch shows of a write is no reason to write again before the second is over. */
static void a_pool_that_changes_all_the_time_is_written_once_a_second(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	for (int i = 0; i < 500; i++) {
		auto_free char *name = xasprintf("n-%d", 2 + i);

		stage_put(&b->stage, VIEW_PCIDEVICE, name, DEVICE);
		(void)fake_server_show(b->server, 9);
		fake_clock_advance(b->clock, 10);
		(void)fake_server_serve(b->server, FAULT_NONE);
	}
	assert_in_range(strlen(fake_server_log(b->server)), 1,
			5 * (strlen(b->pool) + strlen("PATCH /status|")));
}

static void a_change_taken_back_is_no_write(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-2", DEVICE);
	stage_remove(&b->stage, VIEW_PCIDEVICE, "n-2");
	run(b, 10000);
	assert_log(b, "");
}

static void assert_written(struct bench *b, int devices, int claimed, int healthy)
{
	run(b, 990);
	assert_log(b, "");
	run(b, 10);
	assert_log(b, "PATCH $/status|");
	assert_counts(b, devices, claimed, healthy);
}

static void claims_count(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	stage_put(&b->stage, VIEW_PCICLAIM, "n-1", "\"spec\":{\"nodeName\":\"n\"}");
	stage_put(&b->stage, VIEW_PCICLAIM, "n-9", "\"spec\":{\"nodeName\":\"n\"}");
	assert_written(b, 1, 1, 0);
	stage_put(&b->stage, VIEW_PCICLAIM, "n-1",
		  "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":"
		  "\"Ready\"}]}");
	run(b, 2000);
	assert_log(b, "PATCH $/status|");
	assert_counts(b, 1, 1, 1);
	pools_set_reachable(b->pools, "n", false);
	assert_written(b, 1, 1, 0);
}

static void what_a_config_lends_counts_as_claimed(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-1", LENT("True"));
	assert_written(b, 1, 1, 1);
	run(b, 2000);
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-1", LENT("False"));
	assert_written(b, 1, 1, 0);
}

static void a_usb_device_counts_while_it_is_claimed(void **state)
{
	struct bench *b = *state;

	pools_enqueue_all(b->pools);
	stage_put(&b->stage, VIEW_USBDEVICE, "stick", DEVICE);
	run(b, 10000);
	assert_log(b, "");
	stage_put(&b->stage, VIEW_USBCLAIM, "stick", "");
	run(b, 1000);
	assert_log(b, "POST|PATCH $/status|");
	assert_counts(b, 1, 1, 0);
	stage_remove(&b->stage, VIEW_USBCLAIM, "stick");
	run(b, 1000);
	assert_log(b, "DELETE $|");
}

static void the_last_device_takes_its_pool_with_it(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	stage_remove(&b->stage, VIEW_PCIDEVICE, "n-1");
	run(b, 1000);
	assert_log(b, "DELETE $|");
	assert_null(fake_server_get(b->server, b->pool));
	run(b, 10000);
	assert_log(b, "");
}

/* Somebody's finalizer is on it. */
static void a_pool_that_is_being_deleted_is_left_alone(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	fake_server_write(b->server, b->pool, "{'metadata':{'finalizers':['x.y/z']}}");
	run(b, 2000);
	stage_remove(&b->stage, VIEW_PCIDEVICE, "n-1");
	run(b, 10000);
	assert_log(b, "DELETE $|");
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-1", DEVICE);
	run(b, 10000);
	assert_log(b, "");
	fake_server_write(b->server, b->pool, "{'metadata':{'finalizers':[]}}");
	run(b, 10000);
	assert_log(b, "POST|PATCH $/status|");
	assert_counts(b, 1, 0, 0);
}

static void a_write_on_an_older_state_is_refused_and_made_again(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-2", DEVICE);
	fake_clock_advance(b->clock, 1000);
	fake_server_write(b->server, b->pool, "{'metadata':{'labels':{'a':'b'}}}");
	assert_true(fake_server_serve(b->server, FAULT_NONE)); /* a conflict */
	assert_log(b, "PATCH $/status|");
	run(b, 1000);
	assert_log(b, "PATCH $/status|");
	assert_counts(b, 2, 0, 0);
	run(b, 10000);
	assert_log(b, "");
}

static void what_others_write_is_put_right(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	fake_server_write(b->server, "stray", "{'spec':{'resourceName':'a.b/c'}}");
	run(b, 1000);
	assert_log(b, "DELETE stray|");
	fake_server_write(b->server, b->pool, "{'spec':{'resourceName':'x.y/z'}}");
	run(b, 1000);
	assert_log(b, "DELETE $|POST|PATCH $/status|");
	run(b, 2000);
	fake_server_delete(b->server, b->pool);
	run(b, 1000);
	assert_log(b, "POST|PATCH $/status|");
	assert_counts(b, 1, 0, 0);
}

static void what_is_under_way_ends_with_the_pools(void **state)
{
	struct bench *b = *state;

	open_settled(b);
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-2", DEVICE);
	stage_put(&b->stage, VIEW_PCIDEVICE, "n-3",
		  "\"status\":{\"nodeName\":\"n\",\"resourceName\":\"x.y/z\"}");
	fake_clock_advance(b->clock, 1000);
	assert_int_equal(fake_client_open(fake_server_client(b->server)), 3); /* and the watch */
}

/* --- random lives ----------------------------------------------------------------------------- */

enum { DEVICES = 3 };

static void *life_open(struct random_world *world)
{
	struct bench *b = xcalloc(1, sizeof(*b));

	open_bench(b);
	*world = (struct random_world){ .server = b->server, .clock = b->clock };
	return b;
}

static void life_close(void *arg)
{
	close_bench(arg);
	free(arg);
}

static void something(void *arg, uint64_t *seed)
{
	static const char *const texts[] = { DEVICE, LENT("True"), LENT("False") };
	struct bench *b = arg;
	auto_free char *device = xasprintf("n-%d", (int)(suite_random(seed) % DEVICES));

	switch (suite_random(seed) % 8) {
	case 0:
		b->follows = suite_random(seed) % 2;
		pools_enqueue_all(b->pools);
		return;
	case 1:
		fake_server_delete(b->server, b->pool);
		return;
	case 2:
		if (fake_server_get(b->server, b->pool))
			fake_server_write_status(b->server, b->pool, "{'devices':9}");
		return;
	case 3:
	case 4:
		if (store_get(b->stage.stores[VIEW_PCIDEVICE], device))
			stage_remove(&b->stage, VIEW_PCIDEVICE, device);
		return;
	default:
		stage_put(&b->stage, VIEW_PCIDEVICE, device,
			  texts[suite_random(seed) % ARRAY_LEN(texts)]);
		return;
	}
}

static void end_well(void *arg)
{
	struct bench *b = arg;

	b->follows = false;
	pools_enqueue_all(b->pools);
}

static void assert_end(void *arg)
{
	const struct bench *b = arg;
	const json_t *pool = fake_server_get(b->server, b->pool);
	size_t devices = 0;

	for (int i = 0; i < DEVICES; i++) {
		auto_free char *device = xasprintf("n-%d", i);

		devices += store_get(b->stage.stores[VIEW_PCIDEVICE], device) != NULL;
	}
	assert_int_equal(pool != NULL, devices > 0);
	if (pool)
		assert_int_equal(count(json_object_get(pool, "status"), "devices"), devices);
}

static const struct random_kind lives = {
	.name = "DevicePools",
	.open = life_open,
	.close = life_close,
	.something = something,
	.end_well = end_well,
	.assert_end = assert_end,
};

int main(void)
{
	struct suite suite = { 0 };

	random_lives(&suite, &lives, 30);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "a pool is made and counted", a_pool_is_made_and_counted, NULL);
	suite_add(&suite, "nothing is written before all is known",
		  nothing_is_written_before_all_is_known, NULL);
	suite_add(&suite, "who does not lead counts and writes nothing",
		  who_does_not_lead_counts_and_writes_nothing, NULL);
	suite_add(&suite, "many changes are one write, a second later",
		  many_changes_are_one_write_a_second_later, NULL);
	suite_add(&suite, "a pool that changes all the time is written once a second",
		  a_pool_that_changes_all_the_time_is_written_once_a_second, NULL);
	suite_add(&suite, "a change taken back is no write", a_change_taken_back_is_no_write, NULL);
	suite_add(&suite, "claims count", claims_count, NULL);
	suite_add(&suite, "what a HostDeviceConfig lends counts as claimed",
		  what_a_config_lends_counts_as_claimed, NULL);
	suite_add(&suite, "a USB device counts while it is claimed",
		  a_usb_device_counts_while_it_is_claimed, NULL);
	suite_add(&suite, "the last device takes its pool with it",
		  the_last_device_takes_its_pool_with_it, NULL);
	suite_add(&suite, "a pool that is being deleted is left alone",
		  a_pool_that_is_being_deleted_is_left_alone, NULL);
	suite_add(&suite, "a write on an older state is refused and made again",
		  a_write_on_an_older_state_is_refused_and_made_again, NULL);
	suite_add(&suite, "what others write is put right", what_others_write_is_put_right, NULL);
	suite_add(&suite, "what is under way ends with the pools",
		  what_is_under_way_ends_with_the_pools, NULL);
	return suite_run(&suite, "pools");
}
