/* vm_annotation: when the annotation of a virtual machine is written, and by which write. */
#include "controller/kubevirt/vm_annotation.h"

#include <string.h>

#include "api/virtualmachine.h"
#include "base/err.h"
#include "base/json_read.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "kube/store.h"
#include "unit/kube/random_life.h"
#include "unit/kubevirt/kubevirt_scene.h"
#include "unit/suite.h"

#define GIVEN(pod)                                                                                      \
	"\"status\":{\"resourceName\":\"i.com/x\",\"allocations\":[{\"namespace\":\"d\",\"pod\":\"" pod \
	"\",\"container\":\"compute\"}]}"
#define FREE          "\"status\":{\"resourceName\":\"i.com/x\"}"
#define KEY           "harvesterhci.io/deviceAllocationDetails"
#define NOTE(devices) "{\"hostdevices\":{\"i.com/x\":[" devices "]}}"
#define QUOTED(name)  "\"" name "\""
#define LONG          "a-name-of-forty-eight-characters-is-cut-in-pods-"

struct bench {
	struct kubevirt_scene scene;
	struct vm_annotation *annotation;
};

static void on_device(void *arg, enum view_kind kind, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct bench *b = arg;

	vm_annotation_on_change(b->annotation, kind, name, before, after);
}

static void on_machine(void *arg, const char *name, const struct entry *before,
		       const struct entry *after)
{
	struct bench *b = arg;

	vm_annotation_on_change(b->annotation, VIEW_VM, name, before, after);
}

static void open_bench(struct bench *b)
{
	scene_open(&b->scene);
	b->annotation = vm_annotation_new(&b->scene.env);
	b->scene.stage.hear = on_device;
	b->scene.stage.arg = b;
	b->scene.on_change = on_machine;
	b->scene.arg = b;
}

static void close_bench(struct bench *b)
{
	vm_annotation_free(b->annotation);
	scene_close(&b->scene);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

/* A machine of the namespace "d". */
static void put_vm(struct bench *b, const char *name, const char *meta, const char *rest)
{
	auto_free char *text = xasprintf("{'metadata':{'namespace':'d'%s%s}%s%s}", *meta ? "," : "",
					 meta, *rest ? "," : "", rest);

	fake_server_write(b->scene.machines, name, text);
	scene_show(&b->scene);
}

/* Somebody has it say this text, which the merge patch of a test cannot have in it. */
static void say(struct bench *b, const char *name, const char *text)
{
	auto_json json_t *patch = json_pack("{s:{s:{s:s?}}}", "metadata", "annotations", KEY, text);
	auto_free char *json = json_dumps(patch, 0);

	fake_server_write(b->scene.machines, name, json);
	scene_show(&b->scene);
}

static void give(struct bench *b, const char *device, const char *status)
{
	stage_put(&b->scene.stage, VIEW_PCIDEVICE, device, status);
}

/* What the machine says; "": nothing. */
static void assert_says(struct bench *b, const char *name, const char *note)
{
	const json_t *meta = json_object_get(fake_server_get(b->scene.machines, name), "metadata");
	const char *text =
		json_string_value(json_object_get(json_object_get(meta, "annotations"), KEY));

	assert_string_equal(text ? text : "", note);
}

/* The write of @note to @name is due now, and no other. */
static void written(struct bench *b, const char *name, const char *note)
{
	auto_free char *log = xasprintf("PATCH virtualmachines/%s|", name);

	scene_quiet(&b->scene, KUBEVIRT_QUIET_MS - 1);
	scene_run(&b->scene, 1);
	scene_assert_log(&b->scene, log);
	assert_says(b, name, note);
	scene_quiet(&b->scene, 2UL * KUBEVIRT_QUIET_MS);
}

static void a_machine_is_told_and_told_otherwise(void **state)
{
	struct bench *b = *state;

	put_vm(b, "one", "", "");
	give(b, "n-1", GIVEN("virt-launcher-one-x7k2p"));
	give(b, "n-2", GIVEN("virt-launcher-one-x7k2p"));
	written(b, "one", NOTE(QUOTED("n-1") "," QUOTED("n-2")));
	scene_quiet(&b->scene, 60000);
	give(b, "n-1", FREE);
	written(b, "one", NOTE(QUOTED("n-2")));
	stage_remove(&b->scene.stage, VIEW_PCIDEVICE, "n-2");
	written(b, "one", "");
	scene_quiet(&b->scene, 60000);
}

static void a_machine_that_is_given_nothing_is_left_alone(void **state)
{
	struct bench *b = *state;

	put_vm(b, "one", "", "");
	give(b, "n-1", FREE);
	give(b, "n-2", GIVEN("nginx"));
	give(b, "n-3", GIVEN("virt-launcher-other-x7k2p"));
	scene_quiet(&b->scene, 60000);
}

static void a_device_that_moves_is_told_to_both(void **state)
{
	struct bench *b = *state;

	put_vm(b, "one", "", "");
	put_vm(b, "two", "", "");
	give(b, "n-1", GIVEN("virt-launcher-one-x7k2p"));
	written(b, "one", NOTE(QUOTED("n-1")));
	give(b, "n-1", GIVEN("virt-launcher-two-x7k2p"));
	scene_run(&b->scene, KUBEVIRT_QUIET_MS);
	scene_assert_log(&b->scene, "PATCH virtualmachines/one|PATCH virtualmachines/two|");
	assert_says(b, "one", "");
	assert_says(b, "two", NOTE(QUOTED("n-1")));
}

static void what_it_said_before_is_put_right(void **state)
{
	struct bench *b = *state;

	put_vm(b, "one", "", "");
	say(b, "one", "{}");
	written(b, "one", "");
	give(b, "n-1", GIVEN("virt-launcher-one-x7k2p"));
	say(b, "one", "{ \"hostdevices\" : {\"i.com/x\":[\"n-1\"]}}");
	scene_quiet(&b->scene, 60000);
	say(b, "one", NULL);
	written(b, "one", NOTE(QUOTED("n-1")));
}

static void gpus_are_told_as_such(void **state)
{
	struct bench *b = *state;

	put_vm(b, "one", "",
	       "'spec':{'template':{'spec':{'domain':{'devices':{'gpus':[{'name':'g',"
	       "'deviceName':'i.com/x'}]}}}}}");
	give(b, "n-1", GIVEN("virt-launcher-one-x7k2p"));
	written(b, "one", "{\"gpus\":{\"i.com/x\":[\"n-1\"]}}");
	put_vm(b, "one", "", "'spec':null"); /* what it asks for counts, and nothing else of it */
	written(b, "one", NOTE(QUOTED("n-1")));
}

static void the_claim_says_under_which_name(void **state)
{
	struct bench *b = *state;

	put_vm(b, "one", "", "");
	give(b, "n-1", GIVEN("virt-launcher-one-x7k2p"));
	written(b, "one", NOTE(QUOTED("n-1")));
	stage_put(&b->scene.stage, VIEW_PCICLAIM, "n-1",
		  "\"spec\":{\"disableResourcePooling\":true}");
	written(b, "one", "{\"hostdevices\":{\"i.com/n-1\":[\"n-1\"]}}");
}

static void a_conflict_is_tried_on_the_newer_state(void **state)
{
	struct bench *b = *state;

	put_vm(b, "one", "", "");
	give(b, "n-1", GIVEN("virt-launcher-one-x7k2p"));
	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	fake_server_write(b->scene.machines, "one", "{'metadata':{'labels':{'a':'b'}}}");
	assert_true(fake_server_serve(b->scene.kubevirts, FAULT_NONE));
	scene_assert_log(&b->scene, "PATCH virtualmachines/one|");
	assert_says(b, "one", "");
	scene_run(&b->scene, KUBEVIRT_QUIET_MS);
	scene_assert_log(&b->scene, "PATCH virtualmachines/one|");
	assert_says(b, "one", NOTE(QUOTED("n-1")));
}

static void who_does_not_lead_or_know_writes_nothing(void **state)
{
	struct bench *b = *state;

	b->scene.follows = true;
	put_vm(b, "one", "", "");
	say(b, "one", "{}");
	scene_quiet(&b->scene, 60000);
	b->scene.follows = false;
	b->scene.unready = true;
	vm_annotation_enqueue_all(b->annotation);
	scene_quiet(&b->scene, 60000);
	b->scene.unready = false;
	scene_run(&b->scene, 10000);
	scene_assert_log(&b->scene, "PATCH virtualmachines/one|");
	assert_says(b, "one", "");
}

static void a_machine_that_goes_is_left_alone(void **state)
{
	struct bench *b = *state;

	put_vm(b, "one", "'finalizers':['x/y']", "");
	fake_server_delete(b->scene.machines, "one");
	say(b, "one", "{}");
	put_vm(b, "two", "", "");
	say(b, "two", "{}");
	fake_server_delete(b->scene.machines, "two");
	scene_quiet(&b->scene, 60000);
}

static void a_name_that_is_cut_is_told_if_it_can_be_no_other(void **state)
{
	auto_free char *pod = xasprintf("virt-launcher-%.44sx7k2p", LONG);
	auto_free char *status = xasprintf(GIVEN("%s"), pod);
	struct bench *b = *state;

	put_vm(b, LONG "a", "", "");
	give(b, "n-1", status);
	written(b, LONG "a", NOTE(QUOTED("n-1")));
	put_vm(b, LONG "b", "", "");
	written(b, LONG "a", "");
	scene_quiet(&b->scene, 60000);
	fake_server_delete(b->scene.machines, LONG "b");
	scene_show(&b->scene);
	written(b, LONG "a", NOTE(QUOTED("n-1")));
}

static void devices_of_all_kinds_are_told(void **state)
{
	struct bench *b = *state;

	put_vm(b, "one", "", "");
	stage_put(&b->scene.stage, VIEW_MEDIATEDDEVICE, "m", GIVEN("virt-launcher-one-x7k2p"));
	stage_put(&b->scene.stage, VIEW_USBDEVICE, "s", GIVEN("virt-launcher-one-x7k2p"));
	written(b, "one", NOTE(QUOTED("m") "," QUOTED("s")));
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
	const char *device = suite_random(seed) % 2 ? "n-1" : "n-2";

	switch (suite_random(seed) % 8) {
	case 0:
		b->scene.follows = suite_random(seed) % 3 == 0;
		b->scene.unready = suite_random(seed) % 3 == 0;
		vm_annotation_enqueue_all(b->annotation);
		return;
	case 1:
		fake_server_delete(b->scene.machines, "one");
		return;
	case 2:
		if (fake_server_get(b->scene.machines, "one"))
			fake_server_write(b->scene.machines, "one",
					  "{'metadata':{'annotations':{'" KEY "':'x'}}}");
		return;
	case 3:
	case 4:
		fake_server_write(b->scene.machines, "one", "{'metadata':{'namespace':'d'}}");
		return;
	default:
		give(b, device, suite_random(seed) % 2 ? GIVEN("virt-launcher-one-x7k2p") : FREE);
		return;
	}
}

static void end_well(void *arg)
{
	struct bench *b = arg;

	b->scene.follows = b->scene.unready = false;
	fake_server_write(b->scene.machines, "one", "{'metadata':{'namespace':'d'}}");
	give(b, "n-1", GIVEN("virt-launcher-one-x7k2p"));
	give(b, "n-2", FREE);
	vm_annotation_enqueue_all(b->annotation);
}

static void assert_end(void *arg)
{
	assert_says(arg, "one", NOTE(QUOTED("n-1")));
}

static const struct random_kind lives = {
	.name = "VirtualMachines",
	.open = life_open,
	.close = life_close,
	.something = something,
	.end_well = end_well,
	.assert_end = assert_end,
};

#define DETAILS "\"annotations\":{\"harvesterhci.io/deviceAllocationDetails\":\"{}\",\"a\":\"b\"}"
#define GPUS                                                                              \
	"\"spec\":{\"template\":{\"spec\":{\"domain\":{\"devices\":{\"gpus\":["           \
	"{\"name\":\"g\",\"deviceName\":\"n.com/a\"},{\"name\":\"dra\"},{\"name\":\"h\"," \
	"\"deviceName\":\"n.com/b\"}],\"hostDevices\":[{\"name\":\"x\",\"deviceName\":"   \
	"\"i.com/c\"}]}}}}}"

struct machine {
	struct entry *entry;
	const struct virtualmachine *vm;
};

static void open_machine(struct machine *m, const char *meta, const char *rest)
{
	auto_free char *text =
		xasprintf("{\"metadata\":{\"name\":\"v\",\"namespace\":\"d\",\"uid\":"
			  "\"u\",\"resourceVersion\":\"1\"%s%s}%s%s}",
			  *meta ? "," : "", meta, *rest ? "," : "", rest);
	struct err err = { 0 };

	m->entry =
		entry_decode(&virtualmachine_kind, &(struct json_text){ text, strlen(text) }, &err);
	if (!m->entry)
		fail_msg("%s: %s", text, err.msg);
	assert(m->entry && m->entry->object);
	m->vm = m->entry->object;
}

static void close_machine(struct machine *m)
{
	entry_free(&virtualmachine_kind, m->entry);
}

SUITE_CLOSING(machine, struct machine, close_machine);

static void what_is_read(void **state)
{
	struct machine m;

	open_machine(&m, DETAILS ",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"", GPUS);
	assert_string_equal(m.entry->name, "d/v");
	assert_string_equal(m.vm->meta.annotations.allocation, "{}");
	assert_non_null(m.vm->meta.meta.deletion_timestamp);
	assert_int_equal(m.vm->spec.template_.spec.domain.devices.gpus.len, 3);
	assert_true(vm_requests_gpu(m.vm, "n.com/a"));
	assert_true(vm_requests_gpu(m.vm, "n.com/b"));
	assert_false(vm_requests_gpu(m.vm, "i.com/c"));
	close_machine(&m);

	open_machine(&m, "", "");
	assert_null(m.vm->meta.annotations.allocation);
	assert_null(m.vm->meta.meta.deletion_timestamp);
	assert_false(vm_requests_gpu(m.vm, "n.com/a"));
	close_machine(&m);
}

static struct same_case {
	const char *name;
	const char *meta;
	const char *rest;
	bool same;
} sames[] = {
	{ "the same", DETAILS, GPUS, true },
	{ "other annotations and spec do not count", DETAILS ",\"labels\":{\"x\":\"y\"}",
	  "\"status\":{\"ready\":true}," GPUS, true },
	{ "without what it was given", "", GPUS, false },
	{ "without GPUs", DETAILS, "", false },
	{ "about to go", DETAILS ",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"", GPUS, false },
	{ "another GPU", DETAILS,
	  "\"spec\":{\"template\":{\"spec\":{\"domain\":{\"devices\":{\"gpus\":[{\"deviceName\":\"n.com/"
	  "a\"},{\"deviceName\":\"n.com/x\"},{\"deviceName\":\"n.com/b\"}]}}}}}",
	  false },
};

static void same_matches_table(void **state)
{
	const struct same_case *c = suite_row(state);
	struct machine a;
	struct machine *b = *state;

	open_machine(&a, DETAILS, GPUS);
	open_machine(b, c->meta, c->rest);
	assert_int_equal(vm_requests_equal(a.vm, b->vm), c->same);
	close_machine(&a);
}

static void the_text_is_harvester_s_in_any_order(void **state)
{
	static const char *const adds[][2] = { { "n.com/a", "n-3" },
					       { "i.com/c", "n-2" },
					       { "i.com/c", "n-1" },
					       { "a.com/d", "n-9" } };
	struct machine *m = *state;

	open_machine(m, "", GPUS);
	for (size_t first = 0; first < ARRAY_LEN(adds); first++) {
		struct vm_allocation given = { 0 };
		auto_free char *text = NULL;

		for (size_t i = 0; i < ARRAY_LEN(adds); i++) {
			const char *const *add = adds[(first + i) % ARRAY_LEN(adds)];

			vm_allocation_add(&given, m->vm, add[0], add[1]);
		}
		text = vm_allocation_text(&given);
		assert_string_equal(text, "{\"gpus\":{\"n.com/a\":[\"n-3\"]},\"hostdevices\":{"
					  "\"a.com/d\":[\"n-9\"],\"i.com/c\":[\"n-1\",\"n-2\"]}}");
	}
}

static void nothing_given_is_no_text(void **state)
{
	struct vm_allocation given = { 0 };

	assert_null(vm_allocation_text(&given));
}

static struct said_case {
	const char *name;
	const char *a;
	const char *b;
	bool same;
} saids[] = {
	{ "none and none", NULL, NULL, true },
	{ "none and something", NULL, "{}", false },
	{ "something and none", "{}", NULL, false },
	{ "the same text", "{\"a\":1}", "{\"a\":1}", true },
	{ "the same in other words", "{\"a\":1,\"b\":2}", "{ \"b\":2, \"a\":1 }", true },
	{ "something else", "{\"a\":1}", "{\"a\":2}", false },
	{ "nonsense", "{\"a\":1}", "{\"a\":1", false },
	{ "nonsense twice", "{", "{", true },
};

static void said_matches_table(void **state)
{
	const struct said_case *c = *state;

	assert_int_equal(vm_allocation_equal(c->a, c->b), c->same);
}

int main(void)
{
	struct suite suite = { 0 };

	random_lives(&suite, &lives, 30);
	suite_add(&suite, "what of a machine is read", what_is_read, NULL);
	suite_add(&suite, "nothing given is no text", nothing_given_is_no_text, NULL);
	suite_rows(&suite, saids, said_matches_table);
	suite_fixture(&suite, &machine_fixture);
	suite_rows(&suite, sames, same_matches_table);
	suite_add(&suite, "the text is Harvester's, in any order",
		  the_text_is_harvester_s_in_any_order, NULL);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "a machine is told, and told otherwise",
		  a_machine_is_told_and_told_otherwise, NULL);
	suite_add(&suite, "a machine that is given nothing is left alone",
		  a_machine_that_is_given_nothing_is_left_alone, NULL);
	suite_add(&suite, "a device that moves is told to both",
		  a_device_that_moves_is_told_to_both, NULL);
	suite_add(&suite, "what it said before is put right", what_it_said_before_is_put_right,
		  NULL);
	suite_add(&suite, "GPUs are told as such", gpus_are_told_as_such, NULL);
	suite_add(&suite, "the claim says under which name", the_claim_says_under_which_name, NULL);
	suite_add(&suite, "a conflict is tried on the newer state",
		  a_conflict_is_tried_on_the_newer_state, NULL);
	suite_add(&suite, "who does not lead or know writes nothing",
		  who_does_not_lead_or_know_writes_nothing, NULL);
	suite_add(&suite, "a machine that goes is left alone", a_machine_that_goes_is_left_alone,
		  NULL);
	suite_add(&suite, "a name that is cut is told if it can be no other",
		  a_name_that_is_cut_is_told_if_it_can_be_no_other, NULL);
	suite_add(&suite, "devices of all kinds are told", devices_of_all_kinds_are_told, NULL);
	return suite_run(&suite, "vm_annotation");
}
