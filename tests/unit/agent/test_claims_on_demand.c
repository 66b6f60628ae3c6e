/* claims: functions that are bound for a ResourceClaim, without a PCIDeviceClaim, and given back. */
#include "agent/claim/claims.h"
#include "agent/claim/on_demand_binds.h"

#include "api/names.h"
#include "api/usbdeviceclaim.h"
#include "base/err.h"
#include "fake/fake_client.h"
#include "unit/agent/claims_nic.h"

#define RC         "ResourceClaim default/nic"
#define NIC_AT     "0000:01:00.0"
#define TWIN_AT    "0000:01:00.1"
#define TWIN_NAME  "node1-000001001"
#define TWIN_CLAIM "{\"address\":\"" TWIN_AT "\",\"nodeName\":\"node1\",\"userName\":\"admin\"}"
#define TWIN_DEVICE                                                                           \
	"{\"metadata\":{\"name\":\"" TWIN_NAME "\",\"uid\":\"d3\",\"resourceVersion\":\"7\"," \
	"\"annotations\":{\"harvesterhci.io/pcideviceDriver\":\"e1000e\"}},\"status\":{}}"
#define TWIN(driver)                                                                             \
	"{\"kind\":\"pci\",\"address\":\"" TWIN_AT "\",\"vendor\":\"8086\",\"device\":\"10d3\"," \
	"\"class\":\"020000\",\"iommuGroup\":\"1\",\"driver\":\"" driver "\"}"
#define GPU_AT "0000:02:00.0"
#define GPU                                                                                     \
	"{\"kind\":\"pci\",\"address\":\"" GPU_AT "\",\"vendor\":\"10de\",\"device\":\"1eb8\"," \
	"\"class\":\"030200\",\"iommuGroup\":\"2\",\"driver\":\"nouveau\"}"
#define GPU_DEVICE                                                                              \
	"{\"metadata\":{\"name\":\"node1-000002000\",\"uid\":\"d2\",\"resourceVersion\":\"7\"," \
	"\"annotations\":{\"harvesterhci.io/pcideviceDriver\":\"nouveau\"}},\"status\":{}}"
#define USE(reason)                                                                        \
	"{\"kind\":\"use\",\"pci\":\"" NIC_AT "\",\"reason\":\"" reason "\",\"detail\":\"" \
	"it says so\"}"
#define BIND "bind 1: " NIC_AT " e1000e->vfio-pci for " NAME "/rc1"
#define BACK "release 1: " NIC_AT " e1000e->vfio-pci for " NAME "/rc1"

static const char *const nic_for_claim[] = { NIC("vfio-pci"), RECORD("rc1"), NULL };

/* What came of the binds: "bound|", or their errors. */
static struct str *heard(void)
{
	static struct str text;

	return &text;
}

static void on_end(void *arg, const struct err *err)
{
	(void)arg;
	str_addf(heard(), "%s|", err ? err->msg : "bound");
}

/* As the Prepare does it that has written its checkpoint. */
static struct on_demand_bind *bind_on_demand(struct bench *b, const char *first, const char *second)
{
	struct json_strs addresses = { 0 };
	const struct on_demand_spec spec = { &addresses, "rc1", RC };
	struct on_demand_bind *bind;

	json_strs_add(&addresses, first);
	if (second)
		json_strs_add(&addresses, second);
	b->pod = b->bound_for = RC;
	bind = claims_bind_on_demand(b->claims, &spec, on_end, NULL);
	assert_int_equal(heard()->len, 0);
	json_strs_done(&addresses);
	bench_settle(b);
	return bind;
}

static void heard_is(const char *expected)
{
	assert_string_equal(str_cstr(heard()), expected);
	str_done(heard());
}

static void close_on_demand(struct bench *b)
{
	str_done(heard());
	bench_close(b);
}

SUITE_FIXTURE(on_demand, struct bench, open_free, close_on_demand);

/* The device is bound, and the node has been scanned since. */
static void open_bound(struct bench *b)
{
	open_free(b);
	(void)bind_on_demand(b, NIC_AT, NULL);
	bench_end(b, BOUND);
	heard_is("bound|");
	bench_look(b, nic_for_claim);
	str_clear(&b->events.said);
	str_clear(&b->log);
}

SUITE_FIXTURE(bound, struct bench, open_bound, close_on_demand);

/* --- bound ------------------------------------------------------------------------------------ */

static void a_free_device_is_bound(void **state)
{
	struct bench *b = *state;

	(void)bind_on_demand(b, NIC_AT, NULL);
	assert_int_equal(fake.binder->jobs.len, 1);
	assert_string_equal(fake.binder->jobs.items[0]->text, BIND);
	heard_is("");
	bench_end(b, BOUND);
	heard_is("bound|");
	bench_said(b, "Normal Bound of the device\n");
	assert_int_equal(b->moves, 1);
	assert_int_equal(b->writes, 0);
	bench_serve(b);
}

/* What changes meanwhile has the claims of the device looked at, which do not exist. */
static void a_bind_goes_on_whatever_changes(void **state)
{
	struct bench *b = *state;

	(void)bind_on_demand(b, NIC_AT, NULL);
	claims_enqueue(b->claims, NAME);
	bench_look(b, free_nic);
	bench_serve(b);
	assert_false(fake.binder->jobs.items[0]->cancelled);
	assert_int_equal(fake.binder->started, 1);
	bench_end(b, BOUND);
	heard_is("bound|");
}

static void what_is_bound_stays_bound(void **state)
{
	struct bench *b = *state;

	b->pod = RC;
	bench_look(b, nic_for_claim);
	bench_advance(b, 60000);
	bench_serve(b);
	assert_int_equal(fake.binder->started, 1);
	/* And the next bind for the same claim has nothing to do. */
	(void)bind_on_demand(b, NIC_AT, NULL);
	heard_is("bound|");
	assert_int_equal(fake.binder->started, 1);
	assert_int_equal(b->writes, 0);
}

static void the_device_goes_back_when_it_is_unprepared(void **state)
{
	struct bench *b = *state;

	b->pod = RC;
	bench_look(b, nic_for_claim);
	b->pod = b->bound_for = NULL;
	claims_enqueue(b->claims, NAME);
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 1);
	assert_string_equal(fake.binder->jobs.items[0]->text, BACK);
	bench_end(b, RETURNED);
	bench_serve(b);
	bench_look(b, free_nic);
	bench_said(b, "Normal Released of the device\n");
	assert_int_equal(fake.binder->started, 2);
}

/* An agent died after the bind: its checkpoint is gone, only the record is there. */
static void what_nobody_has_is_given_back(void **state)
{
	struct bench *b = *state;

	bench_look(b, nic_for_claim);
	bench_serve(b);
	assert_int_equal(fake.binder->jobs.len, 1);
	assert_string_equal(fake.binder->jobs.items[0]->text, BACK);
	/* The kubelet asks again before it is back: it waits, and is bound again. */
	(void)bind_on_demand(b, NIC_AT, NULL);
	assert_int_equal(fake.binder->started, 1);
	bench_end(b, RETURNED);
	assert_int_equal(fake.binder->started, 1);
	bench_look(b, free_nic);
	assert_int_equal(fake.binder->started, 2);
	assert_string_equal(fake.binder->jobs.items[0]->text, BIND);
	bench_end(b, BOUND);
	heard_is("bound|");
}

/* The next claim comes before the device was given back after the last one. */
static void a_device_that_is_still_bound_is_taken_over(void **state)
{
	static const char *const left[] = { NIC("vfio-pci"), RECORD("rc0"), NULL };
	struct bench *b = *state;

	b->pod = RC;
	bench_look(b, left);
	(void)bind_on_demand(b, NIC_AT, NULL);
	assert_string_equal(fake.binder->jobs.items[0]->text, BIND);
	bench_end(b, BOUND);
	heard_is("bound|");
}

static struct binder_seen on_vfio_two[] = {
	{ TEXT("0000:01:00.0"), TEXT("vfio-pci"), TEXT("vfio-pci") },
	{ TEXT("0000:01:00.1"), TEXT("vfio-pci"), TEXT("vfio-pci") }
};

#define BOUND_TWO                                                                    \
	(struct binder_outcome)                                                      \
	{                                                                            \
		.task = { .result = TASK_DONE, .message = TEXT("bound") }, .seen = { \
			.items = on_vfio_two,                                        \
			.len = 2                                                     \
		}                                                                    \
	}

static void groups_follow_each_other(void **state)
{
	static const char *const three[] = { NIC("e1000e"), TWIN("e1000e"), GPU, NULL };
	struct json_strs addresses = { 0 };
	const struct on_demand_spec spec = { &addresses, "rc1", RC };
	struct bench *b = *state;

	bench_look(b, three);
	fake_server_put(b->devices, "node1-000002000", GPU_DEVICE);
	fake_server_put(b->devices, TWIN_NAME, TWIN_DEVICE);
	bench_settle(b);
	json_strs_add(&addresses, NIC_AT);
	json_strs_add(&addresses, TWIN_AT);
	json_strs_add(&addresses, GPU_AT);
	b->pod = b->bound_for = RC;
	(void)claims_bind_on_demand(b->claims, &spec, on_end, NULL);
	json_strs_done(&addresses);
	bench_settle(b);
	assert_int_equal(fake.binder->jobs.len, 1);
	assert_string_equal(fake.binder->jobs.items[0]->text,
			    BIND " " TWIN_AT " e1000e->vfio-pci for " NAME "/rc1");
	bench_end(b, BOUND_TWO);
	heard_is("");
	bench_said(b, "Normal Bound of the device\nNormal Bound of the device\n");
	assert_int_equal(fake.binder->jobs.len, 1);
	assert_string_equal(fake.binder->jobs.items[0]->text,
			    "bind 2: " GPU_AT " nouveau->vfio-pci for node1-000002000/rc1");
	bench_end(b, OUTCOME(TASK_REFUSED, "InUse"));
	heard_is("it did not work|");
}

/* --- refused, or waited for ------------------------------------------------------------------- */

static struct refused_case {
	const char *name;
	const char *lines[4];
	const char *bind_trouble;
	const char *trouble;
} refused[] = {
	{ "the host uses it", { NIC("e1000e"), USE("HostNetwork") }, NULL, "it says so" },
	{ "an interface is up", { NIC("e1000e"), USE("InterfaceUp") }, NULL, "it says so" },
	{ "another function of its group is in use",
	  { NIC("e1000e"), TWIN("e1000e"),
	    "{\"kind\":\"use\",\"pci\":\"" TWIN_AT
	    "\",\"reason\":\"InterfaceUp\",\"detail\":\"eth1 is up\"}" },
	  NULL,
	  "IOMMU group 1 also holds " TWIN_AT ": eth1 is up" },
	{ "another program has bound it",
	  { NIC("vfio-pci") },
	  NULL,
	  "another program has bound " NIC_AT " to vfio-pci" },
	{ "another program has bound one of its group",
	  { NIC("e1000e"), TWIN("vfio-pci") },
	  NULL,
	  "another program has bound its IOMMU group's " TWIN_AT " to vfio-pci" },
	{ "it is not there", { GPU }, NULL, NIC_AT " is not on the node" },
	{ "a pod could open it",
	  { NIC("e1000e") },
	  "a pod may still open it",
	  "a pod may still open it" },
};

static void what_is_not_free_is_refused(void **state)
{
	const struct refused_case *row = suite_row(state);
	struct bench *b = *state;
	auto_free char *trouble = NULL;
	auto_free char *end = xasprintf("%s|", row->trouble);

	b->bind_trouble = row->bind_trouble;
	bench_look(b, row->lines);
	trouble = claims_on_demand_trouble(b->claims, NIC_AT);
	/* Not asked for a list. */
	if (row->bind_trouble)
		assert_null(trouble);
	else
		assert_string_equal(trouble, row->trouble);
	(void)bind_on_demand(b, NIC_AT, NULL);
	heard_is(end);
	assert_int_equal(fake.binder->started, 0);
}

/* What is refused in the same way for a PCIDeviceClaim has other advice for its user. */
#define RENEW "delete the pod and its ResourceClaim, and create new ones|"
#define BOOTED                                                                            \
	"{\"kind\":\"record\",\"address\":\"" NIC_AT "\",\"claim\":\"" NAME               \
	"\",\"uid\":\"rc1\",\"driver\":\"vfio-pci\",\"native\":\"e1000e\",\"id\":\"8086:" \
	"10d3\",\"bound\":\"old\"}"
#define ELSEWHERE                                                                        \
	"{\"kind\":\"pci\",\"address\":\"0000:03:00.0\",\"vendor\":\"8086\",\"device\":" \
	"\"10d3\",\"class\":\"020000\",\"iommuGroup\":\"3\",\"driver\":\"e1000e\"}"
#define IGB                                                                                     \
	"{\"kind\":\"pci\",\"address\":\"" NIC_AT "\",\"vendor\":\"8086\",\"device\":\"1533\"," \
	"\"class\":\"020000\",\"iommuGroup\":\"1\",\"driver\":\"igb\"}"
#define STICK \
	"{\"kind\":\"usb\",\"name\":\"1-2\",\"bus\":1,\"device\":5,\"pciAddress\":\"" NIC_AT "\"}"

static struct advice_case {
	const char *name;
	const char *lines[4];
	const char *usb_pod;
	const char *end;
} advices[] = {
	{ "another device is at the address",
	  { IGB, RECORD("rc1") },
	  NULL,
	  NIC_AT " is another device (8086:1533) than the one that was bound (8086:10d3): " RENEW },
	{ "after a boot only the address distinguishes it",
	  { NIC("e1000e"), ELSEWHERE, BOOTED },
	  NULL,
	  "the node has booted, and only the address distinguishes " NIC_AT
	  " from 0000:03:00.0, which is of the same model: " RENEW },
	{ "a pod has one of its USB devices",
	  { NIC("xhci_hcd"), STICK },
	  "pod default/vm-2",
	  "USB devices on " NIC_AT " are in use: pod default/vm-2 has the device in port 1-2: "
	  "delete the pod|" },
};

static void advice_is_for_who_uses_a_resource_claim(void **state)
{
	const struct advice_case *row = suite_row(state);
	struct bench *b = *state;

	b->pod = b->bound_for = RC;
	b->usb_pod = row->usb_pod;
	bench_look(b, row->lines);
	(void)bind_on_demand(b, NIC_AT, NULL);
	heard_is(row->end);
	assert_int_equal(fake.binder->started, 0);
}

/* Its USB devices have claims of their own. */
static void claimed_usb_devices_come_first(void **state)
{
	static const char *const controller[] = { NIC("xhci_hcd"), STICK, NULL };
	struct bench *b = *state;
	struct fake_server *claims = fake_server_join(b->server, &usbdeviceclaim_kind);
	struct informer *informer = bench_informer(b, &usbdeviceclaim_kind);

	fake_server_put(claims, "stick",
			"{'metadata':{'name':'stick','finalizers':["
			"'" NAMES_FINALIZER_HARVESTER_USB
			"']},'status':{'nodeName':'node1','pciAddress':"
			"'" NIC_AT "','portPath':'1-2'}}");
	informer_start(informer);
	bench_list_one(b);
	assert_true(informer_synced(informer));
	b->node.claims[INVENTORY_USB] = informer;
	bench_look(b, controller);
	(void)bind_on_demand(b, NIC_AT, NULL);
	heard_is("USB devices on " NIC_AT " are claimed: delete USBDeviceClaim 'stick'|");
	b->node.claims[INVENTORY_USB] = NULL;
	informer_free(informer);
	fake_server_free(claims);
}

static void a_free_device_has_no_trouble(void **state)
{
	struct bench *b = *state;

	assert_null(claims_on_demand_trouble(b->claims, NIC_AT));
	bench_look(b, nic_for_claim);
	assert_null(claims_on_demand_trouble(b->claims, NIC_AT));
}

/* A device with a claim is never bound on demand, whatever the claim says. */
static void a_claimed_device_is_refused(void **state)
{
	static const char *const both[] = { NIC("e1000e"), TWIN("e1000e"), NULL };
	struct bench *b = *state;

	bench_create(b, NAME, CLAIM);
	(void)bind_on_demand(b, NIC_AT, NULL);
	heard_is(NIC_AT " has the PCIDeviceClaim '" NAME "'|");
	b->pod = b->bound_for = NULL;
	bench_look(b, both);
	(void)bind_on_demand(b, TWIN_AT, NULL);
	heard_is(NIC_AT " has the PCIDeviceClaim '" NAME "'|");
	bench_serve(b);
}

static void what_the_helper_says_is_told(void **state)
{
	struct bench *b = *state;

	(void)bind_on_demand(b, NIC_AT, NULL);
	bench_end(b, OUTCOME(TASK_HELD, "Held"));
	heard_is("it did not work|");
	/* It is not tried again at once. */
	(void)bind_on_demand(b, NIC_AT, NULL);
	heard_is("it did not work|");
	assert_int_equal(fake.binder->started, 1);
}

static void a_device_that_was_in_use_is_waited_for(void **state)
{
	static const char *const used[] = { NIC("e1000e"), USE("InterfaceUp"), NULL };
	struct bench *b = *state;

	bench_look(b, used);
	bench_look(b, free_nic);
	(void)bind_on_demand(b, NIC_AT, NULL);
	bench_advance(b, 4900);
	assert_int_equal(fake.binder->started, 0);
	bench_advance(b, 200);
	assert_int_equal(fake.binder->started, 1);
	bench_end(b, BOUND);
	heard_is("bound|");
}

static void a_device_that_is_set_up_is_waited_for(void **state)
{
	struct bench *b = *state;

	b->held = true;
	(void)bind_on_demand(b, NIC_AT, NULL);
	assert_int_equal(fake.binder->started, 0);
	b->held = false;
	claims_enqueue_all(b->claims);
	bench_settle(b);
	assert_int_equal(fake.binder->started, 1);
}

static void a_bind_is_given_up(void **state)
{
	struct bench *b = *state;
	struct err err = { 0 };
	struct on_demand_bind *bind;

	b->held = true;
	bind = bind_on_demand(b, NIC_AT, NULL);
	assert_false(claims_stop_on_demand(b->claims, bind, &err));
	assert_string_equal(err.msg, "the device is still being set up");
	b->held = false;
	claims_enqueue_all(b->claims);
	bench_settle(b);
	assert_int_equal(fake.binder->started, 0);
	bind = bind_on_demand(b, NIC_AT, NULL);
	assert_true(claims_stop_on_demand(b->claims, bind, &err));
	assert_string_equal(err.msg, NIC_AT " is being bound");
	bench_end(b, BOUND);
	heard_is("");
	/* The next one finds it bound. */
	(void)bind_on_demand(b, NIC_AT, NULL);
	heard_is("bound|");
	assert_int_equal(fake.binder->started, 1);
}

/* The kubelet's next calls run out of time, too, while the helper that the first one started is at
 * work. */
static void a_job_that_outlives_two_binds(void **state)
{
	struct bench *b = *state;
	struct err err = { 0 };

	assert_true(claims_stop_on_demand(b->claims, bind_on_demand(b, NIC_AT, NULL), &err));
	for (int i = 0; i < 2; i++) {
		err = (struct err){ 0 };
		assert_true(
			claims_stop_on_demand(b->claims, bind_on_demand(b, NIC_AT, NULL), &err));
		assert_string_equal(err.msg, NIC_AT " is being bound");
	}
	assert_int_equal(fake.binder->started, 1);
	bench_end(b, BOUND);
	(void)bind_on_demand(b, NIC_AT, NULL);
	heard_is("bound|");
	assert_int_equal(fake.binder->started, 1);
}

/* What is bound for another one does not keep the bind. */
static void a_bind_for_another_resource_claim(void **state)
{
	struct json_strs addresses = { 0 };
	const struct on_demand_spec other = { &addresses, "rc2", "ResourceClaim default/other" };
	struct bench *b = *state;
	struct on_demand_bind *bind;

	(void)bind_on_demand(b, NIC_AT, NULL);
	json_strs_add(&addresses, NIC_AT);
	bind = claims_bind_on_demand(b->claims, &other, on_end, NULL);
	json_strs_done(&addresses);
	bench_settle(b);
	assert_false(claims_stop_on_demand(b->claims, bind, NULL));
	bench_end(b, BOUND);
	heard_is("bound|");
}

/* An agent that was killed has left a helper behind, which ends soon. */
static void a_helper_of_the_last_agent_is_waited_for(void **state)
{
	struct bench *b = *state;

	(void)bind_on_demand(b, NIC_AT, NULL);
	bench_end(b, OUTCOME(TASK_BUSY, "Busy"));
	heard_is("");
	bench_advance(b, 300);
	assert_int_equal(fake.binder->started, 2);
	bench_end(b, OUTCOME(TASK_BUSY, "Busy"));
	bench_advance(b, 300);
	assert_int_equal(fake.binder->started, 3);
	bench_end(b, BOUND);
	heard_is("bound|");
}

/* --- a PCIDeviceClaim comes ------------------------------------------------------------------- */

static void a_claim_waits_for_what_is_bound(void **state)
{
	struct bench *b = *state;

	b->pod = RC;
	bench_create(b, NAME, CLAIM);
	bench_serve(b);
	assert_int_equal(fake.binder->started, 1);
	bench_has(b, NAME, "\"Held\"");
	bench_has(b, NAME, RC " has it, bound on demand");
	bench_advance(b, 60000);
	bench_serve(b);
	assert_int_equal(fake.binder->started, 1);
	/* It gets the device as it is. */
	b->pod = b->bound_for = NULL;
	claims_enqueue(b->claims, NAME);
	bench_serve(b);
	assert_int_equal(fake.binder->started, 2);
	assert_string_equal(fake.binder->jobs.items[0]->text, LAUNCH);
	bench_end(b, BOUND);
	bench_serve(b);
	bench_has(b, NAME, "\"passthroughEnabled\":true");
}

/* Before a scan has shown the bind, what it read back is not the claim's. */
static void a_claim_comes_while_it_is_bound(void **state)
{
	struct bench *b = *state;

	b->pod = RC;
	(void)bind_on_demand(b, NIC_AT, NULL);
	bench_create(b, NAME, CLAIM);
	bench_serve(b);
	assert_false(fake.binder->jobs.items[0]->cancelled);
	bench_end(b, BOUND);
	bench_serve(b);
	assert_int_equal(b->writes, 0);
	bench_look(b, nic_for_claim);
	bench_serve(b);
	bench_has(b, NAME, RC " has it, bound on demand");
	assert_int_equal(fake.binder->started, 1);
}

/* One of another function of the group, and the Prepare that is refused for it gives up at once. */
static void a_claim_of_its_group_comes_while_it_is_bound(void **state)
{
	static const char *const both[] = { NIC("e1000e"), TWIN("e1000e"), NULL };
	struct bench *b = *state;

	bench_look(b, both);
	(void)bind_on_demand(b, NIC_AT, NULL);
	bench_create(b, TWIN_NAME, TWIN_CLAIM);
	bench_serve(b);
	bench_end(b, BOUND_TWO);
	heard_is(TWIN_AT " has the PCIDeviceClaim '" TWIN_NAME "'|");
	b->pod = b->bound_for = NULL;
	claims_enqueue(b->claims, NAME);
	bench_serve(b);
	assert_int_equal(b->writes, 0);
	assert_int_equal(fake.binder->started, 1);
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_fixture(&suite, &on_demand_fixture);
	suite_add(&suite, "a free device is bound", a_free_device_is_bound, NULL);
	suite_add(&suite, "a bind goes on whatever changes", a_bind_goes_on_whatever_changes, NULL);
	suite_add(&suite, "what nobody has is given back", what_nobody_has_is_given_back, NULL);
	suite_add(&suite, "a device that is still bound is taken over",
		  a_device_that_is_still_bound_is_taken_over, NULL);
	suite_add(&suite, "groups follow each other", groups_follow_each_other, NULL);
	suite_rows(&suite, refused, what_is_not_free_is_refused);
	suite_rows(&suite, advices, advice_is_for_who_uses_a_resource_claim);
	suite_add(&suite, "claimed USB devices come first", claimed_usb_devices_come_first, NULL);
	suite_add(&suite, "a free device has no trouble", a_free_device_has_no_trouble, NULL);
	suite_add(&suite, "a claimed device is refused", a_claimed_device_is_refused, NULL);
	suite_add(&suite, "what the helper says is told", what_the_helper_says_is_told, NULL);
	suite_add(&suite, "a device that was in use is waited for",
		  a_device_that_was_in_use_is_waited_for, NULL);
	suite_add(&suite, "a device that is set up is waited for",
		  a_device_that_is_set_up_is_waited_for, NULL);
	suite_add(&suite, "a bind is given up", a_bind_is_given_up, NULL);
	suite_add(&suite, "a job that outlives two binds", a_job_that_outlives_two_binds, NULL);
	suite_add(&suite, "a bind for another ResourceClaim", a_bind_for_another_resource_claim,
		  NULL);
	suite_add(&suite, "a helper of the last agent is waited for",
		  a_helper_of_the_last_agent_is_waited_for, NULL);
	suite_add(&suite, "a claim comes while it is bound", a_claim_comes_while_it_is_bound, NULL);
	suite_add(&suite, "a claim of its group comes while it is bound",
		  a_claim_of_its_group_comes_while_it_is_bound, NULL);
	suite_fixture(&suite, &bound_fixture);
	suite_add(&suite, "what is bound stays bound", what_is_bound_stays_bound, NULL);
	suite_add(&suite, "the device goes back when it is unprepared",
		  the_device_goes_back_when_it_is_unprepared, NULL);
	suite_add(&suite, "a claim waits for what is bound on demand",
		  a_claim_waits_for_what_is_bound, NULL);
	return suite_run(&suite, "claims_on_demand");
}
