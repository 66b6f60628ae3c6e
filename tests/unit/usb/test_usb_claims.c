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
	assert_events(b, "Normal Offered of the device|Normal Offered|");
	assert_has(b, "\"portPath\":\"1-2\"");
	bench_delete(b);
	bench_serve(b);
	assert_log(b, READ);
	assert_string_equal(fake_task.verb, "usb-rebind");
	assert_string_equal(str_cstr(&fake_task.words), "port=1-2 bus=1 device=5");
	bench_rebind(b);
	assert_log(b, "give back 1-2|" UNMARK);
	assert_events(b, "Normal Released of the device|Normal Released|");
}

static void a_ready_claim_is_left_alone(void **state)
{
	struct bench *b = *state;

	for (unsigned i = 0; i < 3; i++) {
		bench_look(b, "1-2=5:A");
		usb_claims_enqueue(b->claims, STICK);
		usb_claims_enqueue_all(b->claims);
		fake_clock_advance(b->clock, 600000);
		assert_false(bench_asks(b));
	}
}

static void nothing_is_decided_before_all_is_known(void **state)
{
	struct bench *b = *state;

	assert_true(bench_serve_one(b));
	bench_look(b, "1-2=5:A");
	bench_create(b);
	assert_true(bench_serve_one(b));
	fake_clock_advance(b->clock, 1000);
	assert_int_equal(fake_client_open(fake_server_client(b->server)), LISTS);
	fake_client_choose(fake_server_client(b->server),
			   "/pcideviceclaims?"); /* is not there yet */
	assert_true(bench_serve_one(b));
	bench_serve(b);
	assert_log(b, MARK TELL);
}

static void unplugged_and_back_takes_a_write_each(void **state)
{
	struct bench *b = *state;

	bench_look(b, "");
	bench_serve(b);
	assert_log(b, TELL);
	assert_events(b, "Warning DeviceGone of the device|Warning DeviceGone|");
	sticks_claim(&b->node, CLAIM(STICK, KNOWN("1-2", "A"))); /* for the names */
	bench_look(b, "1-2=6:A");
	bench_serve(b);
	assert_log(b, TELL);
	assert_events(b, "Normal Offered of the device|Normal Offered|");
}

static void a_pod_keeps_the_claim(void **state)
{
	struct bench *b = *state;

	b->pod = "pod default/vm-1";
	bench_delete(b);
	bench_serve(b);
	assert_log(b, TELL);
	assert_events(b, "Warning Held of the device|Warning Held|");
	assert_has(b, "\"holder\":\"pod default/vm-1\"");
	fake_clock_advance(b->clock, 60000);
	bench_serve(b);
	assert_log(b, "");
	assert_int_equal(fake_task.starts, 0);
	b->pod = NULL;
	usb_claims_enqueue_all(b->claims);
	bench_rebind(b);
	assert_log(b, READ "give back 1-2|" UNMARK);
}

static void a_held_device_is_checked_again(void **state)
{
	struct bench *b = *state;

	b->pod = "pod default/vm-1";
	bench_delete(b);
	bench_serve(b);
	b->pod = NULL; /* without an event */
	fake_clock_advance(b->clock, 6000);
	bench_rebind(b);
}

static void a_rebind_that_fails_is_reported_and_tried_again(void **state)
{
	struct bench *b = *state;

	bench_delete(b);
	bench_serve(b);
	fake_task_end(TASK_FAILED, "UnbindFailed");
	bench_serve(b);
	assert_log(b, READ TELL);
	assert_events(b, "Warning UnbindFailed of the device|Warning UnbindFailed|");
	assert_has(b, "\"reason\":\"UnbindFailed\"");
	for (int i = 2; i < 5; i++) {
		assert_false(fake_task.runs);
		fake_clock_advance(b->clock, UINT64_C(1000) << (i - 2));
		bench_serve(b);
		assert_int_equal(fake_task.starts, i);
		fake_task_end(TASK_FAILED, "UnbindFailed");
		bench_serve(b);
		assert_log(b, READ);
	}
	assert_events(b, "");
	fake_clock_advance(b->clock, 8000);
	bench_rebind(b);
	assert_log(b, READ "give back 1-2|" UNMARK);
}

static void what_the_node_uses_by_now_is_released_without(void **state)
{
	struct bench *b = *state;

	bench_delete(b);
	bench_serve(b);
	fake_task_end(TASK_REFUSED, "InUse");
	bench_serve(b);
	assert_gone(b);
	assert_int_equal(fake_task.starts, 1);
}

static void another_helper_that_works_on_the_port_is_waited_for(void **state)
{
	struct bench *b = *state;

	bench_delete(b);
	bench_serve(b);
	fake_task_end(TASK_BUSY, "Busy");
	bench_serve(b);
	assert_has(b, "\"reason\":\"Busy\"");
	fake_clock_advance(b->clock, 1000);
	bench_rebind(b);
}

static void a_helper_that_cannot_be_started_is_reported(void **state)
{
	struct bench *b = *state;

	fake_task.refuses = true;
	bench_delete(b);
	bench_serve(b);
	assert_has(b, "\"reason\":\"HelperFailed\"");
	assert_events(b, "Warning HelperFailed of the device|Warning HelperFailed|");
	fake_task.refuses = false;
	fake_clock_advance(b->clock, 1000);
	bench_rebind(b);
}

static void a_stuck_helper_keeps_the_claim(void **state)
{
	struct bench *b = *state;

	bench_delete(b);
	bench_serve(b);
	fake_task_get_stuck();
	bench_serve(b);
	assert_has(b, "\"reason\":\"Stuck\"");
	fake_clock_advance(b->clock, 600000);
	bench_serve(b);
	assert_log(b, READ TELL);
	fake_task_go();
	bench_serve(b);
	assert_int_equal(fake_task.starts, 2);
	bench_rebind(b);
}

static void a_slow_helper_is_reported(void **state)
{
	struct bench *b = *state;

	bench_delete(b);
	bench_serve(b);
	assert_log(b, READ);
	fake_task.task.spec.on_late(fake_task.task.spec.arg);
	bench_serve(b);
	assert_log(b, TELL);
	assert_events(b, "");
	assert_has(b, "\"reason\":\"Releasing\"");
	bench_rebind(b);
}

static void an_unplugged_device_needs_no_helper(void **state)
{
	struct bench *b = *state;

	bench_look(b, "");
	bench_serve(b);
	bench_delete(b);
	bench_serve(b);
	assert_gone(b);
	assert_int_equal(fake_task.starts, 0);
}

/* A claim of the same name is another one. */
static void the_next_claim_is_rebound_for_itself(void **state)
{
	struct bench *b = *state;

	bench_delete(b);
	bench_rebind(b);
	bench_create(b);
	bench_serve(b);
	bench_delete(b);
	bench_serve(b);
	assert_int_equal(fake_task.starts, 2);
	bench_rebind(b);
}

static void nothing_is_decided_without_an_inventory(void **state)
{
	struct bench *b = *state;

	b->this_node.inventory = NULL;
	usb_claims_enqueue_all(b->claims);
	bench_list_all(b);
	bench_create(b);
	fake_clock_advance(b->clock, 60000);
	assert_false(bench_asks(b));
	bench_look(b, "1-2=5:A");
	bench_serve(b);
	assert_log(b, MARK TELL);
}

static void a_claim_of_another_node_is_left_alone(void **state)
{
	struct bench *b = *state;

	bench_list_all(b);
	bench_look(b, "1-2=5:A");
	fake_server_put(b->server, STICK, "{'status':{'nodeName':'node2'}}");
	fake_clock_advance(b->clock, 60000);
	assert_false(bench_asks(b));
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
	assert_gone(b);
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
	suite_add(&suite, "a held device is checked again", a_held_device_is_checked_again, NULL);
	suite_add(&suite, "claims are counted by reason", claims_are_counted_by_reason, NULL);
	suite_add(&suite,
		  "a rebind that fails is reported once, and tried again at growing intervals",
		  a_rebind_that_fails_is_reported_and_tried_again, NULL);
	suite_add(&suite, "what the node uses by now is released without",
		  what_the_node_uses_by_now_is_released_without, NULL);
	suite_add(&suite, "another helper that works on the port is waited for",
		  another_helper_that_works_on_the_port_is_waited_for, NULL);
	suite_add(&suite, "a helper that cannot be started is reported",
		  a_helper_that_cannot_be_started_is_reported, NULL);
	suite_add(&suite, "a stuck helper keeps the claim", a_stuck_helper_keeps_the_claim, NULL);
	suite_add(&suite, "a slow helper is reported, without an event", a_slow_helper_is_reported,
		  NULL);
	suite_add(&suite, "an unplugged device needs no helper",
		  an_unplugged_device_needs_no_helper, NULL);
	suite_add(&suite, "the next claim of the name is rebound for itself",
		  the_next_claim_is_rebound_for_itself, NULL);
	return suite_run(&suite, "usb_claims");
}
