/* claims: the whole life of a claim, request by request, with the real plan; binder and API server
 * are made up. */
#include "agent/claim/claims.h"

#include "base/log.h"
#include "fake/fake_client.h"
#include "unit/agent/claims_nic.h"
#include "unit/captured.h"

static void a_life_takes_four_writes(void **state)
{
	struct bench *b = *state;

	bench_create(b, NAME, CLAIM);
	bench_serve(b);
	bench_logged(b, "PATCH " NAME "\nPATCH " NAME "/status\n");
	bench_has(b, NAME, "\"finalizers\":[\"wrangler.cattle.io/PCIDeviceClaimOnRemove\"]");
	bench_has(b, NAME, "\"kernelDriverToUnbind\":\"e1000e\"");
	bench_has(b, NAME, "\"passthroughEnabled\":false");
	assert_string_equal(fake.binder->jobs.items[0]->text, LAUNCH);
	bench_end(b, BOUND);
	bench_serve(b);
	bench_logged(b, "PATCH " NAME "/status\n");
	bench_has(b, NAME, "\"passthroughEnabled\":true");
	bench_said(b, "Normal Bound of the device\nNormal Bound\n");
	bench_look(b, bound_nic);
	bench_delete(b, NAME);
	bench_serve(b);
	bench_logged(b, "GET " NAME "\n");
	assert_string_equal(fake.binder->jobs.items[0]->text, RETURN);
	bench_end(b, RETURNED);
	bench_serve(b);
	bench_logged(b, "PATCH " NAME "\n");
	bench_said(b, "Normal Released of the device\nNormal Released\n");
	bench_look(b, free_nic);
	bench_advance(b, 60000);
	assert_int_equal(bench_asking(b), 0);
	bench_has_none(b);
	assert_int_equal(b->writes, 4);
	assert_int_equal(fake.binder->started, 2);
}

static void assert_line(const char *text, const char *line)
{
	if (!strstr(text, line))
		fail_msg("no '%s' in:\n%s", line, text);
}

/* Who had what done to which device, in lines that people search for. */
static void a_life_is_in_the_audit_trail(void **state)
{
	struct captured captured;
	auto_free char *text = NULL;
	struct bench *b = *state;

	log_set_level(LOG_ERROR);
	captured_begin(&captured);
	bench_create(b, NAME, CLAIM);
	bench_serve(b);
	bench_end(b, OUTCOME(TASK_FAILED, "UnbindFailed"));
	bench_serve(b);
	bench_look(b, free_nic);
	bench_advance(b, 60000);
	bench_serve(b);
	bench_end(b, BOUND);
	bench_serve(b);
	bench_look(b, bound_nic);
	bench_delete(b, NAME);
	bench_serve(b);
	bench_end(b, RETURNED);
	bench_serve(b);
	text = captured_end(&captured);
	assert_line(text, "level=warn msg=audit action=bind result=Failed user=admin "
			  "kind=PCIDevice device=" NAME " node=node1 reason=UnbindFailed message=");
	assert_line(text, "level=info msg=audit action=bind result=Done user=admin kind=PCIDevice "
			  "device=" NAME " node=node1 reason=Bound message=");
	assert_line(text, "level=info msg=audit action=release result=Done user=admin "
			  "kind=PCIDevice device=" NAME " node=node1 reason=Released message=");
}

/* The kubelet has not listed it yet. */
static void a_bind_is_told_before_the_claim_is_ready(void **state)
{
	struct captured captured;
	auto_free char *text = NULL;
	struct bench *b = *state;

	b->offer.state = CLAIM_OFFER_AWAITED;
	log_set_level(LOG_ERROR);
	captured_begin(&captured);
	bench_create(b, NAME, CLAIM);
	bench_serve(b);
	bench_end(b, BOUND);
	bench_serve(b);
	bench_has(b, NAME, "\"NotOffered\"");
	bench_said(b, "Normal Bound of the device\nNormal Bound\n");
	bench_look(b, bound_nic);
	bench_delete(b, NAME);
	bench_serve(b);
	bench_end(b, RETURNED);
	bench_serve(b);
	text = captured_end(&captured);
	bench_said(b, "Normal Released of the device\nNormal Released\n");
	assert_line(text,
		    "msg=audit action=bind result=Done user=admin kind=PCIDevice device=" NAME
		    " node=node1 reason=Bound message=\"bound to vfio-pci, IOMMU group 1\"\n");
}

static void a_claim_is_told_to_be_bound_once(void **state)
{
	struct bench *b = *state;

	b->offer.state = CLAIM_OFFER_AWAITED;
	bench_create(b, NAME, CLAIM);
	bench_serve(b);
	bench_end(b, BOUND);
	bench_serve(b);
	bench_said(b, "Normal Bound of the device\nNormal Bound\n");
	b->offer.state = CLAIM_OFFERED;
	b->offer.resource = "intel.com/NIC";
	bench_look(b, bound_nic);
	bench_serve(b);
	bench_has(b, NAME, "\"Offered\",\"status\":\"True\"");
	bench_said(b, "");
}

/* A warning that comes with the same status leaves it out neither of the events nor of the log. */
static void a_bind_is_told_beside_a_warning(void **state)
{
	struct captured captured;
	auto_free char *text = NULL;
	struct bench *b = *state;

	b->offer = (struct claim_offer){ .state = CLAIM_OFFER_AWAITED,
					 .resource = "intel.com/NIC",
					 .taken = true };
	log_set_level(LOG_ERROR);
	captured_begin(&captured);
	bench_create(b, NAME, CLAIM);
	bench_serve(b);
	bench_end(b, BOUND);
	bench_serve(b);
	text = captured_end(&captured);
	bench_said(b, "Normal Bound of the device\nNormal Bound\n"
		      "Warning NameTaken of the device\nWarning NameTaken\n");
	assert_line(text,
		    "action=bind result=Done user=admin kind=PCIDevice device=" NAME
		    " node=node1 reason=Bound message=\"bound to vfio-pci, IOMMU group 1\"\n");
}

static void a_ready_claim_is_left_alone(void **state)
{
	struct bench *b = *state;

	for (int i = 0; i < 3; i++) {
		bench_look(b, bound_nic);
		claims_enqueue(b->claims, NAME);
		claims_enqueue_all(b->claims);
		bench_advance(b, 600000);
		assert_int_equal(bench_asking(b), 0);
	}
	assert_int_equal(fake.binder->started, 1);
}

static void nothing_is_decided_before_all_is_known(void **state)
{
	struct bench *b = *state;

	bench_create(b, NAME, CLAIM);
	bench_look(b, free_nic);
	claims_enqueue(b->claims, NAME);
	assert_int_equal(bench_asking(b), 0);
	bench_list(b, DEVICE);
	assert_int_equal(bench_asking(b), 1);
}

static void nothing_is_decided_before_the_node_was_looked_at(void **state)
{
	struct bench *b = *state;

	bench_create(b, NAME, CLAIM);
	bench_list(b, DEVICE);
	claims_enqueue(b->claims, NAME);
	assert_int_equal(bench_asking(b), 0);
	bench_look(b, free_nic);
	assert_int_equal(bench_asking(b), 1);
}

static void nothing_is_decided_before_the_devices_are_listed(void **state)
{
	struct bench *b = *state;

	bench_create(b, NAME, CLAIM);
	bench_look(b, free_nic);
	fake_server_put(b->devices, NAME, DEVICE);
	bench_list_one(b);
	bench_advance(b, 1000);
	assert_int_equal(bench_asking(b), 0);
	bench_list_one(b);
	assert_int_equal(bench_asking(b), 1);
}

/* What the helper did is known, but not what else there is to give back. */
static void a_wish_that_turns_waits_for_a_scan(void **state)
{
	struct bench *b = *state;

	bench_end(b, BOUND);
	bench_serve(b);
	bench_delete(b, NAME);
	bench_advance(b, 1000);
	assert_int_equal(bench_asking(b), 0);
	bench_look(b, bound_nic);
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 1);
	assert_string_equal(fake.binder->jobs.items[0]->text, RETURN);
}

/* Its finalizer was taken away, and another one came: what was bound for the first is looked at. */
static void another_claim_of_that_name_waits_for_a_scan(void **state)
{
	struct bench *b = *state;

	bench_end(b, BOUND);
	bench_serve(b);
	fake_server_write(b->server, NAME, "{'metadata':{'finalizers':null}}");
	fake_server_delete(b->server, NAME);
	bench_create(b, NAME, CLAIM);
	bench_advance(b, 1000);
	assert_int_equal(bench_asking(b), 0);
	bench_look(b, bound_nic);
	bench_serve(b);
	assert_string_equal(fake.binder->jobs.items[0]->text,
			    "bind 1: 0000:01:00.0 e1000e->vfio-pci for " NAME "/u2");
}

static void a_device_that_is_being_set_up_is_waited_for(void **state)
{
	struct bench *b = *state;

	b->held = true;
	bench_create(b, NAME, CLAIM);
	bench_advance(b, 60000);
	assert_int_equal(bench_asking(b), 0);
	b->held = false;
	claims_enqueue_all(b->claims);
	bench_serve(b);
	assert_string_equal(fake.binder->jobs.items[0]->text, LAUNCH);
}

static void giving_back_does_not_wait_for_that(void **state)
{
	struct bench *b = *state;

	b->held = true;
	bench_delete(b, NAME);
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 1);
	assert_string_equal(fake.binder->jobs.items[0]->text, RETURN);
}

static void another_nodes_claim_is_not_touched(void **state)
{
	struct bench *b = *state;

	bench_create(b, "node2-000001000", "{\"address\":\"0000:01:00.0\",\"nodeName\":\"node2\"}");
	bench_advance(b, 60000);
	assert_int_equal(bench_asking(b), 0);
}

static void a_claim_made_anew_within_a_second_is_bound_anew(void **state)
{
	struct bench *b = *state;

	bench_end(b, RETURNED);
	bench_serve_one(b);
	bench_has_none(b);
	bench_create(b, NAME, CLAIM);
	bench_serve(b);
	bench_look(b, free_nic);
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 1);
	assert_string_equal(fake.binder->jobs.items[0]->text,
			    "bind 1: 0000:01:00.0 e1000e->vfio-pci for " NAME "/u2");
	bench_end(b, BOUND);
	bench_serve(b);
	bench_has(b, NAME, "\"passthroughEnabled\":true");
}

static void a_record_without_a_claim_is_released(void **state)
{
	struct bench *b = *state;

	bench_list(b, DEVICE);
	bench_look(b, bound_nic);
	bench_serve(b);
	bench_logged(b, "GET " NAME "\n");
	assert_int_equal(fake.binder->jobs.len, 1);
	assert_string_equal(fake.binder->jobs.items[0]->text, RETURN);
	bench_end(b, RETURNED);
	bench_serve(b);
	bench_said(b, "Normal Released of the device\n");
	assert_int_equal(fake.binder->jobs.len, 0);
	bench_look(b, free_nic);
	bench_serve(b);
	assert_int_equal(fake.binder->started, 1);
	assert_int_equal(b->writes, 0);
}

static void devices_that_others_bound_are_left_alone_and_told_once(void **state)
{
	struct bench *b = *state;

	bench_list(b, DEVICE);
	for (int i = 0; i < 3; i++) {
		bench_look(b, foreign_nic);
		bench_advance(b, 60000);
		assert_int_equal(bench_asking(b), 0);
	}
	bench_said(b, "Normal LeftAlone of the device\n");
	assert_int_equal(fake.binder->started, 0);
}

static void a_device_moves_from_the_start_until_a_later_scan(void **state)
{
	struct bench *b = *state;

	assert_false(claims_moving(b->claims, NAME));
	bench_create(b, NAME, CLAIM);
	bench_serve(b);
	assert_true(claims_moving(b->claims, NAME));
	assert_false(claims_moving(b->claims, "node1-000002000"));
	bench_look(b, free_nic);
	bench_advance(b, 10);
	assert_int_equal(b->moves, 0);
	bench_end(b, BOUND);
	assert_int_equal(b->moves, 1);
	bench_serve(b);
	assert_true(claims_moving(b->claims, NAME));
	bench_look(b, bound_nic);
	assert_false(claims_moving(b->claims, NAME));
}

static void a_vanished_device_says_so(void **state)
{
	struct bench *b = *state;

	bench_look(b, nothing);
	bench_serve(b);
	bench_has(b, NAME, "DeviceGone");
	bench_has(b, NAME, "\"passthroughEnabled\":false");
}

static void the_watch_may_be_quicker_than_the_answer(void **state)
{
	struct bench *b = *state;

	fake_server_set_watch(b->server, FAKE_WATCH_FIRST);
	bench_create(b, NAME, CLAIM);
	run_until_ready(b);
	bench_look(b, bound_nic);
	bench_delete(b, NAME);
	bench_serve(b);
	bench_end(b, RETURNED);
	bench_serve(b);
	bench_has_none(b);
	bench_look(b, free_nic);
	bench_advance(b, 60000);
	assert_int_equal(bench_asking(b), 0);
	assert_int_equal(b->writes, 4);
	assert_int_equal(fake.binder->started, 2);
}

static void the_event_of_a_foreign_device_waits_for_its_object(void **state)
{
	struct bench *b = *state;

	bench_list(b, "");
	bench_look(b, foreign_nic);
	bench_said(b, "");
	fake_server_put(b->devices, NAME, DEVICE);
	bench_said(b, "Normal LeftAlone of the device\n");
	fake_server_write(b->devices, NAME, "{'metadata':{'labels':{'a':'b'}}}");
	bench_said(b, "");
}

static void assert_metric(struct bench *b, const char *line)
{
	auto_str struct str text = STR_INIT;

	metrics_write(b->metrics, &text);
	if (!strstr(str_cstr(&text), line))
		fail_msg("no %s in %s", line, str_cstr(&text));
}

static void metrics_tell_how_far_claims_are(void **state)
{
	struct bench *b = *state;

	bench_end(b, OUTCOME(TASK_FAILED, "UnbindFailed"));
	bench_serve(b);
	assert_metric(
		b,
		"hostdev_claims{kind=\"PCIDeviceClaim\",state=\"failed\",reason=\"UnbindFailed\"} 1\n");
	bench_look(b, free_nic);
	run_until_ready(b);
	bench_look(b, bound_nic);
	assert_metric(
		b,
		"hostdev_claims{kind=\"PCIDeviceClaim\",state=\"failed\",reason=\"UnbindFailed\"} 0\n");
	assert_metric(
		b, "hostdev_claims{kind=\"PCIDeviceClaim\",state=\"ready\",reason=\"Ready\"} 1\n");
	assert_metric(b, "hostdev_claim_seconds_count{verb=\"bind\"} 1\n");
	bench_delete(b, NAME);
	bench_serve(b);
	bench_end(b, HELD);
	bench_serve(b);
	assert_metric(b,
		      "hostdev_claims{kind=\"PCIDeviceClaim\",state=\"held\",reason=\"Held\"} 1\n");
	bench_advance(b, 5100);
	bench_serve(b);
	bench_end(b, RETURNED);
	bench_serve(b);
	bench_look(b, free_nic);
	assert_metric(
		b, "hostdev_claims{kind=\"PCIDeviceClaim\",state=\"ready\",reason=\"Ready\"} 0\n");
	assert_metric(b,
		      "hostdev_claims{kind=\"PCIDeviceClaim\",state=\"held\",reason=\"Held\"} 0\n");
	assert_metric(b, "hostdev_claim_seconds_count{verb=\"release\"} 1\n");
}

/* The record is there until the next scan, and so nothing is decided before that. */
static void a_claim_that_is_gone_is_not_counted(void **state)
{
	struct bench *b = *state;

	run_until_ready(b);
	bench_look(b, bound_nic);
	assert_metric(
		b, "hostdev_claims{kind=\"PCIDeviceClaim\",state=\"ready\",reason=\"Ready\"} 1\n");
	bench_delete(b, NAME);
	bench_serve(b);
	bench_end(b, RETURNED);
	bench_serve(b);
	assert_metric(
		b, "hostdev_claims{kind=\"PCIDeviceClaim\",state=\"ready\",reason=\"Ready\"} 0\n");
}

/* However often the claim is looked at before the next attempt. */
static void a_failure_is_the_queues_once(void **state)
{
	struct bench *b = *state;

	bench_end(b, OUTCOME(TASK_FAILED, "UnbindFailed"));
	bench_serve(b);
	for (int i = 0; i < 3; i++) {
		claims_enqueue(b->claims, NAME);
		bench_settle(b);
	}
	assert_int_equal(bench_asking(b) + fake.binder->jobs.len, 0);
	assert_metric(b,
		      "hostdev_reconciles_total{queue=\"pcideviceclaims\",result=\"retry\"} 1\n");
}

/* clang-format off */
static struct claims_case {
	const char *name;
	const struct suite_fixture *fixture;
	CMUnitTestFunction test;
} cases[] = {
	{ "a life takes four writes: mark, intent, ready, unmark",
	  &free_fixture, a_life_takes_four_writes },
	{ "a life is in the audit trail", &free_fixture, a_life_is_in_the_audit_trail },
	{ "a bind is told before the claim is ready",
	  &free_fixture, a_bind_is_told_before_the_claim_is_ready },
	{ "a claim is told to be bound once", &free_fixture, a_claim_is_told_to_be_bound_once },
	{ "a bind is told beside a warning", &free_fixture, a_bind_is_told_beside_a_warning },
	{ "a claim that is as it should be takes no request",
	  &ready_fixture, a_ready_claim_is_left_alone },
	{ "nothing is decided before the lists are there",
	  &bench_fixture, nothing_is_decided_before_all_is_known },
	{ "nothing is decided before the node was looked at",
	  &bench_fixture, nothing_is_decided_before_the_node_was_looked_at },
	{ "nothing is decided before the devices are listed",
	  &bench_fixture, nothing_is_decided_before_the_devices_are_listed },
	{ "a claim deleted right after its bind waits for a scan",
	  &binding_fixture, a_wish_that_turns_waits_for_a_scan },
	{ "another claim of the name waits for a scan",
	  &binding_fixture, another_claim_of_that_name_waits_for_a_scan },
	{ "a device that is still being set up is waited for",
	  &free_fixture, a_device_that_is_being_set_up_is_waited_for },
	{ "but a claim that is given back does not wait for that",
	  &ready_fixture, giving_back_does_not_wait_for_that },
	{ "another node's claim is not touched",
	  &free_fixture, another_nodes_claim_is_not_touched },
	{ "a claim deleted and made anew is bound anew",
	  &releasing_fixture, a_claim_made_anew_within_a_second_is_bound_anew },
	{ "a record without a claim is released once the API server confirms",
	  &bench_fixture, a_record_without_a_claim_is_released },
	{ "devices that others bound are left alone and told of once",
	  &bench_fixture, devices_that_others_bound_are_left_alone_and_told_once },
	{ "a device moves from the start of its transition until a later scan",
	  &free_fixture, a_device_moves_from_the_start_until_a_later_scan },
	{ "a vanished device says so", &ready_fixture, a_vanished_device_says_so },
	{ "the watch may be quicker than the answer",
	  &free_fixture, the_watch_may_be_quicker_than_the_answer },
	{ "the event of a foreign device waits for its object",
	  &bench_fixture, the_event_of_a_foreign_device_waits_for_its_object },
	{ "metrics tell how far claims are", &binding_fixture, metrics_tell_how_far_claims_are },
	{ "a claim that is gone is not counted",
	  &binding_fixture, a_claim_that_is_gone_is_not_counted },
	{ "a failure is the queue's once", &binding_fixture, a_failure_is_the_queues_once },
};
/* clang-format on */

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		suite_fixture(&suite, cases[i].fixture);
		suite_add(&suite, cases[i].name, cases[i].test, NULL);
	}
	return suite_run(&suite, "claims");
}
