/* usb_type: which USB devices that the HostDeviceConfig selects are offered as what, alone and in
 * bundles. */
#include "agent/usb/usb_type.h"

#include "unit/usb/usb_type_scene.h"

/* "RESOURCE", "RESOURCE: TROUBLE", or "" */
static void assert_selected(const struct scene *scene, const char *port, const char *wanted)
{
	const struct usb_selected *is = usb_type_selected(scene->type, port);
	const char *trouble = is && is->trouble ? is->trouble : "";
	auto_free char *text =
		is ? xasprintf("%s%s%s", is->resource, *trouble ? ": " : "", trouble) : xstrdup("");

	assert_string_equal(text, wanted);
}

static void what_is_selected_is_known_and_its_change_is_reported(void **state)
{
	struct scene *scene = *state;
	struct config_troubles troubles = { 0 };

	scene_open(scene, MINE);
	nodes_make(5);
	nodes_make(6);
	scene_scan(scene, "1-2=5:A 1-3=6:B"); /* the first is claimed */
	assert_false(usb_type_offer(scene->type, NULL, &troubles));
	assert_selected(scene, "1-3", "");
	scene_select(scene, "a.io/stick", 1);
	assert_true(usb_type_offer(scene->type, NULL, &troubles));
	assert_false(usb_type_offer(scene->type, NULL, &troubles));
	assert_selected(scene, "1-2", "");
	assert_selected(scene, "1-3", "a.io/stick");
	nodes_remove(6);
	assert_true(usb_type_offer(scene->type, NULL, &troubles));
	assert_non_null(usb_type_selected(scene->type, "1-3")->trouble);
	scene->config.usb.len = 0;
	assert_true(usb_type_offer(scene->type, NULL, &troubles));
	assert_selected(scene, "1-3", "");
	scene->config.usb.len = 1; /* to be released */
	config_troubles_done(&troubles);
}

static void selected_devices_share_a_resource(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	scene_select(scene, "a.io/stick", 1);
	for (unsigned i = 5; i < 8; i++)
		nodes_make(i);
	scene_scan(scene, "1-2=5:A 1-3=6:B 1-4=7:C"); /* the first is claimed */
	assert_offers(scene, "a.io/stick: 1-3 1-4; " RESOURCE ": 1-2");
	assert_allocates(scene, "a.io/stick", "1-4 1-3",
			 "USB_RESOURCE_A_IO_STICK=1:7,1:6 /dev/bus/usb/001/007:mrw "
			 "/dev/bus/usb/001/006:mrw");
}

/* A claim that was refused, because the entry's pod has the stick or for whatever reason, says
 * which it waits for. */
static void a_device_that_a_claim_waits_for_is_offered_by_the_entry(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, CLAIM_OF(STICK, "", KNOWN("1-2", "A")));
	scene_select(scene, "a.io/stick", 1);
	nodes_make(77);
	scene_scan(scene, "1-2=77:A");
	assert_offers(scene, "a.io/stick: 1-2");
}

/* The others of the entry are nobody's, and a pod that got it from the kubelet keeps it. */
static void a_claimed_device_of_an_entry_for_dra_is_marked(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	scene_select(scene, "a.io/stick", 1);
	scene->config.usb.items[0].dra = CONFIG_DRA_CLAIMED;
	nodes_make(5);
	nodes_make(6);
	scene_scan(scene, "1-2=5:A 1-3=6:B"); /* the first is claimed */
	assert_offers(scene, RESOURCE ": 1-2 by DRA");
	assert_string_equal(str_cstr(&stage.troubles), "");
	assert_true(usb_type_offers_by_dra(scene->type, "1-2"));
	assert_false(usb_type_offers_by_dra(scene->type, "1-3"));
	stage.held = "1-2";
	stage.as = RESOURCE;
	assert_offers(scene, RESOURCE ": 1-2");
	assert_false(usb_type_offers_by_dra(scene->type, "1-2"));
	stage.held = NULL;
	scene_again(scene, "1-3=6:B");
	assert_offers(scene, RESOURCE ": 1-2 by DRA! (its port is empty)");
	assert_false(usb_type_offers_by_dra(scene->type, "1-2"));
	scene->config.usb.items[0].selectors.items[0].product = 0x1667;
	assert_offers(scene, RESOURCE ": 1-2! (its port is empty)");
}

/* The only stick is claimed, so that the config's entry has none. */
static void an_entry_without_a_device_is_reported(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	scene_select(scene, "a.io/stick", 1);
	nodes_make(5);
	nodes_make(6);
	scene_scan(scene, "1-2=5:A");
	assert_offers(scene, RESOURCE ": 1-2");
	assert_string_equal(str_cstr(&stage.troubles),
			    "usb[0] a.io/stick DevicesTaken: the device in port 1-2 (0951:1666) is "
			    "already offered as '" RESOURCE
			    "': change one of the two claims or entries|");
	scene_again(scene, "1-2=5:A 1-3=6:B");
	assert_offers(scene, "a.io/stick: 1-3; " RESOURCE ": 1-2");
	assert_string_equal(str_cstr(&stage.troubles), "");
}

static void a_claims_resource_is_its_device_alone(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	scene_select(scene, RESOURCE, 1);
	nodes_make(5);
	nodes_make(6);
	scene_scan(scene, "1-2=5:A 1-3=6:B");
	assert_offers(scene, RESOURCE ": 1-2");
	assert_string_equal(str_cstr(&stage.troubles),
			    "usb[0] " RESOURCE " NameTaken: the resource is that of a "
			    "USBDeviceClaim on this node: give it another name|");
	assert_refuses(scene, RESOURCE, "1-3", -ENODEV, "no device of");
}

static void a_bundle_is_well_only_as_a_whole(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, NULL);
	scene_select(scene, "a.io/pair", 2);
	nodes_make(5);
	nodes_make(6);
	scene_scan(scene, "1-2=5:A 1-3=6:B");
	assert_offers(scene, "a.io/pair: 1-2,1-3");
	assert_allocates(scene, "a.io/pair", "1-2,1-3",
			 "USB_RESOURCE_A_IO_PAIR=1:5,1:6 /dev/bus/usb/001/005:mrw "
			 "/dev/bus/usb/001/006:mrw");
	assert_owner(5, "107:107");
	assert_owner(6, "107:107");
	assert_selected(scene, "1-2", "a.io/pair");
	nodes_remove(5);
	scene_again(scene, "1-3=6:B");
	assert_offers(scene, "a.io/pair: 1-2,1-3! (a port of it is empty)");
	assert_selected(scene, "1-2", "");
	assert_selected(scene, "1-3", "a.io/pair: a port of it is empty");
	assert_owner(6, "0:0");
}

/* After a restart the units are others, and a pod still has one of before. */
static void a_device_that_a_pod_has_in_another_bundle_is_not_offered_twice(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, NULL);
	scene_select(scene, "a.io/pair", 2);
	stage.held = "1-1,1-3";
	nodes_make(5);
	nodes_make(6);
	scene_scan(scene, "1-2=5:A 1-3=6:B");
	assert_offers(scene,
		      "a.io/pair: 1-2,1-3! (a pod has a device of it as part of another one)");
	assert_refuses(scene, "a.io/pair", "1-2,1-3", -EHOSTDOWN, "as part of another one");
}

/* A pod has the first device; the second is free. */
static void a_renamed_entry_keeps_the_name_of_what_a_pod_has(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, NULL);
	scene_select(scene, "a.io/new", 1);
	stage.held = "1-2";
	stage.as = "a.io/old";
	nodes_make(5);
	nodes_make(6);
	scene_scan(scene, "1-2=5:A 1-3=6:B");
	assert_offers(scene, "a.io/new: 1-3; a.io/old: 1-2");
	assert_refuses(scene, "a.io/new", "1-2", -ENODEV, "no device of 'a.io/new' now");
	stage.others = true; /* removed, and added under the other name */
	assert_offers(scene, "a.io/new: 1-2! (a pod has a device of it as a.io/old) 1-3");
	assert_refuses(scene, "a.io/new", "1-2", -EHOSTDOWN, "as a.io/old");
	stage.held = NULL;
	assert_offers(scene, "a.io/new: 1-2 1-3");
}

static void a_stick_of_a_pod_is_in_no_bundle_of_another_name(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, NULL);
	scene_select(scene, "a.io/pair", 2);
	stage.held = "1-3";
	stage.as = "a.io/stick";
	stage.unknown = true; /* it is being started, and not listed yet */
	nodes_make(5);
	nodes_make(6);
	scene_scan(scene, "1-2=5:A 1-3=6:B");
	assert_offers(scene, "a.io/pair: 1-2,1-3! (a pod has a device of it as a.io/stick)");
}

static void select_none(struct scene *scene)
{
	for (size_t i = 0; i < scene->config.usb.len; i++) {
		array_done(&scene->config.usb.items[i].selectors);
		free(scene->config.usb.items[i].resource);
	}
	scene->config.usb.len = 0;
}

static void a_node_stays_a_pods_when_its_entry_is_renamed_or_removed(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, NULL);
	scene_select(scene, "a.io/old", 1);
	nodes_make(5);
	scene_scan(scene, "1-2=5:A");
	scene_offer(scene);
	assert_allocates(scene, "a.io/old", "1-2",
			 "USB_RESOURCE_A_IO_OLD=1:5 /dev/bus/usb/001/005:mrw");
	stage.held = "1-2";
	stage.as = "a.io/old";
	select_none(scene);
	assert_offers(scene, "");
	assert_owner(5, "107:107");
	stage.others = true;
	scene_select(scene, "a.io/new", 1);
	scene_offer(scene);
	assert_owner(5, "107:107");
	stage.held = NULL;
	assert_offers(scene, "a.io/new: 1-2");
	assert_owner(5, "0:0");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "what is selected is known, and its change is reported",
		  what_is_selected_is_known_and_its_change_is_reported, NULL);
	suite_add(&suite, "selected devices share a resource", selected_devices_share_a_resource,
		  NULL);
	suite_add(&suite, "a claim's resource is its device alone",
		  a_claims_resource_is_its_device_alone, NULL);
	suite_add(&suite, "a claimed device of an entry for DRA is marked",
		  a_claimed_device_of_an_entry_for_dra_is_marked, NULL);
	suite_add(&suite, "a device that a claim waits for is offered by the entry",
		  a_device_that_a_claim_waits_for_is_offered_by_the_entry, NULL);
	suite_add(&suite, "an entry without a device is reported",
		  an_entry_without_a_device_is_reported, NULL);
	suite_add(
		&suite,
		"kubevirt-contract 1.2 (USB): a bundle's nodes, made QEMU's, and its variable; it is "
		"well only as a whole",
		a_bundle_is_well_only_as_a_whole, NULL);
	suite_add(&suite, "a device that a pod has in another bundle is not offered twice",
		  a_device_that_a_pod_has_in_another_bundle_is_not_offered_twice, NULL);
	suite_add(&suite, "a renamed entry keeps the name of what a pod has",
		  a_renamed_entry_keeps_the_name_of_what_a_pod_has, NULL);
	suite_add(&suite, "a stick of a pod is in no bundle of another name",
		  a_stick_of_a_pod_is_in_no_bundle_of_another_name, NULL);
	suite_add(&suite, "a node stays a pod's when its entry is renamed or removed",
		  a_node_stays_a_pods_when_its_entry_is_renamed_or_removed, NULL);
	return suite_run(&suite, "usb_type_selected");
}
