/* usb: claims between the node, the kubelet and the API server. */
#include "agent/usb/usb.h"

#include "agent/config/config.h"
#include "agent/inventory/use_log.h"
#include "agent/usb/usb_type.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/usb/usb_scene.h"

/* The kubelet may have given it to a pod before this process began: that is known only of what is
 * offered. */
static void a_claim_is_not_released_before_its_device_was_offered(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, true);
	scan(scene);
	list_all(scene, DELETED);
	fake_clock_advance(scene->clock, 60000);
	assert_int_equal(asking(scene), 0);
	assert_true(scene->offers.touches > 0);
	scene->offers.type.offer(scene->offers.type.arg, NULL);
	fake_clock_advance(scene->clock, 500);
	assert_int_equal(asking(scene), 1);
}

/* The agent restarted while the kubelet is away, and the pod still runs. */
static void who_held_it_holds_it_until_the_kubelet_answers(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, true);
	scene->offers.silent = true;
	scan(scene);
	list_all(scene, HELD("pod default/p0"));
	scene->offers.type.offer(scene->offers.type.arg, NULL);
	fake_clock_advance(scene->clock, 60000);
	/* It tells that, and does not read the claim in order to release it. */
	assert_int_equal(asking(scene), 1);
	fake_client_choose(scene->client, "/usbdeviceclaims/");
	assert_string_equal(fake_client_request(scene->client)->method, "PATCH");
	assert_non_null(
		strstr(fake_client_request(scene->client)->body, "in use by pod default/p0"));
}

static void an_offer_before_the_claims_are_known_does_not_count(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, true);
	scan(scene);
	scene->offers.type.offer(scene->offers.type.arg, NULL);
	list_all(scene, DELETED);
	fake_clock_advance(scene->clock, 60000);
	assert_int_equal(asking(scene), 0);
}

static void without_a_kubelet_nobody_is_asked(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, false);
	scan(scene);
	list_all(scene, DELETED);
	assert_int_equal(asking(scene), 1);
}

static void names_are_those_of_the_claims_once_they_are_known(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, true);
	scan(scene);
	assert_true(is_named(scene, "node1-0951-1666-001077"));
	assert_int_equal(scene->renames, 0);
	list_all(scene, CLAIM(STICK, KNOWN("1-2", "A")));
	assert_true(is_named(scene, STICK));
	assert_false(is_named(scene, "node1-0951-1666-001077"));
	assert_int_equal(scene->renames, 1);
	scan(scene);
	assert_true(is_named(scene, STICK));
	usb_enqueue(scene->usb, STICK);
	usb_enqueue_all(scene->usb);
	assert_int_equal(scene->renames, 1);
}

static void what_changes_is_read(void **state)
{
	struct scene *scene = *state;
	unsigned touches;

	scene_open(scene, true);
	scan(scene);
	list_all(scene, "");
	touches = scene->offers.touches;
	usb_enqueue(scene->usb, STICK);
	assert_int_equal(scene->offers.touches, touches + 1);
	assert_int_equal(usb_allocations(scene->usb, STICK)->len, 0);
}

/* Nothing tells the kubelet's offer that a device has been free for long enough. */
static void what_has_been_free_for_a_while_is_offered(void **state)
{
	struct scene *scene = *state;
	unsigned touches;

	scene_open(scene, true);
	list_all(scene, "");
	monitor_used(scene, true);
	fake_clock_advance(scene->clock, 60000);
	monitor_used(scene, false);
	touches = scene->offers.touches;
	fake_clock_advance(scene->clock, USE_LOG_FREE_MS - 1);
	assert_int_equal(scene->offers.touches, touches);
	fake_clock_advance(scene->clock, 1);
	assert_int_equal(scene->offers.touches, touches + 1);
	fake_clock_advance(scene->clock, 60000);
	assert_int_equal(scene->offers.touches, touches + 1);
}

/* The device is given to pods before, but the scheduler knows nothing of it. */
static void a_claim_is_ready_once_the_node_counts_it(void **state)
{
	struct scene *scene = *state;
	auto_json json_t *claim = object_json(CLAIM(STICK, KNOWN("1-2", "A")));
	auto_json json_t *patch = NULL;
	auto_free char *text = NULL;
	auto_free char *line = NULL;
	const char *body;

	scene_open(scene, true);
	scene->offers.unlisted = true;
	scan(scene);
	list_all(scene, CLAIM(STICK, KNOWN("1-2", "A")));
	scene->offers.type.offer(scene->offers.type.arg, NULL);
	fake_clock_advance(scene->clock, 500);
	assert_true(scene->offers.offered > 0);
	fake_client_choose(scene->client, "/usbdeviceclaims/");
	body = fake_client_request(scene->client)->body;
	assert_non_null(strstr(body, "NotOffered"));
	assert_int_equal(json_map_load(body, strlen(body), &patch, NULL), 0);
	json_object_set(claim, "status", json_object_get(patch, "status"));
	json_object_set_new(json_object_get(claim, "metadata"), "resourceVersion",
			    json_string("6"));
	text = json_map_text(claim);
	fake_client_answer(scene->client, 200, text);
	fake_clock_settle(scene->clock);
	line = xasprintf("{\"type\":\"MODIFIED\",\"object\":%s}", text);
	assert_true(fake_client_choose_stream(scene->client, "/usbdeviceclaims?"));
	assert_int_equal(fake_client_line(scene->client, line), 0);
	fake_clock_advance(scene->clock, 6000);
	assert_int_equal(asking(scene), 0);
	scene->offers.unlisted = false;
	scene->offers.type.listed(scene->offers.type.arg);
	fake_clock_settle(scene->clock);
	fake_client_choose(scene->client, "/usbdeviceclaims/");
	assert_null(strstr(fake_client_request(scene->client)->body, "NotOffered"));
	assert_non_null(strstr(fake_client_request(scene->client)->body, "is offered as"));
}

/* A claim of a disk that is remounted: it gets no finalizer, and is not offered, in between. */
static void a_claim_waits_until_the_device_has_been_free(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, true);
	monitor_used(scene, true);
	monitor_used(scene, false);
	list_all(scene, CLAIM_OF("node1-0951-1666-001077", "", ""));
	scene->offers.type.offer(scene->offers.type.arg, NULL);
	fake_clock_advance(scene->clock, USE_LOG_FREE_MS - 1);
	assert_int_equal(asking(scene), 0);
	fake_clock_advance(scene->clock, 100);
	assert_int_equal(asking(scene), 1);
}

static void what_a_config_selects_is_known_once_it_is_offered(void **state)
{
	static const char name[] = "node1-0951-1666-001077";
	char resource[] = "a.io/stick";
	struct config_usb_selector selector = { .vendor = 0x951, .product = 0x1666 };
	struct config_usb entry = { .resource = resource,
				    .selectors = { .items = &selector, .len = 1 } };
	struct config config = { .usb = { .items = &entry, .len = 1 } };
	struct scene *scene = *state;
	const struct usb_selected *selected;

	scene_open(scene, true);
	scan(scene);
	list_all(scene, "");
	scene->offers.type.offer(scene->offers.type.arg, NULL); /* no HostDeviceConfig is known */
	assert_false(usb_selected(scene->usb, name, &selected));
	usb_set_config(scene->usb, &config);
	scene->offers.type.offer(scene->offers.type.arg, NULL);
	assert_true(usb_selected(scene->usb, name, &selected));
	assert_string_equal(selected->resource, resource);
	assert_int_equal(scene->selections, 1);
	scene->offers.type.offer(scene->offers.type.arg, NULL);
	assert_int_equal(scene->selections, 1);
	assert_true(usb_selected(scene->usb, "node1-other", &selected));
	assert_null(selected);
	config.usb.len = 0;
	scene->offers.type.offer(scene->offers.type.arg, NULL);
	assert_int_equal(scene->selections, 2);
	assert_true(usb_selected(scene->usb, name, &selected));
	assert_null(selected);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "a claim is not released before its device was offered",
		  a_claim_is_not_released_before_its_device_was_offered, NULL);
	suite_add(&suite, "who held it holds it until the kubelet answers",
		  who_held_it_holds_it_until_the_kubelet_answers, NULL);
	suite_add(&suite, "an offer before the claims are known does not count",
		  an_offer_before_the_claims_are_known_does_not_count, NULL);
	suite_add(&suite, "without a kubelet nobody is asked", without_a_kubelet_nobody_is_asked,
		  NULL);
	suite_add(&suite, "names are those of the claims once they are known",
		  names_are_those_of_the_claims_once_they_are_known, NULL);
	suite_add(&suite, "what has been free for a while is offered",
		  what_has_been_free_for_a_while_is_offered, NULL);
	suite_add(&suite, "a claim is ready once the Node counts it",
		  a_claim_is_ready_once_the_node_counts_it, NULL);
	suite_add(&suite, "a claim waits until the device has been free",
		  a_claim_waits_until_the_device_has_been_free, NULL);
	suite_add(&suite, "what a HostDeviceConfig selects is known once it is offered",
		  what_a_config_selects_is_known_once_it_is_offered, NULL);
	suite_add(&suite, "what changes is read", what_changes_is_read, NULL);
	return suite_run(&suite, "usb");
}
