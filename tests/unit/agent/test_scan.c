/* scan: a script in the place of both programs: which runs a look takes, and what becomes of
 * failures. */
#include "agent/monitor/scan.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "api/pcidevice.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "unit/agent/fake_helper.h"

#define CALLS "echo \"${0##*/} $*\" >>$here/calls\n"
#define NIC                                                                                       \
	"{\"kind\":\"pci\",\"address\":\"0000:01:00.0\",\"vendor\":\"8086\",\"device\":\"10d3\"," \
	"\"class\":\"020000\"}"
#define SCAN_OK "[ $1 = scan ] && echo '" NIC "' && echo '{\"kind\":\"end\"}' && exit 0\n"
#define NAMES                                                                     \
	"echo '{\"kind\":\"name\",\"id\":\"pci:8086:10d3\",\"vendor\":\"Intel\"," \
	"\"product\":\"82574L\"}'\n"

struct watcher {
	struct fake_helper fake;
	struct scan *scan;
	struct inventory *inventory; /* of the last scan */
	struct err err;
	int ended;
	uv_timer_t pulse;
	const char *late_verb; /* the deadline passes once that many have been called with it */
	size_t late_calls;
	int lates; /* so many times it has passed */
	int reads;
};

static void on_scanned(void *arg, struct inventory *inventory, const struct err *err)
{
	struct watcher *w = arg;

	w->ended++;
	uv_stop(&w->fake.loop);
	inventory_free(w->inventory);
	w->inventory = inventory;
	if (!inventory)
		w->err = *err;
}

static void watch(struct watcher *w, const char *body, struct scan_options options)
{
	auto_free char *names = NULL;

	*w = (struct watcher){ 0 };
	fake_helper_init(&w->fake, body);
	names = folder_path(&w->fake.folder, "hostdev-names");
	assert_int_equal(symlink("helper", names), 0);
	options.inventory.node_name = "node1";
	options.helper_path = w->fake.path;
	options.deadline_ms = AMPLE_MS;
	w->scan = scan_new(&w->fake.loop, &options, on_scanned, w);
}

/* Look once. True if there is an inventory. */
static bool look(struct watcher *w)
{
	int before = w->ended;

	scan_start(w->scan);
	assert_int_equal(w->ended, before);
	uv_run(&w->fake.loop, UV_RUN_DEFAULT);
	assert_int_equal(w->ended, before + 1);
	return w->inventory != NULL;
}

static void done(struct watcher *w)
{
	assert_null(scan_free(w->scan));
	fake_helper_done(&w->fake);
	inventory_free(w->inventory);
}

SUITE_CLOSING(watcher, struct watcher, done);

static const char *description(const struct watcher *w)
{
	const struct pcidevice *device =
		inventory_find(w->inventory, INVENTORY_PCI, "node1-000001000");

	assert_non_null(device);
	return device->status.description;
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (const char *hit = strstr(text, part); hit; hit = strstr(hit + 1, part))
		n++;
	return n;
}

static size_t calls(const struct watcher *w, const char *verb)
{
	auto_free char *text = fake_helper_wrote(&w->fake, "calls");

	return count(text, verb);
}

static void on_pulse(uv_timer_t *timer)
{
	struct watcher *w = timer->data;

	if (calls(w, w->late_verb) < w->late_calls)
		return;
	w->lates++;
	fake_helper_expire(&w->fake, timer);
}

/* Look once, with a helper that hangs: the one that is the @nth to be called with @verb. */
static bool look_late(struct watcher *w, const char *verb, size_t nth)
{
	bool found;

	w->late_verb = verb;
	w->late_calls = nth;
	uv_timer_init(&w->fake.loop, &w->pulse);
	w->pulse.data = w;
	uv_timer_start(&w->pulse, on_pulse, 1, 5); /* between two, a deadline of 1 ms passes */
	found = look(w);
	uv_close((uv_handle_t *)&w->pulse, NULL);
	uv_run(&w->fake.loop, UV_RUN_ONCE);
	return found;
}

static void a_look_lists_and_names(void **state)
{
	struct watcher *w = *state;
	auto_free char *log = NULL;

	watch(w, CALLS SCAN_OK NAMES, (struct scan_options){ 0 });
	assert_true(look(w));
	assert_string_equal(description(w), "Class 0200: Intel 82574L");
	log = fake_helper_wrote(&w->fake, "calls");
	assert_string_equal(log, "helper scan\nhostdev-names pci:8086:10d3 pciclass:0200\n");
	/* The class has no name, and that is known now, too. */
	assert_true(look(w));
	assert_string_equal(description(w), "Class 0200: Intel 82574L");
	assert_int_equal(calls(w, "scan"), 2);
	assert_int_equal(calls(w, "names"), 1);
}

/* Before hostdev-names has been called. */
static void on_read(void *arg, const struct facts *facts)
{
	struct watcher *w = arg;

	w->reads++;
	assert_int_equal(calls(w, "names"), 0);
	assert_int_equal(facts->pci.len, 1);
	assert_string_equal(facts->pci.items[0].address, "0000:01:00.0");
}

static void what_needs_no_names_is_told_before_they_are_looked_up(void **state)
{
	struct watcher *w = *state;

	watch(w, CALLS SCAN_OK NAMES, (struct scan_options){ 0 });
	scan_listen(w->scan, on_read, w);
	assert_true(look(w));
	assert_int_equal(w->reads, 1);
	assert_int_equal(calls(w, "names"), 1);
	/* Now the names are known. */
	assert_true(look(w));
	assert_int_equal(w->reads, 1);
}

static void the_helper_gets_the_options(void **state)
{
	struct watcher *w = *state;
	auto_free char *log = NULL;

	watch(w, CALLS SCAN_OK "exit 0",
	      (struct scan_options){ .sysfs_root = "/s",
				     .proc_root = "/p",
				     .dev_root = "/v",
				     .state_dir = "/d",
				     .pci_ids = "/i",
				     .usb_ids = "/u" });
	assert_true(look(w));
	scan_set_node_address(w->scan, "10.0.0.1");
	assert_true(look(w));
	scan_set_node_address(w->scan, NULL);
	assert_true(look(w));
	log = fake_helper_wrote(&w->fake, "calls");
	assert_string_equal(
		log, "helper scan --sysfs-root /s --proc-root /p --dev-root /v --state-dir /d\n"
		     "hostdev-names --pci-ids /i --usb-ids /u pci:8086:10d3 pciclass:0200\n"
		     "helper scan --sysfs-root /s --proc-root /p --dev-root /v --state-dir /d "
		     "--node-address 10.0.0.1\n"
		     "helper scan --sysfs-root /s --proc-root /p --dev-root /v --state-dir /d\n");
}

static struct failure_case {
	const char *name;
	const char *body;
	int code;
	const char *says;
} failures[] = {
	{ "a list without its end is cut, and no list", "echo '" NIC "'", -EPIPE, "cut" },
	{ "an end without its newline is none", "printf '{\"kind\":\"end\"}'", -EPIPE, "cut" },
	{ "a helper that failed has no list", "echo '{\"kind\":\"end\"}'; exit 1", -EPIPE,
	  "status 1" },
	{ "a line that cannot be read spoils the list", "echo '{\"kind\":\"pc'; echo", -EINVAL,
	  "line of the helper" },
};

static void look_fails(void **state)
{
	const struct failure_case *c = suite_row(state);
	struct watcher *w = *state;

	watch(w, c->body, (struct scan_options){ 0 });
	assert_false(look(w));
	assert_int_equal(w->err.code, c->code);
	assert_non_null(strstr(w->err.msg, c->says));
	/* Nothing of it is left. */
	fake_helper_does(&w->fake, SCAN_OK);
	assert_true(look(w));
	assert_int_equal(w->inventory->sets[INVENTORY_PCI].len, 1);
}

static void a_missing_helper_fails_from_the_loop(void **state)
{
	struct watcher *w = *state;

	watch(w, "", (struct scan_options){ 0 });
	assert_int_equal(unlink(w->fake.path), 0);
	assert_false(look(w));
	assert_int_equal(w->err.code, -ENOENT);
	assert_non_null(strstr(w->err.msg, w->fake.path));
}

static void devices_without_names_are_better_than_none(void **state)
{
	struct watcher *w = *state;

	watch(w, CALLS SCAN_OK "exit 1", (struct scan_options){ 0 });
	assert_true(look(w));
	assert_string_equal(description(w), "Class 0200: Vendor 8086 Device 10d3");
	/* What failed is not what has no name. */
	fake_helper_does(&w->fake, CALLS SCAN_OK NAMES);
	assert_true(look(w));
	assert_string_equal(description(w), "Class 0200: Intel 82574L");
	assert_int_equal(calls(w, "names"), 2);
}

/* 600 devices of different kinds: more than one command line is to take. */
#define MANY                                                                                     \
	"[ $1 = scan ] && for i in $(seq 1000 1599); do echo \"{\\\"kind\\\":\\\"usb\\\","       \
	"\\\"name\\\":\\\"1-$i\\\",\\\"bus\\\":1,\\\"device\\\":$i,\\\"vendor\\\":\\\"0001\\\"," \
	"\\\"product\\\":\\\"$i\\\"}\"; done && echo '{\"kind\":\"end\"}' && exit 0\n"

static void many_names_are_asked_for_in_parts(void **state)
{
	struct watcher *w = *state;

	watch(w, CALLS MANY, (struct scan_options){ 0 });
	assert_true(look(w));
	assert_int_equal(w->inventory->sets[INVENTORY_USB].len, 600);
	assert_int_equal(calls(w, "names"), 2);
	assert_int_equal(calls(w, "usb:0001:"), 600);
	assert_int_equal(calls(w, "usb:0001:1000"), 1);
	assert_int_equal(calls(w, "usb:0001:1599"), 1);
}

static void stuck_helpers_are_not_piled_up(void **state)
{
	struct watcher *w = *state;

	watch(w, CALLS "read x <$gate", (struct scan_options){ 0 });
	for (size_t i = 1; i <= 3; i++) {
		assert_false(look_late(w, "scan", i));
		assert_int_equal(w->err.kind, ERR_STUCK);
	}
	assert_false(look(w));
	assert_int_equal(w->err.code, -EBUSY);
	assert_int_equal(calls(w, "scan"), 3);
	fake_helper_open_gate(&w->fake);
	fake_helper_does(&w->fake, CALLS SCAN_OK NAMES);
	while (!look(w))
		uv_run(&w->fake.loop, UV_RUN_ONCE); /* one of them ends */
	assert_int_equal(w->inventory->sets[INVENTORY_PCI].len, 1);
}

static void a_helper_that_runs_is_given_more_time(void **state)
{
	struct watcher *w = *state;

	watch(w, CALLS "while [ ! -e $here/stop ]; do :; done", (struct scan_options){ 0 });
	assert_false(look_late(w, "scan", 1));
	assert_int_equal(w->err.kind, ERR_STUCK);
	assert_true(w->lates >= 8); /* two looks in each of four deadlines */
	folder_put(&w->fake.folder, "stop", "");
}

/* The third one stuck is asking for names; the rest of the names is not asked for then. */
static void stuck_helpers_are_not_piled_up_for_names(void **state)
{
	struct watcher *w = *state;

	watch(w, CALLS "read x <$gate", (struct scan_options){ 0 });
	assert_false(look_late(w, "scan", 1));
	assert_false(look_late(w, "scan", 2));
	fake_helper_does(&w->fake, CALLS MANY "read x <$gate");
	assert_true(look_late(w, "names", 1));
	assert_int_equal(w->inventory->sets[INVENTORY_USB].len, 600);
	assert_int_equal(calls(w, "names"), 1);
	assert_false(look(w));
	assert_int_equal(w->err.code, -EBUSY);
}

/* A card with one virtual function that may be a vGPU. */
#define VGPU_CARD                                                                 \
	"[ $1 = scan ] && echo '" NIC "' && echo '{\"kind\":\"pci\","             \
	"\"address\":\"0000:08:00.4\",\"vendor\":\"10de\",\"driver\":\"nvidia\"," \
	"\"role\":\"VirtualFunction\"}' && echo '{\"kind\":\"end\"}' && exit 0\n"
#define VGPU_LOOK                                                                      \
	"[ $1 = vgpu-look ] && echo '{\"kind\":\"vgpu\",\"address\":\"0000:08:00.4\"," \
	"\"current\":\"1145\"}' && exit 0\n"

static void vgpus_are_looked_at_by_a_run_of_their_own(void **state)
{
	struct watcher *w = *state;
	auto_free char *log = NULL;

	watch(w, CALLS VGPU_CARD VGPU_LOOK, (struct scan_options){ .sysfs_root = "/s" });
	assert_true(look(w));
	assert_true(w->inventory->facts->vgpus_known);
	assert_int_equal(w->inventory->facts->vgpus.len, 1);
	log = fake_helper_wrote(&w->fake, "calls");
	assert_non_null(strstr(log, "helper vgpu-look --sysfs-root /s 0000:08:00.4\n"));
	/* Without such a card nothing more runs. */
	fake_helper_does(&w->fake, CALLS SCAN_OK NAMES);
	assert_true(look(w));
	assert_true(w->inventory->facts->vgpus_known);
	assert_int_equal(calls(w, "vgpu-look"), 1);
}

/* A GPU of AMD. */
#define DRM_CARD                                                                 \
	"[ $1 = scan ] && echo '{\"kind\":\"pci\",\"address\":\"0000:03:00.0\"," \
	"\"driver\":\"amdgpu\"}' && echo '{\"kind\":\"end\"}' && exit 0\n"
#define DRM_LOOK                                                                  \
	"[ $1 = drm-look ] && echo '{\"kind\":\"drm\",\"name\":\"0000:03:00.0\"," \
	"\"pciAddress\":\"0000:03:00.0\",\"driver\":\"amdgpu\",\"card\":1}' && exit 0\n"

static void gpus_are_looked_at_if_somebody_asks(void **state)
{
	struct watcher *w = *state;
	const struct drm_facts *gpu;
	auto_free char *log = NULL;

	watch(w, CALLS DRM_CARD DRM_LOOK, (struct scan_options){ .sysfs_root = "/s", .drm = true });
	assert_true(look(w));
	assert_true(w->inventory->facts->drms_known);
	gpu = w->inventory->facts->drms.items;
	assert_string_equal(gpu->pci_address, "0000:03:00.0");
	assert_int_equal(gpu->card, 1);
	assert_int_equal(gpu->render, -1);
	log = fake_helper_wrote(&w->fake, "calls");
	assert_non_null(strstr(log, "helper drm-look --sysfs-root /s\n"));
	/* Without such a driver nothing more runs. */
	fake_helper_does(&w->fake, CALLS SCAN_OK NAMES);
	assert_true(look(w));
	assert_true(w->inventory->facts->drms_known);
	assert_int_equal(calls(w, "drm-look"), 1);
}

static void gpus_are_not_looked_at_if_nobody_asks(void **state)
{
	struct watcher *w = *state;

	watch(w, CALLS DRM_CARD DRM_LOOK, (struct scan_options){ 0 });
	assert_true(look(w));
	assert_false(w->inventory->facts->drms_known);
	assert_int_equal(calls(w, "drm-look"), 0);
}

static void a_driver_of_gpus_that_hangs_hinders_nobody(void **state)
{
	struct watcher *w = *state;

	watch(w, CALLS DRM_CARD "[ $1 = drm-look ] && read x <$gate",
	      (struct scan_options){ .drm = true });
	assert_true(look_late(w, "drm-look", 1));
	assert_false(w->inventory->facts->drms_known);
	assert_int_equal(w->inventory->sets[INVENTORY_PCI].len, 1);
	assert_true(look(w));
	assert_false(w->inventory->facts->drms_known);
	assert_int_equal(calls(w, "drm-look"), 1);
	fake_helper_open_gate(&w->fake);
	fake_helper_does(&w->fake, CALLS DRM_CARD DRM_LOOK);
	while (look(w) && !w->inventory->facts->drms_known)
		uv_run(&w->fake.loop, UV_RUN_ONCE);
	assert_int_equal(w->inventory->facts->drms.len, 1);
}

static void a_driver_of_vgpus_that_hangs_hinders_nobody(void **state)
{
	struct watcher *w = *state;

	watch(w, CALLS VGPU_CARD "[ $1 = vgpu-look ] && read x <$gate", (struct scan_options){ 0 });
	assert_true(look_late(w, "vgpu-look", 1));
	assert_false(w->inventory->facts->vgpus_known);
	assert_int_equal(w->inventory->sets[INVENTORY_PCI].len, 2);
	/* It is not asked again before it answers. */
	for (int i = 0; i < 5; i++) {
		assert_true(look(w));
		assert_false(w->inventory->facts->vgpus_known);
	}
	assert_int_equal(calls(w, "vgpu-look"), 1);
	fake_helper_open_gate(&w->fake);
	fake_helper_does(&w->fake, CALLS VGPU_CARD VGPU_LOOK);
	while (look(w) && !w->inventory->facts->vgpus_known)
		uv_run(&w->fake.loop, UV_RUN_ONCE);
	assert_int_equal(w->inventory->facts->vgpus.len, 1);
}

static void a_driver_of_vgpus_that_fails_hinders_nobody(void **state)
{
	struct watcher *w = *state;

	watch(w, CALLS VGPU_CARD "[ $1 = vgpu-look ] && exit 1", (struct scan_options){ 0 });
	assert_true(look(w));
	assert_false(w->inventory->facts->vgpus_known);
	assert_int_equal(w->inventory->sets[INVENTORY_PCI].len, 2);
}

static void who_leaves_hears_nothing(void **state)
{
	struct watcher w;

	watch(&w, "read x <$gate\n" SCAN_OK, (struct scan_options){ 0 });
	scan_start(w.scan);
	uv_run(&w.fake.loop, UV_RUN_NOWAIT);
	done(&w);
	assert_int_equal(w.ended, 0);
}

static void a_problem_is_no_failure(void **state)
{
	struct watcher *w = *state;

	watch(w,
	      "echo '{\"kind\":\"problem\",\"message\":\"a\"}'\n"
	      "echo '{\"kind\":\"problem\",\"device\":\"b\",\"attribute\":\"c\",\"message\":\"d\"}'\n"
	      "echo '{\"kind\":\"end\"}'",
	      (struct scan_options){ 0 });
	assert_true(look(w));
	assert_true(look(w));
}

static void nothing_can_be_freed(void **state)
{
	assert_null(scan_free(NULL));
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_add(&suite, "who leaves hears nothing", who_leaves_hears_nothing, NULL);
	suite_add(&suite, "freeing nothing is nothing", nothing_can_be_freed, NULL);
	suite_fixture(&suite, &watcher_fixture);
	suite_add(&suite, "a look lists the devices and learns their names, once",
		  a_look_lists_and_names, NULL);
	suite_add(&suite, "what needs no names is told before they are looked up",
		  what_needs_no_names_is_told_before_they_are_looked_up, NULL);
	suite_add(&suite, "the helper gets the options", the_helper_gets_the_options, NULL);
	suite_rows(&suite, failures, look_fails);
	suite_add(&suite, "a missing helper is told from the loop",
		  a_missing_helper_fails_from_the_loop, NULL);
	suite_add(&suite, "devices without names are better than none, and are asked for again",
		  devices_without_names_are_better_than_none, NULL);
	suite_add(&suite, "many names are asked for in parts", many_names_are_asked_for_in_parts,
		  NULL);
	suite_add(&suite, "stuck helpers are not piled up, and are forgotten when they end",
		  stuck_helpers_are_not_piled_up, NULL);
	suite_add(&suite, "a helper that runs is given more time",
		  a_helper_that_runs_is_given_more_time, NULL);
	suite_add(&suite, "stuck helpers are not piled up for names either",
		  stuck_helpers_are_not_piled_up_for_names, NULL);
	suite_add(&suite, "vGPUs are looked at by a run of their own, where there can be any",
		  vgpus_are_looked_at_by_a_run_of_their_own, NULL);
	suite_add(&suite, "a driver of vGPUs that hangs hinders nobody",
		  a_driver_of_vgpus_that_hangs_hinders_nobody, NULL);
	suite_add(&suite, "a driver of vGPUs that fails hinders nobody",
		  a_driver_of_vgpus_that_fails_hinders_nobody, NULL);
	suite_add(&suite, "GPUs are looked at by a run of their own, if somebody asks",
		  gpus_are_looked_at_if_somebody_asks, NULL);
	suite_add(&suite, "GPUs are not looked at if nobody asks",
		  gpus_are_not_looked_at_if_nobody_asks, NULL);
	suite_add(&suite, "a driver of GPUs that hangs hinders nobody",
		  a_driver_of_gpus_that_hangs_hinders_nobody, NULL);
	suite_add(&suite, "a problem with a device is no failure", a_problem_is_no_failure, NULL);
	return suite_run(&suite, "scan");
}
