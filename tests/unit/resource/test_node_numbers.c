/* The number of a pod's device node, which comes back for another device. */
#include "agent/resource/node_numbers.h"

#include <fcntl.h>

#include "base/file.h"
#include "fake/fake_clock.h"
#include "unit/resource/offers_scene.h"

static const char *const apart[NODE1_LINES] = { FUNCTION(NIC, "vfio-pci", "12", ""),
						FUNCTION(TWIN, "vfio-pci", "13", "") };
static const char *const pair[NODE1_LINES] = { FUNCTION(NIC, "vfio-pci", "12", ""),
					       FUNCTION(TWIN, "vfio-pci", "12", "") };

/* Character devices that are on every node stand for VFIO's; their numbers are 1:3, 1:5 and 1:7. */
#define A "/dev/null"
#define B "/dev/zero"
#define C "/dev/full"

static void add(struct scene *scene, const char *id, const char *pod)
{
	list_more(scene, MODEL, id, pod);
}

static void set_node(struct scene *scene, const char *name, const char *target)
{
	auto_free char *folder = xasprintf("%s/vfio/devices", scene->node.dev);
	auto_free char *path = xasprintf("%s/vfio/%s", scene->node.dev, name);

	(void)mkdir(folder, 0700);
	(void)unlink(path);
	if (target)
		assert_int_equal(symlink(target, path), 0);
}

/* The function's own node is @name of /dev/vfio/devices. */
static void set_own_node(struct scene *scene, const char *address, const char *name,
			 const char *target)
{
	auto_free char *link = xasprintf("bus/pci/devices/%s/vfio-dev/%s", address, name);
	auto_free char *node = xasprintf("devices/%s", name);

	node1_link(&scene->node, link, "x");
	set_node(scene, node, target);
}

static void unplug(struct scene *scene)
{
	auto_free char *folder = xasprintf("%s/bus/pci/devices/" NIC, scene->node.sysfs);
	auto_free char *away = xasprintf("%s/away", scene->node.sysfs);

	assert_int_equal(rename(folder, away), 0);
	set_node(scene, "12", NULL);
}

/* The same address, and the next number. */
static void plug_again(struct scene *scene, const char *target)
{
	auto_free char *folder = xasprintf("%s/bus/pci/devices/" NIC, scene->node.sysfs);
	auto_free char *away = xasprintf("%s/away", scene->node.sysfs);

	assert_int_equal(rename(away, folder), 0);
	set_node(scene, "12", target);
}

static struct scene *scene_with(const char *const *functions)
{
	struct scene *scene = scene_of(functions);

	node1_claim(&scene->node, TWIN_CLAIM("", "", READY_OF("True")));
	set_node(scene, "12", A);
	set_node(scene, "13", B);
	kubelet_start(&scene->kubelet);
	return scene;
}

static struct scene *scene_apart(void)
{
	return scene_with(apart);
}

SUITE_OBJECT(apart, scene_apart(), scene_free);

static void begin(struct scene *scene)
{
	pods_serve(scene);
	offers_begin(scene, false);
	await_stream(scene);
	pass(scene, 5000);
}

static void update(struct scene *scene)
{
	offers_update_soon(scene->offers);
	pass(scene, 50);
}

/* NULL: TWIN is healthy, and a pod gets it. */
static void assert_twin(struct scene *scene, const char *trouble)
{
	struct offered_answer answer;

	update(scene);
	answer = offers_answer(scene->offers, TWIN);
	assert_string_equal(answer.trouble ? answer.trouble : "none", trouble ? trouble : "none");
	assert_int_equal(allocate_one(scene, TWIN), trouble ? GRPC_FAILED_PRECONDITION : GRPC_OK);
}

#define TAKEN(node, number, pod)                                                         \
	"/dev/vfio/" node " has the number " number ", which " pod " was given for " NIC \
	" before that device disappeared: delete that pod"
#define LOST(pod)                                                                              \
	pod " has " NIC ", which is gone from the node, and the number of its device node is " \
	    "not known, which may be this one's: delete that pod"

/* The device was there when the kubelet's list named its pod. */
static void a_listed_pods_number_is_offered_to_nobody(void **state)
{
	struct scene *scene = *state;

	add(scene, NIC, "eve");
	begin(scene);
	assert_twin(scene, NULL);
	pass(scene, 60000); /* that pod never was */
	unplug(scene);
	set_node(scene, "13", A);
	assert_twin(scene, TAKEN("13", "1:3", "pod default/eve"));
	pass(scene, 600000); /* as long as it runs */
	assert_twin(scene, TAKEN("13", "1:3", "pod default/eve"));
	list_none(scene);
	pass(scene, 40000);
	assert_twin(scene, NULL);
}

/* No look at what is offered lies between the list that names it and Allocate. */
static void allocate_looks_at_the_number_itself(void **state)
{
	struct scene *scene = *state;

	add(scene, NIC, "eve");
	begin(scene);
	unplug(scene);
	set_node(scene, "13", A);
	assert_int_equal(scene->kubelet.unhealthy, 0);
	assert_int_equal(allocate_one(scene, TWIN), GRPC_FAILED_PRECONDITION);
	set_node(scene, "13", C);
	assert_twin(scene, NULL);
}

static void so_is_that_of_a_pod_that_no_list_names_yet(void **state)
{
	struct scene *scene = *state;

	begin(scene);
	assert_int_equal(allocate_one(scene, NIC), GRPC_OK);
	unplug(scene);
	set_node(scene, "13", A);
	assert_twin(scene, TAKEN("13", "1:3", "a pod that is being started"));
	pass(scene, 60000); /* it came to nothing */
	assert_twin(scene, NULL);
}

/* The kubelet does not give it to another pod, and the one that has it has the old number. */
static void the_old_number_stays_taken_when_the_device_comes_back(void **state)
{
	struct scene *scene = *state;

	add(scene, NIC, "eve");
	begin(scene);
	unplug(scene);
	update(scene);
	plug_again(scene, C);
	update(scene);
	set_node(scene, "13", A);
	assert_twin(scene, TAKEN("13", "1:3", "pod default/eve"));
	set_node(scene, "13", C);
	assert_twin(scene, TAKEN("13", "1:7", "pod default/eve"));
	set_node(scene, "13", B);
	assert_twin(scene, NULL);
}

/* The pod before it may have had another number. */
static void what_is_allocated_again_has_the_number_that_it_has_now(void **state)
{
	struct scene *scene = *state;

	add(scene, NIC, "eve");
	begin(scene);
	set_node(scene, "12", C);
	assert_int_equal(allocate_one(scene, NIC), GRPC_OK);
	set_node(scene, "13", A);
	assert_twin(scene, NULL);
}

static void a_functions_own_node_counts_likewise(void **state)
{
	struct scene *scene = *state;

	set_own_node(scene, NIC, "vfio0", C);
	add(scene, NIC, "eve");
	begin(scene);
	unplug(scene);
	set_own_node(scene, TWIN, "vfio1", C);
	assert_twin(scene, "/dev/vfio/devices/vfio1 has the number 1:7, which pod default/eve was "
			   "given for " NIC " before that device disappeared: delete that pod");
	set_own_node(scene, TWIN, "vfio1", A); /* the number of NIC's group */
	assert_twin(scene, "/dev/vfio/devices/vfio1 has the number 1:3, which pod default/eve was "
			   "given for " NIC " before that device disappeared: delete that pod");
}

/* The group, and with it the node, is there as long as one of its functions is. */
static void the_rest_of_a_group_is_offered_to_no_other_pod(void **state)
{
	struct scene *scene = scene_with(pair);

	(void)state;
	add(scene, NIC, "eve");
	begin(scene);
	assert_twin(scene, "IOMMU group 12 serves one pod at a time, and a pod has " NIC " of it");
	unplug(scene);
	set_node(scene, "12", A);
	scene->node.world.inventory->facts->pci.items[0].iommu_group[0] = 'x'; /* the next scan */
	assert_twin(scene, TAKEN("12", "1:3", "pod default/eve"));
	list_none(scene);
	pass(scene, 40000);
	assert_twin(scene, NULL);
	scene_free(scene);
}

static void a_pod_keeps_the_rest_of_its_own_group(void **state)
{
	struct scene *scene = scene_with(pair);

	(void)state;
	add(scene, NIC, "eve");
	add(scene, TWIN, "eve");
	begin(scene);
	unplug(scene);
	set_node(scene, "12", A);
	assert_twin(scene, NULL);
	scene_free(scene);
}

/* The agent was not there when the device went. */
static void of_a_number_that_is_not_known_any_may_be_the_one(void **state)
{
	struct scene *scene = *state;

	add(scene, NIC, "eve");
	unplug(scene);
	begin(scene);
	assert_twin(scene, LOST("pod default/eve"));
	plug_again(scene, C); /* that is another one */
	assert_twin(scene, LOST("pod default/eve"));
	list_none(scene);
	pass(scene, 40000);
	assert_twin(scene, NULL);
}

static void but_what_a_pod_has_it_has(void **state)
{
	struct scene *scene = *state;

	add(scene, NIC, "eve");
	add(scene, TWIN, "bob");
	unplug(scene);
	begin(scene);
	assert_twin(scene, NULL);
}

/* The checkpoint alone says who has what. */
static void the_checkpoints_word_counts_while_the_kubelet_is_silent(void **state)
{
	struct scene *scene = *state;

	folder_put(&scene->stage.folder, "device-plugins/kubelet_internal_checkpoint",
		   "{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":\"u\",\"ContainerName\":\"main\","
		   "\"ResourceName\":\"a.io/x\",\"DeviceIDs\":{\"-1\":[\"" NIC "\",\"1-2\"]}}]}}");
	unplug(scene);
	offers_begin(scene, false);
	await_stream(scene);
	assert_twin(scene, LOST("a pod in the kubelet's checkpoint"));
	pass(scene, 30000);
	assert_twin(scene, LOST("a pod in the kubelet's checkpoint"));
	scene->kubelet.checkpoint = CHECKPOINT_OF("");
	pods_serve(scene);
	pass(scene, 60000);
	assert_twin(scene, NULL);
}

/* As a network function of another plugin, which is no VFIO device's. */
static void a_device_without_a_node_has_no_number(void **state)
{
	struct scene *scene = *state;

	set_node(scene, "12", NULL);
	add(scene, NIC, "eve");
	begin(scene);
	unplug(scene);
	assert_twin(scene, NULL);
}

/* Somebody removed the node from /dev: the kernel has it nevertheless. */
static void a_node_that_is_not_shown_has_one_that_is_not_known(void **state)
{
	struct scene *scene = *state;

	node1_link(&scene->node, "class/vfio/12", ".");
	set_node(scene, "12", NULL);
	add(scene, NIC, "eve");
	begin(scene);
	assert_twin(scene, NULL); /* while it is there no other has its number */
	pass(scene, 60000);
	unplug(scene);
	assert_twin(scene, LOST("pod default/eve"));
}

/* A stick with the number @device on the first bus; NULL: none is in the port. */
static void plug_stick(struct scene *scene, const char *port, const char *device,
		       const char *target)
{
	auto_free char *bus_path = xasprintf("sys/bus/usb/devices/%s/busnum", port);
	auto_free char *device_path = xasprintf("sys/bus/usb/devices/%s/devnum", port);
	auto_free char *folder = xasprintf("%s/bus/usb/001", scene->node.dev);
	auto_free char *node = xasprintf("%s/%s", folder, device);

	for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(folder, 0700);
		*slash = '/';
	}
	(void)mkdir(folder, 0700);
	node1_link(&scene->node, bus_path + strlen("sys/"), NULL); /* its folder */
	folder_put(&scene->node.folder, bus_path, "1\n");
	folder_put(&scene->node.folder, device_path, device);
	(void)unlink(node);
	assert_int_equal(symlink(target, node), 0);
}

static void pull_stick(struct scene *scene, const char *port)
{
	auto_free char *folder = xasprintf("%s/bus/usb/devices/%s", scene->node.sysfs, port);
	auto_free char *away = xasprintf("%s/away-%s", scene->node.sysfs, port);

	assert_int_equal(rename(folder, away), 0);
}

static void assert_stick(struct scene *scene, const char *port, const char *trouble)
{
	auto_free char *text = NULL;

	update(scene);
	text = offers_number_trouble(scene->offers, port);
	assert_string_equal(text ? text : "none", trouble ? trouble : "none");
}

static void a_sticks_number_is_offered_to_nobody(void **state)
{
	struct scene *scene = *state;

	plug_stick(scene, "1-2", "005", A);
	plug_stick(scene, "1-3", "006", B);
	add(scene, "1-2,1-3", "eve"); /* one device of two parts */
	begin(scene);
	pull_stick(scene, "1-2");
	pull_stick(scene, "1-3");
	plug_stick(scene, "1-4.1", "006", B);
	assert_stick(scene, "1-4.1",
		     "/dev/bus/usb/001/006 has the number 1:5, which pod default/eve was given for "
		     "1-3 before that device disappeared: delete that pod");
	plug_stick(scene, "1-4.1", "007", C);
	assert_stick(scene, "1-4.1", NULL);
	plug_stick(scene, "1-4.1", "005", A);
	list_none(scene);
	pass(scene, 40000);
	assert_stick(scene, "1-4.1", NULL);
}

/* Its numbers come around only after all others. */
static void of_a_stick_whose_number_is_not_known_none_is_feared(void **state)
{
	struct scene *scene = *state;

	plug_stick(scene, "1-4", "005", A);
	add(scene, "1-2", "eve");
	begin(scene);
	assert_stick(scene, "1-4", NULL);
	assert_twin(scene, NULL);
}

static void a_function_that_is_gone_does_not_hold_sticks_back(void **state)
{
	struct scene *scene = *state;

	add(scene, NIC, "eve");
	unplug(scene);
	begin(scene);
	assert_stick(scene, "1-4", NULL);
	assert_twin(scene, LOST("pod default/eve"));
}

/* NULL: the device may be bound. */
static void assert_bind(struct scene *scene, const char *id, const char *trouble)
{
	auto_free char *text = NULL;

	update(scene);
	text = offers_bind_trouble(scene->offers, id);
	assert_string_equal(text ? text : "none", trouble ? trouble : "none");
}

#define NEXT                                                                                      \
	"a pod may still open the device node that it was given for " NIC ", which is gone, and " \
	"the kernel would give the number of that node to this device: delete that pod; "         \
	"kubectl hostdev who node1-000001000 names it"

/* The kernel takes the lowest number that is free. */
static void nothing_is_bound_while_a_number_is_left_to_a_pod(void **state)
{
	struct scene *scene = *state;

	set_node(scene, "13", NULL);
	add(scene, NIC, "eve");
	begin(scene);
	assert_bind(scene, TWIN, NULL);
	pass(scene, 60000);
	unplug(scene);
	assert_bind(scene, TWIN, NEXT);
	node1_link(&scene->node, "class/vfio/13", ".");
	assert_bind(scene, TWIN, NULL); /* it has a number */
	node1_link(&scene->node, "class/vfio/13", NULL);
	set_node(scene, "13", B);
	assert_bind(scene, TWIN, NULL);
	set_node(scene, "13", NULL);
	assert_bind(scene, TWIN, NEXT);
	list_none(scene);
	pass(scene, 40000);
	assert_bind(scene, TWIN, NULL);
}

/* It has another number now. */
static void as_it_is_by_a_device_that_came_back(void **state)
{
	struct scene *scene = *state;

	set_node(scene, "13", NULL);
	add(scene, NIC, "eve");
	begin(scene);
	unplug(scene);
	update(scene);
	plug_again(scene, C);
	assert_bind(scene, TWIN, NEXT);
	assert_bind(scene, NIC, NULL);
}

static void a_number_that_is_not_known_may_be_the_next(void **state)
{
	struct scene *scene = *state;

	set_node(scene, "13", NULL);
	add(scene, NIC, "eve");
	unplug(scene);
	begin(scene);
	assert_bind(scene, TWIN, NEXT);
	list_none(scene);
	pass(scene, 40000);
	assert_bind(scene, TWIN, NULL);
}

static void what_a_pod_has_is_bound_again(void **state)
{
	struct scene *scene = *state;

	set_node(scene, "13", NULL);
	add(scene, NIC, "eve");
	add(scene, TWIN, "bob");
	unplug(scene);
	begin(scene);
	assert_bind(scene, TWIN, NULL);
}

static void a_pod_may_get_its_own_number_back(void **state)
{
	struct scene *scene = *state;

	set_node(scene, "13", NULL);
	add(scene, NIC, "eve");
	add(scene, TWIN, "eve");
	begin(scene);
	unplug(scene);
	assert_bind(scene, TWIN, NULL);
}

/* Its number is of another kind. */
static void a_stick_that_is_gone_hinders_no_bind(void **state)
{
	struct scene *scene = *state;

	set_node(scene, "13", NULL);
	plug_stick(scene, "1-2", "005", A);
	add(scene, "1-2", "eve");
	begin(scene);
	pull_stick(scene, "1-2");
	assert_bind(scene, TWIN, NULL);
}

static void held_by_none(void *arg, struct json_strs *ids)
{
	(void)arg;
	(void)ids;
}

static char *held_by_eve(void *arg, const char *id)
{
	(void)arg;
	(void)id;
	return xstrdup("eve");
}

static bool is_never_the_same(void *arg, const char *a, const char *b)
{
	(void)arg;
	(void)a;
	(void)b;
	return false;
}

/* Each part's number is known at once, before anybody looks again. */
static void what_is_allocated_in_parts_has_the_numbers_of_all(void **state)
{
	struct scene *scene = *state;
	struct node_numbers *numbers = node_numbers_new(
		&scene->node.this_node,
		&(struct node_numbers_deps){ held_by_none, held_by_eve, is_never_the_same, NULL });
	struct json_strs ids = { 0 };
	auto_free char *trouble = NULL;

	plug_stick(scene, "1-2", "005", A);
	plug_stick(scene, "1-3", "006", B);
	json_strs_add(&ids, "1-2,1-3");
	node_numbers_allocate(numbers, &ids);
	pull_stick(scene, "1-3");
	plug_stick(scene, "1-4", "006", B);
	trouble = node_numbers_trouble(numbers, "1-4");
	assert_non_null(trouble);
	assert_non_null(strstr(trouble, "which eve was given for 1-3 "));
	json_strs_done(&ids);
	node_numbers_free(numbers);
}

static void held_nic(void *arg, struct json_strs *ids)
{
	(void)arg;
	json_strs_add(ids, NIC);
}

/* A process of the agent whose pod has NIC. */
static struct node_numbers *next_process(struct scene *scene)
{
	return node_numbers_new(
		&scene->node.this_node,
		&(struct node_numbers_deps){ held_nic, held_by_eve, is_never_the_same, NULL });
}

static void assert_next(struct scene *scene, const char *trouble)
{
	struct node_numbers *numbers = next_process(scene);
	auto_free char *text = node_numbers_bind_trouble(numbers, TWIN);

	assert_string_equal(text ? text : "none", trouble ? trouble : "none");
	node_numbers_free(numbers);
}

/* Another card is in the slot, so that the device is there; it has no node. */
static void the_next_process_knows_the_numbers(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = folder_path(&scene->stage.folder, "node-numbers.json");
	struct node_numbers *numbers;
	struct json_strs ids = { 0 };
	auto_free char *text = NULL;
	char *boot;

	scene->node.this_node.helper.state_dir = scene->stage.folder.path;
	set_node(scene, "13", NULL);
	numbers = next_process(scene);
	json_strs_add(&ids, NIC);
	node_numbers_allocate(numbers, &ids);
	node_numbers_free(numbers);
	assert_next(scene, NULL);
	set_node(scene, "12", NULL);
	assert_next(scene, NEXT);
	assert_next(scene, NEXT); /* and the one after that */

	numbers = next_process(scene);
	node_numbers_allocate(numbers, &ids); /* to another pod */
	text = node_numbers_bind_trouble(numbers, TWIN);
	assert_null(text);
	node_numbers_free(numbers);
	json_strs_done(&ids);
	assert_next(scene, NULL);

	set_node(scene, "12", A);
	assert_next(scene, NULL);
	set_node(scene, "12", NULL);
	assert_int_equal(file_read(AT_FDCWD, path, 4096, &text, NULL, NULL), 0);
	boot = strstr(text, "\"boot\":\"");
	assert_non_null(boot);
	boot[strlen("\"boot\":\"")] ^= 1;
	folder_put(&scene->stage.folder, "node-numbers.json", text);
	assert_next(scene, NULL); /* of another boot */
	folder_put(&scene->stage.folder, "node-numbers.json", "{\"boot\":7,\"given\":[]}");
	assert_next(scene, NULL);
	scene->node.this_node.helper.state_dir = NULL;
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "the rest of a group is offered to no other pod",
		  the_rest_of_a_group_is_offered_to_no_other_pod, NULL);
	suite_add(&suite, "a pod keeps the rest of its own group",
		  a_pod_keeps_the_rest_of_its_own_group, NULL);
	suite_fixture(&suite, &apart_fixture);
	suite_add(&suite, "the number that a listed pod has is offered to nobody",
		  a_listed_pods_number_is_offered_to_nobody, NULL);
	suite_add(&suite, "Allocate looks at the number itself",
		  allocate_looks_at_the_number_itself, NULL);
	suite_add(&suite, "so is that of a pod that no list names yet",
		  so_is_that_of_a_pod_that_no_list_names_yet, NULL);
	suite_add(&suite, "the old number stays taken when the device comes back",
		  the_old_number_stays_taken_when_the_device_comes_back, NULL);
	suite_add(&suite, "what is allocated again has the number that it has now",
		  what_is_allocated_again_has_the_number_that_it_has_now, NULL);
	suite_add(&suite, "a function's own node counts likewise",
		  a_functions_own_node_counts_likewise, NULL);
	suite_add(&suite, "of a number that is not known any may be the one",
		  of_a_number_that_is_not_known_any_may_be_the_one, NULL);
	suite_add(&suite, "but what a pod has it has", but_what_a_pod_has_it_has, NULL);
	suite_add(&suite, "the checkpoint's word counts while the kubelet is silent",
		  the_checkpoints_word_counts_while_the_kubelet_is_silent, NULL);
	suite_add(&suite, "a device without a node has no number",
		  a_device_without_a_node_has_no_number, NULL);
	suite_add(&suite, "a node that is not shown has one that is not known",
		  a_node_that_is_not_shown_has_one_that_is_not_known, NULL);
	suite_add(&suite, "a stick's number is offered to nobody",
		  a_sticks_number_is_offered_to_nobody, NULL);
	suite_add(&suite, "of a stick whose number is not known none is feared",
		  of_a_stick_whose_number_is_not_known_none_is_feared, NULL);
	suite_add(&suite, "a function that is gone does not hold sticks back",
		  a_function_that_is_gone_does_not_hold_sticks_back, NULL);
	suite_add(&suite, "what is allocated in parts has the numbers of all",
		  what_is_allocated_in_parts_has_the_numbers_of_all, NULL);
	suite_add(&suite, "nothing is bound while a number is left to a pod",
		  nothing_is_bound_while_a_number_is_left_to_a_pod, NULL);
	suite_add(&suite, "as it is by a device that came back",
		  as_it_is_by_a_device_that_came_back, NULL);
	suite_add(&suite, "a number that is not known may be the next",
		  a_number_that_is_not_known_may_be_the_next, NULL);
	suite_add(&suite, "what a pod has is bound again", what_a_pod_has_is_bound_again, NULL);
	suite_add(&suite, "a pod may get its own number back", a_pod_may_get_its_own_number_back,
		  NULL);
	suite_add(&suite, "a stick that is gone hinders no bind",
		  a_stick_that_is_gone_hinders_no_bind, NULL);
	suite_add(&suite, "the next process knows the numbers", the_next_process_knows_the_numbers,
		  NULL);
	return suite_run(&suite, "node_numbers");
}
