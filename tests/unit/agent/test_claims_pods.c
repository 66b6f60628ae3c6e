/* claims: a device that a pod was given stays until the pod is gone. */
#include "agent/claim/claims.h"

#include "fake/fake_client.h"
#include "unit/agent/claims_nic.h"

static void a_pod_is_named_before_any_helper_runs(void **state)
{
	struct bench *b = *state;

	b->pod = "pod default/vm-1";
	bench_delete(b, NAME);
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 0);
	bench_has(b, NAME, "\"holder\":\"pod default/vm-1\"");
	bench_has(b, NAME, "\"passthroughEnabled\":true");
	bench_said(b, "Warning Held of the device\nWarning Held\n");

	/* Looked at again, it says the same and writes nothing. */
	str_clear(&b->log);
	bench_advance(b, 60000);
	assert_int_equal(bench_asking(b) + fake.binder->jobs.len, 0);
}

static void the_device_goes_back_when_the_pod_is_gone(void **state)
{
	struct bench *b = *state;

	b->pod = "pod default/vm-1";
	bench_delete(b, NAME);
	bench_serve(b);
	b->pod = NULL;
	claims_enqueue(b->claims, NAME);
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 1);
	assert_string_equal(fake.binder->jobs.items[0]->text, RETURN);
	bench_end(b, RETURNED);
	bench_serve(b);
	bench_has_none(b);
}

static void nobody_tells_of_the_end_and_it_is_seen_all_the_same(void **state)
{
	struct bench *b = *state;

	b->pod = "pod default/vm-1";
	bench_delete(b, NAME);
	bench_serve(b);
	b->pod = NULL;
	bench_advance(b, 5000);
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 1);
}

static void what_is_not_known_yet_is_waited_for_without_a_word(void **state)
{
	struct bench *b = *state;

	b->pod = "";
	bench_delete(b, NAME);
	bench_serve(b);
	bench_advance(b, 10000);
	assert_int_equal(bench_asking(b) + fake.binder->jobs.len, 0);
	assert_int_equal(b->writes, 0);
	bench_said(b, "");
	b->pod = NULL;
	bench_advance(b, 500);
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 1);
}

/* The pod came while the last word about the claim was asked for. */
static void a_pod_that_comes_in_between_keeps_the_device(void **state)
{
	struct bench *b = *state;

	bench_delete(b, NAME);
	assert_int_equal(bench_asking(b), 1);
	b->pod = "pod default/vm-1";
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 0);
	bench_has(b, NAME, "\"holder\":\"pod default/vm-1\"");
}

#define USB(port, more) "{\"kind\":\"usb\",\"name\":\"" port "\",\"bus\":1,\"device\":5" more "}"
#define ON(address)     ",\"pciAddress\":\"" address "\""

/* The hub, and what is on another controller, are not asked for. */
static const char *const controller[] = { NIC("e1000e"),
					  USB("1-1", ON("0000:01:00.0") ",\"hub\":true"),
					  USB("1-2", ON("0000:01:00.0")),
					  USB("2-1", ON("0000:02:00.0")), NULL };

/* harvester-api 2.5: by an entry of the HostDeviceConfig, so that no claim says it. */
static void a_controller_waits_for_the_pod_of_a_usb_device(void **state)
{
	struct bench *b = *state;

	bench_list(b, DEVICE);
	bench_look(b, controller);
	b->usb_pod = ""; /* not known */
	bench_create(b, NAME, CLAIM);
	bench_serve(b);
	assert_int_equal(fake.binder->started, 0);
	bench_has(b, NAME, "it is not known yet whether a pod has the device in port 1-2");
	b->usb_pod = "pod default/vm-2";
	bench_advance(b, 5000);
	bench_serve(b);
	assert_int_equal(fake.binder->started, 0);
	bench_has(b, NAME, "\"USBDevicesClaimed\"");
	bench_has(
		b, NAME,
		"USB devices on 0000:01:00.0 are in use: pod default/vm-2 has the device in port 1-2");
	b->usb_pod = NULL;
	bench_advance(b, 5000);
	bench_serve(b);
	assert_int_equal(fake.binder->started, 1);
	assert_string_equal(fake.binder->jobs.items[0]->text, LAUNCH);
}

/* Nothing tells that the pod is gone, which has another device. */
static void a_pod_with_a_number_that_is_free_is_waited_for(void **state)
{
	static const char *const alone[] = { NIC("e1000e"), NULL };
	struct bench *b = *state;

	bench_list(b, DEVICE);
	bench_look(b, alone);
	b->bind_trouble = "a pod may still open it";
	bench_create(b, NAME, CLAIM);
	bench_serve(b);
	bench_advance(b, 5000);
	bench_serve(b);
	assert_int_equal(fake.binder->started, 0);
	bench_has(b, NAME, "\"Held\"");
	bench_has(b, NAME, "a pod may still open it");
	b->bind_trouble = NULL;
	bench_advance(b, 5000);
	bench_serve(b);
	assert_int_equal(fake.binder->started, 1);
}

#define OTHER "{\"kind\":\"pci\",\"address\":\"0000:01:00.1\",\"iommuGroup\":\"1\"}"

/* A claim of the whole group waits for each function of it. */
static void a_trouble_of_another_function_concerns_a_claim_of_the_group(void **state)
{
	static const char *const pair[] = { NIC("e1000e"), OTHER, NULL };
	struct bench *b = *state;

	bench_list(b, DEVICE);
	bench_look(b, pair);
	b->bind_trouble = "a container has it";
	b->bind_trouble_at = "0000:01:00.1";
	bench_create(b, NAME, "{\"includeIOMMUGroup\":true}");
	bench_serve(b);
	assert_int_equal(fake.binder->started, 0);
	bench_has(b, NAME, "a container has it");
}

#define ACCEPTED(status, reason)                                                  \
	"\"status\":{\"conditions\":[{\"type\":\"Accepted\",\"status\":\"" status \
	"\",\"reason\":\"" reason "\"}]}"

static struct taker_case {
	const char *name;
	const char *claim; /* of the function: more of it; NULL: there is none */
	const char *other; /* likewise of the other one of its IOMMU group     */
	const char *taker;
} takers[] = {
	{ "no claim", NULL, NULL, NULL },
	{ "one that nothing has been said of", "\"spec\":" CLAIM, NULL, NAME },
	{ "one that is accepted", ACCEPTED("True", "Accepted"), NULL, NAME },
	{ "one that waits for the device", ACCEPTED("False", "Held"), NULL, NAME },
	{ "one that is refused", ACCEPTED("False", "HostNetwork"), NULL, NULL },
	{ "one that leaves the device to others",
	  "\"metadata\":{\"annotations\":{\"pcidevices.harvesterhci.io/skip-vfio-binding\":\"true\"}}",
	  NULL, NULL },
	{ "one of another function", NULL, "\"spec\":" CLAIM, NULL },
	{ "one of another function with its IOMMU group", NULL,
	  "\"spec\":{\"includeIOMMUGroup\":true}", "node1-000001001" },
};

static void a_function_is_taken_by_its_claim(void **state)
{
	const struct taker_case *c = suite_row(state);
	static const char *const pair[] = { NIC("e1000e"), OTHER, NULL };
	struct bench *b = *state;
	auto_free char *taker = NULL;

	bench_list(b, DEVICE);
	bench_look(b, pair);
	if (c->claim)
		bench_put(b, NAME, c->claim);
	if (c->other)
		bench_put(b, "node1-000001001", c->other);
	taker = claims_taker(b->claims, "0000:01:00.0");
	assert_true(str_equal(taker, c->taker));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &ready_fixture);
	suite_add(&suite, "a pod is named before any helper runs",
		  a_pod_is_named_before_any_helper_runs, NULL);
	suite_add(&suite, "the device goes back when the pod is gone",
		  the_device_goes_back_when_the_pod_is_gone, NULL);
	suite_add(&suite, "nobody tells of the end, and it is seen all the same",
		  nobody_tells_of_the_end_and_it_is_seen_all_the_same, NULL);
	suite_add(&suite, "what is not known yet is waited for without a word",
		  what_is_not_known_yet_is_waited_for_without_a_word, NULL);
	suite_add(&suite, "a pod that comes in between keeps the device",
		  a_pod_that_comes_in_between_keeps_the_device, NULL);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "harvester-api 2.5: a controller waits for the pod of a USB device",
		  a_controller_waits_for_the_pod_of_a_usb_device, NULL);
	suite_add(&suite, "a pod with a number that is free is waited for",
		  a_pod_with_a_number_that_is_free_is_waited_for, NULL);
	suite_add(&suite, "a trouble of another function concerns a claim of the group",
		  a_trouble_of_another_function_concerns_a_claim_of_the_group, NULL);
	suite_rows(&suite, takers, a_function_is_taken_by_its_claim);
	return suite_run(&suite, "claims_pods");
}
