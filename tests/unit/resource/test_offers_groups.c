/* An IOMMU group and its pods as time goes by: lists that are old, missing or those of a young
 * kubelet. */
#include "agent/resource/ledger.h"
#include "agent/resource/offers.h"

#include "fake/fake_clock.h"
#include "unit/resource/offers_scene.h"

static const char *const pair[NODE1_LINES] = { FUNCTION(NIC, "vfio-pci", "12", ""),
					       FUNCTION(TWIN, "vfio-pci", "12", "") };

#define NIC_HAS_A_POD                                                             \
	"{'metadata':{'name':'node1-000001000','uid':'d','resourceVersion':'1'}," \
	"'status':{'address':'" NIC "','allocations':[{'namespace':'default',"    \
	"'pod':'vm-9','container':'main'}]}}"

static void add(struct scene *scene, const char *id, const char *pod)
{
	list_more(scene, MODEL, id, pod);
}

/* Both functions are claimed; podresources is not served yet. */
static struct scene *scene_of_pair(void)
{
	struct scene *scene = scene_of(pair);

	node1_claim(&scene->node, TWIN_CLAIM("", "", READY_OF("True")));
	kubelet_start(&scene->kubelet);
	return scene;
}

SUITE_OBJECT(pair, scene_of_pair(), scene_free);

static void begin(struct scene *scene)
{
	pods_serve(scene);
	offers_begin(scene, false);
	await_stream(scene);
}

/* Until nothing asks for a list any more. */
static void pass_lists(struct scene *scene)
{
	for (unsigned until = scene->asked + 3; scene->asked < until;)
		pass(scene, 50);
	pass(scene, 1000);
}

static enum grpc_status allocate_both(struct scene *scene)
{
	char *ids[] = { pods_unconst(NIC), pods_unconst(TWIN) };

	return allocate_ids(scene, ids, ARRAY_LEN(ids));
}

/* A deployment that goes from one pod with two functions to two pods with one each. */
static void successors_of_a_pod_with_both(void **state)
{
	static const uint64_t gaps[] = { 0, 50, 100, 150, 500, 1000 };

	for (size_t i = 0; i < ARRAY_LEN(gaps); i++) {
		struct scene *scene = scene_of_pair();

		add(scene, NIC, "a");
		add(scene, TWIN, "a");
		begin(scene);
		pass_lists(scene);
		assert_int_equal(offers_allocations(scene->offers, TWIN)->len, 1);
		list_none(scene); /* it ended, and no call is made */
		pass(scene, 5000);
		assert_int_equal(allocate_one(scene, NIC), GRPC_OK);
		add(scene, NIC, "b");
		pass(scene, gaps[i]);
		assert_int_equal(allocate_one(scene, TWIN), GRPC_FAILED_PRECONDITION);
		scene_free(scene);
	}
}

static void after_a_pod_with_both_that_never_was(void **state)
{
	struct scene *scene = *state;

	begin(scene);
	pass(scene, 2000);
	assert_int_equal(allocate_both(scene), GRPC_OK);
	pass(scene, 1000);
	assert_int_equal(allocate_one(scene, NIC), GRPC_OK);
	add(scene, NIC, "b");
	pass(scene, 10000);
	assert_holder(scene, "pod default/b");
	assert_int_equal(allocate_one(scene, TWIN), GRPC_FAILED_PRECONDITION);
}

/* The PCIDevice says who has the other function before the kubelet does. */
static void an_agent_that_started_again(void **state)
{
	for (int served = 0; served < 2; served++) {
		struct scene *scene = scene_of_pair();

		node1_device(&scene->node, NIC_HAS_A_POD);
		add(scene, NIC, "vm-9");
		if (served)
			pods_serve(scene);
		offers_begin(scene, false);
		await_stream(scene);
		pass(scene, served ? 50 : 30000);
		assert_int_equal(allocate_one(scene, TWIN), GRPC_FAILED_PRECONDITION);
		scene_free(scene);
	}
}

/* What the kubelet's checkpoint says that two pods have, or one pod. */
#define ENTRY(uid, id)   CHECKPOINT_ENTRY(uid, MODEL, "\"" id "\"")
#define ENTRIES(entries) CHECKPOINT_OF(entries)

static struct written_case {
	const char *name;
	const char *checkpoint; /* NULL: there is none               */
	bool fails;             /* podresources is there, and answers nothing */
	bool granted;           /* TWIN is, before the kubelet answers        */
} writtens[] = {
	/* clang-format off */
	{ "the checkpoint names a pod that has the other function", ENTRIES(ENTRY("u", NIC)), .granted = false },
	{ "also while the kubelet is slow", ENTRIES(ENTRY("u", NIC)), .fails = true },
	{ "of one pod that has both, both may be given again", ENTRIES(ENTRY("u", NIC) "," ENTRY("u", TWIN)), .granted = true },
	{ "of two pods that have one each, none", ENTRIES(ENTRY("u", NIC) "," ENTRY("v", TWIN)), .granted = false },
	{ "it names nobody", ENTRIES(ENTRY("u", "a")), .granted = true },
	{ "without one nobody was given anything", NULL, .granted = true },
	{ "it is empty", "", .granted = false },
	{ "it is cut off", "{\"Data\":{\"PodDeviceEntries\":[", .granted = false },
	/* clang-format on */
};

static void on_no_answer(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	(void)arg;
	(void)call;
	(void)request;
	(void)len;
}

/* Nothing but the file says who has what: the PCIDevices were written before the pod came. */
static void an_agent_goes_by_the_checkpoint_until_the_kubelet_answers(void **state)
{
	static const struct grpc_method silent[] = { { "/v1.PodResourcesLister/List",
						       on_no_answer } };
	const struct written_case *row = suite_row(state);
	enum grpc_status wanted = row->granted ? GRPC_OK : GRPC_FAILED_PRECONDITION;
	struct scene *scene = *state;

	if (row->checkpoint)
		folder_put(&scene->stage.folder, "device-plugins/kubelet_internal_checkpoint",
			   row->checkpoint);
	if (row->fails) {
		scene->pods_service = (struct grpc_service){ silent, 1, scene };
		pods_serve(scene);
	}
	offers_begin(scene, false);
	await_stream(scene);
	assert_int_equal(allocate_one(scene, TWIN), wanted);
	if (row->granted)
		return;
	pass(scene, LEDGER_UNKNOWN_MS + 15000);
	assert_int_equal(allocate_one(scene, TWIN), wanted);
	scene->pods = grpc_uv_server_free(scene->pods);
	scene->pods_service = (struct grpc_service){ pods_methods, 1, scene };
	scene->kubelet.checkpoint = ENTRIES("");
	pods_serve(scene);
	pass(scene, 60000);
	assert_int_equal(allocate_one(scene, TWIN), GRPC_OK);
}

/* The kubelet's socket was made now. */
static void make_young(struct scene *scene)
{
	int64_t now_ms = clock_wall_ms(scene->stage.clock);
	struct timespec now = { .tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000 };
	const struct timespec times[] = { now, now };

	assert_int_equal(utimensat(AT_FDCWD, scene->pods_path, times, 0), 0);
}

static void agent_and_kubelet_started_again(void **state)
{
	struct scene *scene = *state;

	node1_device(&scene->node, NIC_HAS_A_POD);
	pods_serve(scene);
	make_young(scene);
	offers_begin(scene, false);
	await_stream(scene);
	pass(scene, 5000);
	assert_holder(scene, "not known");
	assert_int_equal(allocate_one(scene, TWIN), GRPC_FAILED_PRECONDITION);
}

/* Both began while there was no API server: the kubelet knows no pods, and the agent not that it
 * has no heartbeat. */
static void agent_and_kubelet_started_again_without_an_api_server(void **state)
{
	struct scene *scene = *state;
	int64_t before_ms = clock_wall_ms(scene->stage.clock) - 20000;

	checkpoint_put(scene, ENTRIES(ENTRY("u", NIC)), ENTRIES(ENTRY("u", NIC)));
	pods_serve(scene);
	make_young(scene);
	offers_begin(scene, false);
	await_stream(scene);
	pass(scene, 30000);
	assert_holder(scene,
		      "an init container of the pod with the UID u"); /* as far as is known */
	offers_set_heartbeat(scene->offers, before_ms);
	assert_int_equal(allocate_one(scene, TWIN), GRPC_FAILED_PRECONDITION);
	offers_update_soon(scene->offers);
	pass(scene, 60000);
	assert_int_equal(scene->kubelet.unhealthy, 1);
	offers_set_heartbeat(scene->offers, clock_wall_ms(scene->stage.clock));
	assert_int_equal(allocate_one(scene, TWIN), GRPC_FAILED_PRECONDITION);
	scene->kubelet.checkpoint = ENTRIES("");
	pass(scene, 60000);
	offers_update_soon(scene->offers);
	pass(scene, 50);
	assert_int_equal(scene->kubelet.unhealthy, 0);
	assert_int_equal(allocate_one(scene, TWIN), GRPC_OK);
}

/* A pod comes and goes, and the checkpoint names it until the kubelet writes it again. */
static void a_kubelet_that_is_away_for_a_while(void **state)
{
	struct scene *scene = *state;

	add(scene, "other", "z"); /* who has something is asked for again and again */
	begin(scene);
	pass(scene, 5000);
	assert_int_equal(scene->kubelet.unhealthy, 0);
	scene->pods = grpc_uv_server_free(scene->pods);
	checkpoint_put(scene, ENTRIES(ENTRY("u", NIC)), NULL);
	pass(scene, 60000);
	offers_update_soon(scene->offers);
	pass(scene, 50);
	assert_int_equal(scene->kubelet.unhealthy, 1);
	scene->kubelet.checkpoint = ENTRIES("");
	pods_serve(scene);
	pass(scene, 120000);
	assert_int_equal(scene->kubelet.unhealthy, 0);
}

static void a_pod_came_to_nothing_while_the_kubelet_was_silent(void **state)
{
	struct scene *scene = *state;

	begin(scene);
	pass(scene, 5000);
	assert_int_equal(allocate_one(scene, NIC), GRPC_OK);
	scene->pods = grpc_uv_server_free(scene->pods);
	pass(scene, 60000);
	assert_int_equal(allocate_one(scene, TWIN), GRPC_FAILED_PRECONDITION);
	pods_serve(scene);
	pass(scene, 120000);
	assert_holder(scene, "free");
	assert_int_equal(allocate_one(scene, TWIN), GRPC_OK);
}

static void a_pod_came_to_nothing_while_the_kubelet_started_again(void **state)
{
	struct scene *scene = *state;

	begin(scene);
	offers_set_heartbeat(scene->offers, clock_wall_ms(scene->stage.clock));
	pass(scene, 60000);
	assert_int_equal(allocate_one(scene, NIC), GRPC_OK);
	pass(scene, 3000);
	scene->pods = grpc_uv_server_free(scene->pods);
	pods_serve(scene);
	make_young(scene);
	pass(scene, 2000);
	offers_set_heartbeat(scene->offers, clock_wall_ms(scene->stage.clock));
	pass(scene, 180000);
	assert_int_equal(allocate_one(scene, TWIN), GRPC_OK);
}

/* It is not free while the next pod is being started, whom no list names yet. */
static void the_last_list_names_who_had_it_before(void **state)
{
	struct scene *scene = *state;

	add(scene, NIC, "a");
	begin(scene);
	pass_lists(scene);
	assert_int_equal(offers_allocations(scene->offers, NIC)->len, 1);
	list_none(scene);
	pass(scene, 5000);
	assert_int_equal(allocate_one(scene, NIC), GRPC_OK);
	for (int i = 0; i < 30; i++) {
		auto_free char *holder = NULL;

		pass(scene, 50);
		assert_false(offers_is_free(scene->offers, NIC, &holder));
	}
	assert_int_equal(allocate_one(scene, TWIN), GRPC_FAILED_PRECONDITION);
}

/* The container after an init container gets its device again, and one more of the group. */
static void an_init_containers_device_and_one_more(void **state)
{
	static const uint64_t gaps[] = { 0, 50, 500, 1500 };

	for (size_t i = 0; i < ARRAY_LEN(gaps); i++) {
		struct scene *scene = scene_of_pair();

		begin(scene);
		pass(scene, 5000);
		assert_int_equal(allocate_one(scene, NIC), GRPC_OK);
		add(scene, NIC, "a"); /* as the kubelet lists it while the pod is being admitted */
		pass(scene, gaps[i]);
		assert_int_equal(allocate_both(scene), GRPC_OK);
		assert_int_equal(allocate_one(scene, NIC), GRPC_OK);
		add(scene, TWIN, "a");
		pass(scene, 5000);
		assert_int_equal(allocate_one(scene, TWIN), GRPC_OK); /* a list names one pod */
		scene_free(scene);
	}
}

/* Of the list only then: the next container of the pod may have a right to it. */
static void the_others_of_a_group_are_unhealthy_after_a_while(void **state)
{
	struct scene *scene = *state;

	begin(scene);
	pass(scene, 5000);
	assert_int_equal(allocate_one(scene, NIC), GRPC_OK);
	add(scene, NIC, "a");
	pass(scene, LEDGER_RECENT_MS);
	assert_int_equal(scene->kubelet.unhealthy, 0);
	pass(scene, 50);
	assert_int_equal(scene->kubelet.unhealthy, 1);
	assert_int_equal(allocate_one(scene, TWIN), GRPC_FAILED_PRECONDITION);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "a pod had both; of two pods that come after it one gets its function",
		  successors_of_a_pod_with_both, NULL);
	suite_add(&suite, "an agent that started again goes by what was written last",
		  an_agent_that_started_again, NULL);
	suite_add(&suite, "an init container's device and one more are one pod's",
		  an_init_containers_device_and_one_more, NULL);
	suite_fixture(&suite, &pair_fixture);
	suite_rows(&suite, writtens, an_agent_goes_by_the_checkpoint_until_the_kubelet_answers);
	suite_add(&suite, "a pod that never was had both", after_a_pod_with_both_that_never_was,
		  NULL);
	suite_add(&suite, "so it does while a young kubelet lists nothing",
		  agent_and_kubelet_started_again, NULL);
	suite_add(&suite, "and by the checkpoint while that kubelet has no API server",
		  agent_and_kubelet_started_again_without_an_api_server, NULL);
	suite_add(&suite, "what is unhealthy while the kubelet is away is healthy again after it",
		  a_kubelet_that_is_away_for_a_while, NULL);
	suite_add(&suite, "a pod that came to nothing while the kubelet was silent is forgotten",
		  a_pod_came_to_nothing_while_the_kubelet_was_silent, NULL);
	suite_add(&suite, "also while the kubelet started again",
		  a_pod_came_to_nothing_while_the_kubelet_started_again, NULL);
	suite_add(&suite, "a list that names who had it before says nothing of the next pod",
		  the_last_list_names_who_had_it_before, NULL);
	suite_add(&suite, "the others of a group are unhealthy after a while",
		  the_others_of_a_group_are_unhealthy_after_a_while, NULL);
	return suite_run(&suite, "offers_groups");
}
