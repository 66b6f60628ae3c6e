/* usb: claims, names and what is lent, tied together; lend, plugins and API server are made up. */
#include "agent/usb/usb.h"

#include "agent/config/config.h"
#include "agent/lend/lend.h"
#include "agent/plugin/plugins.h"
#include "agent/plugin/podresources.h"
#include "api/pcidevice.h"
#include "base/log.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "unit/usb/sticks.h"

#define DELETED \
	CLAIM_OF(STICK, "," MARKED ",'deletionTimestamp':'2026-01-01T00:00:00Z'", KNOWN("1-2", "A"))
#define HELD(holder)                                                              \
	CLAIM_OF(STICK, "," MARKED ",'deletionTimestamp':'2026-01-01T00:00:00Z'", \
		 KNOWN("1-2", "A") ",'holder':'" holder "'")

enum { WATCHES = 3 };

struct events {
	int unused;
};

void events_record(struct events *events, const struct events_about *about, enum events_type type,
		   const char *reason, const char *fmt, ...)
{
	(void)events;
	(void)about;
	(void)type;
	(void)reason;
	(void)fmt;
}

/* In place of agent/lend's: one kind, a kubelet or none, nobody has anything. */
struct lend {
	struct lend_type type;
	bool on;
	unsigned touches;
	const char *held;  /* an ID that a pod has */
	const char *as;    /* the resource that it has it as; NULL: not known */
	bool silent;       /* no kubelet has said a word */
	size_t offered;    /* resources, lately */
	const char *owner; /* of every resource, NULL: none */
};

static struct lend *offering; /* whose plugins_set() sees */

void lend_add(struct lend *lend, const struct lend_type *type)
{
	lend->type = *type;
}

void lend_touch(struct lend *lend)
{
	lend->touches++;
}

bool lend_is_on(const struct lend *lend)
{
	return lend->on;
}

bool lend_is_free(struct lend *lend, const char *id, char **ret_holder)
{
	(void)lend;
	(void)id;
	*ret_holder = NULL;
	return true;
}

const struct pcidevice_allocations *lend_allocations(const struct lend *lend, const char *id)
{
	static const struct pcidevice_allocations none = { 0 };
	static const struct pcidevice_allocations some = { .len = 1 };

	if (lend->silent)
		return NULL;
	return lend->held && strcmp(lend->held, id) == 0 ? &some : &none;
}

const char *lend_resource(const struct lend *lend, const char *id, bool *ret_ours)
{
	*ret_ours = false;
	return lend->held && strcmp(lend->held, id) == 0 ? lend->as : NULL;
}

const char *lend_owner(const struct lend *lend, const char *resource)
{
	(void)resource;
	return lend->owner;
}

void plugins_set(struct plugins *plugins, const struct device_type *type, void *type_arg,
		 const struct plugin_resource *resources, size_t len)
{
	(void)plugins;
	(void)type;
	(void)type_arg;
	(void)resources;
	offering->offered = len;
}

struct scene {
	struct kube_client *client;
	struct fake_clock *clock;
	struct events events;
	struct lend lend;
	struct informer *claims, *devices, *pci_claims;
	struct usb *usb;
	struct sticks node;
};

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct scene *scene = arg;

	(void)before;
	(void)after;
	(void)usb_touch(scene->usb, name);
}

static void on_synced(void *arg)
{
	struct scene *scene = arg;

	usb_synced(scene->usb);
}

static struct informer *informer(struct scene *scene, const struct api_kind *kind)
{
	struct informer *made = informer_new(
		&(struct informer_deps){ .client = scene->client,
					 .clock = fake_clock_as_clock(scene->clock) },
		&(struct informer_spec){
			.kind = kind, .handlers = { on_change, on_synced }, .arg = scene });

	return made;
}

static void scene_open(struct scene *scene, bool kubelet)
{
	*scene = (struct scene){ .client = fake_client_new(),
				 .clock = fake_clock_new(),
				 .lend = { .on = kubelet } };
	offering = &scene->lend;
	sticks_open(&scene->node);
	scene->claims = informer(scene, &usbdeviceclaim_kind);
	scene->devices = informer(scene, &usbdevice_kind);
	scene->pci_claims = informer(scene, &pcideviceclaim_kind);
	scene->usb = usb_new(&(struct usb_deps){ .client = scene->client,
						 .clock = fake_clock_as_clock(scene->clock),
						 .events = &scene->events,
						 .claims = scene->claims,
						 .devices = scene->devices,
						 .pci_claims = scene->pci_claims,
						 .node_name = "node1",
						 .lend = &scene->lend });
	informer_start(scene->claims);
	informer_start(scene->devices);
	informer_start(scene->pci_claims);
	fake_clock_settle(scene->clock);
}

static void scene_close(struct scene *scene)
{
	usb_free(scene->usb);
	informer_free(scene->claims);
	informer_free(scene->devices);
	informer_free(scene->pci_claims);
	assert_int_equal(fake_client_open(scene->client), 0);
	kube_client_free(scene->client);
	fake_clock_free(scene->clock);
	sticks_close(&scene->node);
}

/* A kind's list; @claim is JSON with ' for ", "" for none. */
static void list(struct scene *scene, const char *path, const char *claim)
{
	auto_json json_t *json = *claim ? claim_json(claim) : NULL;
	auto_free char *item = json ? json_map_text(json) : xstrdup("");
	auto_free char *text =
		xasprintf("{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[%s]}", item);

	fake_client_choose(scene->client, path);
	fake_client_answer(scene->client, 200, text);
	fake_clock_settle(scene->clock);
}

static void list_all(struct scene *scene, const char *claim)
{
	list(scene, "/usbdeviceclaims?", claim);
	list(scene, "/usbdevices?", "");
	list(scene, "/pcideviceclaims?", "");
}

/* The device has other numbers than its claim's name says. */
static void look(struct scene *scene)
{
	sticks_again(&scene->node);
	sticks_plug_all(&scene->node, "1-2=77:A");
	world_look(&scene->node.world, &(struct inventory_options){ .node_name = "node1" });
	usb_set(scene->usb, scene->node.world.inventory);
	fake_clock_settle(scene->clock);
}

static bool is_named(const struct scene *scene, const char *name)
{
	return inventory_find(scene->node.world.inventory, INVENTORY_USB, name);
}

static size_t asking(const struct scene *scene)
{
	return fake_client_open(scene->client) - WATCHES;
}

/* The kubelet may have given it to a pod before this process began: that is known only of what is
 * offered. */
static void a_claim_is_not_released_before_its_device_was_offered(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, true);
	look(&scene);
	list_all(&scene, DELETED);
	fake_clock_advance(scene.clock, 60000);
	assert_int_equal(asking(&scene), 0);
	assert_true(scene.lend.touches > 0);
	scene.lend.type.offer(scene.lend.type.arg, NULL);
	fake_clock_advance(scene.clock, 500);
	assert_int_equal(asking(&scene), 1);
	scene_close(&scene);
}

/* The agent began anew while the kubelet is away, and the pod runs on. */
static void who_held_it_holds_it_until_the_kubelet_speaks(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, true);
	scene.lend.silent = true;
	look(&scene);
	list_all(&scene, HELD("pod default/p0"));
	scene.lend.type.offer(scene.lend.type.arg, NULL);
	fake_clock_advance(scene.clock, 60000);
	/* It tells that, and does not read the claim in order to release it. */
	assert_int_equal(asking(&scene), 1);
	fake_client_choose(scene.client, "/usbdeviceclaims/");
	assert_string_equal(fake_client_request(scene.client)->method, "PATCH");
	assert_non_null(strstr(fake_client_request(scene.client)->body, "pod default/p0 has"));
	scene_close(&scene);
}

static void an_offer_before_the_claims_are_known_does_not_count(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, true);
	look(&scene);
	scene.lend.type.offer(scene.lend.type.arg, NULL);
	list_all(&scene, DELETED);
	fake_clock_advance(scene.clock, 60000);
	assert_int_equal(asking(&scene), 0);
	scene_close(&scene);
}

static void without_a_kubelet_nobody_is_asked(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, false);
	look(&scene);
	list_all(&scene, DELETED);
	assert_int_equal(asking(&scene), 1);
	scene_close(&scene);
}

static void names_are_those_of_the_claims_once_they_are_known(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, true);
	look(&scene);
	assert_true(is_named(&scene, "node1-0951-1666-001077"));
	list_all(&scene, CLAIM(STICK, KNOWN("1-2", "A")));
	assert_true(is_named(&scene, STICK));
	assert_false(is_named(&scene, "node1-0951-1666-001077"));
	look(&scene);
	assert_true(is_named(&scene, STICK));
	scene_close(&scene);
}

static void what_changes_is_looked_at(void **state)
{
	struct scene scene;
	unsigned touches;

	(void)state;
	scene_open(&scene, true);
	look(&scene);
	list_all(&scene, "");
	touches = scene.lend.touches;
	usb_set_config(scene.usb, NULL);
	assert_int_equal(scene.lend.touches, touches + 1);
	usb_lent_changed(scene.usb);
	assert_int_equal(scene.lend.touches, touches + 2);
	assert_int_equal(usb_allocations(scene.usb, STICK)->len, 0);
	scene_close(&scene);
}

static void a_pod_has_the_device_of_its_socket(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, true);
	look(&scene);
	list_all(&scene, CLAIM(STICK, KNOWN("1-2", "A")));
	scene.lend.held = "1-2";
	assert_int_equal(usb_allocations(scene.usb, STICK)->len, 1);
	assert_int_equal(usb_allocations(scene.usb, "node1-0951-1666-001078")->len, 0);
	scene_close(&scene);
}

static void a_pod_has_a_selected_device_too(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, true);
	list_all(&scene, "");
	scene.lend.held = "1-2";
	assert_int_equal(usb_allocations(scene.usb, "node1-0951-1666-001077")->len, 0);
	look(&scene);
	assert_int_equal(usb_allocations(scene.usb, "node1-0951-1666-001077")->len, 1);
	scene.lend.held = "1-3";
	assert_int_equal(usb_allocations(scene.usb, "node1-0951-1666-001077")->len, 0);
	scene_close(&scene);
}

/* The claim is for the stick with serial number B. */
static void what_a_pod_has_is_not_what_was_plugged_into_its_socket(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, true);
	look(&scene);
	list_all(&scene, CLAIM(STICK, KNOWN("1-2", "B")));
	scene.lend.held = "1-2";
	assert_int_equal(usb_allocations(scene.usb, STICK)->len, 1);
	assert_true(is_named(&scene, "node1-0951-1666-001077"));
	assert_int_equal(usb_allocations(scene.usb, "node1-0951-1666-001077")->len, 0);
	scene_close(&scene);
}

/* The stick of the claim is away, and another one of its ids was in its socket when a pod got that in a bundle: when
 * this is pulled, the claimed one is no orphan. */
static void what_a_pod_has_of_a_bundle_is_not_the_claims(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, true);
	look(&scene);
	list_all(&scene, CLAIM(STICK, KNOWN("1-2", "B")));
	scene.lend.held = "1-2";
	scene.lend.as = "a.io/pair";
	assert_int_equal(usb_allocations(scene.usb, STICK)->len, 0);
	assert_int_equal(usb_allocations(scene.usb, "node1-0951-1666-001077")->len, 1);
	scene.lend.as = "kubevirt.io/" STICK;
	assert_int_equal(usb_allocations(scene.usb, STICK)->len, 1);
	assert_int_equal(usb_allocations(scene.usb, "node1-0951-1666-001077")->len, 0);
	scene_close(&scene);
}

#define DEVICE(name, port, allocations)                                      \
	"{'metadata':{'name':'" name                                         \
	"','uid':'d1','resourceVersion':'1','labels':{'nodename':'node1'}}," \
	"'status':{'nodeName':'node1','portPath':'" port "','allocations':[" allocations "]}}"
#define BY_VM "{'namespace':'default','pod':'vm','container':'main'}"

static bool had(const struct scene *scene, const char *id, const char *pod, const char *container)
{
	return scene->lend.type.had(scene->lend.type.arg,
				    &(struct pod_device){ .resource = "a.io/old",
							  .device = id,
							  .namespace = "default",
							  .pod = pod,
							  .container = container });
}

/* So that what an entry lent under its old name is known to be lent when the agent begins anew. */
static void a_usbdevice_says_which_pod_had_it(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, true);
	list(&scene, "/usbdeviceclaims?", "");
	assert_false(had(&scene, "1-2", "vm", "main"));
	list(&scene, "/usbdevices?", DEVICE("node1-0951-1666-001077", "1-2", BY_VM));
	list(&scene, "/pcideviceclaims?", "");
	look(&scene);
	assert_true(had(&scene, "1-2", "vm", "main"));
	assert_true(had(&scene, "1-1,1-2", "vm", "main")); /* one of a bundle */
	assert_false(had(&scene, "1-2", "other", "main"));
	assert_false(had(&scene, "1-2", "vm", "side"));
	assert_false(had(&scene, "1-3", "vm", "main"));
	scene_close(&scene);
}

/* Nobody claims it, and the kubelet has yet to answer. */
static void a_selected_device_is_the_pods_that_had_it_until_the_kubelet_speaks(void **state)
{
	auto_free char *holder = NULL;
	struct scene scene;

	(void)state;
	scene_open(&scene, true);
	scene.lend.silent = true;
	list(&scene, "/usbdeviceclaims?", "");
	list(&scene, "/usbdevices?", DEVICE("node1-0951-1666-001077", "1-2", BY_VM));
	list(&scene, "/pcideviceclaims?", "");
	look(&scene);
	scene.lend.type.offer(scene.lend.type.arg, NULL);
	assert_false(usb_is_free(scene.usb, "1-2", &holder));
	assert_string_equal(holder, "pod default/vm");
	free(take_ptr(holder));
	assert_true(usb_is_free(scene.usb, "1-3", &holder));
	scene_close(&scene);
}

/* Before, a pod's unit could be offered under the new name of its entry. */
static void nothing_is_selected_before_the_usbdevices_are_known(void **state)
{
	struct config_usb_selector selector = { .vendor = 0x951, .product = 0x1666 };
	char resource[] = "a.io/new";
	struct config_usb entry = { .resource = resource,
				    .selectors = { .items = &selector, .len = 1 } };
	struct config config = { .usb = { .items = &entry, .len = 1 } };
	struct scene scene;

	(void)state;
	scene_open(&scene, true);
	look(&scene);
	list(&scene, "/usbdeviceclaims?", "");
	list(&scene, "/pcideviceclaims?", "");
	usb_set_config(scene.usb, &config);
	scene.lend.type.offer(scene.lend.type.arg, NULL);
	assert_int_equal(scene.lend.offered, 0);
	list(&scene, "/usbdevices?", "");
	scene.lend.type.offer(scene.lend.type.arg, NULL);
	assert_int_equal(scene.lend.offered, 1);
	scene_close(&scene);
}

/* What the claim is told of by the next PATCH. */
static void assert_told(struct scene *scene, const char *part)
{
	fake_client_choose(scene->client, "/usbdeviceclaims/");
	assert_string_equal(fake_client_request(scene->client)->method, "PATCH");
	if (!strstr(fake_client_request(scene->client)->body, part))
		fail_msg("no %s in %s", part, fake_client_request(scene->client)->body);
}

static void a_claim_whose_resource_another_kind_has_is_told(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, true);
	look(&scene);
	scene.lend.owner = "pci";
	list_all(&scene,
		 CLAIM(STICK, KNOWN("1-2", "A") ",'conditions':[{'type':'Ready','status':'False',"
						"'reason':'NameTaken','message':'m'}]"));
	assert_told(&scene, "NameTaken"); /* as it was, before anything is offered */
	scene_close(&scene);

	scene_open(&scene, true);
	look(&scene);
	scene.lend.owner = "pci";
	scene.lend.type.offer(scene.lend.type.arg, NULL);
	list(&scene, "/usbdeviceclaims?", CLAIM(STICK, KNOWN("1-2", "A")));
	list(&scene, "/usbdevices?", "");
	scene.lend.type.offer(scene.lend.type.arg, NULL);
	list(&scene, "/pcideviceclaims?", "");
	assert_told(&scene, "NameTaken");
	scene_close(&scene);

	scene_open(&scene, true);
	look(&scene);
	scene.lend.owner = "usb";
	list(&scene, "/usbdeviceclaims?", CLAIM(STICK, KNOWN("1-2", "A")));
	list(&scene, "/usbdevices?", "");
	scene.lend.type.offer(scene.lend.type.arg, NULL);
	list(&scene, "/pcideviceclaims?", "");
	assert_told(&scene, "is offered as");
	scene_close(&scene);
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_add(&suite, "a claim is not released before its device was offered",
		  a_claim_is_not_released_before_its_device_was_offered, NULL);
	suite_add(&suite, "who held it holds it until the kubelet speaks",
		  who_held_it_holds_it_until_the_kubelet_speaks, NULL);
	suite_add(&suite, "an offer before the claims are known does not count",
		  an_offer_before_the_claims_are_known_does_not_count, NULL);
	suite_add(&suite, "without a kubelet nobody is asked", without_a_kubelet_nobody_is_asked,
		  NULL);
	suite_add(&suite, "names are those of the claims once they are known",
		  names_are_those_of_the_claims_once_they_are_known, NULL);
	suite_add(&suite, "what changes is looked at", what_changes_is_looked_at, NULL);
	suite_add(&suite, "a pod has the device of its socket", a_pod_has_the_device_of_its_socket,
		  NULL);
	suite_add(&suite, "a pod has a device that the config selects, too",
		  a_pod_has_a_selected_device_too, NULL);
	suite_add(&suite, "what a pod has is not what was plugged into its socket since",
		  what_a_pod_has_is_not_what_was_plugged_into_its_socket, NULL);
	suite_add(&suite, "what a pod has of a bundle is not the claim's that waits for its socket",
		  what_a_pod_has_of_a_bundle_is_not_the_claims, NULL);
	suite_add(&suite, "a USBDevice says which pod had it", a_usbdevice_says_which_pod_had_it,
		  NULL);
	suite_add(&suite, "a selected device is the pod's that had it until the kubelet speaks",
		  a_selected_device_is_the_pods_that_had_it_until_the_kubelet_speaks, NULL);
	suite_add(&suite, "nothing is selected before the USBDevices are known",
		  nothing_is_selected_before_the_usbdevices_are_known, NULL);
	suite_add(&suite, "a claim whose resource claimed devices of another kind have is told",
		  a_claim_whose_resource_another_kind_has_is_told, NULL);
	return suite_run(&suite, "usb");
}
