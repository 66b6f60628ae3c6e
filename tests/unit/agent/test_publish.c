/* publish: against a small API server, how many writes each change of the node or of the objects
 * takes; above all, when none. */
#include "agent/publish/publish.h"

#include "base/log.h"
#include "fake/fake_client.h"
#include "unit/agent/publish_bench.h"
#include "unit/captured.h"

#define NAME "node1-000001000"
#define NIC(rest)                                                                                 \
	"{\"kind\":\"pci\",\"address\":\"0000:01:00.0\",\"vendor\":\"8086\",\"device\":\"10d3\"," \
	"\"class\":\"020000\",\"iommuGroup\":\"1\"" rest "}"

static const char *const nic[] = { NIC(",\"driver\":\"e1000e\""), NULL };
static const char *const nic_lent[] = { NIC(",\"driver\":\"vfio-pci\""), NULL };
static const char *const nothing[] = { NULL };

/* A node with one NIC whose object is as it should be. */
static void open_settled(struct bench *b)
{
	bench_synced(b);
	bench_look(b, nic);
	bench_serve(b);
	assert_true(publish_settled(b->publish));
}

SUITE_FIXTURE(settled, struct bench, open_settled, bench_close);

static void assert_has(const struct bench *b, const char *part, const char *text)
{
	auto_free char *object = bench_has(b, NAME, part);

	if (!strstr(object, text))
		fail_msg("no %s in %s", text, object);
}

static void a_new_device_takes_two_writes(void **state)
{
	struct bench *b = *state;

	assert_false(publish_settled(b->publish));
	bench_look(b, nic);
	assert_false(publish_settled(b->publish));
	assert_int_equal(bench_serve(b), 2);
	assert_true(publish_settled(b->publish));
	assert_has(b, "metadata", "\"nodename\":\"node1\"");
	assert_has(b, "metadata", "\"harvesterhci.io/pcideviceDriver\":\"e1000e\"");
	assert_has(b, "status", "\"address\":\"0000:01:00.0\"");
	assert_has(b, "status", "\"Claimable\"");
}

/* An object must not be without a status for longer than it takes to write it. */
static void the_first_status_waits_for_no_watch(void **state)
{
	struct bench *b = *state;

	bench_lag(b);
	bench_look(b, nic);
	bench_serve_one(b);
	assert_int_equal(bench_writing(b), 1);
	fake_client_choose(b->client, "/pcidevices/" NAME "/status?");
}

/* The lines of the audit trail that come of @given as who has the device. The caller frees. */
static char *lines_of(struct bench *b, struct pcidevice_allocations given)
{
	struct captured captured;

	b->given = given;
	captured_begin(&captured);
	publish_enqueue(b->publish, INVENTORY_PCI, NAME);
	fake_clock_settle(b->clock);
	bench_serve(b);
	return captured_end(&captured);
}

static void assert_audited(const char *text, const char *line)
{
	const char *found = strstr(text, "level=");

	assert_non_null(found);
	assert_string_equal(found, line);
}

static void pods_that_come_and_go_are_audited(void **state)
{
	char ns[] = "team-a";
	char pod[] = "vm-1";
	char other[] = "vm-2";
	char container[] = "compute";
	struct pcidevice_allocation one[] = { { ns, pod, container, NULL } };
	struct pcidevice_allocation two[] = { { ns, other, container, NULL } };
	auto_free char *first = NULL;
	auto_free char *again = NULL;
	auto_free char *second = NULL;
	auto_free char *last = NULL;
	struct bench *b = *state;

	first = lines_of(b, (struct pcidevice_allocations){ one, 1, 0 });
	again = lines_of(b, (struct pcidevice_allocations){ one, 1, 0 });
	second = lines_of(b, (struct pcidevice_allocations){ two, 1, 0 });
	last = lines_of(b, (struct pcidevice_allocations){ 0 });
	assert_audited(first, "level=info msg=audit action=allocate result=Done kind=PCIDevice "
			      "device=" NAME " node=node1 pod=team-a/vm-1 container=compute "
			      "resource=unknown.com/10d3 reason=Allocated "
			      "message=\"given to a pod as unknown.com/10d3\"\n");
	assert_string_equal(again, "");
	assert_non_null(strstr(second, "action=free result=Done kind=PCIDevice device=" NAME
				       " node=node1 pod=team-a/vm-1 "));
	assert_non_null(strstr(second, "action=allocate result=Done kind=PCIDevice device=" NAME
				       " node=node1 pod=team-a/vm-2 "));
	assert_non_null(strstr(last, "action=free result=Done kind=PCIDevice device=" NAME
				     " node=node1 pod=team-a/vm-2 "));
}

static void a_refused_write_is_not_audited(void **state)
{
	char ns[] = "team-a";
	char pod[] = "vm-1";
	struct pcidevice_allocation one[] = { { ns, pod, NULL, NULL } };
	struct captured captured;
	auto_free char *text = NULL;
	struct bench *b = *state;

	b->given = (struct pcidevice_allocations){ one, 1, 0 };
	captured_begin(&captured);
	publish_enqueue(b->publish, INVENTORY_PCI, NAME);
	fake_clock_settle(b->clock);
	assert_true(fake_server_serve(b->server, FAULT_TROUBLE));
	fake_clock_settle(b->clock);
	text = captured_end(&captured);
	assert_null(strstr(text, "msg=audit"));
}

static void no_change_takes_no_write(void **state)
{
	struct bench *b = *state;

	for (int i = 0; i < 3; i++) {
		bench_look(b, nic);
		publish_enqueue(b->publish, INVENTORY_PCI, NAME);
		publish_enqueue_all(b->publish);
		fake_clock_advance(b->clock, 20000);
		assert_int_equal(bench_writing(b), 0);
	}
}

static void another_driver_takes_one_write(void **state)
{
	struct bench *b = *state;

	bench_look(b, nic_lent);
	assert_int_equal(bench_serve(b), 1);
	assert_has(b, "status", "\"kernelDriverInUse\":\"vfio-pci\"");
	assert_has(b, "metadata", "\"harvesterhci.io/pcideviceDriver\":\"e1000e\"");
}

static void a_vanished_device_takes_one_delete(void **state)
{
	struct bench *b = *state;

	bench_look(b, nothing);
	fake_client_choose(b->client, "/pcidevices/");
	assert_string_equal(fake_client_request(b->client)->method, "DELETE");
	assert_non_null(strstr(fake_client_request(b->client)->body, "\"uid\":\"u1\""));
	assert_non_null(strstr(fake_client_request(b->client)->body, "\"resourceVersion\""));
	assert_int_equal(bench_serve(b), 1);
	assert_int_equal(fake_server_count(b->server), 0);
	assert_true(publish_settled(b->publish));
}

/* Somebody's finalizer keeps it: it waits for them, however often the node is looked at. */
static void what_is_being_deleted_is_not_deleted_again(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, NAME, "{'metadata':{'finalizers':['a.io/b']}}");
	bench_look(b, nothing);
	assert_int_equal(bench_serve(b), 1);
	bench_look(b, nothing);
	fake_clock_advance(b->clock, 20000);
	assert_int_equal(bench_writing(b), 0);
	assert_true(publish_settled(b->publish));
}

static void a_claimed_device_that_vanished_stays_as_long_as_the_claim(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->pci_claims, NAME, "{}");
	fake_clock_settle(b->clock);
	assert_int_equal(bench_serve(b), 1);
	assert_has(b, "status", "\"type\":\"Claimed\"");
	bench_look(b, nothing);
	assert_int_equal(bench_serve(b), 1);
	assert_has(b, "status", "DeviceGone");
	bench_look(b, nothing);
	assert_int_equal(bench_serve(b), 0);
	fake_server_delete(b->pci_claims, NAME);
	fake_clock_settle(b->clock);
	assert_int_equal(bench_serve(b), 1);
	assert_int_equal(fake_server_count(b->server), 0);
}

static void an_edit_by_hand_is_repaired(void **state)
{
	struct bench *b = *state;

	fake_server_write_status(b->server, NAME, "{'address':'other'}");
	fake_clock_settle(b->clock);
	assert_int_equal(bench_serve(b), 1);
	assert_has(b, "status", "\"address\":\"0000:01:00.0\"");
}

/* Answers the write at hand with the server's object, in which @key of its status is @value,
 * whatever was written. */
static void answer_with(struct bench *b, const char *key, const char *value)
{
	auto_json json_t *object = json_deep_copy(fake_server_get(b->server, NAME));
	auto_free char *text = NULL;

	json_object_set_new(json_object_get(object, "status"), key, json_string(value));
	text = json_map_text(object);
	fake_client_choose(b->client, "/pcidevices/" NAME "/status?");
	fake_client_answer(b->client, 200, text);
	fake_clock_settle(b->clock);
}

/* An apply leaves what others have written; that goes by one patch of what the apply has
 * answered. */
static void fields_of_others_go_by_a_patch(void **state)
{
	struct bench *b = *state;
	const struct fake_request *request;
	auto_free char *version = NULL;

	fake_server_write_status(b->server, NAME, "{'iommuGroup2':'x','numaNode':1}");
	fake_clock_settle(b->clock);
	fake_client_choose(b->client, "/pcidevices/" NAME "/status?");
	assert_non_null(strstr(fake_client_request(b->client)->content_type, "apply-patch"));
	bench_serve_one(b);
	fake_client_choose(b->client, "/pcidevices/" NAME "/status?");
	request = fake_client_request(b->client);
	version = xasprintf("\"resourceVersion\":\"%s\"",
			    fake_server_text(b->server, NAME, "metadata.resourceVersion"));
	assert_non_null(strstr(request->content_type, "merge-patch"));
	assert_non_null(strstr(request->body, "\"status\":{\"numaNode\":null}"));
	assert_non_null(strstr(request->body, "\"uid\":\"u1\""));
	assert_non_null(strstr(request->body, version));
	answer_with(b, "iommuGroup2", "x"); /* and it is there again */
	assert_int_equal(bench_writing(b), 0);
	fake_clock_advance(b->clock, 20000);
	assert_int_equal(bench_writing(b), 0);
}

/* What an apply does not change, it would not change again. */
static void what_an_apply_does_not_change_is_applied_once(void **state)
{
	struct bench *b = *state;

	bench_look(b, nic_lent);
	answer_with(b, "kernelDriverInUse", "e1000e");
	fake_clock_advance(b->clock, 20000);
	assert_int_equal(bench_writing(b), 0);
}

static void a_label_that_does_not_stay_is_applied_once(void **state)
{
	struct bench *b = *state;
	auto_free char *text = NULL;

	fake_server_write(b->server, NAME, "{'metadata':{'labels':null}}");
	fake_clock_settle(b->clock);
	assert_int_equal(bench_writing(b), 1);
	text = json_map_text(fake_server_get(b->server, NAME));
	fake_client_choose(b->client, "/pcidevices/" NAME "?");
	fake_client_answer(b->client, 200, text);
	fake_clock_advance(b->clock, 20000);
	assert_int_equal(bench_writing(b), 0);
}

static void a_deletion_by_hand_is_repaired(void **state)
{
	struct bench *b = *state;

	fake_server_delete(b->server, NAME);
	fake_clock_settle(b->clock);
	assert_int_equal(bench_serve(b), 2);
	assert_has(b, "status", "\"address\":\"0000:01:00.0\"");
}

static void what_cannot_be_read_is_not_written(void **state)
{
	struct bench *b = *state;

	fake_server_write_status(b->server, NAME, "{'address':7}");
	fake_clock_settle(b->clock);
	assert_int_equal(bench_serve(b), 0);
}

/* The watch has shown our write, and something newer right behind it. */
static void a_watch_that_is_ahead_is_not_waited_for(void **state)
{
	struct bench *b = *state;

	bench_lag(b);
	bench_look(b, nic_lent);
	assert_int_equal(bench_serve(b), 1);
	fake_server_write_status(b->server, NAME, "{'address':'other'}");
	fake_server_set_watch(b->server, FAKE_WATCH_NEXT);
	fake_clock_settle(b->clock);
	assert_int_equal(bench_serve(b), 1);
}

/* A watch that never shows it is behind, and waiting for it has an end. */
static void a_dead_watch_is_not_waited_for(void **state)
{
	struct bench *b = *state;

	bench_lag(b);
	bench_look(b, nic_lent);
	assert_int_equal(bench_serve(b), 1);
	bench_look(b, nic_lent);
	fake_clock_advance(b->clock, 3000);
	assert_int_equal(bench_writing(b), 1);
}

static void nothing_is_written_before_the_lists_are_there(void **state)
{
	struct bench *b = *state;

	bench_look(b, nic);
	bench_list(b, "pcidevices", FAULT_NONE);
	bench_list(b, "usbdevices", FAULT_NONE);
	bench_list(b, "usbdeviceclaims", FAULT_NONE);
	fake_clock_advance(b->clock, 100);
	assert_int_equal(bench_writing(b), 0);
	bench_list(b, "pcideviceclaims", FAULT_NONE);
	fake_clock_settle(b->clock);
	assert_int_equal(bench_serve(b), 2);
}

static void nothing_is_deleted_before_the_node_was_looked_at(void **state)
{
	struct bench *b = *state;

	fake_server_write(b->server, NAME, "{}");
	bench_list(b, "pcidevices", FAULT_NONE);
	bench_list(b, "usbdevices", FAULT_NONE);
	bench_list(b, "pcideviceclaims", FAULT_NONE);
	bench_list(b, "usbdeviceclaims", FAULT_NONE);
	fake_clock_advance(b->clock, 10000);
	assert_int_equal(bench_writing(b), 0);
	assert_false(publish_settled(b->publish));
	bench_look(b, nothing);
	assert_int_equal(bench_writing(b), 1);
}

/* Only the writes that fail are the test's business, so the kind comes by a list, not by a
 * write. */
static void a_kind_that_is_not_installed_is_waited_for(void **state)
{
	struct bench *b = *state;
	size_t sent;

	bench_list(b, "pcidevices", FAULT_NOT_SERVED);
	bench_list(b, "usbdevices", FAULT_NONE);
	bench_list(b, "pcideviceclaims", FAULT_NONE);
	bench_list(b, "usbdeviceclaims", FAULT_NONE);
	assert_true(informer_synced(b->devices[INVENTORY_PCI].informer));
	assert_false(informer_installed(b->devices[INVENTORY_PCI].informer));
	bench_look(b, nic);
	sent = fake_client_sent(b->client);
	/* Lists may be asked for again; writes may not. */
	for (int i = 0; i < 20; i++) {
		fake_clock_advance(b->clock, 1000);
		if (fake_client_sent(b->client) > sent)
			bench_list(b, "pcidevices", FAULT_NOT_SERVED);
		sent = fake_client_sent(b->client);
		assert_int_equal(fake_client_open(b->client), WATCHES - 1);
	}
	while (fake_client_sent(b->client) == sent)
		fake_clock_advance(b->clock, 100);
	bench_list(b, "pcidevices", FAULT_NONE);
	fake_clock_advance(b->clock, 2000);
	assert_int_equal(bench_serve(b), 2);
}

/* The same write again would be refused again. */
static void a_write_that_is_refused_waits_for_a_change(void **state)
{
	struct bench *b = *state;

	bench_look(b, nic);
	assert_true(fake_server_serve(b->server, FAULT_INVALID));
	fake_clock_advance(b->clock, 100000);
	assert_int_equal(bench_writing(b), 0);
	bench_look(b, nic);
	assert_int_equal(bench_serve(b), 2);
}

static void what_is_deleted_already_is_deleted(void **state)
{
	struct bench *b = *state;

	bench_lag(b);
	bench_look(b, nothing);
	/* The path is not served just then. */
	assert_true(fake_server_serve(b->server, FAULT_NOT_SERVED));
	fake_clock_advance(b->clock, 1000);
	assert_int_equal(bench_writing(b), 1);
	fake_server_delete(b->server, NAME);
	bench_serve_one(b);
	assert_int_equal(bench_writing(b), 0);
	assert_true(publish_settled(b->publish));
	/* It is not deleted again before the watch shows the deletion. */
	bench_look(b, nothing);
	fake_clock_advance(b->clock, 2900);
	assert_int_equal(bench_writing(b), 0);
}

/* 40 functions of one slot's kind, 0000:01:00.0 to 0000:01:04.7, and @usb USB devices. */
static void look_at(struct bench *b, unsigned usb)
{
	char *lines[61] = { NULL };

	for (unsigned i = 0; i < 40; i++)
		lines[i] = xasprintf("{\"kind\":\"pci\",\"address\":\"0000:01:%02x.%u\"}", i / 8,
				     i % 8);
	for (unsigned i = 0; i < usb; i++)
		lines[40 + i] = xasprintf("{\"kind\":\"usb\",\"name\":\"1-%u\",\"bus\":1,"
					  "\"device\":%u}",
					  i + 1, i + 2);
	bench_look(b, (const char *const *)lines);
	for (unsigned i = 0; i < 40 + usb; i++)
		free(lines[i]);
}

static void look_at_many(struct bench *b)
{
	look_at(b, 0);
}

static void kinds_share_the_sixteen(void **state)
{
	struct bench *b = *state;

	look_at(b, 20);
	assert_int_equal(bench_writing(b), 16);
	while (fake_client_choose_call(b->client) &&
	       !strstr(fake_client_request(b->client)->path, "/usbdevices/")) {
		bench_serve_one(b);
		assert_in_range(bench_writing(b), 1, 16);
	}
	assert_int_equal(bench_writing(b), 16);
}

static void writes_are_few_at_a_time(void **state)
{
	struct bench *b = *state;

	look_at_many(b);
	assert_int_equal(bench_writing(b), 16);
	bench_serve_one(b);
	assert_in_range(bench_writing(b), 15, 16);
	assert_int_equal(bench_serve(b), 79);
	assert_int_equal(fake_server_count(b->server), 40);
	assert_true(publish_settled(b->publish));
}

static void who_ends_takes_its_writes_along(void **state)
{
	struct bench *b = *state;

	look_at_many(b);
	b->publish = publish_free(b->publish);
	assert_int_equal(bench_writing(b), 0);
	assert_null(publish_free(NULL));
}

/* The device changed while its object was being made: the object is made, and then says so. */
static void a_change_in_the_middle_is_not_lost(void **state)
{
	struct bench *b = *state;

	bench_look(b, nic);
	bench_look(b, nic_lent);
	bench_serve(b);
	assert_has(b, "status", "\"kernelDriverInUse\":\"vfio-pci\"");
	bench_look(b, nic);
	bench_look(b, nothing);
	bench_serve(b);
	assert_int_equal(fake_server_count(b->server), 0);
	assert_true(publish_settled(b->publish));
}

static void a_device_on_its_way_is_not_written(void **state)
{
	struct bench *b = *state;

	b->moving = true;
	bench_look(b, nic_lent);
	publish_enqueue(b->publish, INVENTORY_PCI, NAME);
	fake_clock_advance(b->clock, 60000);
	assert_int_equal(bench_writing(b), 0);
	b->moving = false;
	bench_look(b, nic_lent);
	assert_int_equal(bench_serve(b), 1);
	assert_has(b, "status", "\"kernelDriverInUse\":\"vfio-pci\"");
}

/* clang-format off */
static struct publish_case {
	const char *name;
	const struct suite_fixture *fixture;
	CMUnitTestFunction test;
} cases[] = {
	{ "a new device takes two writes: the object, its status",
	  &synced_fixture, a_new_device_takes_two_writes },
	{ "the first status follows at once",
	  &synced_fixture, the_first_status_waits_for_no_watch },
	{ "pods that come and go are in the audit trail",
	  &settled_fixture, pods_that_come_and_go_are_audited },
	{ "a write that fails is not in the audit trail",
	  &settled_fixture, a_refused_write_is_not_audited },
	{ "no change takes no write", &settled_fixture, no_change_takes_no_write },
	{ "another driver takes one write", &settled_fixture, another_driver_takes_one_write },
	{ "a vanished device takes one delete, of that very object",
	  &settled_fixture, a_vanished_device_takes_one_delete },
	{ "what is being deleted is not deleted again",
	  &settled_fixture, what_is_being_deleted_is_not_deleted_again },
	{ "fields of others go by a patch", &settled_fixture, fields_of_others_go_by_a_patch },
	{ "what an apply does not change is applied once",
	  &settled_fixture, what_an_apply_does_not_change_is_applied_once },
	{ "a label that does not stay is applied once",
	  &settled_fixture, a_label_that_does_not_stay_is_applied_once },
	{ "a claimed device that vanished stays as long as its claim",
	  &settled_fixture, a_claimed_device_that_vanished_stays_as_long_as_the_claim },
	{ "an edit by hand is repaired by one write",
	  &settled_fixture, an_edit_by_hand_is_repaired },
	{ "a deletion by hand is repaired", &settled_fixture, a_deletion_by_hand_is_repaired },
	{ "an object that cannot be read is not written",
	  &settled_fixture, what_cannot_be_read_is_not_written },
	{ "a watch that is ahead is not waited for",
	  &settled_fixture, a_watch_that_is_ahead_is_not_waited_for },
	{ "a dead watch is not waited for without end",
	  &settled_fixture, a_dead_watch_is_not_waited_for },
	{ "nothing is written before the lists are there",
	  &bench_fixture, nothing_is_written_before_the_lists_are_there },
	{ "nothing is deleted before the node was looked at",
	  &bench_fixture, nothing_is_deleted_before_the_node_was_looked_at },
	{ "a kind that is not installed is waited for",
	  &bench_fixture, a_kind_that_is_not_installed_is_waited_for },
	{ "a write that is refused waits for a change",
	  &synced_fixture, a_write_that_is_refused_waits_for_a_change },
	{ "what is deleted already is deleted",
	  &settled_fixture, what_is_deleted_already_is_deleted },
	{ "at most sixteen writes run at a time", &synced_fixture, writes_are_few_at_a_time },
	{ "the kinds share the sixteen", &synced_fixture, kinds_share_the_sixteen },
	{ "who ends takes its writes along", &synced_fixture, who_ends_takes_its_writes_along },
	{ "a device on its way to another driver is not written",
	  &settled_fixture, a_device_on_its_way_is_not_written },
	{ "a change in the middle of a write is not lost",
	  &synced_fixture, a_change_in_the_middle_is_not_lost },
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
	return suite_run(&suite, "publish");
}
