/* podresources_codec: the kubelet's list, in order, without invalid names and unused fields. */
#include "agent/plugin/podresources_codec.h"

#include <errno.h>

#include "base/err.h"
#include "unit/plugin/allocatable_kubelet.h"
#include "unit/plugin/pods.h"

enum { DEVICES_MAX = 5 };

/* 253 and 254 bytes. */
#define TEN "0123456789"
#define LONG                                                                                    \
	TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN \
		TEN TEN TEN "012"

static struct list_case {
	const char *name;
	struct pod_device devices[DEVICES_MAX];
	const char *shown;
} lists[] = {
	{ "no pods, no devices", { { 0 } }, "" },
	{ "a device of a container of a pod",
	  { { "x/gpu", "0000:01:00.0", "ns", "pod", "main", NULL } },
	  "x/gpu 0000:01:00.0 ns/pod/main" },
	{ "in the order of resource and device",
	  { { "x/b", "1", "n", "p", "c", NULL },
	    { "x/a", "2", "n", "p", "c", NULL },
	    { "x/a", "1", "n", "p", "c", NULL } },
	  "x/a 1 n/p/c, x/a 2 n/p/c, x/b 1 n/p/c" },
	{ "a device of two containers stands twice",
	  { { "x/a", "1", "n", "p", "init", NULL }, { "x/a", "1", "n", "p", "c", NULL } },
	  "x/a 1 n/p/c, x/a 1 n/p/init" },
	{ "the same entry stands once",
	  { { "x/a", "1", "n", "p", "c", NULL },
	    { "x/a", "2", "n", "p", "c", NULL },
	    { "x/a", "1", "n", "p", "c", NULL },
	    { "x/a", "1", "n", "p", "c", NULL } },
	  "x/a 1 n/p/c, x/a 2 n/p/c" },
	{ "what nobody wants is left out",
	  { { "other/a", "1", "n", "p", "c", NULL }, { "x/a", "1", "n", "p", "c", NULL } },
	  "x/a 1 n/p/c" },
	{ "what has no name is left out",
	  { { "x/a", "", "n", "p", "c", NULL },
	    { "x/a", "1", "", "p", "c", NULL },
	    { "x/a", "1", "n", "", "c", NULL },
	    { "x/a", "1", "n", "p", "", NULL } },
	  "" },
	{ "what could forge a line is left out",
	  { { "x/a", "1\n2", "n", "p", "c", NULL },
	    { "x/a", "1", "n\x1b", "p", "c", NULL },
	    { "x/a", "1", "n", "p q", "c", NULL },
	    { "x/a", "1", "n", "p", "\xc3\xbc", NULL } },
	  "" },
	{ "a device of a claim",
	  { { "hostdev.io", "pci-1", "ns", "pod", "main", "nic" } },
	  "hostdev.io pci-1 ns/pod/main (nic)" },
	{ "of two claims, and of a plugin",
	  { { "hostdev.io", "pci-1", "n", "p", "c", "b" },
	    { "hostdev.io", "pci-1", "n", "p", "c", "a" },
	    { "x/a", "1", "n", "p", "c", NULL } },
	  "hostdev.io pci-1 n/p/c (a), hostdev.io pci-1 n/p/c (b), x/a 1 n/p/c" },
	{ "another driver's are left out", { { "gpu.x", "pci-1", "n", "p", "c", "nic" } }, "" },
	{ "a claim or a device that has no name is left out",
	  { { "hostdev.io", "pci-1", "n", "p", "c", "" },
	    { "hostdev.io", "pci 1", "n", "p", "c", "nic" },
	    { "hostdev.io", "", "n", "p", "c", "nic" } },
	  "" },
	{ "a name of 253 bytes is one",
	  { { "x/a", "1", "n", LONG, "c", NULL } },
	  "x/a 1 n/" LONG "/c" },
	{ "a name of 254 bytes is none", { { "x/a", "1", "n", LONG "x", "c", NULL } }, "" },
};

static const struct podresources_wanted all = { 0 };

static bool wants_x(void *arg, const char *resource)
{
	(void)arg;
	return strncmp(resource, "x/", 2) == 0;
}

SUITE_CLOSING(pod_devices, struct pod_devices, pod_devices_done);

static void list_matches_table(void **state)
{
	const struct list_case *c = suite_row(state);
	const struct podresources_wanted wanted = { wants_x, NULL, "hostdev.io" };
	auto_str struct str message = STR_INIT;
	auto_str struct str shown = STR_INIT;
	struct pod_devices *devices = *state;
	size_t len = 0;

	while (len < DEVICES_MAX && c->devices[len].resource)
		len++;
	pods_pack(&message, c->devices, len);
	assert_int_equal(
		podresources_unpack(str_cstr(&message), message.len, &wanted, devices, NULL), 0);
	pods_show(&shown, devices);
	assert_string_equal(str_cstr(&shown), c->shown);
}

/* But for what claims have: that is asked for by the driver's name. */
static void everything_may_be_wanted(void **state)
{
	struct pod_device items[] = { { "other/a", "1", "n", "p", "c", NULL },
				      { "hostdev.io", "pci-1", "n", "p", "c", "nic" } };
	auto_str struct str message = STR_INIT;
	struct pod_devices devices = { 0 };

	pods_pack(&message, items, 2);
	assert_int_equal(podresources_unpack(str_cstr(&message), message.len, &all, &devices, NULL),
			 0);
	assert_int_equal(devices.len, 1);
	pod_devices_done(&devices);
	pod_devices_done(&devices);
}

static void half_a_message_is_none(void **state)
{
	struct pod_device device = { "x/a", "1", "n", "p", "c", NULL };
	auto_str struct str message = STR_INIT;
	struct pod_devices devices = { 0 };
	struct err err = { 0 };

	pods_pack(&message, &device, 1);
	for (size_t len = 1; len < message.len; len++) {
		assert_int_equal(podresources_unpack(message.buf, len, &all, &devices, &err),
				 -EBADMSG);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_null(devices.items);
	}
}

static void what_can_be_allocated_has_no_pod(void **state)
{
	auto_str struct str message = STR_INIT;
	auto_str struct str shown = STR_INIT;
	struct pod_devices devices = { 0 };
	struct err err = { 0 };

	allocatable_kubelet_pack("x/b 1,x/a 2,x/a 1,x/a 1\n", &message);
	assert_int_equal(podresources_unpack_allocatable(message.buf, message.len, &devices, NULL),
			 0);
	pods_show(&shown, &devices);
	assert_string_equal(str_cstr(&shown), "x/a 1 //, x/a 2 //, x/b 1 //");
	pod_devices_done(&devices);
	assert_int_equal(podresources_unpack_allocatable(message.buf, 3, &devices, &err), -EBADMSG);
	assert_null(devices.items);
}

/* One container with this many devices. */
static int unpack_many(size_t n, struct pod_devices *devices, struct err *err)
{
	struct pod_device device = { "x/a", "1", "n", "p", "c", NULL };
	V1__ListPodResourcesResponse list = V1__LIST_POD_RESOURCES_RESPONSE__INIT;
	auto_str struct str message = STR_INIT;
	auto_free char **ids = xcalloc(n, sizeof(*ids));
	auto_free char *texts = xcalloc(n, 8);
	struct pod_message pod;
	V1__PodResources *pods[] = { &pod.pod };

	for (size_t i = 0; i < n; i++) {
		ids[i] = texts + 8 * i;
		(void)snprintf(ids[i], 8, "%x", (unsigned)i & 0xfffff);
	}
	pod_message_init(&pod, &device);
	pod.devices.device_ids = ids;
	pod.devices.n_device_ids = n;
	list.pod_resources = pods;
	list.n_pod_resources = 1;
	assert_int_equal(grpc_message_pack(&list.base, SIZE_MAX, &message, NULL), 0);
	return podresources_unpack(message.buf, message.len, &all, devices, err);
}

static void devices_are_limited(void **state)
{
	struct pod_devices devices = { 0 };
	struct err err = { 0 };

	assert_int_equal(unpack_many(POD_DEVICES_MAX, &devices, &err), 0);
	assert_int_equal(devices.len, POD_DEVICES_MAX);
	pod_devices_done(&devices);
	assert_int_equal(unpack_many(POD_DEVICES_MAX + 1, &devices, &err), -EMSGSIZE);
	assert_null(devices.items);
}

static void lists_are_compared(void **state)
{
	struct pod_device a[] = { { "x/a", "1", "n", "p", "c", NULL },
				  { "x/a", "2", "n", "p", "c", NULL } };
	struct pod_device b[] = { { "x/a", "1", "n", "p", "c", NULL },
				  { "x/a", "2", "n", "q", "c", NULL } };

	assert_true(pod_devices_same(&(struct pod_devices){ a, 2, NULL },
				     &(struct pod_devices){ a, 2, NULL }));
	assert_true(pod_devices_same(&(struct pod_devices){ a, 1, NULL },
				     &(struct pod_devices){ b, 1, NULL }));
	assert_false(pod_devices_same(&(struct pod_devices){ a, 2, NULL },
				      &(struct pod_devices){ a, 1, NULL }));
	assert_false(pod_devices_same(&(struct pod_devices){ a, 2, NULL },
				      &(struct pod_devices){ b, 2, NULL }));
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_add(&suite, "everything may be wanted", everything_may_be_wanted, NULL);
	suite_add(&suite, "half a message is none", half_a_message_is_none, NULL);
	suite_add(&suite, "what can be allocated has no pod", what_can_be_allocated_has_no_pod,
		  NULL);
	suite_add(&suite, "devices are limited", devices_are_limited, NULL);
	suite_add(&suite, "lists are compared", lists_are_compared, NULL);
	suite_fixture(&suite, &pod_devices_fixture);
	suite_rows(&suite, lists, list_matches_table);
	return suite_run(&suite, "podresources_codec");
}
