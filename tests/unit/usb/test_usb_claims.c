/* usb_claims: the life of a USBDeviceClaim, request by request. */
#include "agent/usb/usb_claims.h"

#include "base/log.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "unit/usb/usb_claims_bench.h"

static void a_life_takes_three_writes(void **state)
{
	struct bench *b = *state;

	bench_list_all(b);
	bench_look(b, "1-2=5:A");
	bench_create(b);
	bench_serve(b);
	assert_log(b, MARK TELL);
	assert_said(b, "Normal Offered of the device|Normal Offered|");
	assert_has(b, "\"portPath\":\"1-2\"");
	bench_delete(b);
	bench_serve(b);
	assert_log(b, READ "give back 1-2|" UNMARK);
	assert_said(b, "Normal Released of the device|Normal Released|");
	assert_null(b->claim);
}

static void a_ready_claim_is_left_alone(void **state)
{
	struct bench *b = *state;

	for (unsigned i = 0; i < 3; i++) {
		bench_look(b, "1-2=5:A");
		usb_claims_enqueue(b->claims, STICK);
		usb_claims_enqueue_all(b->claims);
		fake_clock_advance(b->clock, 600000);
		assert_null(bench_next(b));
	}
}

static void nothing_is_decided_before_all_is_known(void **state)
{
	struct bench *b = *state;

	bench_list(b, CLAIMS, "");
	bench_look(b, "1-2=5:A");
	bench_create(b);
	bench_list(b, DEVICES, DEVICE);
	fake_clock_advance(b->clock, 1000);
	fake_client_choose(b->client, PCI); /* the third list is what is still open */
	assert_int_equal(fake_client_open(b->client), 3);
	bench_list(b, PCI, "");
	bench_serve(b);
	assert_log(b, MARK TELL);
}

static void unplugged_and_back_takes_a_write_each(void **state)
{
	struct bench *b = *state;

	bench_look(b, "");
	bench_serve(b);
	assert_log(b, TELL);
	assert_said(b, "Warning DeviceGone of the device|Warning DeviceGone|");
	sticks_claim(&b->node, CLAIM(STICK, KNOWN("1-2", "A"))); /* for the names */
	bench_look(b, "1-2=6:A");
	bench_serve(b);
	assert_log(b, TELL);
	assert_said(b, "Normal Offered of the device|Normal Offered|");
}

static void a_pod_keeps_the_claim(void **state)
{
	struct bench *b = *state;

	b->pod = "pod default/vm-1";
	bench_delete(b);
	bench_serve(b);
	assert_log(b, TELL);
	assert_said(b, "Warning Held of the device|Warning Held|");
	assert_has(b, "\"holder\":\"pod default/vm-1\"");
	fake_clock_advance(b->clock, 60000);
	bench_serve(b);
	assert_log(b, "");
	b->pod = NULL;
	usb_claims_enqueue_all(b->claims);
	bench_serve(b);
	assert_log(b, READ "give back 1-2|" UNMARK);
	assert_null(b->claim);
}

static void a_held_device_is_looked_at_again(void **state)
{
	struct bench *b = *state;

	b->pod = "pod default/vm-1";
	bench_delete(b);
	bench_serve(b);
	b->pod = NULL; /* without an event */
	fake_clock_advance(b->clock, 6000);
	bench_serve(b);
	assert_null(b->claim);
}

static void nothing_is_decided_without_an_inventory(void **state)
{
	struct bench *b = *state;

	b->this_node.inventory = NULL;
	usb_claims_enqueue_all(b->claims);
	bench_list_all(b);
	bench_create(b);
	fake_clock_advance(b->clock, 60000);
	assert_null(bench_next(b));
	bench_look(b, "1-2=5:A");
	bench_serve(b);
	assert_log(b, MARK TELL);
}

static void a_claim_of_another_node_is_left_alone(void **state)
{
	struct bench *b = *state;

	bench_list_all(b);
	bench_look(b, "1-2=5:A");
	b->claim = object_json("{'metadata':{'name':'" STICK "','uid':'u1','generation':1},"
			       "'status':{'nodeName':'node2'}}");
	bench_tell(b, "ADDED");
	fake_clock_advance(b->clock, 60000);
	assert_null(bench_next(b));
}

static void counts(const struct bench *b, const char *state, const char *reason, int n)
{
	auto_str struct str text = STR_INIT;
	auto_free char *line =
		xasprintf("hostdev_claims{kind=\"USBDeviceClaim\",state=\"%s\",reason=\"%s\"} %d\n",
			  state, reason, n);

	metrics_write(b->metrics, &text);
	if (!strstr(str_cstr(&text), line))
		fail_msg("no %s in %s", line, str_cstr(&text));
}

static void claims_are_counted_by_reason(void **state)
{
	struct bench *b = *state;

	counts(b, "ready", "Ready", 1);
	bench_look(b, "");
	bench_serve(b);
	counts(b, "ready", "Ready", 0);
	counts(b, "refused", "DeviceGone", 1);
	bench_delete(b);
	bench_serve(b);
	assert_null(b->claim);
	counts(b, "refused", "DeviceGone", 0);
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "a life takes three writes, and gives the node back before the last",
		  a_life_takes_three_writes, NULL);
	suite_add(&suite, "nothing is decided before all is known",
		  nothing_is_decided_before_all_is_known, NULL);
	suite_add(&suite, "nothing is decided without an inventory",
		  nothing_is_decided_without_an_inventory, NULL);
	suite_add(&suite, "a claim of another node is left alone",
		  a_claim_of_another_node_is_left_alone, NULL);
	suite_fixture(&suite, &ready_fixture);
	suite_add(&suite, "a ready claim is left alone", a_ready_claim_is_left_alone, NULL);
	suite_add(&suite, "unplugged and back takes a write each",
		  unplugged_and_back_takes_a_write_each, NULL);
	suite_add(&suite, "a pod keeps the claim", a_pod_keeps_the_claim, NULL);
	suite_add(&suite, "a held device is looked at again", a_held_device_is_looked_at_again,
		  NULL);
	suite_add(&suite, "claims are counted by reason", claims_are_counted_by_reason, NULL);
	return suite_run(&suite, "usb_claims");
}
