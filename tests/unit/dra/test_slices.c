/* slices: ResourceSlices between devices, the Node, and an API server. */
#include "agent/dra/slices.h"

#include "agent/dra/dra_devices.h"
#include "api/node.h"
#include "api/resourceslice.h"
#include "base/log.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "kube/informer.h"
#include "kube/metrics.h"
#include "unit/captured.h"
#include "unit/dra/devices_scene.h"
#include "unit/kube/random_life.h"

#define PCI  "node1-hostdev.io-pci"
#define USB  "node1-hostdev.io-usb"
#define NIC  "0000:3c:00.0"
#define TWIN "0000:3c:00.1"

struct bench {
	struct fake_server *server; /* of the slices */
	struct fake_server *nodes;
	struct kube_client *client;
	struct fake_clock *clock;
	struct informer *self;
	struct this_node node;
	struct world world;
	struct dra_devices *devices;
	struct slices *slices;
	struct metrics *metrics;
	const char *held; /* the device that a ResourceClaim has; NULL: none */
};

static const char *const lines[] = {
	"{\"kind\":\"pci\",\"address\":\"" NIC "\",\"vendor\":\"8086\",\"device\":\"10d3\","
	"\"class\":\"020000\",\"driver\":\"vfio-pci\",\"iommuGroup\":\"12\"}",
	"{\"kind\":\"pci\",\"address\":\"" TWIN "\",\"vendor\":\"8086\",\"device\":\"10d3\","
	"\"class\":\"020000\",\"driver\":\"vfio-pci\",\"iommuGroup\":\"13\"}",
	NULL
};

static void on_devices(void *arg)
{
	const struct bench *b = arg;

	if (b->slices)
		slices_update(b->slices);
}

static bool is_held(void *arg, const char *id)
{
	const struct bench *b = arg;

	return str_match(b->held, id);
}

static void on_node(void *arg, const char *name, const struct entry *before,
		    const struct entry *after)
{
	(void)name;
	(void)before;
	(void)after;
	on_devices(arg);
}

/* The agent begins, or begins again. */
static void bench_begin(struct bench *b)
{
	b->self = informer_new(&(struct informer_deps){ .client = b->client,
							.clock = fake_clock_as_clock(b->clock) },
			       &(struct informer_spec){ .kind = &node_kind,
							.handlers = { .on_change = on_node },
							.arg = b });
	b->node = this_node_of(b->client, fake_clock_as_clock(b->clock), NULL);
	b->node.self = b->self;
	b->node.inventory = b->world.inventory;
	b->node.metrics = b->metrics;
	b->devices = dra_devices_new(&b->node, on_devices, b);
	b->slices = slices_new(&b->node, b->devices, is_held, b);
	informer_start(b->self);
	slices_start(b->slices);
}

static void bench_end(struct bench *b)
{
	b->slices = slices_free(b->slices);
	dra_devices_free(b->devices);
	informer_free(b->self);
}

static void set_node(struct bench *b, const char *runtime)
{
	auto_free char *status =
		xasprintf("{'nodeInfo':{'containerRuntimeVersion':'%s'}}", runtime);

	fake_server_write(b->nodes, "node1", "{}");
	fake_server_write_status(b->nodes, "node1", status);
}

static void bench_open(struct bench *b)
{
	*b = (struct bench){ .server = fake_server_new(&resourceslice_kind),
			     .clock = fake_clock_new(),
			     .metrics = metrics_new() };
	b->client = fake_server_client(b->server);
	b->nodes = fake_server_join(b->server, &node_kind);
	fake_server_set_watch(b->server, FAKE_WATCH_NEXT);
	fake_server_set_watch(b->nodes, FAKE_WATCH_NEXT);
	set_node(b, "containerd://2.2.9");
	world_of(&b->world, lines, 4);
	bench_begin(b);
}

static void bench_close(struct bench *b)
{
	bench_end(b);
	kube_client_free(b->client);
	fake_server_free(b->server);
	fake_clock_free(b->clock);
	world_close(&b->world);
	metrics_free(b->metrics);
}

SUITE_FIXTURE(bench, struct bench, bench_open, bench_close);

static void settle(struct bench *b)
{
	do
		fake_clock_settle(b->clock);
	while (fake_server_step(b->server));
}

static size_t count(const char *text, const char *part)
{
	size_t found = 0;

	while ((text = strstr(text, part))) {
		text += strlen(part);
		found++;
	}
	return found;
}

/* For @ms, in steps of 100 ms. How many writes were asked for, whether they changed anything or
 * not. */
static size_t pass(struct bench *b, uint64_t ms)
{
	const char *log;

	(void)fake_server_log(b->server);
	settle(b);
	for (uint64_t gone = 0; gone < ms; gone += 100) {
		fake_clock_advance(b->clock, 100);
		settle(b);
	}
	log = fake_server_log(b->server);
	return count(log, "PATCH ") + count(log, "POST ") + count(log, "DELETE ");
}

/* Names of the devices of a slice, "none" without the slice. */
static void assert_devices(const struct bench *b, const char *slice, const char *wanted)
{
	const json_t *object = fake_server_get(b->server, slice);
	const json_t *list = json_object_get(json_object_get(object, "spec"), "devices");
	auto_str struct str names = STR_INIT;

	for (size_t i = 0; i < json_array_size(list); i++)
		str_addf(&names, "%s%s", i ? " " : "",
			 json_string_value(json_object_get(json_array_get(list, i), "name")));
	assert_string_equal(object ? str_cstr(&names) : "none", wanted);
}

static void select_kinds(struct bench *b, bool pci, bool usb)
{
	dra_devices_select(b->devices, (const bool[DRA_KINDS]){ [DRA_PCI] = pci, [DRA_USB] = usb });
}

/* --- what is written -------------------------------------------------------------------------- */

static void a_slice_is_whole_and_written_once(void **state)
{
	struct bench *b = *state;
	const json_t *slice;
	auto_free char *text = NULL;

	devices_scene_set(b->devices, &pci_like, NIC " " TWIN "!");
	assert_int_equal(pass(b, 1000), 1);
	slice = fake_server_get(b->server, PCI);
	text = json_map_text(json_object_get(slice, "spec"));
	assert_string_equal(
		text,
		"{\"driver\":\"hostdev.io\",\"nodeName\":\"node1\",\"pool\":{\"name\":\"node1\","
		"\"generation\":1,\"resourceSliceCount\":1},\"devices\":[{\"name\":"
		"\"pci-0000-3c-00-0\",\"attributes\":{\"resourceName\":{\"string\":\"a.io/x\"},"
		"\"type\":{\"string\":\"pci\"},\"resource.kubernetes.io/pciBusID\":{\"string\":"
		"\"0000:3c:00.0\"},\"resource.kubernetes.io/pcieRoot\":{\"string\":\"pci0000:3c\"},"
		"\"vendorID\":{\"string\":\"8086\"},\"deviceID\":{\"string\":\"10d3\"},\"class\":"
		"{\"string\":\"0200\"},\"driver\":{\"string\":\"vfio-pci\"},\"iommuGroup\":{\"int\":"
		"12},\"iommuGroupSize\":{\"int\":1}}}]}");
	free(text);
	text = json_map_text(
		json_object_get(json_object_get(slice, "metadata"), "ownerReferences"));
	assert_string_equal(text, "[{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"node1\","
				  "\"uid\":\"u1\",\"controller\":true}]");
	slices_update(b->slices);
	assert_int_equal(pass(b, 60000), 0);
}

static void each_kind_has_a_slice_of_its_own(void **state)
{
	struct bench *b = *state;

	devices_scene_set(b->devices, &pci_like, NIC);
	devices_scene_set(b->devices, &usb_like, "1-2");
	assert_int_equal(pass(b, 1000), 2);
	assert_devices(b, USB, "usb-1-2");
	devices_scene_set(b->devices, &usb_like, "1-2 1-3");
	assert_int_equal(pass(b, 1000), 1);
	assert_devices(b, PCI, "pci-0000-3c-00-0");
	assert_devices(b, USB, "usb-1-2 usb-1-3");
}

static void many_devices_are_further_pools(void **state)
{
	struct bench *b = *state;
	auto_str struct str ids = STR_INIT;
	const json_t *slice;

	for (unsigned i = 0; i < 129; i++)
		str_addf(&ids, "%s0000:40:%02x.%u", i ? " " : "", i / 8, i % 8);
	devices_scene_set(b->devices, &pci_like, str_cstr(&ids));
	assert_int_equal(pass(b, 1000), 2);
	slice = json_object_get(fake_server_get(b->server, PCI), "spec");
	assert_int_equal(json_array_size(json_object_get(slice, "devices")), 128);
	assert_devices(b, PCI "-2", "pci-0000-40-10-0");
	devices_scene_set(b->devices, &pci_like, NIC);
	assert_int_equal(pass(b, 1000), 2);
	assert_devices(b, PCI, "pci-0000-3c-00-0");
	assert_devices(b, PCI "-2", "none"); /* only the first is kept without devices */
}

static void an_unhealthy_device_leaves(void **state)
{
	struct bench *b = *state;

	devices_scene_set(b->devices, &pci_like, NIC " " TWIN);
	pass(b, 1000);
	devices_scene_set(b->devices, &pci_like, NIC "! " TWIN);
	assert_int_equal(pass(b, 1000), 1);
	assert_devices(b, PCI, "pci-0000-3c-00-1");
	devices_scene_set(b->devices, &pci_like, NIC "! " TWIN "!");
	assert_int_equal(pass(b, 1000), 1);
	assert_devices(b, PCI, ""); /* and the slice stays */
	devices_scene_set(b->devices, &pci_like, NIC " " TWIN);
	assert_int_equal(pass(b, 1000), 1);
	assert_devices(b, PCI, "pci-0000-3c-00-0 pci-0000-3c-00-1");
}

/* --- taints ----------------------------------------------------------------------------------- */

#define TAINT "[{\"key\":\"hostdev.io/unhealthy\",\"effect\":\"NoSchedule\"}]"
#define TIMED                                                           \
	"[{\"key\":\"hostdev.io/unhealthy\",\"effect\":\"NoSchedule\"," \
	"\"timeAdded\":\"2026-01-02T03:04:05Z\"}]"

static json_t *devices_in(const json_t *slice)
{
	return json_object_get(json_object_get(slice, "spec"), "devices");
}

/* As an API server with the gate does it. */
static void set_time(json_t *slice)
{
	const json_t *device;
	size_t i;

	json_array_foreach (devices_in(slice), i, device) {
		json_t *taint = json_array_get(json_object_get(device, "taints"), 0);

		if (taint)
			json_put_text(taint, "timeAdded", "2026-01-02T03:04:05Z");
	}
}

/* As one without it. */
static void drop_taints(json_t *slice)
{
	json_t *device;
	size_t i;

	json_array_foreach (devices_in(slice), i, device)
		json_object_del(device, "taints");
}

/* Of the first device in the slice of the PCI functions. @expected NULL: none. */
static void assert_taints(const struct bench *b, const char *expected)
{
	const json_t *device = json_array_get(devices_in(fake_server_get(b->server, PCI)), 0);
	const json_t *taints = json_object_get(device, "taints");
	auto_free char *text = taints ? json_map_text(taints) : NULL;

	assert_true(str_equal(text, expected));
}

static void an_unhealthy_device_of_a_claim_gets_a_taint(void **state)
{
	struct bench *b = *state;

	fake_server_set_edit(b->server, set_time);
	b->held = NIC;
	devices_scene_set(b->devices, &pci_like, NIC " " TWIN);
	pass(b, 1000);
	assert_taints(b, NULL);
	devices_scene_set(b->devices, &pci_like, NIC "! " TWIN "!");
	assert_int_equal(pass(b, 1000), 1);
	assert_devices(b, PCI, "pci-0000-3c-00-0");
	assert_taints(b, TIMED);
	assert_int_equal(pass(b, 60000), 0);
	/* The next agent finds it right. */
	bench_end(b);
	bench_begin(b);
	devices_scene_set(b->devices, &pci_like, NIC "! " TWIN "!");
	assert_int_equal(pass(b, 60000), 0);
	/* Somebody takes it off. */
	fake_server_set_edit(b->server, NULL);
	fake_server_write(b->server, PCI,
			  "{'spec':{'devices':[{'name':'pci-0000-3c-00-0','taints':[]}]}}");
	assert_int_equal(pass(b, 1000), 1);
	assert_taints(b, TAINT);
	devices_scene_set(b->devices, &pci_like, NIC " " TWIN "!");
	assert_int_equal(pass(b, 1000), 1);
	assert_devices(b, PCI, "pci-0000-3c-00-0");
	assert_taints(b, NULL);
}

static void it_leaves_when_no_claim_has_it_any_more(void **state)
{
	struct bench *b = *state;

	b->held = NIC;
	devices_scene_set(b->devices, &pci_like, NIC "!");
	pass(b, 1000);
	assert_taints(b, TAINT);
	b->held = NULL;
	slices_update(b->slices);
	assert_int_equal(pass(b, 1000), 1);
	assert_devices(b, PCI, "");
	b->held = NIC;
	slices_update(b->slices);
	assert_int_equal(pass(b, 1000), 1);
	assert_taints(b, TAINT);
}

/* Without its taint it would look healthy. */
static void where_taints_are_dropped_it_leaves(void **state)
{
	struct bench *b = *state;
	struct captured captured;
	auto_free char *log = NULL;

	fake_server_set_edit(b->server, drop_taints);
	b->held = NIC;
	devices_scene_set(b->devices, &pci_like, NIC " " TWIN);
	pass(b, 1000);
	log_set_level(LOG_WARN);
	captured_begin(&captured);
	devices_scene_set(b->devices, &pci_like, NIC "! " TWIN);
	assert_int_equal(pass(b, 1000), 2);
	assert_devices(b, PCI, "pci-0000-3c-00-1");
	assert_int_equal(pass(b, 60000), 0);
	/* It is not tried again. */
	devices_scene_set(b->devices, &pci_like, NIC " " TWIN);
	assert_int_equal(pass(b, 1000), 1);
	devices_scene_set(b->devices, &pci_like, NIC "! " TWIN);
	assert_int_equal(pass(b, 1000), 1);
	assert_devices(b, PCI, "pci-0000-3c-00-1");
	log = captured_end(&captured);
	log_set_level(LOG_ERROR);
	assert_non_null(strstr(log, "field=\"spec.devices[0].taints is missing\""));
	assert_null(strstr(strstr(log, "does not keep") + 1, "does not keep"));
}

/* Another difference comes first in what the API server has made of the slice. */
static void drop_all(json_t *slice)
{
	json_object_del(json_array_get(devices_in(slice), 0), "attributes");
	drop_taints(slice);
}

static void a_dropped_taint_is_seen_behind_another_difference(void **state)
{
	struct bench *b = *state;

	fake_server_set_edit(b->server, drop_all);
	log_set_level(LOG_ERROR);
	b->held = NIC;
	devices_scene_set(b->devices, &pci_like, NIC "! " TWIN);
	pass(b, 1000);
	assert_devices(b, PCI, "pci-0000-3c-00-1");
	assert_int_equal(pass(b, 60000), 0);
}

static void a_long_slice_has_no_taints(void **state)
{
	struct bench *b = *state;
	auto_str struct str ids = STR_INIT;

	b->held = "0000:40:00.0";
	str_add(&ids, "0000:40:00.0!");
	for (unsigned i = 1; i < SLICES_TAINTED_MAX; i++)
		str_addf(&ids, " 0000:40:%02x.%u", i / 8, i % 8);
	devices_scene_set(b->devices, &pci_like, str_cstr(&ids));
	pass(b, 1000);
	assert_int_equal(json_array_size(devices_in(fake_server_get(b->server, PCI))), 64);
	assert_taints(b, TAINT);
	str_add(&ids, " 0000:41:00.0");
	devices_scene_set(b->devices, &pci_like, str_cstr(&ids));
	assert_int_equal(pass(b, 1000), 1);
	assert_int_equal(json_array_size(devices_in(fake_server_get(b->server, PCI))), 64);
	assert_taints(b, NULL);
}

static void an_empty_slice_stays_while_its_kind_is_selected(void **state)
{
	struct bench *b = *state;

	select_kinds(b, true, false);
	devices_scene_set(b->devices, &pci_like, NIC);
	pass(b, 1000);
	devices_scene_set(b->devices, &pci_like, "");
	assert_int_equal(pass(b, 1000), 1);
	assert_devices(b, PCI, "");
	assert_devices(b, USB, "none");
	bench_end(b);
	fake_server_write(b->server, PCI, "{'spec':{'devices':null}}"); /* as it is shown */
	bench_begin(b);
	select_kinds(b, true, false);
	assert_int_equal(pass(b, 1000), 0);
	select_kinds(b, false, false);
	assert_int_equal(pass(b, 1000), 1);
	assert_devices(b, PCI, "none");
	assert_int_equal(pass(b, 60000), 0);
}

/* --- what others do --------------------------------------------------------------------------- */

static void a_removed_slice_is_back_at_once(void **state)
{
	struct bench *b = *state;

	devices_scene_set(b->devices, &pci_like, NIC);
	pass(b, 1000);
	for (int i = 0; i < 5; i++) {
		fake_server_delete(b->server, PCI);
		assert_int_equal(pass(b, 0), 1); /* no time goes by */
		assert_devices(b, PCI, "pci-0000-3c-00-0");
	}
}

static void an_edited_slice_is_healed_at_once(void **state)
{
	static const char *const edits[] = {
		"{'spec':{'devices':[]}}",
		"{'spec':{'devices':[{'name':'pci-0000-3c-00-0'}]}}",
		"{'spec':{'pool':{'generation':7}}}",
		"{'spec':{'pool':{'resourceSliceCount':2}}}",
		"{'metadata':{'ownerReferences':null}}",
	};
	struct bench *b = *state;
	auto_free char *wanted = NULL;

	devices_scene_set(b->devices, &pci_like, NIC);
	pass(b, 1000);
	wanted = json_map_text(json_object_get(fake_server_get(b->server, PCI), "spec"));
	for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
		auto_free char *text = NULL;

		fake_server_write(b->server, PCI, edits[i]);
		assert_int_equal(pass(b, 0), 1);
		text = json_map_text(json_object_get(fake_server_get(b->server, PCI), "spec"));
		assert_string_equal(text, wanted);
		assert_non_null(json_object_get(
			json_object_get(fake_server_get(b->server, PCI), "metadata"),
			"ownerReferences"));
		assert_int_equal(pass(b, 10000), 0);
	}
}

static void labels_of_others_are_theirs(void **state)
{
	struct bench *b = *state;

	devices_scene_set(b->devices, &pci_like, NIC);
	pass(b, 1000);
	fake_server_write(b->server, PCI, "{'metadata':{'labels':{'team':'a'}}}");
	assert_int_equal(pass(b, 1000), 0);
	assert_string_equal(fake_server_text(b->server, PCI, "metadata.labels.team"), "a");
}

/* A second slice of the pool, or a newer generation of it, would make it incomplete. */
static void a_slice_that_is_none_of_ours_is_removed(void **state)
{
	struct bench *b = *state;

	devices_scene_set(b->devices, &pci_like, NIC);
	pass(b, 1000);
	fake_server_write(
		b->server, "00000-hostdev.io-node1-x7k2p",
		"{'spec':{'driver':'hostdev.io','nodeName':'node1','pool':{'name':'node1',"
		"'generation':9,'resourceSliceCount':1}}}");
	assert_int_equal(pass(b, 0), 1);
	assert_int_equal(fake_server_count(b->server), 1);
}

/* The answer shows the devices of before: that is not the API server's doing. */
static void a_device_that_comes_while_a_slice_is_written_is_in_the_next(void **state)
{
	struct bench *b = *state;
	struct captured captured;
	auto_free char *log = NULL;

	settle(b);
	devices_scene_set(b->devices, &pci_like, NIC);
	fake_clock_advance(b->clock, 100);
	fake_clock_settle(b->clock); /* the apply is under way */
	assert_int_equal(fake_server_count(b->server), 0);
	log_set_level(LOG_WARN);
	captured_begin(&captured);
	devices_scene_set(b->devices, &pci_like, NIC " " TWIN);
	assert_int_equal(pass(b, 1000), 2);
	assert_int_equal(pass(b, 60000), 0);
	log = captured_end(&captured);
	log_set_level(LOG_ERROR);
	assert_devices(b, PCI, "pci-0000-3c-00-0 pci-0000-3c-00-1");
	assert_null(strstr(log, "does not keep"));
}

/* As by an API server without the gate of the field. */
static void what_the_server_does_not_keep_is_told_once(void **state)
{
	struct bench *b = *state;
	struct captured captured;
	auto_free char *log = NULL;

	devices_scene_set(b->devices, &pci_like, NIC);
	pass(b, 1000);
	log_set_level(LOG_WARN);
	captured_begin(&captured);
	fake_server_write(b->server, PCI, "{'spec':{'added':true}}"); /* an apply leaves it */
	assert_int_equal(pass(b, 1000), 1);
	slices_update(b->slices);
	assert_int_equal(pass(b, 60000), 0);
	devices_scene_set(b->devices, &pci_like, NIC " " TWIN);
	assert_int_equal(pass(b, 60000), 1);
	log = captured_end(&captured);
	log_set_level(LOG_ERROR);
	assert_non_null(strstr(log, "field=\"spec.added is added\""));
	assert_null(strstr(strstr(log, "does not keep") + 1, "does not keep"));
}

/* --- the agent and its node ------------------------------------------------------------------- */

static void an_agent_that_begins_again_writes_nothing(void **state)
{
	struct bench *b = *state;

	devices_scene_set(b->devices, &pci_like, NIC);
	pass(b, 1000);
	bench_end(b);
	bench_begin(b);
	devices_scene_set(b->devices, &pci_like, NIC);
	assert_int_equal(pass(b, 60000), 0);
	fake_server_delete(b->server, PCI);
	assert_int_equal(pass(b, 0), 1);
}

static void nothing_is_written_before_the_start(void **state)
{
	struct bench *b = *state;

	b->slices = slices_free(b->slices);
	b->slices = slices_new(&b->node, b->devices, is_held, b);
	devices_scene_set(b->devices, &pci_like, NIC);
	slices_update(b->slices);
	assert_int_equal(pass(b, 60000), 0);
	slices_start(b->slices);
	slices_start(b->slices);
	assert_int_equal(pass(b, 0), 1);
}

static void nothing_is_written_without_a_node(void **state)
{
	struct bench *b = *state;

	fake_server_delete(b->nodes, "node1");
	devices_scene_set(b->devices, &pci_like, NIC);
	assert_int_equal(pass(b, 10000), 0);
	set_node(b, "cri-o://1.30.0");
	assert_int_equal(pass(b, 1000), 1);
	assert_devices(b, PCI, "pci-0000-3c-00-0");
}

static void a_node_that_is_made_again_is_the_owner(void **state)
{
	struct bench *b = *state;

	devices_scene_set(b->devices, &pci_like, NIC);
	pass(b, 1000);
	fake_server_delete(b->nodes, "node1");
	set_node(b, "containerd://2.2.9");
	assert_int_equal(pass(b, 1000), 1);
	assert_int_equal(pass(b, 10000), 0);
}

static void assert_withheld(const struct bench *b, bool withheld)
{
	auto_str struct str text = STR_INIT;

	metrics_write(b->metrics, &text);
	assert_non_null(strstr(str_cstr(&text), withheld ? "\nhostdev_dra_withheld 1\n"
							 : "\nhostdev_dra_withheld 0\n"));
}

static void a_runtime_without_cdi_gets_no_slices(void **state)
{
	struct bench *b = *state;

	devices_scene_set(b->devices, &pci_like, NIC);
	pass(b, 1000);
	set_node(b, "containerd://1.6.20");
	assert_int_equal(pass(b, 1000), 1);
	assert_devices(b, PCI, "none");
	assert_int_equal(pass(b, 10000), 0);
	assert_withheld(b, true);
	b->node.cdi = CDI_ON;
	slices_update(b->slices);
	assert_int_equal(pass(b, 1000), 1);
	assert_withheld(b, false);
	assert_devices(b, PCI, "pci-0000-3c-00-0");
}

/* Where nothing is to be offered, nothing is withheld. */
static void a_runtime_without_cdi_is_no_trouble_without_dra(void **state)
{
	struct bench *b = *state;
	const bool selected[DRA_KINDS] = { [DRA_USB] = true };
	const bool none[DRA_KINDS] = { false };

	set_node(b, "containerd://1.6.20");
	pass(b, 1000);
	assert_withheld(b, false);
	dra_devices_select(b->devices, selected);
	pass(b, 1000);
	assert_withheld(b, true);
	dra_devices_select(b->devices, none);
	pass(b, 1000);
	assert_withheld(b, false);
}

/* --- random lives ----------------------------------------------------------------------------- */

static void *life_open(struct random_world *world)
{
	struct bench *b = xcalloc(1, sizeof(*b));

	bench_open(b);
	fake_server_set_watch(b->server, FAKE_WATCH_BY_HAND);
	fake_server_set_watch(b->nodes, FAKE_WATCH_BY_HAND);
	*world = (struct random_world){ .server = b->server, .clock = b->clock };
	return b;
}

static void life_close(void *arg)
{
	bench_close(arg);
	free(arg);
}

static void something(void *arg, uint64_t *seed)
{
	static const char *const sets[] = { "", NIC, TWIN, NIC " " TWIN, NIC "! " TWIN };
	static void (*const edits[])(json_t *) = { NULL, set_time, drop_taints };
	static const char *const runtimes[] = { "containerd://2.2.9", "containerd://1.6.20" };
	struct bench *b = arg;
	bool there = fake_server_get(b->server, PCI) != NULL;

	switch (suite_random(seed) % 10) {
	case 0:
		fake_server_delete(b->server, PCI);
		return;
	case 1:
		if (there)
			fake_server_write(b->server, PCI, "{'spec':{'devices':[]}}");
		return;
	case 2:
		if (there)
			fake_server_write(b->server, PCI, "{'metadata':{'ownerReferences':null}}");
		return;
	case 3:
		fake_server_write(b->server, "stranger", "{'spec':{'driver':'hostdev.io'}}");
		return;
	case 4:
		set_node(b, runtimes[suite_random(seed) % ARRAY_LEN(runtimes)]);
		return;
	case 5:
		select_kinds(b, suite_random(seed) % 2, suite_random(seed) % 2);
		return;
	case 6:
		b->held = b->held ? NULL : NIC;
		slices_update(b->slices);
		return;
	case 7:
		fake_server_set_edit(b->server, edits[suite_random(seed) % ARRAY_LEN(edits)]);
		return;
	default:
		devices_scene_set(b->devices, &pci_like,
				  sets[suite_random(seed) % ARRAY_LEN(sets)]);
		return;
	}
}

static void begin_again(void *arg)
{
	bench_end(arg);
	bench_begin(arg);
}

static void end_well(void *arg)
{
	struct bench *b = arg;

	set_node(b, "containerd://2.2.9");
	select_kinds(b, true, false);
	devices_scene_set(b->devices, &pci_like, NIC " " TWIN);
	slices_update(b->slices); /* as with each heartbeat of the Node */
}

static void assert_end(void *arg)
{
	const struct bench *b = arg;

	assert_devices(b, PCI, "pci-0000-3c-00-0 pci-0000-3c-00-1");
	assert_int_equal(fake_server_count(b->server), 1);
	assert_int_equal(json_array_size(json_object_get(
				 json_object_get(fake_server_get(b->server, PCI), "metadata"),
				 "ownerReferences")),
			 1);
}

static const struct random_kind slices_kind = {
	.name = "ResourceSlices",
	.open = life_open,
	.close = life_close,
	.something = something,
	.begin_again = begin_again,
	.end_well = end_well,
	.assert_end = assert_end,
};

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "a slice is whole, and written once", a_slice_is_whole_and_written_once,
		  NULL);
	suite_add(&suite, "each kind has a slice of its own", each_kind_has_a_slice_of_its_own,
		  NULL);
	suite_add(&suite, "many devices are further pools", many_devices_are_further_pools, NULL);
	suite_add(&suite, "an unhealthy device leaves its slice", an_unhealthy_device_leaves, NULL);
	suite_add(&suite, "an unhealthy device of a claim gets a taint",
		  an_unhealthy_device_of_a_claim_gets_a_taint, NULL);
	suite_add(&suite, "it leaves when no claim has it any more",
		  it_leaves_when_no_claim_has_it_any_more, NULL);
	suite_add(&suite, "where taints are dropped it leaves", where_taints_are_dropped_it_leaves,
		  NULL);
	suite_add(&suite, "a dropped taint is seen behind another difference",
		  a_dropped_taint_is_seen_behind_another_difference, NULL);
	suite_add(&suite, "a long slice has no taints", a_long_slice_has_no_taints, NULL);
	suite_add(&suite, "an empty slice stays while its kind is selected",
		  an_empty_slice_stays_while_its_kind_is_selected, NULL);
	suite_add(&suite, "a removed slice is back at once", a_removed_slice_is_back_at_once, NULL);
	suite_add(&suite, "an edited slice is healed at once", an_edited_slice_is_healed_at_once,
		  NULL);
	suite_add(&suite, "labels of others are theirs", labels_of_others_are_theirs, NULL);
	suite_add(&suite, "a slice that is none of ours is removed",
		  a_slice_that_is_none_of_ours_is_removed, NULL);
	suite_add(&suite, "a device that comes while a slice is written is in the next",
		  a_device_that_comes_while_a_slice_is_written_is_in_the_next, NULL);
	suite_add(&suite, "what the API server does not keep is told once",
		  what_the_server_does_not_keep_is_told_once, NULL);
	suite_add(&suite, "an agent that begins again writes nothing",
		  an_agent_that_begins_again_writes_nothing, NULL);
	suite_add(&suite, "nothing is written before the start",
		  nothing_is_written_before_the_start, NULL);
	suite_add(&suite, "nothing is written without a Node", nothing_is_written_without_a_node,
		  NULL);
	suite_add(&suite, "a Node that is made again is the owner",
		  a_node_that_is_made_again_is_the_owner, NULL);
	suite_add(&suite, "a runtime without CDI gets no slices",
		  a_runtime_without_cdi_gets_no_slices, NULL);
	suite_add(&suite, "a runtime without CDI is no trouble without DRA",
		  a_runtime_without_cdi_is_no_trouble_without_dra, NULL);
	random_lives(&suite, &slices_kind, 30);
	return suite_run(&suite, "slices");
}
