/* custody: until when a container that was given a device may be given more, by other resources. */
#include "agent/lend/custody.h"

#include "api/json_values.h"
#include "fake/fake_clock.h"
#include "unit/lend/lend_scene.h"

#define CHECKPOINT "device-plugins/kubelet_internal_checkpoint"
#define NAMES(id)                                                                     \
	"{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":\"u\",\"ContainerName\":\"c\"," \
	"\"ResourceName\":\"" MODEL "\",\"DeviceIDs\":{\"-1\":[\"" id "\"]}}]}}"

static struct gift_case {
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
	{ "without a checkpoint the time says it", NULL, NULL, 100, .open = true, .given = true },
	{ "which is short", NULL, NULL, 150, .given = true },
	{ "also with one that is not understood", NAMES("a"), "{}", 150, .given = true },
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

static struct custody *custody_of(struct scene *scene)
{
	auto_free char *checkpoint = folder_path(&scene->stage.folder, CHECKPOINT);

	return custody_new(&(struct custody_deps){ .loop = &scene->stage.loop,
						   .clock = scene->stage.clock,
						   .socket_path = scene->pods_path,
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
	const struct gift_case *row = *state;
	struct scene *scene = scene_new();
	struct custody *custody = custody_of(scene);
	struct json_strs ids = { 0 };
	struct custody_gift gift;

	write_down(scene, row->before);
	json_strs_add(&ids, NIC);
	assert_null(custody_gift(custody, NIC).resource);
	custody_give(custody, MODEL, &ids);
	if (row->listed) {
		pods_serve(scene);
		give(scene, "vm-1");
		custody_ask(custody);
	}
	pass(scene, row->ago_ms);
	write_down(scene, row->after);
	gift = custody_gift(custody, NIC);
	assert_int_equal(gift.open, row->open);
	assert_int_equal(gift.resource != NULL, row->given);
	assert_int_equal(gift.ago_ms, row->ago_ms);
	assert_int_equal(gift.recent, row->ago_ms <= CUSTODY_RECENT_MS);
	if (row->listed)
		assert_int_equal(custody_allocations(custody, NIC)->len, 1);
	json_strs_done(&ids);
	custody_free(custody);
	scene_free(scene);
}

/* Its pod has been listed and is gone: nobody is being started with it any more, however short that was. */
static void a_pod_that_ended_at_once_is_over(void **state)
{
	struct scene *scene = scene_new();
	struct custody *custody = custody_of(scene);
	struct json_strs ids = { 0 };

	(void)state;
	pods_serve(scene);
	json_strs_add(&ids, NIC);
	custody_give(custody, MODEL, &ids);
	give(scene, "vm-1");
	custody_ask(custody);
	pass(scene, 200);
	assert_int_equal(custody_allocations(custody, NIC)->len, 1);
	give(scene, NULL);
	custody_ask(custody);
	pass(scene, 1100);
	assert_int_equal(custody_allocations(custody, NIC)->len, 0);
	assert_null(custody_gift(custody, NIC).resource);
	json_strs_done(&ids);
	custody_free(custody);
	scene_free(scene);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, rows, is_open);
	suite_add(&suite, "a pod that ended at once is over", a_pod_that_ended_at_once_is_over,
		  NULL);
	return suite_run(&suite, "custody_gift");
}
