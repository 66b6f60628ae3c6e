/* vm_notes: when a machine is told what it was given, and by which write. */
#include "controller/kubevirt/vm_notes.h"

#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/kubevirt/kubevirt_scene.h"

#define GIVEN(pod)                                                                                      \
	"\"status\":{\"resourceName\":\"i.com/x\",\"allocations\":[{\"namespace\":\"d\",\"pod\":\"" pod \
	"\",\"container\":\"compute\"}]}"
#define FREE          "\"status\":{\"resourceName\":\"i.com/x\"}"
#define KEY           "harvesterhci.io/deviceAllocationDetails"
#define SAYS(text)    "\"annotations\":{\"" KEY "\":\"" text "\"}"
#define NOTE(devices) "{\\\"hostdevices\\\":{\\\"i.com/x\\\":[" devices "]}}"
#define QUOTED(name)  "\\\"" name "\\\""
#define PATH(name)    "/namespaces/d/virtualmachines/" name
#define LONG          "a-name-of-forty-eight-characters-is-cut-in-pods-"

struct bench {
	struct kubevirt_scene scene;
	struct vm_notes *notes;
};

static void hear(void *arg, enum view_kind kind, const char *name, const struct entry *before,
		 const struct entry *after)
{
	struct bench *b = arg;

	vm_notes_hear(b->notes, kind, name, before, after);
}

static void on_vm(void *arg, const struct entry *before, const struct entry *after)
{
	struct bench *b = arg;

	vm_notes_hear(b->notes, VIEW_VM, after ? after->name : before->name, before, after);
}

static void open_bench(struct bench *b)
{
	scene_open(&b->scene);
	b->notes = vm_notes_new(&b->scene.ties);
	b->scene.stage.hear = hear;
	b->scene.stage.arg = b;
}

static void close_bench(struct bench *b)
{
	errands_end(&b->scene.errands);
	vm_notes_free(b->notes);
	scene_close(&b->scene);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

static void put_vm(struct bench *b, const char *name, const char *meta, const char *rest)
{
	struct stage *stage = &b->scene.stage;

	scene_put(&b->scene, stage->stores[VIEW_VM],
		  &(struct scene_object){ &stage->kinds[VIEW_VM], name, meta, rest }, on_vm, b);
}

static void give(struct bench *b, const char *device, const char *status)
{
	stage_put(&b->scene.stage, VIEW_PCIDEVICE, device, status);
}

/* The write of @note (JSON of it) to @name is due now; it is answered so. */
static void written(struct bench *b, const char *path, const char *note, int status)
{
	auto_free char *part = xasprintf("\"" KEY "\":%s}", note);

	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	scene_expect(&b->scene, "PATCH", path, part);
	scene_expect(&b->scene, "PATCH", path, "{\"metadata\":{\"resourceVersion\":\"v");
	scene_answer(&b->scene, status, "{\"kind\":\"Status\"}");
}

static void a_machine_is_told_and_told_otherwise(void **state)
{
	struct bench *b = *state;

	put_vm(b, "one", "", "");
	give(b, "n-1", GIVEN("virt-launcher-one-x7k2p"));
	give(b, "n-2", GIVEN("virt-launcher-one-x7k2p"));
	written(b, PATH("one"), "\"" NOTE(QUOTED("n-1") "," QUOTED("n-2")) "\"", 200);
	put_vm(b, "one", SAYS(NOTE(QUOTED("n-1") "," QUOTED("n-2"))), "");
	scene_quiet(&b->scene, 60000);
	give(b, "n-1", FREE);
	written(b, PATH("one"), "\"" NOTE(QUOTED("n-2")) "\"", 200);
	put_vm(b, "one", SAYS(NOTE(QUOTED("n-2"))), "");
	stage_remove(&b->scene.stage, VIEW_PCIDEVICE, "n-2");
	written(b, PATH("one"), "null", 200);
	put_vm(b, "one", "", "");
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
	written(b, PATH("one"), "\"" NOTE(QUOTED("n-1")) "\"", 200);
	put_vm(b, "one", SAYS(NOTE(QUOTED("n-1"))), "");
	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	give(b, "n-1", GIVEN("virt-launcher-two-x7k2p"));
	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	assert_int_equal(fake_client_open(b->scene.client), 2);
	fake_client_choose(b->scene.client, PATH("one"));
	written(b, PATH("one"), "null", 200);
	written(b, PATH("two"), "\"" NOTE(QUOTED("n-1")) "\"", 200);
}

static void what_it_said_before_is_put_right(void **state)
{
	struct bench *b = *state;

	put_vm(b, "one", SAYS("{}"), "");
	written(b, PATH("one"), "null", 200);
	put_vm(b, "one", "", "");
	give(b, "n-1", GIVEN("virt-launcher-one-x7k2p"));
	put_vm(b, "one", SAYS("{ \\\"hostdevices\\\" : {\\\"i.com/x\\\":[\\\"n-1\\\"]}}"), "");
	scene_quiet(&b->scene, 60000);
	put_vm(b, "one", "", "");
	written(b, PATH("one"), "\"" NOTE(QUOTED("n-1")) "\"", 200);
}

static void gpus_are_told_as_such(void **state)
{
	struct bench *b = *state;

	put_vm(b, "one", "",
	       "\"spec\":{\"template\":{\"spec\":{\"domain\":{\"devices\":{\"gpus\":[{\"name\":\"g\","
	       "\"deviceName\":\"i.com/x\"}]}}}}}");
	give(b, "n-1", GIVEN("virt-launcher-one-x7k2p"));
	written(b, PATH("one"), "\"{\\\"gpus\\\":{\\\"i.com/x\\\":[\\\"n-1\\\"]}}\"", 200);
}

static void the_claim_says_under_which_name(void **state)
{
	struct bench *b = *state;

	put_vm(b, "one", "", "");
	give(b, "n-1", GIVEN("virt-launcher-one-x7k2p"));
	written(b, PATH("one"), "\"" NOTE(QUOTED("n-1")) "\"", 200);
	put_vm(b, "one", SAYS(NOTE(QUOTED("n-1"))), "");
	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	stage_put(&b->scene.stage, VIEW_PCICLAIM, "n-1",
		  "\"spec\":{\"disableResourcePooling\":true}");
	written(b, PATH("one"), "\"{\\\"hostdevices\\\":{\\\"i.com/n-1\\\":[\\\"n-1\\\"]}}\"", 200);
}

static void a_conflict_is_tried_on_the_newer_state(void **state)
{
	struct bench *b = *state;

	put_vm(b, "one", "", "");
	give(b, "n-1", GIVEN("virt-launcher-one-x7k2p"));
	written(b, PATH("one"), "\"" NOTE(QUOTED("n-1")) "\"", 409);
	put_vm(b, "one", "\"labels\":{\"a\":\"b\"}", "");
	written(b, PATH("one"), "\"" NOTE(QUOTED("n-1")) "\"", 200);
}

static void who_does_not_lead_or_know_writes_nothing(void **state)
{
	struct bench *b = *state;

	b->scene.follows = true;
	put_vm(b, "one", SAYS("{}"), "");
	scene_quiet(&b->scene, 60000);
	b->scene.follows = false;
	b->scene.unready = true;
	vm_notes_look(b->notes);
	scene_quiet(&b->scene, 60000);
	b->scene.unready = false;
	fake_clock_advance(b->scene.clock, KUBEVIRT_AGAIN_MS);
	written(b, PATH("one"), "null", 404);
	scene_quiet(&b->scene, 60000);
}

static void a_machine_that_goes_is_left_alone(void **state)
{
	struct bench *b = *state;

	put_vm(b, "one", SAYS("{}") ",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"", "");
	put_vm(b, "two", SAYS("{}"), "");
	stage_remove(&b->scene.stage, VIEW_VM, "d/two");
	scene_quiet(&b->scene, 60000);
}

static void a_name_that_is_cut_is_told_if_it_can_be_no_other(void **state)
{
	auto_free char *pod = xasprintf("virt-launcher-%.44sx7k2p", LONG);
	auto_free char *status = xasprintf(GIVEN("%s"), pod);
	struct bench *b = *state;

	put_vm(b, LONG "a", "", "");
	give(b, "n-1", status);
	written(b, PATH(LONG "a"), "\"" NOTE(QUOTED("n-1")) "\"", 200);
	put_vm(b, LONG "a", SAYS(NOTE(QUOTED("n-1"))), "");
	fake_clock_advance(b->scene.clock, KUBEVIRT_QUIET_MS);
	put_vm(b, LONG "b", "", "");
	written(b, PATH(LONG "a"), "null", 200);
	put_vm(b, LONG "a", "", "");
	scene_quiet(&b->scene, 60000);
	stage_remove(&b->scene.stage, VIEW_VM, "d/" LONG "b");
	written(b, PATH(LONG "a"), "\"" NOTE(QUOTED("n-1")) "\"", 200);
}

static void devices_of_all_kinds_are_told(void **state)
{
	struct bench *b = *state;

	put_vm(b, "one", "", "");
	stage_put(&b->scene.stage, VIEW_MEDIATEDDEVICE, "m", GIVEN("virt-launcher-one-x7k2p"));
	stage_put(&b->scene.stage, VIEW_USBDEVICE, "s", GIVEN("virt-launcher-one-x7k2p"));
	written(b, PATH("one"), "\"" NOTE(QUOTED("m") "," QUOTED("s")) "\"", 200);
}

int main(void)
{
	struct suite suite = { 0 };

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
	return suite_run(&suite, "vm_notes");
}
