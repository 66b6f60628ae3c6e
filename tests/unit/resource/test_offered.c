/* offered: offers in the Node's status.allocatable. */
#include "agent/resource/offered.h"

#include "agent/plugin/device_type.h"
#include "agent/resource/pci_type.h"
#include "api/json_values.h"
#include "api/names.h"
#include "fake/fake_clock.h"
#include "unit/resource/offers_scene.h"

static const char *const pair[NODE1_LINES] = { FUNCTION(NIC, "vfio-pci", "12", ""),
					       FUNCTION(TWIN, "vfio-pci", "13", "") };

#define WAITS                                                                               \
	"'passthroughEnabled':true,'conditions':[{'type':'Ready','status':'False','reason'" \
	":'NotOffered','message':'it is not there yet'}]"

/* The Node lists @quantity of MODEL; NULL: none. */
static bool node_lists(struct scene *scene, const char *quantity)
{
	struct json_pairs list = { 0 };
	bool changed;

	json_pairs_set(&list, "cpu", "8");
	if (quantity)
		json_pairs_set(&list, MODEL, quantity);
	changed = offers_set_allocatable(scene->offers, &list);
	json_pairs_done(&list);
	return changed;
}

/* Both functions are claimed, and wait for the kubelet. */
static struct scene *scene_of_two(void)
{
	struct scene *scene = scene_of(pair);

	node1_nodes(&scene->node, "13");
	node1_claim(&scene->node, NIC_CLAIM("", "", WAITS));
	node1_claim(&scene->node, TWIN_CLAIM("", "", WAITS));
	kubelet_start(&scene->kubelet);
	offers_begin(scene, false);
	await_stream(scene);
	settle(scene);
	return scene;
}

static enum offered_state state_of(struct scene *scene, const char *address)
{
	return offers_answer(scene->offers, address).state;
}

static void a_claim_that_waits_for_the_kubelet_is_healthy_for_it(void **state)
{
	struct scene *scene = scene_of_two();
	struct offered_answer answer = offers_answer(scene->offers, NIC);

	assert_int_equal(scene->kubelet.unhealthy, 0);
	assert_string_equal(answer.resource, MODEL);
	assert_null(answer.trouble);
	assert_null(answer.owner);
	scene_free(scene);
}

/* The kubelet is reported so, and the claim is not told what it says itself: its next status may
 * say otherwise already. */
static void what_the_claim_says_itself_is_no_trouble_of_its(void **state)
{
	struct scene *scene = scene_of_two();
	struct offered_answer answer;

	node_lists(scene, "2");
	node1_claim(&scene->node, NIC_CLAIM("", "", "'passthroughEnabled':false"));
	offers_update(scene->offers);
	settle(scene);
	assert_int_equal(scene->kubelet.unhealthy, 1);
	answer = offers_answer(scene->offers, NIC);
	assert_int_equal(answer.state, OFFERED_NOT_YET);
	assert_string_equal(answer.resource, MODEL);
	assert_null(answer.trouble);
	scene_free(scene);
}

static void the_node_lists_as_many_as_are_offered(void **state)
{
	static const struct {
		const char *quantity;
		enum offered_state state;
	} rows[] = {
		{ NULL, OFFERED_NOT_YET }, { "0", OFFERED_NOT_YET }, { "1", OFFERED_NOT_YET },
		{ "2", OFFERED },          { "3", OFFERED },         { "1k", OFFERED },
		{ "k", OFFERED_NOT_YET },  { "", OFFERED_NOT_YET },  { "2Gi", OFFERED_NOT_YET },
	};
	struct scene *scene = scene_of_two();

	assert_int_equal(state_of(scene, NIC), OFFERED_NOT_YET); /* no Node seen */
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		node_lists(scene, rows[i].quantity);
		assert_int_equal(state_of(scene, NIC), rows[i].state);
		assert_int_equal(state_of(scene, TWIN), rows[i].state);
	}
	assert_int_equal(state_of(scene, "0000:03:00.0"), OFFERED_NOT_YET);
	scene_free(scene);
}

static void a_node_without_a_kubelet_offers_nothing(void **state)
{
	struct scene *scene = scene_of_two();

	offers_set_allocatable(scene->offers, NULL);
	assert_int_equal(state_of(scene, NIC), OFFERED_BY_NOBODY);
	node_lists(scene, "2");
	assert_int_equal(state_of(scene, NIC), OFFERED);
	scene_free(scene);
}

static void without_a_kubelets_folder_too(void **state)
{
	struct scene *scene = scene_new();

	kubelet_start(&scene->kubelet);
	offers_begin(scene, true);
	node_lists(scene, "2");
	assert_int_equal(state_of(scene, NIC), OFFERED_BY_NOBODY);
	assert_true(offers_can_allocate(scene->offers, &pci_device_type, "example.com/other", NIC));
	scene_free(scene);
}

static bool is_offered(const struct scene *scene, const char *resource, const char *address)
{
	return offers_can_allocate(scene->offers, &pci_device_type, resource, address);
}

static void a_device_is_offered_once_the_node_lists_a_unit(void **state)
{
	static const struct {
		const char *quantity;
		bool counts;
		bool changed;
	} rows[] = { { NULL, false, true }, { "0", false, true }, { "1", true, true },
		     { "1", true, false },  { "1k", true, true }, { "k", false, true } };
	struct scene *scene = scene_of_two();

	assert_false(is_offered(scene, MODEL, NIC)); /* no Node seen */
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(node_lists(scene, rows[i].quantity), rows[i].changed);
		assert_int_equal(is_offered(scene, MODEL, NIC), rows[i].counts);
		assert_false(is_offered(scene, "example.com/other", NIC));
	}
	assert_true(offers_set_no_node(scene->offers, NULL));
	assert_false(offers_set_no_node(scene->offers, NULL));
	assert_true(is_offered(scene, MODEL, NIC));
	assert_true(offers_set_no_node(scene->offers, "HTTP 403"));
	assert_true(is_offered(scene, MODEL, NIC));
	assert_true(offers_set_allocatable(scene->offers, NULL));
	assert_true(is_offered(scene, MODEL, NIC));
	scene_free(scene);
}

static void count_list(void *arg)
{
	(*(unsigned *)arg)++;
}

static void offer_nothing(void *arg, struct plugins *plugins)
{
	(void)arg;
	(void)plugins;
}

/* The Node still counts what went: what came instead is offered once the kubelet has it on its
 * list. */
static void what_the_kubelet_does_not_list_is_not_offered(void **state)
{
	static const struct device_type other_type = { .name = "other" };
	struct scene *scene = scene_of(pair);
	unsigned lists = 0;

	node1_nodes(&scene->node, "13");
	node1_claim(&scene->node, NIC_CLAIM("", "", WAITS));
	kubelet_start(&scene->kubelet);
	offers_begin(scene, false);
	offers_add(scene->offers, &(struct offers_type){ .offer = offer_nothing,
							 .listed = count_list,
							 .arg = &lists });
	node_lists(scene, "1");
	assert_false(is_offered(scene, MODEL, NIC));
	assert_int_equal(lists, 0);
	await_stream(scene);
	settle(scene);
	assert_int_equal(lists, 1);
	assert_true(is_offered(scene, MODEL, NIC));
	assert_false(is_offered(scene, MODEL, TWIN));
	assert_false(offers_can_allocate(scene->offers, &other_type, MODEL, NIC));
	scene_free(scene);
}

static void a_waiting_caller_is_notified_once(void **state)
{
	struct scene *scene = scene_of_two();

	node_lists(scene, "1");
	assert_int_equal(state_of(scene, NIC), OFFERED_NOT_YET);
	str_clear(&scene->stage.log);
	node_lists(scene, "1");
	offers_update(scene->offers);
	assert_string_equal(str_cstr(&scene->stage.log), "");
	node_lists(scene, "2");
	assert_string_equal(str_cstr(&scene->stage.log), "offered " NIC "|");
	node_lists(scene, "3");
	assert_string_equal(str_cstr(&scene->stage.log), "offered " NIC "|");
	scene_free(scene);
}

static void a_waiting_caller_learns_what_is_wrong(void **state)
{
	struct scene *scene = scene_of_two();
	auto_free char *path = folder_path(&scene->node.folder, "dev/vfio/12");
	struct offered_answer answer;

	node_lists(scene, "1");
	assert_int_equal(state_of(scene, NIC), OFFERED_NOT_YET);
	str_clear(&scene->stage.log);
	assert_int_equal(unlink(path), 0);
	offers_update(scene->offers);
	assert_true(told(scene, "offered " NIC "|"));
	answer = offers_answer(scene->offers, NIC);
	assert_int_equal(answer.state, OFFERED_NOT_YET);
	assert_string_equal(answer.trouble, "/dev/vfio/12 is not there");
	assert_false(answer.group_taken || answer.held);
	assert_int_equal(state_of(scene, TWIN), OFFERED); /* one is healthy, and one is listed */
	scene_free(scene);
}

/* It counts for some seconds after it was withdrawn, and the kubelet knows nothing of it yet when
 * it is claimed again. */
static void what_the_node_still_lists_is_not_offered_before_the_kubelet_has_it(void **state)
{
	struct scene *scene = scene_of(pair);

	node1_nodes(&scene->node, "13");
	node1_claim(&scene->node, TWIN_CLAIM("", "", READY_OF("True")));
	scene->kubelet.mood = KUBELET_HANGS;
	kubelet_start(&scene->kubelet);
	offers_begin(scene, false);
	node_lists(scene, "2");
	settle(scene);
	assert_int_equal(state_of(scene, NIC), OFFERED_NOT_YET);
	str_clear(&scene->stage.log);
	kubelet_call_back(&scene->kubelet);
	await_stream(scene);
	settle(scene);
	assert_true(told(scene, "offered " NIC "|"));
	assert_int_equal(state_of(scene, NIC), OFFERED);
	scene_free(scene);
}

static void what_is_offered_is_reported_when_something_is_wrong_and_when_no_more(void **state)
{
	struct scene *scene = scene_of_two();
	auto_free char *path = folder_path(&scene->node.folder, "dev/vfio/12");
	struct offered_answer answer;

	node_lists(scene, "2");
	assert_int_equal(state_of(scene, NIC), OFFERED);
	assert_int_equal(state_of(scene, TWIN), OFFERED);
	str_clear(&scene->stage.log);
	assert_int_equal(unlink(path), 0);
	offers_update(scene->offers);
	assert_string_equal(str_cstr(&scene->stage.log), "offered " NIC "|");
	answer = offers_answer(scene->offers, NIC);
	assert_int_equal(answer.state, OFFERED_NOT_YET);
	assert_string_equal(answer.trouble, "/dev/vfio/12 is not there");
	str_clear(&scene->stage.log);
	node1_nodes(&scene->node, "12");
	offers_update(scene->offers);
	assert_string_equal(str_cstr(&scene->stage.log), "offered " NIC "|");
	assert_int_equal(state_of(scene, NIC), OFFERED);
	scene_free(scene);
}

static void a_kubelet_that_restarts_wakes_nobody_who_knows_it_offered(void **state)
{
	struct scene *scene = scene_of_two();

	node_lists(scene, "2");
	assert_int_equal(state_of(scene, NIC), OFFERED);
	str_clear(&scene->stage.log);
	node_lists(scene, "0");
	node_lists(scene, "2");
	assert_string_equal(str_cstr(&scene->stage.log), "");
	node_lists(scene, "0");
	assert_int_equal(state_of(scene, NIC), OFFERED_NOT_YET);
	node_lists(scene, "2");
	assert_string_equal(str_cstr(&scene->stage.log), "offered " NIC "|");
	scene_free(scene);
}

static void another_name_is_reported(void **state)
{
	struct scene *scene = scene_of_two();
	struct offered_answer answer;

	node_lists(scene, "2");
	assert_int_equal(state_of(scene, NIC), OFFERED);
	str_clear(&scene->stage.log);
	node1_claim(&scene->node,
		    NIC_CLAIM(",'annotations':{'" NAMES_ANNOTATION_RESOURCE_NAME "':'a.io/b'}", "",
			      READY_OF("True")));
	offers_update_soon(scene->offers);
	settle(scene);
	assert_true(told(scene, "offered " NIC "|"));
	answer = offers_answer(scene->offers, NIC);
	assert_string_equal(answer.resource, "a.io/b");
	assert_int_equal(answer.state, OFFERED_NOT_YET);
	scene_free(scene);
}

static void a_node_that_is_gone_or_unreadable_is_reported(void **state)
{
	struct scene *scene = scene_of_two();

	node_lists(scene, "2");
	assert_int_equal(state_of(scene, NIC), OFFERED);
	str_clear(&scene->stage.log);
	offers_set_no_node(scene->offers, NULL);
	assert_string_equal(str_cstr(&scene->stage.log), "offered " NIC "|");
	assert_int_equal(state_of(scene, NIC), OFFERED_NODE_GONE);
	offers_set_no_node(scene->offers, "HTTP 403");
	assert_int_equal(state_of(scene, NIC), OFFERED_NODE_UNREADABLE);
	assert_string_equal(offers_answer(scene->offers, NIC).denied, "HTTP 403");
	str_clear(&scene->stage.log);
	node_lists(scene, "2");
	assert_string_equal(str_cstr(&scene->stage.log), "offered " NIC "|");
	assert_int_equal(state_of(scene, NIC), OFFERED);
	scene_free(scene);
}

/* Two functions of one group, and podresources that answers. */
static struct scene *scene_of_group(void)
{
	static const char *const group[NODE1_LINES] = { FUNCTION(NIC, "vfio-pci", "12", ""),
							FUNCTION(TWIN, "vfio-pci", "12", "") };
	struct scene *scene = scene_of(group);

	node1_claim(&scene->node, TWIN_CLAIM("", "", READY_OF("True")));
	kubelet_start(&scene->kubelet);
	pods_serve(scene);
	offers_begin(scene, false);
	await_stream(scene);
	node_lists(scene, "2");
	pass(scene, 2000);
	assert_int_equal(state_of(scene, NIC), OFFERED);
	assert_int_equal(state_of(scene, TWIN), OFFERED);
	return scene;
}

static void a_pod_takes_the_group_but_what_it_has_itself_is_held(void **state)
{
	struct scene *scene = scene_of_group();
	struct offered_answer answer;

	give(scene, "vm-1");
	allocate(scene);
	pass(scene, 5000);
	assert_true(told(scene, "offered " TWIN "|"));
	answer = offers_answer(scene->offers, TWIN);
	assert_int_equal(answer.state, OFFERED_NOT_YET);
	assert_true(answer.group_taken && !answer.held);
	assert_null(strstr(answer.trouble, "vm-1"));
	answer = offers_answer(scene->offers, NIC);
	assert_null(answer.trouble);
	assert_true(answer.held);

	/* podresources that comes and goes is no news */
	for (int i = 0; i < 3; i++) {
		scene->pods = grpc_uv_server_free(scene->pods);
		pass(scene, 40000);
		pods_serve(scene);
		pass(scene, 40000);
	}
	assert_false(told(scene, "offered "));

	list_none(scene);
	pass(scene, 60000);
	assert_true(told(scene, "offered " TWIN "|"));
	assert_int_equal(state_of(scene, TWIN), OFFERED);
	scene_free(scene);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "what the claim says itself is no trouble of its",
		  what_the_claim_says_itself_is_no_trouble_of_its, NULL);
	suite_add(&suite, "a claim that waits for the kubelet is healthy for it",
		  a_claim_that_waits_for_the_kubelet_is_healthy_for_it, NULL);
	suite_add(&suite, "the Node lists as many as are offered",
		  the_node_lists_as_many_as_are_offered, NULL);
	suite_add(&suite, "a Node without a kubelet offers nothing",
		  a_node_without_a_kubelet_offers_nothing, NULL);
	suite_add(&suite, "without a kubelet's folder too", without_a_kubelets_folder_too, NULL);
	suite_add(&suite, "a device is offered once the Node lists a unit",
		  a_device_is_offered_once_the_node_lists_a_unit, NULL);
	suite_add(&suite, "what the kubelet does not list is not offered",
		  what_the_kubelet_does_not_list_is_not_offered, NULL);
	suite_add(&suite, "a waiting caller is notified once", a_waiting_caller_is_notified_once,
		  NULL);
	suite_add(&suite, "a waiting caller learns what is wrong",
		  a_waiting_caller_learns_what_is_wrong, NULL);
	suite_add(&suite, "what the Node still lists is not offered before the kubelet has it",
		  what_the_node_still_lists_is_not_offered_before_the_kubelet_has_it, NULL);
	suite_add(&suite, "what is offered is reported when something is wrong and when no more",
		  what_is_offered_is_reported_when_something_is_wrong_and_when_no_more, NULL);
	suite_add(&suite, "a kubelet that restarts wakes nobody who knows it offered",
		  a_kubelet_that_restarts_wakes_nobody_who_knows_it_offered, NULL);
	suite_add(&suite, "another name is reported", another_name_is_reported, NULL);
	suite_add(&suite, "a Node that is gone or unreadable is reported",
		  a_node_that_is_gone_or_unreadable_is_reported, NULL);
	suite_add(&suite, "a pod takes the group, but what it has itself is held",
		  a_pod_takes_the_group_but_what_it_has_itself_is_held, NULL);
	return suite_run(&suite, "offered");
}
