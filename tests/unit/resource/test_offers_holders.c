/* offers: the holder of a device, also while the kubelet does not answer. */
#include "agent/config/config.h"
#include "agent/resource/ledger.h"
#include "api/mediateddevice.h"
#include "fake/fake_clock.h"
#include "unit/resource/offers_scene.h"

static void a_holder_is_known_by_the_kubelets_word(void **state)
{
	struct scene *scene = *state;
	const struct pcidevice_allocations *list;

	kubelet_start(&scene->kubelet);
	pods_serve(scene);
	give(scene, "vm-1");
	offers_begin(scene, false);
	assert_holder(scene, "not known");
	assert_null(offers_allocations(scene->offers, NIC));
	pass(scene, 200);
	assert_true(told(scene, "changed " NIC "|changed all|"));
	assert_holder(scene, "pod default/vm-1");
	list = offers_allocations(scene->offers, NIC);
	assert_int_equal(list->len, 1);
	assert_string_equal(list->items[0].container, "main");

	/* It is asked for again, because somebody wanted to know. */
	list_none(scene);
	assert_holder(scene, "pod default/vm-1");
	pass(scene, 3000);
	assert_true(told(scene, "changed " NIC "|"));
	assert_holder(scene, "free");
}

static void what_the_kubelet_does_not_say_counts_as_free_in_the_end(void **state)
{
	struct scene *scene = *state;

	kubelet_start(&scene->kubelet);
	offers_begin(scene, false);
	pass(scene, LEDGER_UNKNOWN_MS - 50);
	assert_holder(scene, "not known");
	assert_false(told(scene, "changed all|"));
	pass(scene, 50);
	assert_true(told(scene, "changed all|"));
	assert_holder(scene, "free");
	assert_null(offers_allocations(scene->offers, NIC)); /* what was told stays told */
}

static void the_last_status_holds_until_the_kubelet_answers(void **state)
{
	struct scene *scene = *state;

	kubelet_start(&scene->kubelet);
	node1_device(&scene->node,
		     "{'metadata':{'name':'node1-000001000','uid':'d','resourceVersion':'1'},"
		     "'status':{'address':'" NIC "','allocations':[{'namespace':'default',"
		     "'pod':'vm-9','container':'main'}]}}");
	offers_begin(scene, false);
	await_stream(scene);
	pass(scene, 30000); /* longer than LEDGER_UNKNOWN_MS */
	assert_holder(scene, "pod default/vm-9");
	pods_serve(scene);
	pass(scene, 40000);
	assert_holder(scene, "free"); /* whatever the object still says */
}

/* What a ResourceClaim had, its checkpoint says. */
static void the_last_status_of_a_claim_does_not_hold(void **state)
{
	struct scene *scene = *state;

	kubelet_start(&scene->kubelet);
	node1_device(&scene->node,
		     "{'metadata':{'name':'node1-000001000','uid':'d','resourceVersion':'1'},"
		     "'status':{'address':'" NIC "','allocations':[{'namespace':'default',"
		     "'pod':'vm-9','container':'main','resourceClaim':'nic'}]}}");
	offers_begin(scene, false);
	await_stream(scene);
	pass(scene, 30000);
	assert_holder(scene, "free");
}

/* The PCIDevice was created again meanwhile, and has no allocations. */
static void what_the_claim_says_holds_until_the_kubelet_answers(void **state)
{
	static const char *const holders[] = { "pod default/vm-9", "a pod that is being started" };

	for (size_t i = 0; i < ARRAY_LEN(holders); i++) {
		struct scene *scene = scene_new();
		auto_free char *claim =
			xasprintf(NIC_CLAIM(",'deletionTimestamp':'2026-01-01T00:00:00Z'", "",
					    "'passthroughEnabled':true,'holder':'%s'"),
				  holders[i]);

		kubelet_start(&scene->kubelet);
		node1_claim(&scene->node, claim);
		offers_begin(scene, false);
		await_stream(scene);
		pass(scene, 30000); /* longer than LEDGER_UNKNOWN_MS */
		assert_holder(scene, holders[i]);
		pods_serve(scene);
		pass(scene, 40000);
		assert_holder(scene, "free"); /* whatever the claim still says */
		scene_free(scene);
	}
}

/* PCIDevice, claim and agent are new, and the kubelet is away: only its checkpoint has the
 * holder. */
static void what_the_checkpoint_says_holds_until_the_kubelet_answers(void **state)
{
	struct scene *scene = *state;

	folder_put(&scene->stage.folder, "device-plugins/kubelet_internal_checkpoint",
		   "{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":\"u\",\"ContainerName\":\"main\","
		   "\"ResourceName\":\"" MODEL "\",\"DeviceIDs\":{\"-1\":[\"" NIC "\"]}}]}}");
	offers_begin(scene, false);
	pass(scene, LEDGER_UNKNOWN_MS + 30000);
	assert_holder(scene, "a pod in the kubelet's checkpoint; the kubelet does not say who "
			     "has what");
	assert_null(
		offers_allocations(scene->offers, NIC)); /* it is a reason to hold, not to tell */
	scene->kubelet.checkpoint = CHECKPOINT_OF("");
	kubelet_start(&scene->kubelet);
	pods_serve(scene);
	pass(scene, 60000);
	assert_holder(scene, "free");
}

/* The kubelet answers, but has asked for no list, which makes it write. If nothing is offered, a
 * resource without devices is. */
static void what_the_checkpoint_says_holds_until_it_is_written(void **state)
{
	static const struct config none = { 0 };
	struct scene *scene = *state;

	checkpoint_put(scene, CHECKPOINT_OF(CHECKPOINT_ENTRY("u", MODEL, "\"" NIC "\"")), NULL);
	pods_serve(scene);
	offers_begin(scene, false);
	pass(scene, 250);
	assert_holder(scene, "not known");
	pass(scene, 120000);
	assert_holder(scene, "an init container of the pod with the UID u");
	store_remove(scene->node.claims, "node1-000001000", NULL, object_ignore_change, NULL);
	offers_set_config(scene->offers, &none);
	offers_update(scene->offers);
	pass(scene, 5000);
	assert_holder(scene, "an init container of the pod with the UID u"); /* once found */
	offers_free(scene->offers);
	offers_begin(scene, false);
	kubelet_start(&scene->kubelet);
	pass(scene, 15000);
	assert_null(scene->kubelet.stream); /* something else may be offered soon */
	assert_holder(scene, "an init container of the pod with the UID u");
	offers_set_config(scene->offers, &none);
	scene->kubelet.checkpoint = CHECKPOINT_OF("");
	str_clear(&scene->stage.log);
	offers_update(scene->offers);
	await_stream(scene);
	pass(scene, 35000);
	assert_holder(scene, "free");
	pass(scene, 2000);
	assert_true(told(scene, "hostdev.io/no-devices at "));
	assert_null(scene->kubelet.stream);
}

/* Every device that a pod has is in it. What the process before gave just before it ended may not
 * be yet. */
static void what_the_checkpoint_does_not_name_is_free_soon(void **state)
{
	struct scene *scene = *state;

	kubelet_start(&scene->kubelet);
	checkpoint_put(scene, CHECKPOINT_OF(CHECKPOINT_ENTRY("u", MODEL, "\"" TWIN "\"")), NULL);
	offers_begin(scene, false);
	pass(scene, LEDGER_RECENT_MS - 50);
	assert_holder(scene, "not known");
	pass(scene, 50);
	assert_true(told(scene, "changed all|"));
	assert_holder(scene, "free");
}

/* What stands there is not known: it may be a pod that has the device. */
static void a_checkpoint_that_cannot_be_read_holds_likewise(void **state)
{
	struct scene *scene = *state;

	folder_put(&scene->stage.folder, "device-plugins/kubelet_internal_checkpoint", "{");
	offers_begin(scene, false);
	pass(scene, LEDGER_UNKNOWN_MS + 30000);
	assert_holder(scene, "a pod that is not known; the kubelet does not say who has what, "
			     "and its checkpoint cannot be read");
	pods_serve(scene);
	pass(scene, 40000);
	assert_holder(scene, "free");
}

/* The claim's resource was renamed while no agent ran: under both names two pods would get it. */
static void what_the_checkpoint_says_it_was_allocated_as_holds_likewise(void **state)
{
	struct scene *scene = *state;
	bool ours = true;

	folder_put(&scene->stage.folder, "device-plugins/kubelet_internal_checkpoint",
		   "{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":\"u\",\"ContainerName\":\"main\","
		   "\"ResourceName\":\"a.io/old\",\"DeviceIDs\":{\"-1\":[\"" NIC "\"]}}]}}");
	kubelet_start(&scene->kubelet);
	offers_begin(scene, false);
	await_stream(scene);
	assert_string_equal(offers_resource(scene->offers, NIC, &ours), "a.io/old");
	assert_false(ours);
	assert_int_equal(allocate_one(scene, NIC), GRPC_FAILED_PRECONDITION);
	scene->kubelet.checkpoint = CHECKPOINT_OF("");
	pods_serve(scene);
	pass(scene, 40000);
	assert_null(offers_resource(scene->offers, NIC, &ours));
	assert_int_equal(allocate_one(scene, NIC), GRPC_OK);
}

/* A process held it, and that is looked for in other ways. */
static void a_process_that_the_claim_names_is_no_pod(void **state)
{
	struct scene *scene = *state;

	kubelet_start(&scene->kubelet);
	node1_claim(&scene->node,
		    NIC_CLAIM("", "", "'passthroughEnabled':true,'holder':'podman (pid 7)'"));
	offers_begin(scene, false);
	pass(scene, 30000);
	assert_holder(scene, "free");
}

static void the_status_of_a_mediated_device_holds_likewise(void **state)
{
	static const char uuid[] = "c0ffee00-1234-4567-89ab-0123456789ab";
	struct scene *scene = *state;
	auto_free char *holder = NULL;
	auto_json json_t *object = object_json(
		"{'metadata':{'name':'node1-c0ffee00-1234-4567-89ab-0123456789ab','uid':'d',"
		"'resourceVersion':'1'},'status':{'uuid':'c0ffee00-1234-4567-89ab-0123456789ab',"
		"'allocations':[{'namespace':'default','pod':'vm-8','container':'main'}]}}");

	scene->mdevs = store_new(&mediateddevice_kind);
	object_put(scene->mdevs, &mediateddevice_kind, object);
	kubelet_start(&scene->kubelet);
	offers_begin(scene, false);
	pass(scene, 30000);
	assert_false(offers_is_free(scene->offers, uuid, &holder));
	assert_string_equal(holder, "pod default/vm-8");
	store_free(scene->mdevs);
}

static void a_pod_that_is_being_started_has_its_device(void **state)
{
	struct scene *scene = *state;

	kubelet_start(&scene->kubelet);
	pods_serve(scene);
	offers_begin(scene, false);
	await_stream(scene);
	pass(scene, 200);
	assert_holder(scene, "free");
	assert_true(told(scene, "changed all|")); /* the first answer */
	allocate(scene);
	assert_holder(scene, "a pod that is being started");
	pass(scene, 19900); /* the kubelet refused it for another reason, and lists no pod */
	assert_holder(scene, "a pod that is being started");
	assert_false(told(scene, "changed all|"));
	pass(scene, 100);
	assert_true(told(scene, "changed all|"));
	assert_holder(scene, "free");
	allocate(scene);
	give(scene, "vm-2");
	pass(scene, 3000);
	assert_holder(scene, "pod default/vm-2");
	list_none(scene); /* it was short-lived */
	assert_holder(scene, "pod default/vm-2");
	pass(scene, 1500);
	assert_holder(scene, "free");
}

static void a_kubelet_that_is_away_may_have_started_the_pod(void **state)
{
	struct scene *scene = *state;

	kubelet_start(&scene->kubelet);
	pods_serve(scene);
	offers_begin(scene, false);
	await_stream(scene);
	pass(scene, 200);
	allocate(scene);
	scene->pods = grpc_uv_server_free(scene->pods);
	pass(scene, 60000);
	assert_holder(scene, "a pod that the kubelet does not name");
	pods_serve(scene);
	pass(scene, 40000);
	assert_holder(scene, "free");
}

static void a_kubelet_that_never_answered_has_what_it_was_allocated(void **state)
{
	struct scene *scene = *state;

	kubelet_start(&scene->kubelet);
	offers_begin(scene, false);
	await_stream(scene);
	allocate(scene);
	pass(scene, 60000);
	assert_holder(scene, "a pod that the kubelet does not name");
	pods_serve(scene);
	pass(scene, 40000);
	assert_holder(scene, "free");
}

/* The kubelet lists the pods that it has heard of, and at first it has heard of none. */
static void a_young_kubelets_word_does_not_count(void **state)
{
	struct scene *scene = *state;
	int64_t now_ms = clock_wall_ms(scene->stage.clock);
	struct timespec begun = { .tv_sec = now_ms / 1000 + 60 };
	const struct timespec times[] = { begun, begun };

	kubelet_start(&scene->kubelet);
	pods_serve(scene);
	give(scene, "vm-1");
	offers_begin(scene, false);
	pass(scene, 60000);
	assert_holder(scene, "pod default/vm-1");
	told(scene, "");

	/* It was just restarted. */
	assert_int_equal(utimensat(AT_FDCWD, scene->pods_path, times, 0), 0);
	list_none(scene);
	assert_holder(scene, "pod default/vm-1");
	pass(scene, 5000);
	assert_holder(scene, "pod default/vm-1");
	assert_int_equal(offers_allocations(scene->offers, NIC)->len, 1);
	pass(scene, 10000);
	assert_holder(scene, "free");
	assert_true(told(scene, "changed " NIC "|"));
}

static void begin_kubelet_again(struct scene *scene)
{
	int64_t now_ms = clock_wall_ms(scene->stage.clock);
	struct timespec begun = { .tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000 };
	const struct timespec times[] = { begun, begun };

	assert_int_equal(utimensat(AT_FDCWD, scene->pods_path, times, 0), 0);
}

/* It has not read its pods from the API server yet, however old it is. */
static void the_word_of_a_kubelet_without_its_api_server_does_not_count(void **state)
{
	struct scene *scene = *state;
	int64_t heartbeat_ms = clock_wall_ms(scene->stage.clock);

	kubelet_start(&scene->kubelet);
	pods_serve(scene);
	begin_kubelet_again(scene);
	give(scene, "vm-1");
	offers_begin(scene, false);
	offers_set_heartbeat(scene->offers, heartbeat_ms);
	pass(scene, 60000);
	assert_holder(scene, "pod default/vm-1");
	begin_kubelet_again(scene);
	list_none(scene);
	pass(scene, 600000);
	assert_holder(scene, "pod default/vm-1");
	assert_int_equal(offers_allocations(scene->offers, NIC)->len, 1);

	/* It has reached it; its pods may come by a request that it tries again later. */
	offers_set_heartbeat(scene->offers, clock_wall_ms(scene->stage.clock));
	pass(scene, 29000);
	assert_holder(scene, "pod default/vm-1");
	pass(scene, 12000);
	assert_holder(scene, "free");
}

static bool offers_nothing(void *arg, const char *resource)
{
	(void)arg;
	(void)resource;
	return false;
}

/* The entry of the HostDeviceConfig goes between Allocate and the kubelet's word. */
static void an_allocated_device_is_a_pods_although_its_resource_went(void **state)
{
	struct scene *scene = *state;
	struct json_strs ids = { 0 };
	struct ledger *ledger;

	ledger = ledger_new(&scene->node.this_node,
			    &(struct ledger_deps){ .socket_path = scene->pods_path,
						   .checkpoint_path = "/nowhere",
						   .changed = on_changed,
						   .offers = offers_nothing,
						   .arg = scene });
	json_strs_add(&ids, "1-2");
	ledger_allocate(ledger, "a.io/stick", &ids);
	pods_serve(scene);
	list_none(scene);
	list_more(scene, "a.io/stick", "1-2", "vm-1");
	ledger_ask(ledger);
	for (int i = 0; i < 2; i++) {
		auto_free char *holder = NULL;

		pass(scene, 40000); /* longer than a pod takes to start */
		assert_false(ledger_is_free(ledger, "1-2", &holder));
		assert_string_equal(holder, "pod default/vm-1");
		assert_string_equal(ledger_resource(ledger, "1-2"), "a.io/stick");
	}
	ledger_free(ledger);
	json_strs_done(&ids);
}

static void offer_none(void *arg, struct plugins *plugins)
{
	(void)arg;
	(void)plugins;
}

static bool had_stick(void *arg, const struct pod_device *device)
{
	(void)arg;
	return strcmp(device->device, "1-2") == 0 && strcmp(device->pod, "vm-1") == 0;
}

/* The entry was renamed while no agent ran, and the kubelet lists the pod under the old name. */
static void what_its_object_says_a_pod_had_is_the_pods(void **state)
{
	struct scene *scene = *state;
	auto_free char *holder = NULL;
	bool ours = true;

	kubelet_start(&scene->kubelet);
	pods_serve(scene);
	list_none(scene);
	list_more(scene, "a.io/old", "1-2", "vm-1");
	offers_begin(scene, false);
	offers_add(scene->offers, &(struct offers_type){ .offer = offer_none, .had = had_stick });
	pass(scene, 3000);
	assert_string_equal(offers_resource(scene->offers, "1-2", &ours), "a.io/old");
	assert_false(ours);
	assert_false(offers_is_free(scene->offers, "1-2", &holder));
	assert_string_equal(holder, "pod default/vm-1");
}

/* The kubelet lists no init containers; its checkpoint has what they were given, and what pods had
 * that have ended. */
static void what_an_init_container_has_is_its_pods_until_that_ends(void **state)
{
	static const char nobody[] = CHECKPOINT_OF("");
	static const char init[] = CHECKPOINT_OF(CHECKPOINT_ENTRY("u", MODEL, "\"" NIC "\""));
	struct scene *scene = *state;
	bool ours = false;

	kubelet_start(&scene->kubelet);
	pods_serve(scene);
	checkpoint_put(scene, nobody, nobody);
	offers_begin(scene, false);
	await_stream(scene);
	pass(scene, 200);
	allocate(scene);
	checkpoint_put(scene, init, init);
	pass(scene, 60000);
	assert_holder(scene, "an init container of the pod with the UID u");
	assert_string_equal(offers_resource(scene->offers, NIC, &ours), MODEL);
	assert_true(ours);
	checkpoint_put(scene, "{", "{");
	pass(scene, 60000);
	assert_holder(scene, "an init container of a pod");
	checkpoint_put(scene, init, init);
	pass(scene, 60000);
	assert_holder(scene, "an init container of the pod with the UID u");
	scene->kubelet.checkpoint = nobody;
	str_clear(&scene->stage.log);
	pass(scene, 31000); /* it is asked at least so often */
	assert_true(told(scene, "changed " NIC "|"));
	assert_holder(scene, "free");
	assert_null(offers_resource(scene->offers, NIC, &ours));
}

/* What the file has is older than the list. */
static void a_pod_that_has_ended_has_nothing_once_the_kubelet_has_written_that(void **state)
{
	static const char it[] = CHECKPOINT_OF(CHECKPOINT_ENTRY("u", MODEL, "\"" NIC "\""));
	struct scene *scene = *state;

	kubelet_start(&scene->kubelet);
	pods_serve(scene);
	give(scene, "vm-1");
	checkpoint_put(scene, it, NULL);
	offers_begin(scene, false);
	await_stream(scene);
	pass(scene, 5000);
	assert_holder(scene, "pod default/vm-1");
	list_none(scene);
	pass(scene, 1000);
	assert_holder(scene, "not known");
	scene->kubelet.checkpoint = CHECKPOINT_OF("");
	pass(scene, 6000); /* it is made to write again */
	assert_holder(scene, "free");
}

/* A pod has the device, by the kubelet's list and its checkpoint. */
static void begin_with_pod(struct scene *scene)
{
	static const char it[] = CHECKPOINT_OF(CHECKPOINT_ENTRY("u-1", MODEL, "\"" NIC "\""));

	kubelet_start(&scene->kubelet);
	pods_serve(scene);
	give(scene, "vm-1");
	checkpoint_put(scene, it, it);
	offers_begin(scene, false);
	await_stream(scene);
	pass(scene, 5000);
}

static bool is_not_known(struct scene *scene)
{
	auto_free char *holder = NULL;

	return !offers_is_free(scene->offers, NIC, &holder) && !holder;
}

/* The kubelet writes its checkpoint when the answer to the next question is on the way, too. */
static void the_end_of_a_pod_is_reported_whenever_the_kubelet_writes(void **state)
{
	static const char nobody[] = CHECKPOINT_OF("");

	(void)state;
	for (uint64_t later_ms = 0; later_ms <= 500; later_ms += 50) {
		struct scene *scene = scene_new();

		begin_with_pod(scene);
		scene->kubelet.checkpoint = NULL;
		list_none(scene);
		while (!is_not_known(scene)) /* each question asks the kubelet again */
			pass(scene, 50);
		pass(scene, later_ms);
		str_clear(&scene->stage.log);
		checkpoint_put(scene, nobody, nobody);
		pass(scene, 5000);
		assert_true(told(scene, "changed " NIC "|"));
		assert_holder(scene, "free");
		scene_free(scene);
	}
}

/* The kubelet forgets a pod that is deleted by force before it ends its processes. */
static void a_process_of_a_deleted_pod_has_what_the_pod_had(void **state)
{
	static const char nobody[] = CHECKPOINT_OF("");
	struct scene *scene = *state;

	process_begin(scene, "7", "/kubepods.slice/kubepods-podu_1.slice/cri-c.scope");
	process_begin(scene, "8", "/kubepods.slice/kubepods-podu_12.slice/cri-c.scope");
	begin_with_pod(scene);
	assert_holder(scene, "pod default/vm-1");
	list_none(scene);
	checkpoint_put(scene, nobody, nobody);
	pass(scene, 5000);
	assert_holder(scene, "process 7 of a deleted pod (UID u-1)");
	pass(scene, 60000);
	assert_holder(scene, "process 7 of a deleted pod (UID u-1)");
	process_end(scene, "7");
	str_clear(&scene->stage.log);
	pass(scene, 8000); /* it is read less and less often */
	assert_true(told(scene, "changed " NIC "|"));
	assert_holder(scene, "free");
	pass(scene, 1000);
	str_clear(&scene->stage.log);
	pass(scene, 5000);
	assert_false(told(scene, "changed"));
}

/* Agent and kubelet begin again, and the kubelet does not admit the pod again: it forgets it, and
 * then ends it. */
static void a_pod_that_is_forgotten_as_the_agent_begins_is_known(void **state)
{
	static const char nobody[] = CHECKPOINT_OF("");
	static const char it[] = CHECKPOINT_OF(CHECKPOINT_ENTRY("u-1", MODEL, "\"" NIC "\""));
	struct scene *scene = *state;

	checkpoint_put(scene, it, it);
	process_begin(scene, "7", "/kubepods/podu-1/c");
	offers_begin(scene, false);
	checkpoint_put(scene, nobody, nobody);
	kubelet_start(&scene->kubelet);
	pods_serve(scene);
	await_stream(scene);
	pass(scene, 120000);
	assert_holder(scene, "process 7 of a deleted pod (UID u-1)");
	process_end(scene, "7");
	pass(scene, 8000);
	assert_holder(scene, "free");
}

static void assert_start(struct scene *scene, const char *trouble)
{
	auto_free char *text = offers_start_trouble(scene->offers, NIC);

	assert_string_equal(text ? text : "none", trouble ? trouble : "none");
}

/* The next agent finds no word of the pod but in the file of the one before, which is of this
 * boot. */
static void the_next_agent_knows_the_deleted_pod(void **state)
{
	static const char nobody[] = CHECKPOINT_OF("");
	struct scene *scene = *state;

	scene->node.this_node.helper.state_dir = scene->stage.folder.path;
	process_begin(scene, "7", "/kubepods/podu-1/c");
	begin_with_pod(scene);
	list_none(scene);
	checkpoint_put(scene, nobody, nobody);
	offers_free(scene->offers);
	offers_begin(scene, false);
	pass(scene, 5000);
	assert_holder(scene, "process 7 of a deleted pod (UID u-1)");
	process_end(scene, "7");
	pass(scene, 8000);
	assert_holder(scene, "free");
	scene->node.this_node.helper.state_dir = NULL;
}

/* A folder in the way of the file stands for a full disk. */
static void what_could_not_be_kept_is_kept_later(void **state)
{
	static const char nobody[] = CHECKPOINT_OF("");
	struct scene *scene = *state;
	auto_free char *way = folder_path(&scene->stage.folder, "pods.json.new");

	scene->node.this_node.helper.state_dir = scene->stage.folder.path;
	assert_int_equal(mkdir(way, 0700), 0);
	process_begin(scene, "7", "/kubepods/podu-1/c");
	begin_with_pod(scene);
	assert_int_equal(rmdir(way), 0);
	assert_holder(scene, "pod default/vm-1");
	list_none(scene);
	checkpoint_put(scene, nobody, nobody);
	pass(scene, 5000);
	assert_holder(scene, "process 7 of a deleted pod (UID u-1)");
	offers_free(scene->offers);
	offers_begin(scene, false);
	pass(scene, 5000);
	assert_holder(scene, "process 7 of a deleted pod (UID u-1)");
	process_end(scene, "7");
	scene->node.this_node.helper.state_dir = NULL;
}

/* The kubelet gives the device to another pod before it has ended the processes of the first
 * one. */
static void a_container_does_not_start_beside_a_process_of_a_former_pod(void **state)
{
	static const char other[] = CHECKPOINT_OF(CHECKPOINT_ENTRY("u-2", MODEL, "\"" NIC "\""));
	static const char nobody[] = CHECKPOINT_OF("");
	struct scene *scene = *state;
	auto_free char *file = NULL;

	process_begin(scene, "7", "/kubepods/podu-1/c");
	begin_with_pod(scene);
	assert_start(scene, NULL);                       /* it is its own */
	assert_true(offers_is_busy(scene->offers, NIC)); /* should the kubelet count it as free */
	assert_false(offers_is_busy(scene->offers, "1-2"));
	assert_true(offers_is_busy(scene->offers, "1-2," NIC));
	checkpoint_put(scene, "{", "{");
	assert_start(scene, NULL); /* no other has had it */
	process_begin(scene, "8", "/kubepods/podu-2/pause");
	give(scene, "vm-2");
	checkpoint_put(scene, other, other);
	assert_start(scene, "process 7 of a deleted pod (UID u-1) still has " NIC
			    ": the container starts when it has ended");
	process_end(scene, "8");
	checkpoint_put(scene, nobody, nobody); /* which of them starts is not known */
	assert_start(scene, "process 7 of a deleted pod (UID u-1) still has " NIC
			    ": the container starts when it has ended");
	file = folder_path(&scene->stage.folder, "device-plugins/kubelet_internal_checkpoint");
	assert_int_equal(remove(file), 0);
	assert_start(scene, "process 7 of a deleted pod (UID u-1) still has " NIC
			    ": the container starts when it has ended");
	checkpoint_put(scene, other, other);
	process_end(scene, "7");
	assert_start(scene, NULL);
}

static void what_cannot_be_searched_for_may_have_processes(void **state)
{
	static const char nobody[] = CHECKPOINT_OF("");
	struct scene *scene = *state;

	begin_with_pod(scene);
	list_none(scene);
	checkpoint_put(scene, nobody, nobody);
	scene->node.this_node.helper.proc_root = "/nowhere";
	assert_holder(scene, "pod default/vm-1");
	pass(scene, 5000);
	assert_holder(scene, "a deleted pod that may have processes (read '/nowhere': No "
			     "such file or directory)");
	scene->node.this_node.helper.proc_root = scene->proc;
	pass(scene, 300);
	assert_holder(scene, "free");
}

static void add_ended_pods(struct suite *suite)
{
	suite_add(suite, "a process of a deleted pod has what the pod had",
		  a_process_of_a_deleted_pod_has_what_the_pod_had, NULL);
	suite_add(suite, "a pod that is forgotten as the agent begins is known",
		  a_pod_that_is_forgotten_as_the_agent_begins_is_known, NULL);
	suite_add(suite, "the next agent knows the deleted pod",
		  the_next_agent_knows_the_deleted_pod, NULL);
	suite_add(suite, "what could not be kept is kept later",
		  what_could_not_be_kept_is_kept_later, NULL);
	suite_add(suite, "a container does not start beside a process of a former pod",
		  a_container_does_not_start_beside_a_process_of_a_former_pod, NULL);
	suite_add(suite, "what cannot be searched for may have processes",
		  what_cannot_be_searched_for_may_have_processes, NULL);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "what the claim says holds until the kubelet answers",
		  what_the_claim_says_holds_until_the_kubelet_answers, NULL);
	suite_add(&suite, "the end of a pod is reported whenever the kubelet writes",
		  the_end_of_a_pod_is_reported_whenever_the_kubelet_writes, NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "a holder is known by the kubelet's word",
		  a_holder_is_known_by_the_kubelets_word, NULL);
	suite_add(&suite, "what the kubelet does not say counts as free in the end",
		  what_the_kubelet_does_not_say_counts_as_free_in_the_end, NULL);
	suite_add(&suite, "what its object says a pod had is the pod's, by whichever resource",
		  what_its_object_says_a_pod_had_is_the_pods, NULL);
	suite_add(&suite, "the last status holds until the kubelet answers",
		  the_last_status_holds_until_the_kubelet_answers, NULL);
	suite_add(&suite, "the last status of a claim does not hold",
		  the_last_status_of_a_claim_does_not_hold, NULL);
	suite_add(&suite, "what the kubelet's checkpoint says holds until the kubelet answers",
		  what_the_checkpoint_says_holds_until_the_kubelet_answers, NULL);
	suite_add(&suite, "what the checkpoint says holds until it is written",
		  what_the_checkpoint_says_holds_until_it_is_written, NULL);
	suite_add(&suite, "what the checkpoint does not name is free soon",
		  what_the_checkpoint_does_not_name_is_free_soon, NULL);
	suite_add(&suite, "a checkpoint that cannot be read holds likewise",
		  a_checkpoint_that_cannot_be_read_holds_likewise, NULL);
	suite_add(&suite, "and so does the resource that the checkpoint names",
		  what_the_checkpoint_says_it_was_allocated_as_holds_likewise, NULL);
	suite_add(&suite, "a process that the claim names is no pod",
		  a_process_that_the_claim_names_is_no_pod, NULL);
	suite_add(&suite, "what was told of a mediated device before holds likewise",
		  the_status_of_a_mediated_device_holds_likewise, NULL);
	suite_add(&suite, "a kubelet that never answered has what it was allocated",
		  a_kubelet_that_never_answered_has_what_it_was_allocated, NULL);
	suite_add(&suite, "a kubelet that is away may have started the pod",
		  a_kubelet_that_is_away_may_have_started_the_pod, NULL);
	suite_add(&suite, "a pod that is being started has its device",
		  a_pod_that_is_being_started_has_its_device, NULL);
	suite_add(&suite, "the word of a kubelet that has just begun does not count",
		  a_young_kubelets_word_does_not_count, NULL);
	suite_add(&suite, "the word of a kubelet without its API server does not count",
		  the_word_of_a_kubelet_without_its_api_server_does_not_count, NULL);
	suite_add(&suite, "an allocated device is a pod's although its resource went",
		  an_allocated_device_is_a_pods_although_its_resource_went, NULL);
	suite_add(&suite, "what an init container has is its pod's until that ends",
		  what_an_init_container_has_is_its_pods_until_that_ends, NULL);
	suite_add(&suite, "a pod that has ended has nothing once the kubelet has written that",
		  a_pod_that_has_ended_has_nothing_once_the_kubelet_has_written_that, NULL);
	add_ended_pods(&suite);
	return suite_run(&suite, "offers_holders");
}
