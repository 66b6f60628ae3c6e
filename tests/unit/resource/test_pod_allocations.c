/* pod_allocations: which pod has which function, and which of these changed. */
#include "agent/resource/pod_allocations.h"

#include <stdio.h>
#include <string.h>

#include "agent/plugin/podresources.h"
#include "api/pcidevice.h"
#include "base/str.h"
#include "unit/suite.h"

#define A    "0000:01:00.0"
#define B    "0000:02:00.0"
#define UUID "c0ffee00-1234-4567-89ab-0123456789ab"

static struct pods_case {
	const char *name;
	struct pod_device before[3];
	struct pod_device after[3];
	const char *changes;
	const char *holders; /* of A, in the end */
} cases[] = {
	/* clang-format off */
	{ "an allocation is reported", { { 0 } }, { { "x/y", A, "n", "p", "c", NULL } }, A " ", "n/p/c " },
	{ "what is the same is not told", { { "x/y", A, "n", "p", "c", NULL } }, { { "x/y", A, "n", "p", "c", NULL } }, "",
	  "n/p/c " },
	{ "the end of one is reported", { { "x/y", A, "n", "p", "c", NULL } }, { { 0 } }, A " ", "" },
	{ "another pod is reported", { { "x/y", A, "n", "p", "c", NULL } }, { { "x/y", A, "n", "q", "c", NULL } }, A " ", "n/q/c " },
	{ "only that device is reported", { { "x/y", A, "n", "p", "c", NULL } },
	  { { "x/y", A, "n", "p", "c", NULL }, { "x/y", B, "n", "q", "c", NULL } }, B " ", "n/p/c " },
	{ "two containers of a pod may have it, one after the other", { { 0 } },
	  { { "x/y", A, "n", "p", "a", NULL }, { "x/y", A, "n", "p", "b", NULL } }, A " ", "n/p/a n/p/b " },
	{ "the same container by two resources is one", { { "x/y", A, "n", "p", "c", NULL } },
	  { { "x/y", A, "n", "p", "c", NULL }, { "x/z", A, "n", "p", "c", NULL } }, "", "n/p/c " },
	{ "a resource's new name is no news", { { "x/y", A, "n", "p", "c", NULL } }, { { "x/z", A, "n", "p", "c", NULL } }, "",
	  "n/p/c " },
	{ "by a claim is something else", { { "x/y", A, "n", "p", "c", NULL } }, { { "x/y", A, "n", "p", "c", "nic" } }, A " ",
	  "n/p/c " },
	{ "by two claims it is listed twice", { { 0 } },
	  { { "x/y", A, "n", "p", "c", "a" }, { "x/y", A, "n", "p", "c", "b" } }, A " ", "n/p/c n/p/c " },
	{ "IDs that are no addresses are not ours", { { 0 } },
	  { { "x/y", "GPU-1", "n", "p", "c", NULL }, { "x/y", "0000:01:00", "n", "p", "c", NULL } }, "", "" },
	{ "nor are port paths of somebody else's resource", { { 0 } }, { { "x/y", "1-2.3", "n", "p", "c", NULL } }, "", "" },
	{ "any ID of a resource of ours is", { { 0 } }, { { "our/usb", "1-2.3", "n", "p", "c", NULL } }, "1-2.3 ", "" },
	{ "nor does one become ours", { { "x/y", "1-2.3", "n", "p", "c", NULL } }, { { "x/y", "1-2.3", "n", "p", "c", NULL } }, "", "" },
	{ "a UUID is, whoever offered it", { { 0 } }, { { "x/y", UUID, "n", "p", "c", NULL } }, UUID " ", "" },
	{ "what is a UUID but for one letter is not", { { 0 } },
	  { { "x/y", "c0ffee00-1234-4567-89ab-0123456789ag", "n", "p", "c", NULL } }, "", "" },
	{ "several in one are reported one by one", { { "our/usb", "1-1,1-2", "n", "p", "c", NULL } },
	  { { "our/usb", "1-1,1-2", "n", "p", "c", NULL }, { "our/usb", "1-3,1-4", "n", "p", "c", NULL } }, "1-3 1-3,1-4 1-4 ", "" },
	{ "a device of several is known by its own ID", { { 0 } },
	  { { "our/usb", A ",1-2", "n", "p", "c", NULL } }, "0000:01:00.0 0000:01:00.0,1-2 1-2 ", "n/p/c " },
	/* clang-format on */
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void on_changed(void *arg, const char *id)
{
	json_strs_add_new(arg, id);
}

static bool is_ours(void *arg, const char *resource)
{
	(void)arg;
	return strncmp(resource, "our/", 4) == 0;
}

static bool is_nobodys(void *arg, const char *resource)
{
	(void)arg;
	(void)resource;
	return false;
}

static const struct pod_allocations_ops ops = { .offers = is_ours, .changed = on_changed };

static void set(struct pod_allocations *pods, struct pod_device *items, struct str *log)
{
	struct json_strs changes = { 0 };
	struct pod_devices devices = { .items = items };

	while (devices.len < 3 && items[devices.len].device)
		devices.len++;
	pod_allocations_set(pods, &devices, true, &ops, &changes);
	if (changes.len > 0)
		qsort(changes.items, changes.len, sizeof(*changes.items), by_name);
	for (size_t i = 0; i < changes.len; i++)
		str_addf(log, "%s ", changes.items[i]);
	json_strs_done(&changes);
}

SUITE_OBJECT(pod_allocations, pod_allocations_new(), pod_allocations_free);

static void is_reported(void **state)
{
	struct pods_case *row = suite_row(state);
	struct pod_allocations *pods = *state;
	auto_str struct str log = STR_INIT;
	auto_str struct str holders = STR_INIT;
	const struct pcidevice_allocations *list;

	set(pods, row->before, &log);
	str_clear(&log);
	set(pods, row->after, &log);
	assert_string_equal(str_cstr(&log), row->changes);
	list = pod_allocations_of(pods, A);
	for (size_t i = 0; i < list->len; i++)
		str_addf(&holders, "%s/%s/%s ", list->items[i].namespace, list->items[i].pod,
			 list->items[i].container);
	assert_string_equal(str_cstr(&holders), row->holders);
}

static void a_crowd_is_cut(void **state)
{
	struct pod_allocations *pods = *state;
	struct pod_device items[100];
	char names[100][8];
	struct pod_devices devices = { .items = items, .len = ARRAY_LEN(items) };
	struct json_strs changes = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(items); i++) {
		(void)snprintf(names[i], sizeof(names[i]), "p%zu", i);
		items[i] = (struct pod_device){ "x/y", A, "n", names[i], "c", NULL };
	}
	pod_allocations_set(pods, &devices, true, &ops, &changes);
	assert_int_equal(pod_allocations_of(pods, A)->len, 64);
	json_strs_done(&changes);
}

/* A kubelet that has just begun does not know all of its pods yet. */
static void what_a_part_does_not_list_is_as_it_was(void **state)
{
	static const char b[] = "0000:02:00.0";
	struct pod_allocations *pods = *state;
	struct pod_device first = { "x/y", A, "n", "old", "c", NULL };
	struct pod_device second = { "x/y", b, "n", "new", "c", NULL };
	struct pod_devices devices = { .items = &first, .len = 1 };
	struct json_strs changes = { 0 };

	pod_allocations_set(pods, &devices, true, &ops, &changes);
	json_strs_done(&changes);
	devices.items = &second;
	pod_allocations_set(pods, &devices, false, &ops, &changes);
	assert_int_equal(changes.len, 1);
	assert_string_equal(changes.items[0], b);
	assert_string_equal(pod_allocations_of(pods, A)->items[0].pod, "old");
	json_strs_done(&changes);
	pod_allocations_set(pods, &devices, false, &ops, &changes); /* again: no news */
	assert_int_equal(changes.len, 0);
	pod_allocations_set(pods, &devices, true, &ops, &changes);
	assert_int_equal(changes.len, 1);
	assert_string_equal(changes.items[0], A);
	assert_int_equal(pod_allocations_of(pods, A)->len, 0);
	json_strs_done(&changes);
}

/* The entry that offered it is renamed or removed while a pod has it. */
static void what_was_ours_stays_so_while_it_is_listed(void **state)
{
	static const char id[] = "1-2.3,1-4";
	struct pod_allocations *pods = *state;
	struct pod_device device = { "our/usb", id, "n", "p", "c", NULL };
	struct pod_device other = { "x/usb", id, "n", "q", "c", NULL };
	struct pod_devices devices = { .items = &device, .len = 1 };
	static const struct pod_allocations_ops gone = { .offers = is_nobodys,
							 .changed = on_changed };
	struct json_strs changes = { 0 };

	pod_allocations_set(pods, &devices, true, &ops, &changes);
	assert_int_equal(changes.len, 3); /* and its parts */
	json_strs_done(&changes);
	for (int i = 0; i < 2; i++) {
		pod_allocations_set(pods, &devices, true, &gone, &changes);
		assert_int_equal(changes.len, 0);
		assert_string_equal(pod_allocations_resource(pods, "1-4"), "our/usb");
	}
	devices.items = &other;
	pod_allocations_set(pods, &devices, true, &gone, &changes);
	assert_int_equal(changes.len, 3);
	assert_null(pod_allocations_resource(pods, "1-4"));
	json_strs_done(&changes);
	devices.items = &device; /* it has gone once, and is anybody's */
	pod_allocations_set(pods, &devices, true, &gone, &changes);
	assert_int_equal(changes.len, 0);
}

static bool had_it(void *arg, const struct pod_device *device)
{
	(void)arg;
	return strcmp(device->pod, "p") == 0;
}

/* The entry was renamed or removed while no agent ran: the objects say which pod had it. */
static void what_a_pod_had_before_counts(void **state)
{
	static const struct pod_allocations_ops told = { .offers = is_nobodys,
							 .changed = on_changed,
							 .had = had_it };
	struct pod_allocations *pods = *state;
	struct pod_device items[] = { { "old/usb", "1-2,1-3", "n", "p", "c", NULL },
				      { "x/usb", "1-4", "n", "q", "c", NULL } };
	struct pod_devices devices = { .items = items, .len = ARRAY_LEN(items) };
	struct json_strs changes = { 0 };

	pod_allocations_set(pods, &devices, true, &told, &changes);
	assert_string_equal(pod_allocations_resource(pods, "1-3"), "old/usb");
	assert_string_equal(pod_allocations_of(pods, "1-2,1-3")->items[0].pod, "p");
	assert_null(pod_allocations_resource(pods, "1-4"));
	json_strs_done(&changes);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &pod_allocations_fixture);
	suite_rows(&suite, cases, is_reported);
	suite_add(&suite, "no more holders than the schema takes", a_crowd_is_cut, NULL);
	suite_add(&suite, "what a part of the list does not name is as it was",
		  what_a_part_does_not_list_is_as_it_was, NULL);
	suite_add(&suite, "what a pod had before counts, whatever its resource is now",
		  what_a_pod_had_before_counts, NULL);
	suite_add(&suite, "what was ours stays so while it is listed",
		  what_was_ours_stays_so_while_it_is_listed, NULL);
	return suite_run(&suite, "pod_allocations");
}
