/* permits: when a KubeVirt is read and written, and what comes of the answers. */
#include "controller/kubevirt/permits.h"

#include <errno.h>

#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/kubevirt/kubevirt_scene.h"

#define NIC    "\"status\":{\"resourceName\":\"i.com/x\",\"vendorId\":\"8086\",\"deviceId\":\"10d3\"}"
#define STATUS "{\"kind\":\"Status\"}"
#define KUBEVIRT(version, permitted)                                                               \
	"{\"metadata\":{\"name\":\"kv\",\"namespace\":\"d\",\"resourceVersion\":\"" version "\"}," \
	"\"spec\":{\"configuration\":{\"permittedHostDevices\":{" permitted "}}}}"
#define THEIRS "\"pciHostDevices\":[{\"pciVendorSelector\":\"1:2\",\"resourceName\":\"t.com/t\"}]"
#define OURS                                                                                       \
	"{\"externalResourceProvider\":true,\"pciVendorSelector\":\"8086:10d3\",\"resourceName\":" \
	"\"i.com/x\"}"
#define PATH "/namespaces/d/kubevirts/kv"

struct bench {
	struct kubevirt_scene scene;
	struct permits *permits;
};

static void on_kubevirt(void *arg, const struct entry *before, const struct entry *after)
{
	struct bench *b = arg;

	(void)before;
	if (after)
		permits_touch(b->permits, after->name);
}

static void put_kubevirt(struct bench *b)
{
	scene_put(&b->scene, b->scene.kubevirts,
		  &(struct scene_object){ &kubevirt_kind, "kv", "", "" }, on_kubevirt, b);
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

/* With a KubeVirt and one claimed device. */
static void open_bench(struct bench *b)
{
	scene_open(&b->scene);
	b->permits = permits_new(&b->scene.ties);
	stage_put(&b->scene.stage, VIEW_PCIDEVICE, "n-1", NIC);
	stage_put(&b->scene.stage, VIEW_PCICLAIM, "n-1", "");
	put_kubevirt(b);
}

static void close_bench(struct bench *b)
{
	errands_end(&b->scene.errands);
	permits_free(b->permits);
	scene_close(&b->scene);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

static void read_it(struct bench *b, const char *kubevirt)
{
	scene_expect(&b->scene, "GET", PATH, "");
	scene_answer(&b->scene, 200, kubevirt);
}

static void an_entry_is_added_on_the_state_that_was_read(void **state)
{
	struct bench *b = *state;

	scene_quiet(&b->scene, KUBEVIRT_QUIET_MS - 1);
	fake_clock_advance(b->scene.clock, 1);
	read_it(b, KUBEVIRT("41", THEIRS));
	scene_expect(&b->scene, "PATCH", PATH, "\"resourceVersion\":\"41\"");
	scene_expect(&b->scene, "PATCH", "fieldManager=hostdev-controller",
		     "{\"pciVendorSelector\":\"1:2\",\"resourceName\":\"t.com/t\"}," OURS "]");
	scene_expect(&b->scene, "PATCH", PATH,
		     "\"hostdev.io/permitted-host-devices\":\"{\\\"pciHostDevices\\\":["
		     "\\\"8086:10d3=i.com/x\\\"]}\"");
	assert_string_equal(fake_client_request(b->scene.client)->content_type,
			    "application/merge-patch+json");
	scene_answer(&b->scene, 200, "{}");
	scene_quiet(&b->scene, 60000);
}

static void what_is_as_it_should_be_is_not_written(void **state)
{
	struct bench *b = *state;

	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	read_it(b, KUBEVIRT("41", "\"pciHostDevices\":[" OURS "]"));
	scene_quiet(&b->scene, 60000);
}

static void many_changes_are_one_write(void **state)
{
	struct bench *b = *state;

	for (int i = 0; i < 50; i++) {
		permits_look(b->permits);
		fake_clock_advance(b->scene.clock, 10);
	}
	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS - 500);
	read_it(b, KUBEVIRT("41", ""));
	scene_answer(&b->scene, 200, "{}");
	scene_quiet(&b->scene, 60000);
}

static void a_conflict_is_read_and_planned_anew(void **state)
{
	struct bench *b = *state;

	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	read_it(b, KUBEVIRT("41", ""));
	scene_answer(&b->scene, 409, "{\"kind\":\"Status\",\"reason\":\"Conflict\"}");
	fake_clock_advance(b->scene.clock, 1000);
	read_it(b, KUBEVIRT("42", THEIRS));
	scene_expect(&b->scene, "PATCH", PATH, "\"resourceVersion\":\"42\"");
	scene_expect(&b->scene, "PATCH", PATH, "\"t.com/t\"");
	scene_answer(&b->scene, 200, "{}");
	scene_quiet(&b->scene, 60000);
}

static void a_server_that_does_not_answer_is_asked_again(void **state)
{
	struct bench *b = *state;

	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	fake_client_fail(b->scene.client, -EIO);
	fake_clock_advance(b->scene.clock, 1000);
	read_it(b, KUBEVIRT("41", ""));
	scene_answer(&b->scene, 503, STATUS);
	fake_clock_advance(b->scene.clock, 2000);
	read_it(b, KUBEVIRT("41", ""));
	scene_answer(&b->scene, 200, "{}");
	scene_quiet(&b->scene, 60000);
}

static void a_kubevirt_that_is_gone_is_no_trouble(void **state)
{
	struct bench *b = *state;

	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	scene_expect(&b->scene, "GET", PATH, "");
	scene_answer(&b->scene, 404, STATUS);
	scene_quiet(&b->scene, 60000);
	permits_look(b->permits);
	store_remove(b->scene.kubevirts, "d/kv", NULL, on_kubevirt, b);
	scene_quiet(&b->scene, 60000);
}

static void one_that_is_about_to_go_is_left_alone(void **state)
{
	struct bench *b = *state;

	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	read_it(b, "{\"metadata\":{\"name\":\"kv\",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"},"
		   "\"spec\":{\"configuration\":{\"permittedHostDevices\":{}}}}");
	scene_quiet(&b->scene, 60000);
}

static void an_answer_that_is_no_object_is_none(void **state)
{
	struct bench *b = *state;

	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	read_it(b, "{\"metadata\":");
	scene_quiet(&b->scene, 60000);
}

static void who_does_not_lead_reads_and_writes_nothing(void **state)
{
	struct bench *b = *state;

	b->scene.follows = true;
	scene_quiet(&b->scene, 60000);
	b->scene.follows = false;
	permits_look(b->permits);
	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	scene_expect(&b->scene, "GET", PATH, "");
	b->scene.follows = true; /* while it was under way */
	scene_answer(&b->scene, 200, KUBEVIRT("41", ""));
	scene_quiet(&b->scene, 60000);
}

static void nothing_is_taken_away_while_a_kind_is_away(void **state)
{
	struct bench *b = *state;

	b->scene.unready = true;
	scene_quiet(&b->scene, 60000);
	b->scene.unready = false;
	fake_clock_advance(b->scene.clock, KUBEVIRT_AGAIN_MS);
	scene_expect(&b->scene, "GET", PATH, "");
	b->scene.unready = true; /* while it was under way */
	scene_answer(&b->scene, 200, KUBEVIRT("41", ""));
	assert_int_equal(fake_client_open(b->scene.client), 0);
}

static void asked_to_it_makes_permitted_host_devices(void **state)
{
	static const char bare[] =
		"{\"metadata\":{\"name\":\"kv\",\"resourceVersion\":\"1\"},\"spec\":{}}";
	struct bench *b = *state;

	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	read_it(b, bare);
	scene_quiet(&b->scene, 60000);
	b->scene.ties.create = true;
	permits_look(b->permits);
	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	read_it(b, bare);
	scene_expect(&b->scene, "PATCH", PATH,
		     "\"permittedHostDevices\":{\"pciHostDevices\":[" OURS "]}");
	scene_answer(&b->scene, 200, "{}");
}

static void the_configuration_counts(void **state)
{
	struct bench *b = *state;

	stage_remove(&b->scene.stage, VIEW_PCICLAIM, "n-1");
	put_config(
		b,
		"\"pciHostDevices\":[{\"resourceName\":\"c.com/c\",\"pciVendorSelector\":\"1:1\"}]");
	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	read_it(b, KUBEVIRT("41", ""));
	scene_expect(&b->scene, "PATCH", PATH, "\"resourceName\":\"c.com/c\"");
	scene_answer(&b->scene, 200, "{}");
}

static void what_is_under_way_ends_with_it(void **state)
{
	struct bench *b = *state;

	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	assert_int_equal(fake_client_open(b->scene.client), 1);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "an entry is added, on the state that was read",
		  an_entry_is_added_on_the_state_that_was_read, NULL);
	suite_add(&suite, "what is as it should be is not written",
		  what_is_as_it_should_be_is_not_written, NULL);
	suite_add(&suite, "many changes are one write", many_changes_are_one_write, NULL);
	suite_add(&suite, "a conflict is read and planned anew",
		  a_conflict_is_read_and_planned_anew, NULL);
	suite_add(&suite, "a server that does not answer is asked again",
		  a_server_that_does_not_answer_is_asked_again, NULL);
	suite_add(&suite, "a KubeVirt that is gone is no trouble",
		  a_kubevirt_that_is_gone_is_no_trouble, NULL);
	suite_add(&suite, "one that is about to go is left alone",
		  one_that_is_about_to_go_is_left_alone, NULL);
	suite_add(&suite, "an answer that is no object is none",
		  an_answer_that_is_no_object_is_none, NULL);
	suite_add(&suite, "who does not lead reads and writes nothing",
		  who_does_not_lead_reads_and_writes_nothing, NULL);
	suite_add(&suite, "nothing is taken away while a kind is away",
		  nothing_is_taken_away_while_a_kind_is_away, NULL);
	suite_add(&suite, "asked to, it makes permittedHostDevices",
		  asked_to_it_makes_permitted_host_devices, NULL);
	suite_add(&suite, "the configuration counts", the_configuration_counts, NULL);
	suite_add(&suite, "what is under way ends with it", what_is_under_way_ends_with_it, NULL);
	return suite_run(&suite, "permits");
}
