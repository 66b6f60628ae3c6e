/* ledger: until when a container that was given a device may be given more, by other resources. */
#include "agent/resource/ledger.h"

#include "api/json_values.h"
#include "fake/fake_clock.h"
#include "unit/resource/offers_scene.h"

#define CHECKPOINT "device-plugins/kubelet_internal_checkpoint"
#define ENTRY(uid, id)                                     \
	"{\"PodUID\":\"" uid "\",\"ContainerName\":\"c\"," \
	"\"ResourceName\":\"" MODEL "\",\"DeviceIDs\":{\"-1\":[\"" id "\"]}}"
#define ENTRIES(entries) "{\"Data\":{\"PodDeviceEntries\":[" entries "]}}"
#define NAMES(id)        ENTRIES(ENTRY("u", id))
#define BOTH(nic, twin)  ENTRIES(ENTRY(nic, NIC) "," ENTRY(twin, TWIN))

static struct allocation_case {
	const char *name;
	const char *before; /* the checkpoint as the device is given; NULL: there is none */
	const char *after;  /* as it is written then; NULL: it is not                     */
	uint64_t ago_ms;
	bool listed;
	bool open;
	bool given;
} rows[] = {
	/* clang-format off */
	{ "as long as the kubelet writes nothing", NAMES("a"), NULL, 500, .open = true, .given = true },
	{ "not when it has written the device down", NAMES("a"), NAMES(NIC), 0, .given = true },
	{ "what was written before is of who had it before", NAMES(NIC), NULL, 500, .open = true, .given = true },
	{ "another plugin's devices are no reason", NAMES("a"), NAMES("b"), 500, .open = true, .given = true },
	{ "of a kubelet that writes no more nothing is concluded", NAMES("a"), NULL, 2050, .given = true },
	{ "without a checkpoint nothing says that it may be given more", NULL, NULL, 0, .given = true },
	{ "however long ago", NULL, NULL, 150, .given = true },
	{ "nor with one that is not understood", NAMES("a"), "{}", 0, .given = true },
	{ "nor if a list names the pod by then", NULL, NULL, 200, .listed = true },
	{ "the first that is written counts", NULL, NAMES(NIC), 0, .given = true },
	{ "a list may name the pod before it has all of its devices", NAMES("a"), NULL, 500, .listed = true,
	  .open = true, .given = true },
	{ "and then says who has it", NAMES("a"), NAMES(NIC), 500, .listed = true },
	/* clang-format on */
};

static bool offers_all(void *arg, const char *resource)
{
	(void)arg;
	(void)resource;
	return true;
}

static struct ledger *ledger_of(struct scene *scene)
{
	auto_free char *checkpoint = folder_path(&scene->stage.folder, CHECKPOINT);

	return ledger_new(&scene->node.this_node,
			  &(struct ledger_deps){ .socket_path = scene->pods_path,
						 .checkpoint_path = checkpoint,
						 .changed = on_changed,
						 .offers = offers_all,
						 .arg = scene });
}

/* The kubelet writes another file and renames it. */
static void write_down(struct scene *scene, const char *text)
{
	auto_free char *fresh = folder_path(&scene->stage.folder, "fresh");
	auto_free char *path = folder_path(&scene->stage.folder, CHECKPOINT);

	if (!text)
		return;
	folder_put(&scene->stage.folder, "fresh", text);
	assert_int_equal(rename(fresh, path), 0);
}

static void is_open(void **state)
{
	const struct allocation_case *row = suite_row(state);
	struct scene *scene = *state;
	struct ledger *ledger = ledger_of(scene);
	struct json_strs ids = { 0 };
	struct ledger_allocation allocation;

	write_down(scene, row->before);
	json_strs_add(&ids, NIC);
	assert_null(ledger_allocation(ledger, NIC).resource);
	ledger_allocate(ledger, MODEL, &ids);
	if (row->listed) {
		pods_serve(scene);
		give(scene, "vm-1");
		ledger_ask(ledger);
	}
	pass(scene, row->ago_ms);
	write_down(scene, row->after);
	allocation = ledger_allocation(ledger, NIC);
	assert_int_equal(allocation.open, row->open);
	assert_int_equal(allocation.resource != NULL, row->given);
	assert_int_equal(allocation.call, 1);
	assert_int_equal(allocation.recent, row->ago_ms <= LEDGER_RECENT_MS);
	if (row->listed)
		assert_int_equal(ledger_allocations(ledger, NIC)->len, 1);
	json_strs_done(&ids);
	ledger_free(ledger);
}

/* Its pod has been listed and is gone: no pod is being started with it any more, however short that
 * was. */
static void a_pod_that_ended_at_once_is_over(void **state)
{
	struct scene *scene = *state;
	struct ledger *ledger = ledger_of(scene);
	struct json_strs ids = { 0 };

	pods_serve(scene);
	json_strs_add(&ids, NIC);
	ledger_allocate(ledger, MODEL, &ids);
	give(scene, "vm-1");
	ledger_ask(ledger);
	pass(scene, 200);
	assert_int_equal(ledger_allocations(ledger, NIC)->len, 1);
	give(scene, NULL);
	ledger_ask(ledger);
	pass(scene, 1100);
	assert_int_equal(ledger_allocations(ledger, NIC)->len, 0);
	assert_null(ledger_allocation(ledger, NIC).resource);
	json_strs_done(&ids);
	ledger_free(ledger);
}

static struct same_case {
	const char *name;
	const char *before; /* the checkpoint as NIC is given; NULL: there is none */
	const char *after;  /* as it is written then; NULL: it is not              */
	bool given;         /* NIC is, now                                         */
	bool listed[2];     /* NIC and TWIN, before and afterwards, for vm-1       */
	bool asked;         /* for a list since                                    */
	bool same;
	const char *other[2]; /* namespace and pod of TWIN in the list; NULL: as NIC */
	const char *besides;  /* another pod that is listed with NIC; NULL: none      */
} sames[] = {
	/* clang-format off */
	{ "the kubelet has written down that one pod has both", BOTH("u", "u"), .same = true },
	{ "or that they are two pods'", BOTH("u", "v"), .listed = { true, true } },
	{ "or one only", NAMES(NIC), .listed = { true, true } },
	{ "what was written before one was given is of who had it before", BOTH("u", "u"), .given = true },
	{ "also if a list says so", BOTH("u", "u"), .given = true, .listed = { true, true }, .asked = true },
	{ "it counts when it is written again", BOTH("u", "u"), BOTH("v", "v"), .given = true, .same = true },
	{ "then they may be two pods'", BOTH("u", "u"), BOTH("v", "u"), .given = true },
	{ "an entry without a pod is no proof", "{\"Data\":{\"PodDeviceEntries\":[{\"DeviceIDs\":[\"" NIC "\",\"" TWIN "\"]}]}}",
	  .same = false },
	{ "nor is a device that two pods have", ENTRIES(ENTRY("u", NIC) "," ENTRY("v", NIC) "," ENTRY("u", TWIN)), .same = false },
	{ "without a checkpoint a list says it", .listed = { true, true }, .same = true },
	{ "of both", .listed = { true, false } },
	{ "of one pod, not of two", .listed = { true, true }, .other = { "default", "vm-2" } },
	{ "and pods of one name in two namespaces are two", .listed = { true, true }, .other = { "tenant", "vm-1" } },
	{ "a device that is listed with two pods is no proof", .listed = { true, true }, .besides = "vm-2" },
	{ "not one that was asked for before", .given = true, .listed = { true, true } },
	{ "but one since", .given = true, .listed = { true, true }, .asked = true, .same = true },
	/* clang-format on */
};

static void list_pods(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	const struct same_case *row = arg;
	struct pod_device items[3];
	size_t n = 0;
	auto_str struct str message = STR_INIT;

	(void)request;
	(void)len;
	if (row->listed[0])
		items[n++] = (struct pod_device){ MODEL, NIC, "default", "vm-1", "main", NULL };
	if (row->besides)
		items[n++] =
			(struct pod_device){ MODEL, NIC, "default", row->besides, "main", NULL };
	if (row->listed[1])
		items[n++] = (struct pod_device){ MODEL,
						  TWIN,
						  row->other[0] ? row->other[0] : "default",
						  row->other[1] ? row->other[1] : "vm-1",
						  "main",
						  NULL };
	if (n > 0)
		pods_pack(&message, items, n);
	grpc_call_answer(call, str_cstr(&message), message.len);
}

static void is_same(void **state)
{
	static const struct grpc_method methods[] = { { "/v1.PodResourcesLister/List",
							list_pods } };
	struct same_case *row = suite_row(state);
	struct scene *scene = *state;
	struct ledger *ledger = ledger_of(scene);
	struct json_strs ids = { 0 };

	scene->pods_service = (struct grpc_service){ methods, 1, row };
	pods_serve(scene);
	write_down(scene, row->before);
	ledger_ask(ledger);
	pass(scene, 5000);
	json_strs_add(&ids, NIC);
	if (row->given)
		ledger_allocate(ledger, MODEL, &ids);
	if (row->asked) {
		ledger_ask(ledger);
		pass(scene, 5000);
	}
	write_down(scene, row->after);
	assert_int_equal(ledger_same_pod(ledger, NIC, TWIN), row->same);
	assert_int_equal(ledger_same_pod(ledger, TWIN, NIC), row->same);
	json_strs_done(&ids);
	ledger_free(ledger);
}

/* The answer was under way when the device was given to another pod. */
static void a_list_asked_for_before_says_nothing(void **state)
{
	struct scene *scene = *state;
	struct ledger *ledger = ledger_of(scene);
	struct json_strs ids = { 0 };

	pods_serve(scene);
	give(scene, "vm-1");
	json_strs_add(&ids, NIC);
	ledger_ask(ledger);
	fake_clock_advance(scene->stage.fake, PODRESOURCES_SOON_MS);
	fake_clock_settle(scene->stage.fake); /* asked, and not answered yet */
	ledger_allocate(ledger, MODEL, &ids);
	settle(scene);
	assert_int_equal(ledger_allocations(ledger, NIC)->len, 1);
	assert_non_null(ledger_allocation(ledger, NIC).resource);
	ledger_ask(ledger);
	pass(scene, 2000);
	assert_null(ledger_allocation(ledger, NIC).resource);
	json_strs_done(&ids);
	ledger_free(ledger);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_rows(&suite, rows, is_open);
	suite_rows(&suite, sames, is_same);
	suite_add(&suite, "a list that was asked for before says nothing",
		  a_list_asked_for_before_says_nothing, NULL);
	suite_add(&suite, "a pod that ended at once is over", a_pod_that_ended_at_once_is_over,
		  NULL);
	return suite_run(&suite, "ledger_allocation");
}
