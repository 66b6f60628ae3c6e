/* usb: which pod has which device, and under which name a device is offered. */
#include "agent/usb/usb.h"

#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/usb/usb_scene.h"

static void a_pod_has_the_device_of_its_socket(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, true);
	scan(scene);
	list_all(scene, CLAIM(STICK, KNOWN("1-2", "A")));
	scene->offers.held = "1-2";
	assert_int_equal(usb_allocations(scene->usb, STICK)->len, 1);
	assert_int_equal(usb_allocations(scene->usb, "node1-0951-1666-001078")->len, 0);
}

static void a_pod_has_a_selected_device_too(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, true);
	list_all(scene, "");
	scene->offers.held = "1-2";
	assert_int_equal(usb_allocations(scene->usb, "node1-0951-1666-001077")->len, 0);
	scan(scene);
	assert_int_equal(usb_allocations(scene->usb, "node1-0951-1666-001077")->len, 1);
	scene->offers.held = "1-3";
	assert_int_equal(usb_allocations(scene->usb, "node1-0951-1666-001077")->len, 0);
}

/* The claim is for the stick with serial number B. */
static void what_a_pod_has_is_not_what_was_plugged_into_its_socket(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, true);
	scan(scene);
	list_all(scene, CLAIM(STICK, KNOWN("1-2", "B")));
	scene->offers.held = "1-2";
	assert_int_equal(usb_allocations(scene->usb, STICK)->len, 1);
	assert_true(is_named(scene, "node1-0951-1666-001077"));
	assert_int_equal(usb_allocations(scene->usb, "node1-0951-1666-001077")->len, 0);
}

/* The stick of the claim is away, and another one of its ids was in its socket when a pod got that
 * in a bundle: when this is pulled, the claimed one is no orphan. */
static void what_a_pod_has_of_a_bundle_is_not_the_claims(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, true);
	scan(scene);
	list_all(scene, CLAIM(STICK, KNOWN("1-2", "B")));
	scene->offers.held = "1-2";
	scene->offers.as = "a.io/pair";
	assert_int_equal(usb_allocations(scene->usb, STICK)->len, 0);
	assert_int_equal(usb_allocations(scene->usb, "node1-0951-1666-001077")->len, 1);
	scene->offers.as = "kubevirt.io/" STICK;
	assert_int_equal(usb_allocations(scene->usb, STICK)->len, 1);
	assert_int_equal(usb_allocations(scene->usb, "node1-0951-1666-001077")->len, 0);
}

#define DEVICE(name, port, allocations)                                      \
	"{'metadata':{'name':'" name                                         \
	"','uid':'d1','resourceVersion':'1','labels':{'nodename':'node1'}}," \
	"'status':{'nodeName':'node1','portPath':'" port "','allocations':[" allocations "]}}"
#define BY_VM "{'namespace':'default','pod':'vm','container':'main'}"

static bool had(const struct scene *scene, const char *id, const char *pod, const char *container)
{
	return scene->offers.type.had(scene->offers.type.arg,
				      &(struct pod_device){ .resource = "a.io/old",
							    .device = id,
							    .namespace = "default",
							    .pod = pod,
							    .container = container });
}

/* So a restarted agent knows that a pod has a device under an entry's old name. */
static void a_usbdevice_says_which_pod_had_it(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, true);
	list(scene, "/usbdeviceclaims?", "");
	assert_false(had(scene, "1-2", "vm", "main"));
	list(scene, "/usbdevices?", DEVICE("node1-0951-1666-001077", "1-2", BY_VM));
	list(scene, "/pcideviceclaims?", "");
	scan(scene);
	assert_true(had(scene, "1-2", "vm", "main"));
	assert_true(had(scene, "1-1,1-2", "vm", "main")); /* one of a bundle */
	assert_false(had(scene, "1-2", "other", "main"));
	assert_false(had(scene, "1-2", "vm", "side"));
	assert_false(had(scene, "1-3", "vm", "main"));
}

/* It has no claim, and the kubelet has not answered yet. */
static void a_selected_device_is_the_pods_that_had_it_until_the_kubelet_answers(void **state)
{
	auto_free char *holder = NULL;
	struct scene *scene = *state;

	scene_open(scene, true);
	scene->offers.silent = true;
	list(scene, "/usbdeviceclaims?", "");
	list(scene, "/usbdevices?", DEVICE("node1-0951-1666-001077", "1-2", BY_VM));
	list(scene, "/pcideviceclaims?", "");
	scan(scene);
	scene->offers.type.offer(scene->offers.type.arg, NULL);
	assert_false(usb_is_free(scene->usb, "1-2", &holder));
	assert_string_equal(holder, "pod default/vm");
	free(take_ptr(holder));
	assert_true(usb_is_free(scene->usb, "1-3", &holder));
}

/* Before, a pod's unit could be offered under the new name of its entry. */
static void nothing_is_selected_before_the_usbdevices_are_known(void **state)
{
	struct config_usb_selector selector = { .vendor = 0x951, .product = 0x1666 };
	char resource[] = "a.io/new";
	struct config_usb entry = { .resource = resource,
				    .selectors = { .items = &selector, .len = 1 } };
	struct config config = { .usb = { .items = &entry, .len = 1 } };
	struct scene *scene = *state;

	scene_open(scene, true);
	scan(scene);
	list(scene, "/usbdeviceclaims?", "");
	list(scene, "/pcideviceclaims?", "");
	usb_set_config(scene->usb, &config);
	scene->offers.type.offer(scene->offers.type.arg, NULL);
	assert_int_equal(scene->offers.offered, 0);
	list(scene, "/usbdevices?", "");
	scene->offers.type.offer(scene->offers.type.arg, NULL);
	assert_int_equal(scene->offers.offered, 1);
}

/* The next PATCH of the claim contains @part. */
static void assert_reported(struct scene *scene, const char *part)
{
	fake_client_choose(scene->client, "/usbdeviceclaims/");
	assert_string_equal(fake_client_request(scene->client)->method, "PATCH");
	if (!strstr(fake_client_request(scene->client)->body, part))
		fail_msg("no %s in %s", part, fake_client_request(scene->client)->body);
}

static void a_claim_whose_resource_another_kind_has_is_reported(void **state)
{
	struct scene scene;

	scene_open(&scene, true);
	scan(&scene);
	scene.offers.owner = "pci";
	list_all(&scene,
		 CLAIM(STICK, KNOWN("1-2", "A") ",'conditions':[{'type':'Ready','status':'False',"
						"'reason':'NameTaken','message':'m'}]"));
	assert_reported(&scene, "NameTaken"); /* as it was, before anything is offered */
	scene_close(&scene);

	scene_open(&scene, true);
	scan(&scene);
	scene.offers.owner = "pci";
	scene.offers.type.offer(scene.offers.type.arg, NULL);
	list(&scene, "/usbdeviceclaims?", CLAIM(STICK, KNOWN("1-2", "A")));
	list(&scene, "/usbdevices?", "");
	scene.offers.type.offer(scene.offers.type.arg, NULL);
	list(&scene, "/pcideviceclaims?", "");
	assert_reported(&scene, "NameTaken");
	scene_close(&scene);

	scene_open(&scene, true);
	scan(&scene);
	scene.offers.owner = "usb";
	list(&scene, "/usbdeviceclaims?", CLAIM(STICK, KNOWN("1-2", "A")));
	list(&scene, "/usbdevices?", "");
	scene.offers.type.offer(scene.offers.type.arg, NULL);
	list(&scene, "/pcideviceclaims?", "");
	assert_reported(&scene, "is offered as");
	scene_close(&scene);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "a claim whose resource claimed devices of another kind have is reported",
		  a_claim_whose_resource_another_kind_has_is_reported, NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "a pod has the device of its port", a_pod_has_the_device_of_its_socket,
		  NULL);
	suite_add(&suite, "a pod has a device that the config selects, too",
		  a_pod_has_a_selected_device_too, NULL);
	suite_add(&suite, "what a pod has is not what was plugged into its socket since",
		  what_a_pod_has_is_not_what_was_plugged_into_its_socket, NULL);
	suite_add(&suite, "what a pod has of a bundle is not the claim's that waits for its port",
		  what_a_pod_has_of_a_bundle_is_not_the_claims, NULL);
	suite_add(&suite, "a USBDevice says which pod had it", a_usbdevice_says_which_pod_had_it,
		  NULL);
	suite_add(&suite, "a selected device is the pod's that had it until the kubelet answers",
		  a_selected_device_is_the_pods_that_had_it_until_the_kubelet_answers, NULL);
	suite_add(&suite, "nothing is selected before the USBDevices are known",
		  nothing_is_selected_before_the_usbdevices_are_known, NULL);
	return suite_run(&suite, "usb_pods");
}
