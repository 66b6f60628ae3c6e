/* usb_type: whose the nodes of USB devices are: a pod's while it has the device, and then whose
 * they were. */
#include "agent/usb/usb_type.h"

#include "base/log.h"
#include "unit/usb/usb_type_scene.h"

/* harvester-api 3.3: the chown is never undone. */
static void the_owner_of_a_node_is_restored_when_no_pod_has_it(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	nodes_make(5);
	nodes()->items[0].gid = 46;
	scene_scan(scene, "1-2=5:A");
	assert_allocates(scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	stage.held = "1-2";
	scene_offer(scene);
	assert_owner(5, "107:107");
	assert_true(usb_type_has_changed_nodes(scene->type));
	stage.held = NULL;
	stage.unknown = true; /* the kubelet is asked again */
	scene_offer(scene);
	assert_owner(5, "107:107");
	stage.unknown = false;
	scene_offer(scene);
	assert_owner(5, "0:46");
	assert_false(usb_type_has_changed_nodes(scene->type));
}

static void restart(struct scene *scene)
{
	usb_type_free(scene->type);
	scene->type = usb_type_new(&scene->view);
	usb_type_seen(scene->type);
}

/* The kubelet did not list the pod for longer than is waited for. */
static void a_pod_that_is_listed_again_gets_its_node_again(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	nodes_make(5);
	nodes()->items[0].gid = 46;
	scene_scan(scene, "1-2=5:A");
	assert_allocates(scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	scene_offer(scene);
	assert_owner(5, "0:46");
	stage.held = "1-2";
	restart(scene); /* nothing needs to be remembered for it */
	scene_offer(scene);
	assert_owner(5, "107:107");
	nodes()->items[0].uid = 0; /* udev's rule was carried out again */
	scene_offer(scene);
	assert_owner(5, "107:107");
	stage.held = NULL;
	scene_offer(scene);
	assert_owner(5, "0:46");
}

/* The device in the socket is not the one that the pod was given. */
static void a_listed_pod_gets_no_node_of_another_device(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	nodes_make(5);
	scene_scan(scene, "1-2=5:B");
	stage.held = "1-2";
	scene_offer(scene);
	assert_owner(5, "0:0");
	scene_again(scene, "1-2=5:A");
	nodes_remove(5);
	nodes_make(5); /* created again since the scan */
	log_set_level(LOG_ERROR);
	scene_offer(scene);
	assert_owner(5, "0:0");
}

static void the_owner_of_a_node_is_restored_with_its_claim(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	nodes_make(5);
	scene_scan(scene, "1-2=5:A");
	assert_allocates(scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	usb_type_restore_node(scene->type, "1-3");
	assert_owner(5, "107:107");
	usb_type_restore_node(scene->type, "1-2");
	assert_owner(5, "0:0");
}

/* Its entry is removed and the agent killed: nothing is offered, and the pod still has the
 * device. */
static void an_owner_that_an_earlier_agent_changed_is_restored(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, NULL);
	scene_select(scene, "a.io/stick", 1);
	nodes_make(5);
	scene_scan(scene, "1-2=5:A");
	scene_offer(scene);
	assert_allocates(scene, "a.io/stick", "1-2",
			 "USB_RESOURCE_A_IO_STICK=1:5 /dev/bus/usb/001/005:mrw");
	stage.held = "1-2";
	scene->view.config = NULL;
	restart(scene);
	assert_true(usb_type_has_changed_nodes(scene->type));
	assert_offers(scene, "");
	assert_owner(5, "107:107");
	stage.held = NULL;
	scene_offer(scene);
	assert_owner(5, "0:0");
	nodes()->items[0].uid = nodes()->items[0].gid = 107; /* somebody else's from now on */
	restart(scene);
	scene_offer(scene);
	assert_owner(5, "107:107");
}

/* A rule of udev's or another plugin gave it. */
static void an_owner_that_something_else_set_stays(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	nodes_make(5);
	nodes()->items[0].uid = nodes()->items[0].gid = 107;
	scene_scan(scene, "1-2=5:A");
	assert_allocates(scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	stage.held = "1-2";
	scene_offer(scene);
	stage.held = NULL;
	scene_offer(scene);
	assert_owner(5, "107:107");
	assert_false(usb_type_has_changed_nodes(scene->type));
}

static void its_owner_is_known_after_a_restart(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	nodes_make(5);
	nodes()->items[0].uid = 33;
	nodes()->items[0].gid = 46;
	scene_scan(scene, "1-2=5:A");
	assert_allocates(scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	stage.held = "1-2";
	restart(scene);
	scene_offer(scene);
	restart(scene); /* nor does the second one forget it */
	scene_offer(scene);
	assert_owner(5, "107:107");
	stage.held = NULL;
	scene_offer(scene);
	assert_owner(5, "33:46");
}

static void a_record_of_another_node_counts_for_nothing(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	nodes_make(5);
	nodes()->items[0].gid = 46;
	scene_scan(scene, "1-2=5:A");
	assert_allocates(scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	nodes_remove(5);
	nodes_make(5);
	nodes()->items[1].uid = nodes()->items[1].gid = 107;
	restart(scene);
	scene_offer(scene);
	assert_owner(5, "107:107");
	assert_false(usb_type_has_changed_nodes(scene->type));
}

/* Of the boot before, in which by chance the node had the same number. */
static void a_record_of_another_boot_counts_for_nothing(void **state)
{
	auto_free char *record = NULL;
	struct scene *scene = *state;

	scene_open(scene, MINE);
	nodes_make(5);
	scene_scan(scene, "1-2=5:A");
	assert_allocates(scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	record = xasprintf("{\"devicePath\":\"/dev/bus/usb/001/005\",\"inode\":%llu,\"uid\":0,"
			   "\"gid\":0,\"boot\":\"0\"}",
			   (unsigned long long)nodes()->items[0].inode);
	folder_put(&nodes()->folder, "state/usb-nodes/1-2.json", record);
	restart(scene);
	scene_offer(scene);
	assert_owner(5, "107:107");
}

/* Without its record it would stay the pod's for good. */
static void the_record_of_a_node_that_cannot_be_read_stays(void **state)
{
	auto_free char *away = NULL;
	struct scene *scene = *state;

	scene_open(scene, MINE);
	nodes_make(5);
	nodes()->items[0].gid = 46;
	scene_scan(scene, "1-2=5:A");
	assert_allocates(scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	away = folder_path(&nodes()->folder, "away");
	assert_int_equal(rename(nodes()->dev, away), 0);
	assert_int_equal(symlink("dev", nodes()->dev), 0);
	restart(scene);
	assert_int_equal(unlink(nodes()->dev), 0);
	assert_int_equal(rename(away, nodes()->dev), 0);
	restart(scene);
	scene_offer(scene);
	assert_owner(5, "0:46");
}

static void a_pipe_among_the_records_does_not_block(void **state)
{
	auto_free char *pipe_path = NULL;
	struct scene *scene = *state;

	scene_open(scene, MINE);
	nodes_make(5);
	nodes()->items[0].gid = 46;
	scene_scan(scene, "1-2=5:A");
	assert_allocates(scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	pipe_path = folder_path(&nodes()->folder, "state/usb-nodes/1-3.json");
	assert_int_equal(mkfifo(pipe_path, 0600), 0);
	alarm(10); /* ends the program if it waits */
	restart(scene);
	alarm(0);
	scene_offer(scene);
	assert_owner(5, "0:46");
}

static void a_node_whose_owner_cannot_be_recorded_keeps_it(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	folder_put(&nodes()->folder, "state/usb-nodes", "no folder");
	nodes_make(5);
	nodes()->items[0].gid = 46;
	scene_scan(scene, "1-2=5:A");
	assert_refuses(scene, RESOURCE, "1-2", -ENOTDIR,
		       "record the owner of '/dev/bus/usb/001/005'");
	assert_owner(5, "0:46");
	nodes()->items[0].gid = 0;
	assert_refuses(scene, RESOURCE, "1-2", -ENOTDIR,
		       "record the owner of '/dev/bus/usb/001/005'");
}

/* A node that was created again has the kernel's owner, which is not changed. */
static void a_node_of_another_device_is_left_alone(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, MINE);
	nodes_make(5);
	scene_scan(scene, "1-2=5:A");
	assert_allocates(scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	nodes_remove(5);
	nodes_make(5);
	nodes()->items[1].uid = 33;
	scene_offer(scene);
	assert_owner(5, "33:0");
	assert_false(usb_type_has_changed_nodes(scene->type));
}

#define NOT_WRITABLE                                                                                   \
	"its node /dev/bus/usb/001/006 cannot be given to QEMU: the agent needs the capability CHOWN " \
	"and a writable /dev (manifests/components/usb), or a udev rule must set the owner of "        \
	"the node to 107:107"

/* An agent in a pod without CHOWN or with a read-only /dev; the host's rule gives one of the nodes
 * to QEMU. */
static void a_node_whose_owner_cannot_be_changed_is_not_offered(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, NULL);
	scene_select(scene, "a.io/stick", 1);
	nodes_make(5);
	nodes_make(6);
	nodes()->items[0].uid = nodes()->items[0].gid = 107;
	nodes()->fixed = true;
	scene_scan(scene, "1-2=5:A 1-3=6:B");
	assert_offers(scene, "a.io/stick: 1-2 1-3! (" NOT_WRITABLE ")");
	assert_string_equal(
		str_cstr(&stage.troubles),
		"usb[0] a.io/stick NodeNotWritable: the device in port 1-3: " NOT_WRITABLE "|");
	assert_refuses(scene, "a.io/stick", "1-3", -EHOSTDOWN, "the capability CHOWN");
	assert_allocates(scene, "a.io/stick", "1-2",
			 "USB_RESOURCE_A_IO_STICK=1:5 /dev/bus/usb/001/005:mrw");
	nodes()->fixed = false;
	assert_offers(scene, "a.io/stick: 1-2 1-3");
	assert_string_equal(str_cstr(&stage.troubles), "");
}

/* It was removed, or another thing took its place: the unit waits, and the HostDeviceConfig says
 * why. */
static void a_node_that_is_not_the_devices_is_reported(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, NULL);
	scene_select(scene, "a.io/stick", 1);
	nodes_make(5);
	nodes_make(6);
	scene_scan(scene, "1-2=5:A 1-3=6:B");
	assert_offers(scene, "a.io/stick: 1-2 1-3");
	assert_string_equal(str_cstr(&stage.troubles), "");
	nodes_remove(6);
	assert_offers(scene, "a.io/stick: 1-2 1-3! (/dev/bus/usb/001/006 is not there)");
	assert_string_equal(str_cstr(&stage.troubles),
			    "usb[0] a.io/stick NodeMissing: the device in port 1-3: "
			    "/dev/bus/usb/001/006 is not there|");
	folder_put(&nodes()->folder, "dev/bus/usb/001/006", "a file");
#define FOREIGN "/dev/bus/usb/001/006 is not the node of USB device 1:6: leave it to the kernel"
	assert_offers(scene, "a.io/stick: 1-2 1-3! (" FOREIGN ")");
	assert_string_equal(str_cstr(&stage.troubles),
			    "usb[0] a.io/stick NodeUnusable: the device in port 1-3: " FOREIGN "|");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "harvester-api 3.3: the owner of a node is restored when no pod has it",
		  the_owner_of_a_node_is_restored_when_no_pod_has_it, NULL);
	suite_add(&suite, "a pod that is listed again gets its node again",
		  a_pod_that_is_listed_again_gets_its_node_again, NULL);
	suite_add(&suite, "a listed pod gets no node of another device",
		  a_listed_pod_gets_no_node_of_another_device, NULL);
	suite_add(&suite, "a node that is not the device's is reported",
		  a_node_that_is_not_the_devices_is_reported, NULL);
	suite_add(&suite, "the owner of a node is restored with its claim",
		  the_owner_of_a_node_is_restored_with_its_claim, NULL);
	suite_add(&suite, "an owner that an earlier agent changed is restored",
		  an_owner_that_an_earlier_agent_changed_is_restored, NULL);
	suite_add(&suite, "an owner that something else set stays",
		  an_owner_that_something_else_set_stays, NULL);
	suite_add(&suite, "a record of another boot counts for nothing",
		  a_record_of_another_boot_counts_for_nothing, NULL);
	suite_add(&suite, "a pipe among the records does not block",
		  a_pipe_among_the_records_does_not_block, NULL);
	suite_add(&suite, "the record of a node that cannot be read stays",
		  the_record_of_a_node_that_cannot_be_read_stays, NULL);
	suite_add(&suite, "a node whose owner cannot be changed is not offered",
		  a_node_whose_owner_cannot_be_changed_is_not_offered, NULL);
	suite_add(&suite, "whose a given node was is known after a restart",
		  its_owner_is_known_after_a_restart, NULL);
	suite_add(&suite, "a record of another node counts for nothing",
		  a_record_of_another_node_counts_for_nothing, NULL);
	suite_add(&suite, "a node whose owner cannot be recorded keeps it",
		  a_node_whose_owner_cannot_be_recorded_keeps_it, NULL);
	suite_add(&suite, "a node of another device is left alone",
		  a_node_of_another_device_is_left_alone, NULL);
	return suite_run(&suite, "usb_type_nodes");
}
