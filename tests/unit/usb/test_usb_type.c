/* usb_type: which claimed USB devices are offered, when they are well, and what a container
 * gets. */
#include "agent/usb/usb_type.h"

#include "agent/inventory/use_log.h"
#include "fake/fake_clock.h"
#include "unit/usb/usb_type_scene.h"

#define UNSEEN "{'kind':'use','usb':'1-2','reason':'Unknown','detail':'eth9 may be an uplink'}"
#define OVERRIDING                                                                                \
	CLAIM_OF(STICK,                                                                           \
		 "," MARKED "," OWNED ",'annotations':{'hostdev.io/allow-host-critical':'true'}", \
		 KNOWN("1-2", "A"))

/* --- what is offered -------------------------------------------------------------------------- */

static struct offer_case {
	const char *name;
	const char *claim;
	const char *plugged;
	const char *line;
	unsigned node; /* the one that there is */
	const char *offers;
} offers[] = {
	/* clang-format off */
	{ "a claimed device is offered as a resource of its own, by its port", MINE, "1-2=5:A", NULL, 5,
	  RESOURCE ": 1-2" },
	{ "with other numbers it is the same", MINE, "1-2=77:A", NULL, 77, RESOURCE ": 1-2" },
	{ "what nobody claims is not offered", NULL, "1-2=5:A", NULL, 5, "" },
	{ "a claim that does not say its device yet offers nothing", CLAIM(STICK, "'nodeName':'node1'"), "1-2=5:A", NULL,
	  5, "" },
	{ "a claim without its mark offers nothing", CLAIM_OF(STICK, "", KNOWN("1-2", "A")), "1-2=5:A", NULL, 5, "" },
	{ "another node's claim is its own", CLAIM(STICK, "'nodeName':'node2','portPath':'1-2'"), "1-2=5:A", NULL, 5, "" },
	{ "an empty socket", MINE, "", NULL, 5, RESOURCE ": 1-2! (its port is empty)" },
	{ "kubevirt-contract 1.5: an unplug is seen by the node alone, before any scan", MINE, "1-2=5:A", NULL, 6,
	  RESOURCE ": 1-2! (/dev/bus/usb/001/005 is not there)" },
	{ "another device in the socket", MINE, "1-2=5:B", NULL, 5, RESOURCE ": 1-2! (another device is in its port)" },
	{ "the device in another socket, which its claim does not say yet", MINE, "1-3=5:A", NULL, 5,
	  RESOURCE ": 1-2! (its port is empty)" },
	{ "a claim that is being deleted takes no new pod", DELETED, "1-2=5:A", NULL, 5,
	  RESOURCE ": 1-2! (its USBDeviceClaim is being deleted)" },
	{ "what the node mounted meanwhile", MINE, "1-2=5:A", MOUNTED, 5,
	  RESOURCE ": 1-2! (the node needs it: sdb1 is mounted at /mnt)" },
	{ "of which nobody knows whether the node needs it", MINE, "1-2=5:A", UNSEEN, 5,
	  RESOURCE ": 1-2! (the node needs it: eth9 may be an uplink)" },
	{ "unless its claim overrides that", OVERRIDING, "1-2=5:A", UNSEEN, 5, RESOURCE ": 1-2" },
	{ "which lifts no use that is known", OVERRIDING, "1-2=5:A", MOUNTED, 5,
	  RESOURCE ": 1-2! (the node needs it: sdb1 is mounted at /mnt)" },
	/* clang-format on */
};

static void is_offered(void **state)
{
	const struct offer_case *row = suite_row(state);
	struct scene *scene = *state;

	scene_open(scene, row->claim);
	nodes_make(row->node);
	if (row->line)
		sticks_line(&scene->node, row->line);
	scene_scan(scene, row->plugged);
	assert_offers(scene, row->offers);
	scene->this_node.inventory = NULL; /* nothing is known: nothing is offered */
	assert_offers(scene, "");
}

static void an_unplugged_device_is_well_again_when_it_is_back(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	nodes_make(5);
	scene_scan(scene, "1-2=5:A");
	assert_offers(scene, RESOURCE ": 1-2");
	nodes_remove(5);
	assert_offers(scene, RESOURCE ": 1-2! (/dev/bus/usb/001/005 is not there)");
	scene_again(scene, "");
	assert_offers(scene, RESOURCE ": 1-2! (its port is empty)");
	nodes_make(6);
	scene_again(scene, "1-2=6:A");
	assert_offers(scene, RESOURCE ": 1-2");
}

static void a_number_that_a_pod_has_is_offered_to_nobody(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	nodes_make(5);
	scene_scan(scene, "1-2=5:A");
	stage.numbered = true;
	assert_offers(scene, RESOURCE ": 1-2! (a pod has its number)");
	assert_refuses(scene, RESOURCE, "1-2", -EHOSTDOWN, "a pod has its number");
	assert_owner(5, "0:0");
}

/* The kubelet has forgotten the pod, which was deleted by force, before it has ended its
 * processes. */
static void no_container_starts_beside_a_process_of_a_former_pod(void **state)
{
	struct scene *scene = *state;
	struct json_strs ids = { 0 };

	scene_open(scene, MINE);
	nodes_make(5);
	scene_scan(scene, "1-2=5:A");
	assert_allocates(scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	stage.left = "1-2";
	json_strs_add(&ids, "1-2");
	assert_same_nodes(&usb_device_type, scene->type, &ids, NULL, "a process has 1-2");
	assert_true(usb_device_type.is_busy(scene->type, "1-2"));
	stage.left = "1-3";
	assert_false(usb_device_type.is_busy(scene->type, "1-2"));
	assert_allocates(scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	json_strs_done(&ids);
}

/* --- Allocate --------------------------------------------------------------------------------- */

/* harvester-api 3.3, kubevirt-contract 1.6 (3). */
static void a_container_gets_the_node_of_now(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	nodes_make(5);
	scene_scan(scene, "1-2=5:A");
	assert_allocates(scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	nodes_remove(5);
	nodes_make(41);
	scene_again(scene, "1-2=41:A");
	assert_allocates(scene, RESOURCE, "1-2", ENV "=1:41 /dev/bus/usb/001/041:mrw");
	assert_owner(41, "107:107");
}

/* Between the unplug and the scan that follows. */
static void a_device_that_was_plugged_again_just_now_is_an_error(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	nodes_make(5);
	scene_scan(scene, "1-2=5:A");
	nodes_remove(5);
	nodes_make(6);
	assert_refuses(scene, RESOURCE, "1-2", -EHOSTDOWN, "005 is not there");
	assert_owner(6, "0:0");
}

/* The numbers of a bus come around: another device has them, and no scan has seen it yet. */
static void a_node_of_the_same_number_is_not_the_same_device(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	nodes_make(5);
	scene_scan(scene, "1-2=5:A");
	nodes_remove(5);
	nodes_make(5);
	assert_refuses(scene, RESOURCE, "1-2", -ESTALE, "plugged in again");
	assert_owner(5, "0:0");
}

/* harvester-api 3.3: the ID in the request is ignored. */
static void an_id_that_is_not_ours_is_an_error(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	nodes_make(5);
	scene_scan(scene, "1-2=5:A");
	assert_refuses(scene, RESOURCE, "1-3", -ENODEV, "'1-3' is no device of");
	assert_refuses(scene, "kubevirt.io/other", "1-2", -ENODEV, "kubevirt.io/other");
	assert_owner(5, "0:0");
}

static void a_node_whose_owner_cannot_be_changed_fails_the_pod(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	nodes_make(5);
	scene_scan(scene, "1-2=5:A");
	nodes()->refuse = EPERM;
	assert_refuses(scene, RESOURCE, "1-2", -EPERM, "change the owner of");
}

/* A file system that is remounted is away for some milliseconds. No pod may get the disk then. */
static void what_the_node_used_a_moment_ago_is_not_offered(void **state)
{
	struct fake_clock *clock = fake_clock_new();
	struct use_log *uses = use_log_new();
	struct scene *scene = *state;

	scene_open(scene, MINE);
	scene->this_node.clock = fake_clock_as_clock(clock);
	scene->view.uses = uses;
	nodes_make(5);
	scene_scan(scene, "1-2=5:A");
	use_log_scan(uses, clock_now_ms(scene->this_node.clock));
	use_log_add(uses, "1-2", "InUse");
	fake_clock_advance(clock, 60000);
	use_log_scan(uses, clock_now_ms(scene->this_node.clock));
	fake_clock_advance(clock, USE_LOG_FREE_MS - 1);
	assert_offers(scene,
		      RESOURCE ": 1-2! (the node used it a moment ago: it is offered when it "
			       "has been free for 5 s)");
	assert_refuses(scene, RESOURCE, "1-2", -EHOSTDOWN, "a moment ago");
	scene_select(scene, "a.io/stick", 1);
	store_remove(scene->node.claims, STICK, NULL, object_ignore_change, NULL);
	assert_offers(scene,
		      "a.io/stick: 1-2! (the node used it a moment ago: it is offered when it "
		      "has been free for 5 s)");
	fake_clock_advance(clock, 1);
	assert_offers(scene, "a.io/stick: 1-2");
	use_log_free(uses);
	fake_clock_free(clock);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_rows(&suite, offers, is_offered);
	suite_add(&suite, "harvester-api 3.3: an unplugged device is well again when it is back",
		  an_unplugged_device_is_well_again_when_it_is_back, NULL);
	suite_add(&suite,
		  "kubevirt-contract 1.6 (3): a unit outlives a re-plug, its container gets the "
		  "node of now",
		  a_container_gets_the_node_of_now, NULL);
	suite_add(&suite, "a number that a pod has is offered to nobody",
		  a_number_that_a_pod_has_is_offered_to_nobody, NULL);
	suite_add(&suite, "no container starts beside a process of a former pod",
		  no_container_starts_beside_a_process_of_a_former_pod, NULL);
	suite_add(&suite, "a device that was plugged in again just now is an error",
		  a_device_that_was_plugged_again_just_now_is_an_error, NULL);
	suite_add(&suite, "a node of the same number is not the same device",
		  a_node_of_the_same_number_is_not_the_same_device, NULL);
	suite_add(&suite, "harvester-api 3.3: an ID that is not ours is an error",
		  an_id_that_is_not_ours_is_an_error, NULL);
	suite_add(&suite, "a node whose owner cannot be changed fails the pod",
		  a_node_whose_owner_cannot_be_changed_fails_the_pod, NULL);
	suite_add(&suite, "what the node used a moment ago is not offered",
		  what_the_node_used_a_moment_ago_is_not_offered, NULL);
	return suite_run(&suite, "usb_type");
}
