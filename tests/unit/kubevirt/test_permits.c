/* permits: when a KubeVirt is read and written, and what comes of the answers. */
#include "controller/kubevirt/permits.h"

#include "controller/kubevirt/permit_plan.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "unit/captured.h"
#include "unit/kube/random_life.h"
#include "unit/kubevirt/kubevirt_scene.h"

#define NIC    "\"status\":{\"resourceName\":\"i.com/x\",\"vendorId\":\"8086\",\"deviceId\":\"10d3\"}"
#define THEIRS "'pciHostDevices':[{'pciVendorSelector':'1:2','resourceName':'t.com/t'}]"
#define OURS                                                                                       \
	"{\"externalResourceProvider\":true,\"pciVendorSelector\":\"8086:10d3\",\"resourceName\":" \
	"\"i.com/x\"}"
#define ANNOTATION "{\"pciHostDevices\":[\"8086:10d3=i.com/x\"]}"
#define READ       "GET kubevirts/kv|"
#define WRITE      "PATCH kubevirts/kv|"

struct bench {
	struct kubevirt_scene scene;
	struct permits *permits;
};

static void on_kubevirt(void *arg, const char *name, const struct entry *before,
			const struct entry *after)
{
	struct bench *b = arg;

	(void)before;
	(void)after;
	permits_on_change(b->permits, name);
}

/* A user writes these lists. */
static void permit(struct bench *b, const char *permitted)
{
	auto_free char *text = xasprintf("{'metadata':{'namespace':'d'},'spec':{'configuration':{"
					 "'permittedHostDevices':{%s}}}}",
					 permitted);

	fake_server_write(b->scene.kubevirts, "kv", text);
}

static void ignore_change(void *arg, const struct entry *before, const struct entry *after)
{
	(void)arg;
	(void)before;
	(void)after;
}

/* Of the whole cluster, so that its name is bare. */
static void put_config(struct bench *b, const char *spec)
{
	auto_free char *text = xasprintf(
		"{\"metadata\":{\"name\":\"default\",\"uid\":\"c\",\"resourceVersion\":\"1\"},\"spec\":{%s}}",
		spec);
	struct json_text json = { text, strlen(text) };

	store_put(b->scene.config, entry_decode(&hostdeviceconfig_kind, &json, NULL), ignore_change,
		  NULL);
}

/* With one claimed device. */
static void open_bench(struct bench *b)
{
	scene_open(&b->scene);
	b->permits = permits_new(&b->scene.env);
	b->scene.on_change = on_kubevirt;
	b->scene.arg = b;
	stage_put(&b->scene.stage, VIEW_PCIDEVICE, "n-1", NIC);
	stage_put(&b->scene.stage, VIEW_PCICLAIM, "n-1", "");
}

static void close_bench(struct bench *b)
{
	permits_free(b->permits);
	scene_close(&b->scene);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

static const json_t *configuration(const struct bench *b)
{
	const json_t *spec = json_object_get(fake_server_get(b->scene.kubevirts, "kv"), "spec");

	return json_object_get(spec, "configuration");
}

static size_t entries(const struct bench *b)
{
	const json_t *lists = json_object_get(configuration(b), "permittedHostDevices");

	return json_array_size(json_object_get(lists, "pciHostDevices"));
}

/* The last entry is ours, after @others, and the annotation says so. */
static void assert_ours(const struct bench *b, size_t others)
{
	const json_t *kubevirt = fake_server_get(b->scene.kubevirts, "kv");
	const json_t *notes = json_object_get(json_object_get(kubevirt, "metadata"), "annotations");
	const json_t *lists = json_object_get(configuration(b), "permittedHostDevices");
	const json_t *last = json_array_get(json_object_get(lists, "pciHostDevices"), others);
	auto_json json_t *ours = json_loads(OURS, 0, NULL);

	assert_int_equal(entries(b), others + 1);
	assert_true(json_equal(last, ours));
	assert_string_equal(json_string_value(json_object_get(notes, PERMIT_ANNOTATION)),
			    ANNOTATION);
}

static void an_entry_is_added_on_the_state_that_was_read(void **state)
{
	struct bench *b = *state;

	permit(b, THEIRS);
	scene_quiet(&b->scene, KUBEVIRT_QUIET_MS - 1);
	scene_run(&b->scene, 1);
	scene_assert_log(&b->scene, READ WRITE);
	assert_ours(b, 1);
	scene_run(&b->scene, 60000);
	scene_assert_log(&b->scene, READ); /* since it has changed */
}

static void what_is_as_it_should_be_is_not_written(void **state)
{
	struct bench *b = *state;

	permit(b, "'pciHostDevices':[" OURS "]");
	scene_run(&b->scene, 60000);
	scene_assert_log(&b->scene, READ);
	permits_enqueue_all(b->permits);
	scene_run(&b->scene, 60000);
	scene_assert_log(&b->scene, READ);
}

static void many_changes_are_one_write(void **state)
{
	struct bench *b = *state;

	permit(b, "");
	for (int i = 0; i < 50; i++) {
		scene_run(&b->scene, 10);
		permits_enqueue_all(b->permits);
	}
	scene_quiet(&b->scene, KUBEVIRT_QUIET_MS - 501);
	scene_run(&b->scene, 1);
	scene_assert_log(&b->scene, READ WRITE);
}

static void a_conflict_is_read_and_planned_anew(void **state)
{
	struct bench *b = *state;

	permit(b, "");
	scene_show(&b->scene);
	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	assert_true(fake_server_serve(b->scene.kubevirts, FAULT_NONE));
	permit(b, THEIRS);
	assert_true(fake_server_serve(b->scene.kubevirts, FAULT_NONE));
	scene_assert_log(&b->scene, READ WRITE);
	assert_int_equal(entries(b), 1);
	scene_run(&b->scene, 10000);
	scene_assert_log(&b->scene, READ WRITE READ);
	assert_ours(b, 1);
}

static void a_kubevirt_that_is_gone_is_no_trouble(void **state)
{
	struct bench *b = *state;

	permit(b, "");
	scene_show(&b->scene);
	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	fake_server_delete(b->scene.kubevirts, "kv");
	assert_true(fake_server_serve(b->scene.kubevirts, FAULT_NONE));
	scene_run(&b->scene, 60000);
	scene_assert_log(&b->scene, READ);
	permits_enqueue(b->permits, "d/kv");
	scene_quiet(&b->scene, 60000);
}

static void one_that_is_about_to_go_is_left_alone(void **state)
{
	struct bench *b = *state;

	permit(b, "");
	fake_server_write(b->scene.kubevirts, "kv", "{'metadata':{'finalizers':['x/y']}}");
	scene_show(&b->scene);
	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	fake_server_delete(b->scene.kubevirts, "kv");
	scene_run(&b->scene, 60000);
	scene_assert_log(&b->scene, READ);
	permits_enqueue_all(b->permits);
	scene_quiet(&b->scene, 60000);
}

static void who_does_not_lead_reads_and_writes_nothing(void **state)
{
	struct bench *b = *state;

	b->scene.follows = true;
	permit(b, "");
	scene_quiet(&b->scene, 60000);
	b->scene.follows = false;
	permits_enqueue_all(b->permits);
	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	b->scene.follows = true; /* while it is read */
	scene_run(&b->scene, 60000);
	scene_assert_log(&b->scene, READ);
}

static void nothing_is_taken_away_while_a_kind_is_away(void **state)
{
	struct bench *b = *state;

	b->scene.unready = true;
	permit(b, "");
	scene_quiet(&b->scene, 60000);
	b->scene.unready = false;
	fake_clock_advance(b->scene.clock, 10000);
	b->scene.unready = true; /* while it is read */
	scene_run(&b->scene, 60000);
	scene_assert_log(&b->scene, READ);
	b->scene.unready = false;
	scene_run(&b->scene, 10000);
	assert_ours(b, 0);
}

static void asked_to_it_makes_permitted_host_devices(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->scene.kubevirts, "kv", "{'metadata':{'namespace':'d'},'spec':{}}");
	scene_run(&b->scene, 60000);
	scene_assert_log(&b->scene, READ);
	b->scene.env.create = true;
	permits_enqueue_all(b->permits);
	scene_run(&b->scene, KUBEVIRT_QUIET_MS);
	scene_assert_log(&b->scene, READ WRITE);
	assert_int_equal(entries(b), 1);
}

static void the_configuration_counts(void **state)
{
	struct bench *b = *state;
	const json_t *lists;

	stage_remove(&b->scene.stage, VIEW_PCICLAIM, "n-1");
	put_config(
		b,
		"\"pciHostDevices\":[{\"resourceName\":\"c.com/c\",\"pciVendorSelector\":\"1:1\"}]");
	permit(b, "");
	scene_run(&b->scene, KUBEVIRT_QUIET_MS);
	scene_assert_log(&b->scene, READ WRITE);
	lists = json_object_get(configuration(b), "permittedHostDevices");
	lists = json_array_get(json_object_get(lists, "pciHostDevices"), 0);
	assert_string_equal(json_string_value(json_object_get(lists, "resourceName")), "c.com/c");
}

/* An entry of somebody else has KubeVirt serve what is offered. */
static void a_clash_is_logged_once(void **state)
{
	struct bench *b = *state;
	struct captured captured;
	auto_free char *text = NULL;
	const char *at;

	permit(b, "'pciHostDevices':[{'pciVendorSelector':'8086:10d3','resourceName':'i.com/x'}]");
	log_set_level(LOG_WARN);
	captured_begin(&captured);
	for (int i = 0; i < 3; i++) {
		scene_run(&b->scene, 2UL * KUBEVIRT_QUIET_MS);
		permits_enqueue_all(b->permits);
	}
	text = captured_end(&captured);
	log_set_level(LOG_ERROR);
	scene_assert_log(&b->scene, READ READ READ);
	at = strstr(text, "KubeVirt serves a resource");
	assert_non_null(at);
	assert_non_null(strstr(at, "kubevirt=d/kv resource=i.com/x"));
	assert_null(strstr(at + 1, "KubeVirt serves a resource"));
}

static void what_is_under_way_ends_with_it(void **state)
{
	struct bench *b = *state;

	permit(b, "");
	scene_show(&b->scene);
	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	assert_true(fake_client_choose_call(fake_server_client(b->scene.kubevirts)));
}

/* --- random lives ----------------------------------------------------------------------------- */

static void *life_open(struct random_world *world)
{
	struct bench *b = xcalloc(1, sizeof(*b));

	open_bench(b);
	*world = (struct random_world){ .server = b->scene.kubevirts, .clock = b->scene.clock };
	return b;
}

static void life_close(void *arg)
{
	close_bench(arg);
	free(arg);
}

static void something(void *arg, uint64_t *seed)
{
	struct bench *b = arg;

	switch (suite_random(seed) % 8) {
	case 0:
		b->scene.follows = suite_random(seed) % 3 == 0;
		b->scene.unready = suite_random(seed) % 3 == 0;
		permits_enqueue_all(b->permits);
		return;
	case 1:
		fake_server_delete(b->scene.kubevirts, "kv");
		return;
	case 2:
		if (store_get(b->scene.stage.stores[VIEW_PCICLAIM], "n-1"))
			stage_remove(&b->scene.stage, VIEW_PCICLAIM, "n-1");
		permits_enqueue_all(b->permits);
		return;
	case 3:
		stage_put(&b->scene.stage, VIEW_PCICLAIM, "n-1", "");
		permits_enqueue_all(b->permits);
		return;
	default:
		permit(b, suite_random(seed) % 2 ? THEIRS : "");
		return;
	}
}

static void end_well(void *arg)
{
	struct bench *b = arg;

	b->scene.follows = b->scene.unready = false;
	stage_put(&b->scene.stage, VIEW_PCICLAIM, "n-1", "");
	if (!fake_server_get(b->scene.kubevirts, "kv"))
		permit(b, "");
	permits_enqueue_all(b->permits);
}

static void assert_end(void *arg)
{
	const struct bench *b = arg;

	assert_in_range(entries(b), 1, 2);
	assert_ours(b, entries(b) - 1);
}

static const struct random_kind lives = {
	.name = "KubeVirts",
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
	suite_add(&suite, "an entry is added, on the state that was read",
		  an_entry_is_added_on_the_state_that_was_read, NULL);
	suite_add(&suite, "what is as it should be is not written",
		  what_is_as_it_should_be_is_not_written, NULL);
	suite_add(&suite, "many changes are one write", many_changes_are_one_write, NULL);
	suite_add(&suite, "a conflict is read and planned anew",
		  a_conflict_is_read_and_planned_anew, NULL);
	suite_add(&suite, "a KubeVirt that is gone is no trouble",
		  a_kubevirt_that_is_gone_is_no_trouble, NULL);
	suite_add(&suite, "one that is about to go is left alone",
		  one_that_is_about_to_go_is_left_alone, NULL);
	suite_add(&suite, "who does not lead reads and writes nothing",
		  who_does_not_lead_reads_and_writes_nothing, NULL);
	suite_add(&suite, "nothing is taken away while a kind is away",
		  nothing_is_taken_away_while_a_kind_is_away, NULL);
	suite_add(&suite, "asked to, it makes permittedHostDevices",
		  asked_to_it_makes_permitted_host_devices, NULL);
	suite_add(&suite, "the configuration counts", the_configuration_counts, NULL);
	suite_add(&suite, "a clash is logged once", a_clash_is_logged_once, NULL);
	suite_add(&suite, "what is under way ends with it", what_is_under_way_ends_with_it, NULL);
	return suite_run(&suite, "permits");
}
