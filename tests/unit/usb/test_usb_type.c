/* usb_type: which USB devices are offered as what, when they are well, what a container gets, and whose
 * their nodes are. */
#include "agent/usb/usb_type.h"

#include "agent/config/config.h"
#include "agent/lend/lend.h"
#include "agent/plugin/device_type.h"
#include "agent/plugin/plugins.h"
#include "api/pcidevice.h"
#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "unit/usb/nodes.h"
#include "unit/usb/sticks.h"

#define RESOURCE "kubevirt.io/" STICK
#define ENV      "USB_RESOURCE_KUBEVIRT_IO_NODE1-0951-1666-001005"
#define MINE     CLAIM(STICK, KNOWN("1-2", "A"))
#define DELETED \
	CLAIM_OF(STICK, "," MARKED ",'deletionTimestamp':'2026-01-01T00:00:00Z'", KNOWN("1-2", "A"))
#define MOUNTED "{'kind':'use','usb':'1-2','reason':'Mounted','detail':'sdb1 is mounted at /mnt'}"

/* In place of agent/plugin's and agent/lend's: what was offered last, and who has what. */
static struct stage {
	struct str offered;
	struct str troubles;
	const char *held; /* an ID that a pod has: itself and its parts */
	const char *as;   /* the resource that it has it as; NULL: not asked for */
	bool others;      /* which this agent offers no more */
	bool unknown;     /* the kubelet has not said anything yet       */
} stage;

void plugins_set(struct plugins *plugins, const struct device_type *type, void *type_arg,
		 const struct plugin_resource *resources, size_t len)
{
	(void)plugins;
	(void)type_arg;
	assert_ptr_equal(type, &usb_device_type);
	str_clear(&stage.offered);
	for (size_t i = 0; i < len; i++) {
		assert_int_equal(resources[i].claimed, strcmp(resources[i].name, RESOURCE) == 0);
		str_addf(&stage.offered, "%s%s:", i ? "; " : "", resources[i].name);
		for (size_t k = 0; k < resources[i].ndevices; k++) {
			const struct plugin_device *device = &resources[i].devices[k];

			assert_int_equal(device->healthy, device->trouble == NULL);
			str_addf(&stage.offered, " %s", device->id);
			if (device->trouble)
				str_addf(&stage.offered, "! (%s)", device->trouble);
		}
	}
}

static bool is_held(const char *id)
{
	size_t len = strlen(id);
	const char *at = stage.held ? strstr(stage.held, id) : NULL;

	return at && (at == stage.held || at[-1] == ',') && (at[len] == '\0' || at[len] == ',');
}

bool lend_is_free(struct lend *lend, const char *id, char **ret_holder)
{
	(void)lend;
	*ret_holder = is_held(id) ? xstrdup("pod default/vm") : NULL;
	return !is_held(id);
}

const struct pcidevice_allocations *lend_allocations(const struct lend *lend, const char *id)
{
	static const struct pcidevice_allocations none = { 0 };
	static const struct pcidevice_allocations some = { .len = 1 };

	(void)lend;
	if (stage.unknown)
		return NULL;
	return is_held(id) ? &some : &none;
}

const char *lend_resource(const struct lend *lend, const char *id, bool *ret_ours)
{
	(void)lend;
	*ret_ours = is_held(id) && stage.as && !stage.others;
	return is_held(id) ? stage.as : NULL;
}

/* --- the scene ------------------------------------------------------------------------ */

struct scene {
	struct sticks node;
	struct config config;
	struct usb_view view;
	struct usb_type *type;
};

static void scene_look(struct scene *scene, const char *plugged)
{
	sticks_plug_all(&scene->node, plugged);
	sticks_look(&scene->node);
	scene->view.inventory = scene->node.world.inventory;
	usb_type_seen(scene->type);
}

static void scene_again(struct scene *scene, const char *plugged)
{
	sticks_again(&scene->node);
	scene_look(scene, plugged);
}

static void scene_open(struct scene *scene, const char *claim)
{
	stage = (struct stage){ 0 };
	*scene = (struct scene){ 0 };
	nodes_open();
	sticks_open(&scene->node);
	if (claim)
		sticks_claim(&scene->node, claim);
	scene->view = (struct usb_view){ .node_name = "node1",
					 .claims = scene->node.claims,
					 .config = &scene->config,
					 .dev_root = nodes()->dev,
					 .state_dir = nodes()->state,
					 .calls = nodes_calls() };
	scene->type = usb_type_new(&scene->view);
}

static void scene_close(struct scene *scene)
{
	usb_type_free(scene->type);
	for (size_t i = 0; i < scene->config.usb.len; i++) {
		array_done(&scene->config.usb.items[i].selectors);
		free(scene->config.usb.items[i].resource);
	}
	array_done(&scene->config.usb);
	sticks_close(&scene->node);
	nodes_close();
	str_done(&stage.offered);
	str_done(&stage.troubles);
}

/* Every stick is selected, one or @each in a unit. */
static void select_sticks(struct scene *scene, const char *resource, size_t each)
{
	struct config_usb *entry = array_add(&scene->config.usb);

	entry->resource = xstrdup(resource);
	for (size_t i = 0; i < each; i++)
		*array_add(&entry->selectors) =
			(struct config_usb_selector){ .vendor = 0x951, .product = 0x1666 };
}

/* As usb.c does it. */
static void offer(struct scene *scene)
{
	struct config_troubles troubles = { 0 };

	usb_type_offer(scene->type, NULL, &troubles);
	usb_type_clear(scene->type);
	str_clear(&stage.troubles);
	for (size_t i = 0; i < troubles.len; i++)
		str_addf(&stage.troubles, "%s[%d] %s %s: %s|", troubles.items[i].list,
			 (int)troubles.items[i].index, troubles.items[i].resource,
			 troubles.items[i].reason, troubles.items[i].message);
	config_troubles_done(&troubles);
}

static void assert_offers(struct scene *scene, const char *wanted)
{
	offer(scene);
	assert_string_equal(str_cstr(&stage.offered), wanted);
}

static void assert_owner(unsigned device, const char *wanted)
{
	auto_free char *owner = nodes_owner(device);

	assert_string_equal(owner, wanted);
}

/* What a container gets of @ids (joined by blanks): "NAME=value node:permissions ..."; or the code. */
static int allocate(struct scene *scene, const char *resource, const char *ids,
		    struct str *ret_said)
{
	struct allocation allocation = { 0 };
	struct json_strs list = { 0 };
	auto_free char *copy = xstrdup(ids);
	char *rest = copy;
	const char *id;
	struct err err = { 0 };
	int r;

	while ((id = strsep(&rest, " ")))
		json_strs_add(&list, id);
	r = usb_device_type.allocate(scene->type, resource, &list, &allocation, &err);
	if (r < 0)
		str_add(ret_said, err.msg);
	for (size_t i = 0; i < allocation.envs.len && r == 0; i++)
		str_addf(ret_said, "%s=%s", allocation.envs.items[i].key,
			 allocation.envs.items[i].value);
	for (size_t i = 0; i < allocation.devices.len && r == 0; i++)
		str_addf(ret_said, " %s:%s", allocation.devices.items[i].host_path,
			 allocation.devices.items[i].permissions);
	allocation_done(&allocation);
	json_strs_done(&list);
	return r;
}

static void assert_gives(struct scene *scene, const char *resource, const char *ids,
			 const char *wanted)
{
	auto_str struct str said = STR_INIT;

	assert_int_equal(allocate(scene, resource, ids, &said), 0);
	assert_string_equal(str_cstr(&said), wanted);
}

static void assert_refuses(struct scene *scene, const char *resource, const char *ids, int code,
			   const char *message)
{
	auto_str struct str said = STR_INIT;

	assert_int_equal(allocate(scene, resource, ids, &said), code);
	if (!strstr(str_cstr(&said), message))
		fail_msg("no '%s' in '%s'", message, str_cstr(&said));
}

/* --- what is offered ---------------------------------------------------------------------- */

static struct offer_case {
	const char *name;
	const char *claim;
	const char *plugged;
	const char *line;
	unsigned node; /* the one that there is */
	const char *offers;
} offers[] = {
	/* clang-format off */
	{ "a claimed device is offered as a resource of its own, by its socket", MINE, "1-2=5:A", NULL, 5,
	  RESOURCE ": 1-2" },
	{ "with other numbers it is the same", MINE, "1-2=77:A", NULL, 77, RESOURCE ": 1-2" },
	{ "what nobody claims is not offered", NULL, "1-2=5:A", NULL, 5, "" },
	{ "a claim that does not say its device yet offers nothing", CLAIM(STICK, "'nodeName':'node1'"), "1-2=5:A", NULL,
	  5, "" },
	{ "a claim without its mark offers nothing", CLAIM_OF(STICK, "", KNOWN("1-2", "A")), "1-2=5:A", NULL, 5, "" },
	{ "another node's claim is its own", CLAIM(STICK, "'nodeName':'node2','portPath':'1-2'"), "1-2=5:A", NULL, 5, "" },
	{ "an empty socket", MINE, "", NULL, 5, RESOURCE ": 1-2! (its socket is empty)" },
	{ "kubevirt-contract 1.5: an unplug is seen by the node alone, before any scan", MINE, "1-2=5:A", NULL, 6,
	  RESOURCE ": 1-2! (/dev/bus/usb/001/005 is not there)" },
	{ "another device in the socket", MINE, "1-2=5:B", NULL, 5, RESOURCE ": 1-2! (another device is in its socket)" },
	{ "the device in another socket, which its claim does not say yet", MINE, "1-3=5:A", NULL, 5,
	  RESOURCE ": 1-2! (its socket is empty)" },
	{ "a claim that is being deleted takes no new pod", DELETED, "1-2=5:A", NULL, 5,
	  RESOURCE ": 1-2! (its claim is being deleted)" },
	{ "what the node mounted meanwhile", MINE, "1-2=5:A", MOUNTED, 5,
	  RESOURCE ": 1-2! (the node needs it: sdb1 is mounted at /mnt)" },
	/* clang-format on */
};

static void is_offered(void **state)
{
	const struct offer_case *row = *state;
	struct scene scene;

	scene_open(&scene, row->claim);
	nodes_make(row->node);
	if (row->line)
		sticks_line(&scene.node, row->line);
	scene_look(&scene, row->plugged);
	assert_offers(&scene, row->offers);
	scene.view.inventory = NULL; /* nothing is known: nothing is offered */
	assert_offers(&scene, "");
	scene_close(&scene);
}

static void an_unplugged_device_is_well_again_when_it_is_back(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, MINE);
	nodes_make(5);
	scene_look(&scene, "1-2=5:A");
	assert_offers(&scene, RESOURCE ": 1-2");
	nodes_remove(5);
	assert_offers(&scene, RESOURCE ": 1-2! (/dev/bus/usb/001/005 is not there)");
	scene_again(&scene, "");
	assert_offers(&scene, RESOURCE ": 1-2! (its socket is empty)");
	nodes_make(6);
	scene_again(&scene, "1-2=6:A");
	assert_offers(&scene, RESOURCE ": 1-2");
	scene_close(&scene);
}

static void selected_devices_share_a_resource(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, MINE);
	select_sticks(&scene, "a.io/stick", 1);
	for (unsigned i = 5; i < 8; i++)
		nodes_make(i);
	scene_look(&scene, "1-2=5:A 1-3=6:B 1-4=7:C"); /* the first is claimed */
	assert_offers(&scene, "a.io/stick: 1-3 1-4; " RESOURCE ": 1-2");
	assert_gives(&scene, "a.io/stick", "1-4 1-3",
		     "USB_RESOURCE_A_IO_STICK=1:7,1:6 /dev/bus/usb/001/007:mrw "
		     "/dev/bus/usb/001/006:mrw");
	scene_close(&scene);
}

/* The only stick is claimed, so that the config's entry has none. */
static void an_entry_that_gives_nothing_is_told(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, MINE);
	select_sticks(&scene, "a.io/stick", 1);
	nodes_make(5);
	nodes_make(6);
	scene_look(&scene, "1-2=5:A");
	assert_offers(&scene, RESOURCE ": 1-2");
	assert_string_equal(
		str_cstr(&stage.troubles),
		"usb[0] a.io/stick DevicesTaken: the device in socket 1-2 (0951:1666) is "
		"lent as '" RESOURCE "' already: the first claim or entry counts, so change "
		"one of them|");
	scene_again(&scene, "1-2=5:A 1-3=6:B");
	assert_offers(&scene, "a.io/stick: 1-3; " RESOURCE ": 1-2");
	assert_string_equal(str_cstr(&stage.troubles), "");
	scene_close(&scene);
}

static void a_claims_resource_is_its_device_alone(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, MINE);
	select_sticks(&scene, RESOURCE, 1);
	nodes_make(5);
	nodes_make(6);
	scene_look(&scene, "1-2=5:A 1-3=6:B");
	assert_offers(&scene, RESOURCE ": 1-2");
	assert_string_equal(str_cstr(&stage.troubles),
			    "usb[0] " RESOURCE " NameTaken: the resource is that of a "
			    "USBDeviceClaim on this node: give it another name|");
	assert_refuses(&scene, RESOURCE, "1-3", -ENODEV, "no device of");
	scene_close(&scene);
}

static void a_bundle_is_well_only_as_a_whole(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, NULL);
	select_sticks(&scene, "a.io/pair", 2);
	nodes_make(5);
	nodes_make(6);
	scene_look(&scene, "1-2=5:A 1-3=6:B");
	assert_offers(&scene, "a.io/pair: 1-2,1-3");
	assert_gives(&scene, "a.io/pair", "1-2,1-3",
		     "USB_RESOURCE_A_IO_PAIR=1:5,1:6 /dev/bus/usb/001/005:mrw "
		     "/dev/bus/usb/001/006:mrw");
	assert_owner(5, "107:107");
	assert_owner(6, "107:107");
	nodes_remove(5);
	scene_again(&scene, "1-3=6:B");
	assert_offers(&scene, "a.io/pair: 1-2,1-3! (a socket of it is empty)");
	assert_owner(6, "0:0");
	scene_close(&scene);
}

/* After a restart the units are others, and a pod still has one of before. */
static void a_device_that_a_pod_has_in_another_bundle_is_not_lent_twice(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, NULL);
	select_sticks(&scene, "a.io/pair", 2);
	stage.held = "1-1,1-3";
	nodes_make(5);
	nodes_make(6);
	scene_look(&scene, "1-2=5:A 1-3=6:B");
	assert_offers(&scene,
		      "a.io/pair: 1-2,1-3! (a pod has a device of it as part of another one)");
	assert_refuses(&scene, "a.io/pair", "1-2,1-3", -EHOSTDOWN, "as part of another one");
	scene_close(&scene);
}

/* A pod has the first; the second is nobody's. */
static void a_renamed_entry_keeps_the_name_of_what_a_pod_has(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, NULL);
	select_sticks(&scene, "a.io/new", 1);
	stage.held = "1-2";
	stage.as = "a.io/old";
	nodes_make(5);
	nodes_make(6);
	scene_look(&scene, "1-2=5:A 1-3=6:B");
	assert_offers(&scene, "a.io/new: 1-3; a.io/old: 1-2");
	assert_refuses(&scene, "a.io/new", "1-2", -ENODEV, "no device of 'a.io/new' now");
	stage.others = true; /* removed, and added under the other name */
	assert_offers(&scene, "a.io/new: 1-2! (a pod has a device of it as a.io/old) 1-3");
	assert_refuses(&scene, "a.io/new", "1-2", -EHOSTDOWN, "as a.io/old");
	stage.held = NULL;
	assert_offers(&scene, "a.io/new: 1-2 1-3");
	scene_close(&scene);
}

static void a_stick_of_a_pod_is_in_no_bundle_of_another_name(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, NULL);
	select_sticks(&scene, "a.io/pair", 2);
	stage.held = "1-3";
	stage.as = "a.io/stick";
	stage.unknown = true; /* it is being started, and not listed yet */
	nodes_make(5);
	nodes_make(6);
	scene_look(&scene, "1-2=5:A 1-3=6:B");
	assert_offers(&scene, "a.io/pair: 1-2,1-3! (a pod has a device of it as a.io/stick)");
	scene_close(&scene);
}

static void select_none(struct scene *scene)
{
	for (size_t i = 0; i < scene->config.usb.len; i++) {
		array_done(&scene->config.usb.items[i].selectors);
		free(scene->config.usb.items[i].resource);
	}
	scene->config.usb.len = 0;
}

static void a_node_stays_a_pods_when_its_entry_is_renamed_or_removed(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, NULL);
	select_sticks(&scene, "a.io/old", 1);
	nodes_make(5);
	scene_look(&scene, "1-2=5:A");
	offer(&scene);
	assert_gives(&scene, "a.io/old", "1-2",
		     "USB_RESOURCE_A_IO_OLD=1:5 /dev/bus/usb/001/005:mrw");
	stage.held = "1-2";
	stage.as = "a.io/old";
	select_none(&scene);
	assert_offers(&scene, "");
	assert_owner(5, "107:107");
	stage.others = true;
	select_sticks(&scene, "a.io/new", 1);
	offer(&scene);
	assert_owner(5, "107:107");
	stage.held = NULL;
	assert_offers(&scene, "a.io/new: 1-2");
	assert_owner(5, "0:0");
	scene_close(&scene);
}

/* --- Allocate -------------------------------------------------------------------------------- */

/* harvester-api 3.3, kubevirt-contract 1.6 (3). */
static void a_container_gets_the_node_of_now(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, MINE);
	nodes_make(5);
	scene_look(&scene, "1-2=5:A");
	assert_gives(&scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	nodes_remove(5);
	nodes_make(41);
	scene_again(&scene, "1-2=41:A");
	assert_gives(&scene, RESOURCE, "1-2", ENV "=1:41 /dev/bus/usb/001/041:mrw");
	assert_owner(41, "107:107");
	scene_close(&scene);
}

/* Between the unplug and the scan that follows. */
static void a_device_that_was_plugged_again_just_now_is_an_error(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, MINE);
	nodes_make(5);
	scene_look(&scene, "1-2=5:A");
	nodes_remove(5);
	nodes_make(6);
	assert_refuses(&scene, RESOURCE, "1-2", -EHOSTDOWN, "005 is not there");
	assert_owner(6, "0:0");
	scene_close(&scene);
}

/* The numbers of a bus come around: another device has them, and no scan has seen it yet. */
static void a_node_of_the_same_number_is_not_the_same_device(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, MINE);
	nodes_make(5);
	scene_look(&scene, "1-2=5:A");
	nodes_remove(5);
	nodes_make(5);
	assert_refuses(&scene, RESOURCE, "1-2", -ESTALE, "plugged in again");
	assert_owner(5, "0:0");
	scene_close(&scene);
}

/* harvester-api 3.3: the ID in the request is ignored. */
static void an_id_that_is_not_ours_is_an_error(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, MINE);
	nodes_make(5);
	scene_look(&scene, "1-2=5:A");
	assert_refuses(&scene, RESOURCE, "1-3", -ENODEV, "'1-3' is no device of");
	assert_refuses(&scene, "kubevirt.io/other", "1-2", -ENODEV, "kubevirt.io/other");
	assert_owner(5, "0:0");
	scene_close(&scene);
}

static void a_node_that_cannot_be_given_fails_the_pod(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, MINE);
	nodes_make(5);
	scene_look(&scene, "1-2=5:A");
	nodes()->refuse = EPERM;
	assert_refuses(&scene, RESOURCE, "1-2", -EPERM, "change the owner of");
	scene_close(&scene);
}

/* --- whose the nodes are ------------------------------------------------------------------------ */

/* harvester-api 3.3: the chown is never undone. */
static void a_node_is_given_back_when_no_pod_has_it(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, MINE);
	nodes_make(5);
	nodes()->items[0].gid = 46;
	scene_look(&scene, "1-2=5:A");
	assert_gives(&scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	stage.held = "1-2";
	offer(&scene);
	assert_owner(5, "107:107");
	assert_true(usb_type_gave(scene.type));
	stage.held = NULL;
	stage.unknown = true; /* the kubelet is asked anew */
	offer(&scene);
	assert_owner(5, "107:107");
	stage.unknown = false;
	offer(&scene);
	assert_owner(5, "0:46");
	assert_false(usb_type_gave(scene.type));
	scene_close(&scene);
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
	struct scene scene;

	(void)state;
	scene_open(&scene, MINE);
	nodes_make(5);
	nodes()->items[0].gid = 46;
	scene_look(&scene, "1-2=5:A");
	assert_gives(&scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	offer(&scene);
	assert_owner(5, "0:46");
	stage.held = "1-2";
	restart(&scene); /* nothing needs to be remembered for it */
	offer(&scene);
	assert_owner(5, "107:107");
	nodes()->items[0].uid = 0; /* udev's rule was carried out again */
	offer(&scene);
	assert_owner(5, "107:107");
	stage.held = NULL;
	offer(&scene);
	assert_owner(5, "0:46");
	scene_close(&scene);
}

/* The device in the socket is not the one that the pod was given. */
static void a_listed_pod_gets_no_node_of_another_device(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, MINE);
	nodes_make(5);
	scene_look(&scene, "1-2=5:B");
	stage.held = "1-2";
	offer(&scene);
	assert_owner(5, "0:0");
	scene_again(&scene, "1-2=5:A");
	nodes_remove(5);
	nodes_make(5); /* made anew since the scan */
	log_set_level(LOG_ERROR);
	offer(&scene);
	assert_owner(5, "0:0");
	scene_close(&scene);
}

static void a_node_is_given_back_with_its_claim(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, MINE);
	nodes_make(5);
	scene_look(&scene, "1-2=5:A");
	assert_gives(&scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	usb_type_give_back(scene.type, "1-3");
	assert_owner(5, "107:107");
	usb_type_give_back(scene.type, "1-2");
	assert_owner(5, "0:0");
	scene_close(&scene);
}

static void a_node_that_a_process_before_gave_is_given_back(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, MINE);
	nodes_make(5);
	nodes_make(6); /* somebody else's plugin gave it */
	for (int i = 0; i < 2; i++)
		nodes()->items[i].uid = nodes()->items[i].gid = 107;
	scene_look(&scene, "1-2=5:A 1-3=6:B");
	stage.held = "1-2";
	offer(&scene);
	assert_owner(5, "107:107");
	stage.held = NULL;
	offer(&scene);
	assert_owner(5, "0:0");
	assert_owner(6, "107:107");
	scene_close(&scene);
}

static void its_owner_is_known_after_a_restart(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, MINE);
	nodes_make(5);
	nodes()->items[0].uid = 33;
	nodes()->items[0].gid = 46;
	scene_look(&scene, "1-2=5:A");
	assert_gives(&scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	stage.held = "1-2";
	restart(&scene);
	offer(&scene);
	restart(&scene); /* nor does the second one forget it */
	offer(&scene);
	assert_owner(5, "107:107");
	stage.held = NULL;
	offer(&scene);
	assert_owner(5, "33:46");
	nodes()->items[0].uid = nodes()->items[0].gid =
		107; /* given by somebody without a record */
	offer(&scene);
	assert_owner(5, "0:0");
	scene_close(&scene);
}

static void a_record_of_another_node_counts_for_nothing(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, MINE);
	nodes_make(5);
	nodes()->items[0].gid = 46;
	scene_look(&scene, "1-2=5:A");
	assert_gives(&scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	nodes_remove(5);
	nodes_make(5);
	nodes()->items[1].uid = nodes()->items[1].gid = 107;
	restart(&scene);
	offer(&scene);
	assert_owner(5, "0:0");
	scene_close(&scene);
}

static void a_node_whose_owner_cannot_be_kept_is_not_given(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, MINE);
	folder_put(&nodes()->folder, "state/usb-nodes", "no folder");
	nodes_make(5);
	nodes()->items[0].gid = 46;
	scene_look(&scene, "1-2=5:A");
	assert_refuses(&scene, RESOURCE, "1-2", -ENOTDIR, "note whose '/dev/bus/usb/001/005' is");
	assert_owner(5, "0:46");
	nodes()->items[0].gid = 0; /* root's need no note */
	assert_gives(&scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	scene_close(&scene);
}

/* A node that is made anew is the kernel's, not ours to give back. */
static void a_node_of_another_device_is_left_alone(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, MINE);
	nodes_make(5);
	scene_look(&scene, "1-2=5:A");
	assert_gives(&scene, RESOURCE, "1-2", ENV "=1:5 /dev/bus/usb/001/005:mrw");
	nodes_remove(5);
	nodes_make(5);
	nodes()->items[1].uid = 33;
	offer(&scene);
	assert_owner(5, "33:0");
	assert_false(usb_type_gave(scene.type));
	scene_close(&scene);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, offers, is_offered);
	suite_add(&suite, "harvester-api 3.3: an unplugged device is well again when it is back",
		  an_unplugged_device_is_well_again_when_it_is_back, NULL);
	suite_add(&suite, "selected devices share a resource", selected_devices_share_a_resource,
		  NULL);
	suite_add(&suite, "a claim's resource is its device alone",
		  a_claims_resource_is_its_device_alone, NULL);
	suite_add(&suite, "an entry that gives nothing is told",
		  an_entry_that_gives_nothing_is_told, NULL);
	suite_add(
		&suite,
		"kubevirt-contract 1.2 (USB): a bundle's nodes, made QEMU's, and its variable; it is "
		"well only as a whole",
		a_bundle_is_well_only_as_a_whole, NULL);
	suite_add(&suite, "a device that a pod has in another bundle is not lent twice",
		  a_device_that_a_pod_has_in_another_bundle_is_not_lent_twice, NULL);
	suite_add(&suite, "a renamed entry keeps the name of what a pod has",
		  a_renamed_entry_keeps_the_name_of_what_a_pod_has, NULL);
	suite_add(&suite, "a stick of a pod is in no bundle of another name",
		  a_stick_of_a_pod_is_in_no_bundle_of_another_name, NULL);
	suite_add(&suite, "a node stays a pod's when its entry is renamed or removed",
		  a_node_stays_a_pods_when_its_entry_is_renamed_or_removed, NULL);
	suite_add(&suite,
		  "kubevirt-contract 1.6 (3): a unit outlives a re-plug, its container gets the "
		  "node of now",
		  a_container_gets_the_node_of_now, NULL);
	suite_add(&suite, "a device that was plugged in again just now is an error",
		  a_device_that_was_plugged_again_just_now_is_an_error, NULL);
	suite_add(&suite, "a node of the same number is not the same device",
		  a_node_of_the_same_number_is_not_the_same_device, NULL);
	suite_add(&suite, "harvester-api 3.3: an ID that is not ours is an error",
		  an_id_that_is_not_ours_is_an_error, NULL);
	suite_add(&suite, "a node that cannot be given fails the pod",
		  a_node_that_cannot_be_given_fails_the_pod, NULL);
	suite_add(&suite, "harvester-api 3.3: a node is given back when no pod has it",
		  a_node_is_given_back_when_no_pod_has_it, NULL);
	suite_add(&suite, "a pod that is listed again gets its node again",
		  a_pod_that_is_listed_again_gets_its_node_again, NULL);
	suite_add(&suite, "a listed pod gets no node of another device",
		  a_listed_pod_gets_no_node_of_another_device, NULL);
	suite_add(&suite, "a node is given back with its claim",
		  a_node_is_given_back_with_its_claim, NULL);
	suite_add(&suite, "a node that a process before gave is given back",
		  a_node_that_a_process_before_gave_is_given_back, NULL);
	suite_add(&suite, "whose a given node was is known after a restart",
		  its_owner_is_known_after_a_restart, NULL);
	suite_add(&suite, "a record of another node counts for nothing",
		  a_record_of_another_node_counts_for_nothing, NULL);
	suite_add(&suite, "a node whose owner cannot be kept is not given",
		  a_node_whose_owner_cannot_be_kept_is_not_given, NULL);
	suite_add(&suite, "a node of another device is left alone",
		  a_node_of_another_device_is_left_alone, NULL);
	return suite_run(&suite, "usb_type");
}
