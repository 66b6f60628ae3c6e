#include "agent/lend/lend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/inventory/inventory.h"
#include "agent/lend/custody.h"
#include "agent/lend/node_numbers.h"
#include "agent/lend/pci_type.h"
#include "agent/lend/told.h"
#include "agent/lend/vfio_node.h"
#include "agent/node/this_node.h"
#include "agent/plugin/kubelet_watch.h"
#include "agent/plugin/node_watch.h"
#include "agent/plugin/plugins.h"
#include "api/json_values.h"
#include "api/mediateddevice.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "api/usbdevice.h"
#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/audit.h"
#include "kube/clock.h"

enum { LOGGED_MAX = 16 }; /* devices in a line, or lines of a refusal */

struct lend {
	const struct this_node *node;
	struct lend_deps deps;
	struct told told;
	struct pci_view view;
	struct pci_type *pci;
	struct offered *offered;
	struct {
		struct lend_type *items;
		size_t len, cap;
	} types;
	struct clock_timer *timer; /* a look is due */
	struct clock_timer *apart; /* what is given from then on is another pod's */
	struct kubelet_watch *watch;
	struct kubelet_listener *listener;
	char *plugins_dir, *registry_dir, *socket_dir, *podresources_path, *checkpoint_path;
	struct registration_deps registration;
	struct custody *custody; /* as the plugins */
	struct node_numbers *numbers;
	int64_t heartbeat_ms;
	struct plugins *plugins; /* NULL: there is no kubelet's folder */
	struct node_watch *node_watch;
	struct json_strs nodes; /* that it watches */
	bool selects;           /* what the HostDeviceConfig selects has been offered once */
	bool stopping;
	void (*stopped)(void *arg);
	void *stopped_arg;
};

/* --- who has what ------------------------------------------------------------------------ */

/* A restarted agent may wait long for the kubelet's first answer, and pods keep their devices meanwhile. */
bool lend_is_free(struct lend *lend, const char *id, char **ret_holder)
{
	*ret_holder = NULL;
	if (!lend->custody)
		return true;
	if (!custody_is_free(lend->custody, id, ret_holder))
		return false;
	if (custody_allocations(lend->custody, id))
		return true;
	*ret_holder = told_holder(&lend->told, id);
	if (!*ret_holder)
		*ret_holder = xstrdup_or_null(custody_written(lend->custody, id));
	return !*ret_holder;
}

bool lend_is_on(const struct lend *lend)
{
	return lend->plugins;
}

const struct pcidevice_allocations *lend_allocations(const struct lend *lend, const char *id)
{
	static const struct pcidevice_allocations none = { 0 };

	return lend->custody ? custody_allocations(lend->custody, id) : &none;
}

static void on_custody(void *arg, const char *id)
{
	struct lend *lend = arg;

	lend_touch(
		lend); /* its name may have changed while a pod had it; its node's number is noted */
	lend->deps.changed(lend->deps.arg, id);
}

static bool is_offered(void *arg, const char *resource)
{
	const struct lend *lend = arg;

	return plugins_offer(lend->plugins, resource);
}

static bool was_told(void *arg, const struct pod_device *device)
{
	const struct lend *lend = arg;

	for (size_t i = 0; i < lend->types.len; i++) {
		const struct lend_type *type = &lend->types.items[i];

		if (type->had && type->had(type->arg, device))
			return true;
	}
	return false;
}

static void make_kubelet_write(void *arg)
{
	struct lend *lend = arg;

	if (!plugins_make_kubelet_write(lend->plugins))
		lend_touch(lend); /* offers something for which the kubelet opens one */
}

const char *lend_resource(const struct lend *lend, const char *id, bool *ret_ours)
{
	const char *resource = lend->custody ? custody_resource(lend->custody, id) : NULL;

	*ret_ours = resource && plugins_offer(lend->plugins, resource);
	return resource;
}

const char *lend_owner(const struct lend *lend, const char *resource)
{
	return lend->plugins ? plugins_owner(lend->plugins, resource) : NULL;
}

bool lend_set_allocatable(struct lend *lend, const struct json_pairs *allocatable)
{
	return offered_set(lend->offered, allocatable);
}

bool lend_is_offered(const struct lend *lend, const struct device_type *type, const char *resource,
		     const char *id)
{
	return !lend->plugins || offered_counts(lend->offered, resource,
						plugins_list(lend->plugins, type, resource, id));
}

bool lend_set_no_node(struct lend *lend, const char *denied)
{
	return offered_set_no_node(lend->offered, denied);
}

struct offered_answer lend_offered(struct lend *lend, const char *address)
{
	struct offered_answer nobody = { .state = OFFERED_BY_NOBODY };

	return lend->plugins ? offered_ask(lend->offered, address) : nobody;
}

bool lend_selected(const struct lend *lend, const char *address, const struct pci_told **ret_told)
{
	const struct pci_told *told = lend->plugins ? pci_type_told(lend->pci, address) : NULL;

	*ret_told = told && !told->claimed ? told : NULL;
	return !lend->plugins || lend->selects;
}

static void on_selected(void *arg, const char *address)
{
	const struct lend *lend = arg;

	lend->deps.changed(lend->deps.arg, address);
}

static bool is_listed(void *arg, const char *resource, const char *address)
{
	const struct lend *lend = arg;

	return lend->plugins && plugins_list(lend->plugins, &pci_device_type, resource, address);
}

static const char *other_owner(void *arg, const char *resource)
{
	const char *owner = lend_owner(arg, resource);

	return owner && strcmp(owner, pci_device_type.name) != 0 ? owner : NULL;
}

static bool is_held(void *arg, const char *address)
{
	bool ours;

	return lend_resource(arg, address, &ours);
}

static void on_offered(void *arg, const char *address)
{
	const struct lend *lend = arg;

	if (lend->deps.offered)
		lend->deps.offered(lend->deps.arg, address);
}

static const struct offered_ops offered_ops = { is_listed, other_owner, is_held, on_offered };

static const char *held_as(void *arg, const char *address, bool *ret_ours)
{
	return lend_resource(arg, address, ret_ours);
}

/* Before the kubelet has said a word, who had it when it was told last. */
static const struct pcidevice_allocations *pods_of(void *arg, const char *address)
{
	const struct lend *lend = arg;
	const struct pcidevice_allocations *list = lend_allocations(lend, address);

	return list ? list : told_allocations(&lend->told, address);
}

static struct custody_gift gift_of(void *arg, const char *address)
{
	const struct lend *lend = arg;

	return lend->custody ? custody_gift(lend->custody, address) : (struct custody_gift){ 0 };
}

static const char *written(void *arg, const char *address)
{
	const struct lend *lend = arg;

	return lend->custody ? custody_written(lend->custody, address) : NULL;
}

static bool is_same_pod(void *arg, const char *a, const char *b)
{
	const struct lend *lend = arg;

	return lend->custody && custody_same_pod(lend->custody, a, b);
}

static void add_held(void *arg, struct json_strs *ids)
{
	const struct lend *lend = arg;

	if (lend->custody)
		custody_ids(lend->custody, ids);
}

static char *holder_of(void *arg, const char *id)
{
	struct lend *lend = arg;
	char *holder = NULL;

	(void)lend_is_free(lend, id, &holder);
	if (!holder)
		holder = xstrdup_or_null(custody_written(lend->custody, id));
	if (!holder)
		return xstrdup("a pod");
	holder[strcspn(holder, ";")] = '\0'; /* what else the checkpoint's text says */
	return holder;
}

char *lend_number_trouble(struct lend *lend, const char *id)
{
	return node_numbers_trouble(lend->numbers, id);
}

char *lend_bind_trouble(struct lend *lend, const char *id)
{
	return node_numbers_bind_trouble(lend->numbers, id);
}

void lend_ids(const struct lend *lend, struct json_strs *ids)
{
	if (lend->custody)
		custody_ids(lend->custody, ids);
}

char *lend_start_trouble(struct lend *lend, const char *id)
{
	auto_free char *former = lend->custody ? custody_former(lend->custody, id) : NULL;

	return former ? xasprintf("%s still has %s: the container starts when it has ended", former,
				  id)
		      : NULL;
}

bool lend_is_left(struct lend *lend, const char *id)
{
	auto_free char *copy = xstrdup(id);
	char *rest = copy;
	const char *part;

	while (lend->custody && (part = strsep(&rest, ","))) {
		if (custody_is_left(lend->custody, part))
			return true;
	}
	return false;
}

static bool is_left(void *arg, const char *id)
{
	return lend_is_left(arg, id);
}

static char *start_trouble(void *arg, const char *id)
{
	return lend_start_trouble(arg, id);
}

static char *number_trouble(void *arg, const char *address)
{
	return lend_number_trouble(arg, address);
}

/* --- what the plugins tell ---------------------------------------------------------------- */

static void on_allocated(struct lend *lend, const struct plugin_event *event)
{
	auto_str struct str devices = STR_INIT;

	custody_give(lend->custody, event->resource, event->ids); /* before the kubelet writes */
	node_numbers_give(lend->numbers, event->ids);
	for (size_t i = 0; i < event->ids->len && i < LOGGED_MAX; i++)
		str_addf(&devices, "%s%s", i ? " " : "", event->ids->items[i]);
	if (event->ids->len > LOGGED_MAX)
		str_addf(&devices, " and %zu more", event->ids->len - LOGGED_MAX);
	log_info("devices given to a container", log_str("devices", str_cstr(&devices)),
		 log_str("resource", event->resource));
	custody_ask(lend->custody);
	/* The list goes by it only then: the pod's next container may get others of the group. */
	clock_timer_start(lend->node->clock, lend->apart, CUSTODY_RECENT_MS + 1);
}

/* The name of the object of the device @id; NULL: not known. The caller frees. */
static char *device_name(const struct lend *lend, const char *type, const char *id,
			 const char **ret_kind)
{
	const struct inventory *inventory = lend->node->inventory;
	const struct inventory_set *usb = inventory ? &inventory->sets[INVENTORY_USB] : NULL;

	*ret_kind = NULL;
	if (strcmp(type, pci_device_type.name) == 0) {
		*ret_kind = pcidevice_kind.kind;
		return names_pcidevice(lend->node->name, id);
	}
	if (strcmp(type, "mdev") == 0) {
		*ret_kind = mediateddevice_kind.kind;
		return names_mediateddevice(lend->node->name, id);
	}
	for (size_t i = 0; usb && strcmp(type, "usb") == 0 && i < usb->len; i++) {
		const struct usbdevice *device = usb->objects[i];

		if (!device->status.port_path || strcmp(device->status.port_path, id) != 0)
			continue;
		*ret_kind = usbdevice_kind.kind;
		return xstrdup(device->meta.name);
	}
	return xstrdup(id);
}

/* Of a request that cannot be read, @id is NULL. The kubelet does not say for which pod it asks. */
static void tell_refused(const struct lend *lend, const struct plugin_event *event, const char *id)
{
	struct audit audit = { .action = "allocate",
			       .result = "Refused",
			       .node = lend->node->name,
			       .resource = event->resource,
			       .message = event->err->msg,
			       .warning = true };
	auto_free char *name = id ? device_name(lend, event->type, id, &audit.kind) : NULL;

	audit.device = name;
	audit_log(&audit);
}

static void on_refused(const struct lend *lend, const struct plugin_event *event)
{
	if (event->ids->len == 0)
		tell_refused(lend, event, NULL);
	for (size_t i = 0; i < event->ids->len && i < LOGGED_MAX; i++)
		tell_refused(lend, event, event->ids->items[i]);
}

static void tell_listed(const struct lend *lend)
{
	for (size_t i = 0; i < lend->types.len; i++) {
		if (lend->types.items[i].listed)
			lend->types.items[i].listed(lend->types.items[i].arg);
	}
}

static void on_plugin(void *arg, const struct plugin_event *event)
{
	struct lend *lend = arg;
	const char *resource = event->resource;

	switch (event->kind) {
	case PLUGIN_REGISTERED:
		log_info("resource registered", log_str("resource", resource));
		custody_ask(lend->custody);
		return;
	case PLUGIN_LISTED:
		offered_look_again(lend->offered);
		tell_listed(lend);
		return;
	case PLUGIN_WAITING:
		log_warn("resource not registered yet", log_str("resource", resource),
			 log_str("reason", event->err->msg));
		return;
	case PLUGIN_ALLOCATED:
		on_allocated(lend, event);
		return;
	case PLUGIN_NOT_ALLOCATED:
		on_refused(lend, event);
		return;
	case PLUGIN_REFUSED:
		log_warn("device cannot be offered", log_str("resource", resource),
			 log_str("device", event->id ? event->id : "all"),
			 log_str("reason", event->err->msg));
		return;
	case PLUGIN_WITHDRAWN:
		log_info("resource withdrawn", log_str("resource", resource));
		return;
	}
}

/* --- the kubelet's folder ------------------------------------------------------------------ */

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void on_nodes(void *arg)
{
	lend_touch(arg);
}

static void begin(struct lend *lend)
{
	const struct custody_deps custody = { .socket_path = lend->podresources_path,
					      .checkpoint_path = lend->checkpoint_path,
					      .changed = on_custody,
					      .offers = is_offered,
					      .had = was_told,
					      .make_kubelet_write = make_kubelet_write,
					      .arg = lend };
	struct plugins_deps deps;

	if (lend->plugins || lend->stopping || !is_folder(lend->plugins_dir))
		return;
	lend->registration.mode =
		registration_way(lend->deps.options.registration, lend->registry_dir);
	deps = (struct plugins_deps){ .registration = lend->registration,
				      .socket_dir = lend->socket_dir,
				      .checkpoint_path = lend->checkpoint_path,
				      .fn = on_plugin,
				      .arg = lend };
	lend->plugins = plugins_new(&deps);
	lend->node_watch = node_watch_new(lend->node->loop, lend->node->clock, on_nodes, lend);
	lend->custody = custody_new(lend->node, &custody);
	custody_hear(lend->custody, lend->heartbeat_ms);
	log_info("offering devices to the kubelet", log_str("folder", lend->plugins_dir),
		 log_str("registration",
			 lend->registration.mode == REGISTRATION_REGISTRY ? "registry" : "direct"));
	custody_ask(lend->custody);
	lend_touch(lend);
}

void lend_set_heartbeat(struct lend *lend, int64_t heartbeat_ms)
{
	lend->heartbeat_ms = heartbeat_ms;
	if (lend->custody)
		custody_hear(lend->custody, heartbeat_ms);
}

static void on_kubelet(void *arg, enum kubelet_event event)
{
	struct lend *lend = arg;

	begin(lend);
	if (event == KUBELET_CAME && lend->plugins)
		custody_ask(lend->custody);
}

/* --- offers ----------------------------------------------------------------------------------- */

void lend_add(struct lend *lend, const struct lend_type *type)
{
	*array_add(&lend->types) = *type;
}

static void offer_pci(void *arg, struct plugins *plugins)
{
	pci_type_offer(arg, plugins);
}

static void nodes_of_pci(void *arg, struct json_strs *nodes)
{
	pci_type_nodes(arg, nodes);
}

/*
 * The kubelet writes its checkpoint for whichever resource it has a stream of. If nothing else is offered, a resource without
 * devices is, as long as the checkpoint has to be written.
 */
#define STREAM_RESOURCE "hostdev.io/no-devices"

static int allocate_nothing(void *arg, const char *resource, const struct json_strs *ids,
			    struct allocation *allocation, struct err *err)
{
	(void)arg;
	(void)ids;
	(void)allocation;
	return err_set(err, ERR_INVALID, -ENODEV, "%s has no devices", resource);
}

static const struct device_type stream_type = { .name = "none", .allocate = allocate_nothing };

static void offer_stream(struct lend *lend)
{
	static const struct plugin_resource resource = { .name = STREAM_RESOURCE };
	bool wanted = lend->selects && custody_wants_written(lend->custody) &&
		      !plugins_offer_others(lend->plugins, &stream_type);

	plugins_set(lend->plugins, &stream_type, lend, &resource, wanted ? 1 : 0);
}

/* They are watched before they are looked at, so that nothing falls in between. */
static void watch_nodes(struct lend *lend)
{
	const char *dev_root = lend->node->helper.dev_root;
	struct json_strs nodes = { 0 };
	struct json_strs paths = { 0 };

	for (size_t i = 0; i < lend->types.len; i++) {
		if (lend->types.items[i].nodes)
			lend->types.items[i].nodes(lend->types.items[i].arg, &nodes);
	}
	for (size_t i = 0; i < nodes.len; i++) {
		auto_free char *path = vfio_node_path(dev_root, nodes.items[i]);

		json_strs_add_new(&paths, path);
	}
	if (!json_strs_equal(&paths, &lend->nodes))
		node_watch_set(lend->node_watch, &paths);
	json_strs_done(&nodes);
	json_strs_done(&lend->nodes);
	lend->nodes = paths;
}

/* A pod may already have a device that is offered again. */
void lend_offer(struct lend *lend)
{
	if (!lend->plugins || lend->stopping)
		return;
	node_numbers_look(lend->numbers);
	watch_nodes(lend);
	for (size_t i = 0; i < lend->types.len; i++)
		lend->types.items[i].offer(lend->types.items[i].arg, lend->plugins);
	offer_stream(lend);
	custody_offered(lend->custody);
	offered_look_again(lend->offered);
	if (lend->selects || !lend->view.config || !lend->node->inventory)
		return;
	lend->selects = true;
	lend_touch(lend);
	lend->deps.changed(lend->deps.arg, NULL);
}

static void on_stopped(void *arg)
{
	struct lend *lend = arg;

	lend->stopped(lend->stopped_arg);
}

static void on_due(void *arg)
{
	struct lend *lend = arg;

	if (lend->stopping)
		on_stopped(lend);
	else
		lend_offer(lend);
}

static void on_apart(void *arg)
{
	lend_touch(arg);
}

void lend_touch(struct lend *lend)
{
	if (lend->plugins && !lend->stopping)
		clock_timer_start(lend->node->clock, lend->timer, 0);
}

void lend_set_config(struct lend *lend, const struct config *config)
{
	lend->view.config = config;
}

void lend_stop(struct lend *lend, void (*stopped)(void *arg), void *arg)
{
	lend->stopping = true;
	lend->stopped = stopped;
	lend->stopped_arg = arg;
	clock_timer_stop(lend->node->clock, lend->timer);
	if (lend->plugins)
		plugins_stop(lend->plugins, on_stopped, lend);
	else
		clock_timer_start(lend->node->clock, lend->timer, 0);
}

/* --- life --------------------------------------------------------------------------------------- */

static void make_paths(struct lend *lend)
{
	const char *dir = lend->node->kubelet_dir;

	lend->plugins_dir = xasprintf("%s/device-plugins", dir);
	lend->registry_dir = xasprintf("%s/plugins_registry", dir);
	lend->socket_dir = xasprintf("%s/plugins/hostdev", dir);
	lend->checkpoint_path = xasprintf("%s/kubelet_internal_checkpoint", lend->plugins_dir);
	lend->podresources_path = xasprintf("%s/pod-resources/kubelet.sock", dir);
}

static void watch_kubelet(struct lend *lend)
{
	const struct this_node *node = lend->node;

	lend->watch = kubelet_watch_new(node->loop, node->clock, lend->plugins_dir);
	lend->listener = kubelet_watch_listen(lend->watch, NULL, on_kubelet, lend);
	lend->registration = (struct registration_deps){
		.loop = node->loop,
		.clock = node->clock,
		.watch = lend->watch,
		.kubelet_dir = lend->plugins_dir,
		.registry_dir = lend->registry_dir,
		.metrics = node->metrics,
	};
	begin(lend);
	if (!lend->plugins)
		log_info("no kubelet on this node, waiting for one to offer devices to",
			 log_str("folder", lend->plugins_dir));
}

struct lend *lend_new(const struct this_node *node, const struct lend_deps *deps)
{
	struct lend *lend = xcalloc(1, sizeof(*lend));

	lend->node = node;
	lend->deps = *deps;
	lend->told = (struct told){ .node_name = node->name,
				    .claims = deps->claims,
				    .devices = deps->devices,
				    .mdevs = deps->mdevs };
	lend->view = (struct pci_view){ .node = node,
					.claims = deps->claims,
					.devices = deps->devices,
					.held_as = held_as,
					.pods = pods_of,
					.gift = gift_of,
					.written = written,
					.selected = on_selected,
					.same_pod = is_same_pod,
					.number = number_trouble,
					.start = start_trouble,
					.left = is_left,
					.arg = lend };
	lend->numbers = node_numbers_new(
		node, &(struct node_numbers_deps){ add_held, holder_of, is_same_pod, lend });
	lend->pci = pci_type_new(&lend->view);
	lend->offered = offered_new(lend->pci, &offered_ops, lend);
	lend_add(lend, &(struct lend_type){
			       .offer = offer_pci, .arg = lend->pci, .nodes = nodes_of_pci });
	lend->timer = clock_timer_new(node->clock, on_due, lend);
	lend->apart = clock_timer_new(node->clock, on_apart, lend);
	make_paths(lend);
	if (!deps->options.off)
		watch_kubelet(lend);
	return lend;
}

struct lend *lend_free(struct lend *lend)
{
	if (!lend)
		return NULL;
	plugins_free(lend->plugins);
	node_watch_free(lend->node_watch);
	json_strs_done(&lend->nodes);
	custody_free(lend->custody);
	kubelet_listener_free(lend->listener);
	kubelet_watch_free(lend->watch);
	clock_timer_free(lend->node->clock, lend->timer);
	clock_timer_free(lend->node->clock, lend->apart);
	offered_free(lend->offered);
	node_numbers_free(lend->numbers);
	pci_type_free(lend->pci);
	array_done(&lend->types);
	free(lend->plugins_dir);
	free(lend->registry_dir);
	free(lend->socket_dir);
	free(lend->podresources_path);
	free(lend->checkpoint_path);
	free(lend);
	return NULL;
}
