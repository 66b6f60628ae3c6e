/* offers: claimed devices at a kubelet, and their allocations from its answers. */
#include "agent/config/config.h"
#include "agent/resource/offers.h"

#include "fake/fake_clock.h"
#include "unit/captured.h"
#include "unit/resource/offers_scene.h"

static void claimed_devices_are_registered(void **state)
{
	struct scene *scene = *state;

	kubelet_start(&scene->kubelet);
	offers_begin(scene, false);
	await_stream(scene);
	assert_true(told(scene, MODEL " at hostdev-"));
}

static void what_is_claimed_later_is_registered(void **state)
{
	struct scene *scene = *state;

	store_remove(scene->node.claims, "node1-000001000", NULL, object_ignore_change, NULL);
	kubelet_start(&scene->kubelet);
	offers_begin(scene, false);
	pass(scene, 1000);
	assert_null(scene->kubelet.stream);
	node1_claim(&scene->node, NIC_CLAIM("", "", READY_OF("True")));
	offers_update_soon(scene->offers);
	await_stream(scene);
	assert_true(told(scene, MODEL " at hostdev-"));
}

static void a_kubelet_that_comes_later_is_found(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(rmdir(scene->kubelet.dir), 0);
	offers_begin(scene, false);
	assert_holder(scene, "free");
	assert_int_equal(offers_allocations(scene->offers, NIC)->len, 0);
	pass(scene, 20000);
	kubelet_start(&scene->kubelet);
	pass(scene, 6000);
	await_stream(scene);
}

static void switched_off_nothing_is_offered(void **state)
{
	struct scene *scene = *state;

	kubelet_start(&scene->kubelet);
	offers_begin(scene, true);
	offers_update_soon(scene->offers);
	pass(scene, 10000);
	assert_int_equal(scene->stage.log.len, 0);
	assert_holder(scene, "free");
}

/* The clock stands still: an event tells, and nothing that looks from time to time. */
static void a_nodes_end_is_reported_at_once(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = folder_path(&scene->node.folder, "dev/vfio/12");

	kubelet_start(&scene->kubelet);
	offers_begin(scene, false);
	await_stream(scene);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(unlink(path), 0);
		while (scene->kubelet.unhealthy != 1) {
			fake_clock_settle(scene->stage.fake);
			stage_turn(&scene->stage);
		}
		folder_put(&scene->node.folder, "dev/vfio/12", "");
		while (scene->kubelet.unhealthy != 0) {
			fake_clock_settle(scene->stage.fake);
			stage_turn(&scene->stage);
		}
	}
}

/* --- an IOMMU group --------------------------------------------------------------------------- */

/* The kubelet says a moment later which pod it was; the next pod must not be faster. */
static void functions_of_a_group_go_to_one_pod(void **state)
{
	static const char *const pair[NODE1_LINES] = { FUNCTION(NIC, "vfio-pci", "12", ""),
						       FUNCTION(TWIN, "vfio-pci", "12", "") };
	static const uint64_t gaps[] = { 0, 150, 700, 5000 };

	for (size_t i = 0; i < ARRAY_LEN(gaps); i++) {
		struct scene *scene = scene_of(pair);

		node1_claim(&scene->node, TWIN_CLAIM("", "", READY_OF("True")));
		kubelet_start(&scene->kubelet);
		pods_serve(scene);
		offers_begin(scene, false);
		await_stream(scene);
		pass(scene, 200);
		allocate(scene);
		pass(scene, gaps[i]);
		assert_int_equal(allocate_one(scene, TWIN), GRPC_FAILED_PRECONDITION);
		allocate(scene); /* the same again, for the container after an init container */

		/* No pod has appeared with it. */
		pass(scene, 30000);
		assert_int_equal(allocate_one(scene, TWIN), GRPC_OK);
		scene_free(scene);
	}
}

/* --- a kind of device that was added ---------------------------------------------------------- */

#define STICK "1-2.3"

struct sticks {
	const char *resource;
	unsigned looks;
};

static int give_stick(void *arg, const char *resource, const struct json_strs *ids,
		      struct allocation *allocation, struct err *err)
{
	(void)arg;
	(void)resource;
	(void)ids;
	(void)err;
	allocation_add_device(allocation, "/dev/bus/usb/001/002", "mrw");
	return 0;
}

static const struct device_type stick_type = { .name = "stick", .allocate = give_stick };

static void offer_sticks(void *arg, struct plugins *plugins)
{
	struct sticks *sticks = arg;
	struct plugin_device device = { .id = STICK, .healthy = true, .numa_node = -1 };
	struct plugin_resource resource = { .name = sticks->resource,
					    .devices = &device,
					    .ndevices = 1 };

	sticks->looks++;
	plugins_set(plugins, &stick_type, sticks, &resource, sticks->resource ? 1 : 0);
}

static void a_kind_that_is_added_is_offered(void **state)
{
	struct scene *scene = *state;
	struct sticks sticks = { "kubevirt.io/node1-0951-1666-001002", 0 };

	store_remove(scene->node.claims, "node1-000001000", NULL, object_ignore_change, NULL);
	kubelet_start(&scene->kubelet);
	offers_begin(scene, false);
	offers_add(scene->offers, &(struct offers_type){ .offer = offer_sticks, .arg = &sticks });
	await_stream(scene);
	assert_true(told(scene, "kubevirt.io/node1-0951-1666-001002 at hostdev-"));
	assert_int_equal(sticks.looks, 1);
	offers_update_soon(scene->offers);
	pass(scene, 50);
	assert_int_equal(sticks.looks, 2);
}

/* The kubelet's answer is there before it is known which resources are ours. */
static void who_has_what_is_known_once_it_is_offered(void **state)
{
	struct scene *scene = *state;
	struct sticks sticks = { 0 };
	auto_free char *holder = NULL;

	kubelet_start(&scene->kubelet);
	pods_serve(scene);
	list_more(scene, "our.io/stick", STICK, "vm-1");
	offers_begin(scene, false);
	offers_add(scene->offers, &(struct offers_type){ .offer = offer_sticks, .arg = &sticks });
	pass(scene, 1000);
	assert_true(offers_is_free(scene->offers, STICK, &holder));
	sticks.resource = "our.io/stick";
	told(scene, "");
	offers_update(scene->offers);
	assert_true(told(scene, "changed " STICK "|"));
	assert_false(offers_is_free(scene->offers, STICK, &holder));
	assert_string_equal(holder, "pod default/vm-1");
}

/* A GPU is offered to containers by its address, and then somebody claims it. */
static void a_claimed_device_leaves_another_types_name_to_it(void **state)
{
	struct scene *scene = *state;
	struct sticks sticks = { "our.io/stick", 0 };

	kubelet_start(&scene->kubelet);
	pods_serve(scene);
	list_more(scene, "our.io/stick", NIC, "vm-1");
	offers_begin(scene, false);
	offers_add(scene->offers, &(struct offers_type){ .offer = offer_sticks, .arg = &sticks });
	pass(scene, 1000);
	offers_update(scene->offers);
	pass(scene, 1000);
	assert_holder(scene, "pod default/vm-1");
	assert_string_equal(offers_owner(scene->offers, "our.io/stick"), "stick");
	assert_string_equal(offers_owner(scene->offers, MODEL), "pci");
}

static void on_stopped(void *arg)
{
	struct scene *scene = arg;

	scene->stopped = true;
}

static void a_stop_withdraws_and_ends(void **state)
{
	struct scene *scene = *state;

	kubelet_start(&scene->kubelet);
	offers_begin(scene, false);
	await_stream(scene);
	offers_stop(scene->offers, on_stopped, scene);
	assert_false(scene->stopped);
	pass(scene, 1100);
	assert_true(scene->stopped);
	assert_true(told(scene, "kubelet lost its stream"));
	offers_update(scene->offers); /* too late: nothing starts again */
	pass(scene, 1000);
	assert_null(scene->kubelet.stream);
}

static void a_stop_without_a_kubelet_ends_at_once(void **state)
{
	struct scene *scene = *state;

	offers_begin(scene, true);
	offers_stop(scene->offers, on_stopped, scene);
	settle(scene);
	assert_true(scene->stopped);
}

/* A device without a claim. */
static void what_a_config_selects_is_known_once_it_is_offered(void **state)
{
	static const char *const two[NODE1_LINES] = { FUNCTION(NIC, "vfio-pci", "12", ""),
						      FUNCTION(TWIN, "vfio-pci", "13", "") };
	struct config_pci entry = { .resource = pods_unconst("a.io/nic"),
				    .vendor = 0x8086,
				    .device = 0x10d3 };
	struct config config = { .pci = { .items = &entry, .len = 1 } };
	struct config none = { 0 };
	struct scene *scene = scene_of(two);
	const struct pci_last_offer *how;

	node1_nodes(&scene->node, "13");
	kubelet_start(&scene->kubelet);
	offers_begin(scene, false);
	assert_false(offers_selected(scene->offers, TWIN, &how));
	str_clear(&scene->stage.log);
	offers_set_config(scene->offers, &config);
	offers_update_soon(scene->offers);
	assert_false(offers_selected(scene->offers, TWIN, &how));
	fake_clock_settle(scene->stage.fake);
	assert_true(told(scene, "changed " TWIN "|changed all|"));
	assert_true(offers_selected(scene->offers, TWIN, &how));
	assert_string_equal(how->resource, "a.io/nic");
	assert_null(how->trouble);
	assert_true(offers_selected(scene->offers, NIC, &how)); /* it is claimed */
	assert_null(how);

	offers_update_soon(scene->offers);
	fake_clock_settle(scene->stage.fake);
	assert_false(told(scene, "changed"));
	offers_set_config(scene->offers, &none);
	offers_update_soon(scene->offers);
	fake_clock_settle(scene->stage.fake);
	assert_true(told(scene, "changed " TWIN "|"));
	assert_true(offers_selected(scene->offers, TWIN, &how));
	assert_null(how);
	scene_free(scene);
}

static void a_refused_allocation_is_reported_with_its_device(void **state)
{
	struct scene *scene = *state;
	struct captured captured;
	auto_free char *text = NULL;

	kubelet_start(&scene->kubelet);
	offers_begin(scene, false);
	await_stream(scene);
	captured_begin(&captured);
	assert_int_equal(allocate_one(scene, "0000:09:00.0"), GRPC_NOT_FOUND);
	settle(scene);
	text = captured_end(&captured);
	if (!strstr(text, "level=warn msg=audit action=allocate result=Refused kind=PCIDevice "
			  "device=node1-000009000 node=node1 resource=" MODEL " message="))
		fail_msg("%s", text);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "functions of an IOMMU group go to one pod",
		  functions_of_a_group_go_to_one_pod, NULL);
	suite_add(&suite, "what a HostDeviceConfig selects is known once it is offered",
		  what_a_config_selects_is_known_once_it_is_offered, NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "a node that goes and comes is reported at once",
		  a_nodes_end_is_reported_at_once, NULL);
	suite_add(&suite, "claimed devices are registered", claimed_devices_are_registered, NULL);
	suite_add(&suite, "what is claimed later is registered",
		  what_is_claimed_later_is_registered, NULL);
	suite_add(&suite, "a kubelet that comes later is found",
		  a_kubelet_that_comes_later_is_found, NULL);
	suite_add(&suite, "switched off, nothing is offered", switched_off_nothing_is_offered,
		  NULL);
	suite_add(&suite, "a kind of device that is added is offered",
		  a_kind_that_is_added_is_offered, NULL);
	suite_add(&suite, "who has what is known once it is offered",
		  who_has_what_is_known_once_it_is_offered, NULL);
	suite_add(&suite, "a claimed device leaves another type's resource to that type",
		  a_claimed_device_leaves_another_types_name_to_it, NULL);
	suite_add(&suite, "a stop withdraws everything and ends", a_stop_withdraws_and_ends, NULL);
	suite_add(&suite, "a stop without a kubelet ends at once",
		  a_stop_without_a_kubelet_ends_at_once, NULL);
	suite_add(&suite, "a refused allocation is reported with its device",
		  a_refused_allocation_is_reported_with_its_device, NULL);
	return suite_run(&suite, "offers");
}
