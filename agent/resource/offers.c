#include "agent/resource/offers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/config/config.h"
#include "agent/dra/dra_driver.h"
#include "agent/dra/on_demand_binder.h"
#include "agent/inventory/inventory.h"
#include "agent/node/this_node.h"
#include "agent/plugin/kubelet_watch.h"
#include "agent/plugin/node_watch.h"
#include "agent/plugin/plugins.h"
#include "agent/plugin/podresources.h"
#include "agent/resource/last_holder.h"
#include "agent/resource/ledger.h"
#include "agent/resource/node_numbers.h"
#include "agent/resource/pci_type.h"
#include "agent/resource/vfio_node.h"
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

static const char cdi_dir[] = "/var/run/cdi"; /* of all container runtimes */

enum {
	LOGGED_MAX = 16, /* devices in a line, or lines of a refusal */
	CLAIMS_MS = 50,  /* ResourceClaims that are prepared in this time make one update */
};

struct offers {
	const struct this_node *node;
	struct offers_deps deps;
	struct last_holder last_holder;
	struct pci_view view;
	struct pci_type *pci;
	struct offered *offered;
	struct {
		struct offers_type *items;
		size_t len, cap;
	} types;
	struct clock_timer *timer;     /* runs while an update is due */
	struct clock_timer *apart;     /* later allocations are another pod's */
	struct clock_timer *prepared;  /* runs while `prepared_ids` has some */
	struct json_strs prepared_ids; /* ResourceClaims have these since the last update, or had */
	struct kubelet_watch *watch;
	struct kubelet_listener *listener;
	char *plugins_dir, *registry_dir, *socket_dir, *podresources_path, *checkpoint_path;
	struct registration_deps registration;
	struct ledger *ledger; /* as the plugins */
	struct node_numbers *numbers;
	int64_t heartbeat_ms;
	struct plugins *plugins; /* NULL: there is no kubelet's folder */
	struct dra_driver *dra;  /* likewise */
	struct node_watch *node_watch;
	struct json_strs nodes; /* that it watches */
	bool selects;           /* what the HostDeviceConfig selects has been offered once */
	bool stopping;
	void (*stopped)(void *arg);
	void *stopped_arg;
};

/* --- holders ---------------------------------------------------------------------------------- */

static bool has_claim(const struct offers *offers, const char *id)
{
	auto_free char *claim = dra_driver_holder(offers->dra, id);

	return claim;
}

/* Of what the kubelet has allocated by a device plugin. A restarted agent may wait long for the
 * kubelet's first answer, and pods keep their devices meanwhile. */
static bool is_not_allocated(struct offers *offers, const char *id, char **ret_holder)
{
	if (!ledger_is_free(offers->ledger, id, ret_holder))
		return false;
	if (ledger_allocations(offers->ledger, id))
		return true;
	*ret_holder = last_holder_pod(&offers->last_holder, id);
	if (!*ret_holder)
		*ret_holder = xstrdup_or_null(ledger_written(offers->ledger, id));
	return !*ret_holder;
}

bool offers_is_free(struct offers *offers, const char *id, char **ret_holder)
{
	*ret_holder = NULL;
	if (!offers->ledger)
		return true;
	*ret_holder = dra_driver_holder(offers->dra, id);
	return !*ret_holder && is_not_allocated(offers, id, ret_holder);
}

char *offers_bound_for(const struct offers *offers, const char *id)
{
	return offers->dra ? dra_driver_bound_for(offers->dra, id) : NULL;
}

bool offers_is_on(const struct offers *offers)
{
	return offers->plugins;
}

const struct pcidevice_allocations *offers_allocations(const struct offers *offers, const char *id)
{
	static const struct pcidevice_allocations none = { 0 };

	if (!offers->ledger)
		return &none;
	return has_claim(offers, id) ? ledger_claims(offers->ledger, id)
				     : ledger_allocations(offers->ledger, id);
}

static void on_ledger(void *arg, const char *id)
{
	struct offers *offers = arg;

	offers_update_soon(offers); /* a device may have been renamed while a pod had it */
	offers->deps.changed(offers->deps.arg, id);
}

static bool is_offered(void *arg, const char *resource)
{
	const struct offers *offers = arg;

	return plugins_offer(offers->plugins, resource);
}

static bool had_device(void *arg, const struct pod_device *device)
{
	const struct offers *offers = arg;

	for (size_t i = 0; i < offers->types.len; i++) {
		const struct offers_type *type = &offers->types.items[i];

		if (type->had && type->had(type->arg, device))
			return true;
	}
	return false;
}

static void make_kubelet_write(void *arg)
{
	struct offers *offers = arg;

	if (!plugins_make_kubelet_write(offers->plugins))
		offers_update_soon(offers); /* offers something for which the kubelet opens one */
}

const char *offers_resource(const struct offers *offers, const char *id, bool *ret_ours)
{
	const char *resource = offers->ledger ? ledger_resource(offers->ledger, id) : NULL;

	*ret_ours = resource && plugins_offer(offers->plugins, resource);
	return resource;
}

const char *offers_owner(const struct offers *offers, const char *resource)
{
	return offers->plugins ? plugins_owner(offers->plugins, resource) : NULL;
}

bool offers_set_allocatable(struct offers *offers, const struct json_pairs *allocatable)
{
	return offered_set(offers->offered, allocatable);
}

bool offers_can_allocate(const struct offers *offers, const struct device_type *type,
			 const char *resource, const char *id)
{
	return !offers->plugins ||
	       offered_counts(offers->offered, resource,
			      plugins_list(offers->plugins, type, resource, id));
}

bool offers_set_no_node(struct offers *offers, const char *denied)
{
	return offered_set_no_node(offers->offered, denied);
}

struct offered_answer offers_answer(struct offers *offers, const char *address)
{
	struct offered_answer nobody = { .state = OFFERED_BY_NOBODY };

	return offers->plugins ? offered_ask(offers->offered, address) : nobody;
}

bool offers_selected(const struct offers *offers, const char *address,
		     const struct pci_last_offer **ret_offer)
{
	const struct pci_last_offer *offer =
		offers->plugins ? pci_type_last_offer(offers->pci, address) : NULL;

	*ret_offer = offer && !offer->claimed ? offer : NULL;
	return !offers->plugins || offers->selects;
}

static void on_selected(void *arg, const char *address)
{
	const struct offers *offers = arg;

	offers->deps.changed(offers->deps.arg, address);
}

static bool is_listed(void *arg, const char *resource, const char *address)
{
	const struct offers *offers = arg;

	return offers->plugins &&
	       plugins_list(offers->plugins, &pci_device_type, resource, address);
}

static const char *other_owner(void *arg, const char *resource)
{
	const char *owner = offers_owner(arg, resource);

	return owner && strcmp(owner, pci_device_type.name) != 0 ? owner : NULL;
}

static bool is_held(void *arg, const char *address)
{
	bool ours;

	return offers_resource(arg, address, &ours);
}

static void on_offered(void *arg, const char *address)
{
	const struct offers *offers = arg;

	if (offers->deps.offered)
		offers->deps.offered(offers->deps.arg, address);
}

static const struct offered_ops offered_ops = { is_listed, other_owner, is_held, on_offered };

/* A GPU that pods have as another type's is not offered as that by this one. */
static const char *held_as(void *arg, const char *address, bool *ret_ours)
{
	const char *resource = offers_resource(arg, address, ret_ours);

	if (resource && other_owner(arg, resource))
		*ret_ours = false;
	return resource;
}

/* By the device plugin. Before the kubelet's first answer, use the last holder in the API. */
static const struct pcidevice_allocations *pods_of(void *arg, const char *address)
{
	static const struct pcidevice_allocations none = { 0 };
	const struct offers *offers = arg;
	const struct pcidevice_allocations *list =
		offers->ledger ? ledger_allocations(offers->ledger, address) : &none;

	return list ? list : last_holder_allocations(&offers->last_holder, address);
}

static struct ledger_allocation allocation_of(void *arg, const char *address)
{
	const struct offers *offers = arg;

	return offers->ledger ? ledger_allocation(offers->ledger, address)
			      : (struct ledger_allocation){ 0 };
}

static const char *written(void *arg, const char *address)
{
	const struct offers *offers = arg;

	return offers->ledger ? ledger_written(offers->ledger, address) : NULL;
}

static bool is_same_pod(void *arg, const char *a, const char *b)
{
	const struct offers *offers = arg;

	return offers->ledger && ledger_same_pod(offers->ledger, a, b);
}

static void add_held(void *arg, struct json_strs *ids)
{
	offers_ids(arg, ids);
}

static char *holder_of(void *arg, const char *id)
{
	struct offers *offers = arg;
	char *holder = NULL;

	(void)offers_is_free(offers, id, &holder);
	if (!holder)
		holder = xstrdup_or_null(ledger_written(offers->ledger, id));
	if (!holder)
		return xstrdup("a pod");
	holder[strcspn(holder, ";")] = '\0'; /* the rest of the checkpoint's text */
	return holder;
}

char *offers_number_trouble(struct offers *offers, const char *id)
{
	return node_numbers_trouble(offers->numbers, id);
}

char *offers_bind_trouble(struct offers *offers, const char *id)
{
	return node_numbers_bind_trouble(offers->numbers, id);
}

void offers_ids(const struct offers *offers, struct json_strs *ids)
{
	if (!offers->ledger)
		return;
	ledger_ids(offers->ledger, ids);
	dra_driver_ids(offers->dra, ids);
}

char *offers_start_trouble(struct offers *offers, const char *id)
{
	auto_free char *former = offers->ledger ? ledger_former(offers->ledger, id) : NULL;

	return former ? xasprintf("%s still has %s: the container starts when it has ended", former,
				  id)
		      : NULL;
}

bool offers_is_busy(struct offers *offers, const char *id)
{
	auto_free char *copy = xstrdup(id);
	char *rest = copy;
	const char *part;

	while (offers->ledger && (part = strsep(&rest, ","))) {
		if (ledger_is_busy(offers->ledger, part))
			return true;
	}
	return false;
}

static bool is_busy(void *arg, const char *id)
{
	return offers_is_busy(arg, id);
}

static char *start_trouble(void *arg, const char *id)
{
	return offers_start_trouble(arg, id);
}

static char *number_trouble(void *arg, const char *address)
{
	return offers_number_trouble(arg, address);
}

/* --- events of the plugins -------------------------------------------------------------------- */

static void on_allocated(struct offers *offers, const struct plugin_event *event)
{
	auto_str struct str devices = STR_INIT;

	ledger_allocate(offers->ledger, event->resource,
			event->ids); /* before the kubelet writes */
	node_numbers_allocate(offers->numbers, event->ids);
	for (size_t i = 0; i < event->ids->len && i < LOGGED_MAX; i++)
		str_addf(&devices, "%s%s", i ? " " : "", event->ids->items[i]);
	if (event->ids->len > LOGGED_MAX)
		str_addf(&devices, " and %zu more", event->ids->len - LOGGED_MAX);
	log_info("devices allocated to a container", log_str("devices", str_cstr(&devices)),
		 log_str("resource", event->resource));
	ledger_ask(offers->ledger);
	/* Update the list only then: the pod's next container may get others of the group. */
	clock_timer_start(offers->node->clock, offers->apart, LEDGER_RECENT_MS + 1);
}

/* The name of the object of the device @id; NULL: not known. The caller frees. */
static char *device_name(const struct offers *offers, const char *type, const char *id,
			 const char **ret_kind)
{
	const struct inventory *inventory = offers->node->inventory;
	const struct inventory_set *usb = inventory ? &inventory->sets[INVENTORY_USB] : NULL;

	*ret_kind = NULL;
	if (strcmp(type, pci_device_type.name) == 0) {
		*ret_kind = pcidevice_kind.kind;
		return names_pcidevice(offers->node->name, id);
	}
	if (strcmp(type, "mdev") == 0) {
		*ret_kind = mediateddevice_kind.kind;
		return names_mediateddevice(offers->node->name, id);
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

/* @id is NULL for a request that cannot be read. The kubelet does not name the pod. */
static void audit_refused(const struct offers *offers, const struct plugin_event *event,
			  const char *id)
{
	struct audit audit = { .action = "allocate",
			       .result = "Refused",
			       .node = offers->node->name,
			       .resource = event->resource,
			       .message = event->err->msg,
			       .warning = true };
	auto_free char *name = id ? device_name(offers, event->type, id, &audit.kind) : NULL;

	audit.device = name;
	audit_log(&audit);
}

static void on_refused(const struct offers *offers, const struct plugin_event *event)
{
	if (event->ids->len == 0)
		audit_refused(offers, event, NULL);
	for (size_t i = 0; i < event->ids->len && i < LOGGED_MAX; i++)
		audit_refused(offers, event, event->ids->items[i]);
}

static void notify_listed(const struct offers *offers)
{
	for (size_t i = 0; i < offers->types.len; i++) {
		if (offers->types.items[i].listed)
			offers->types.items[i].listed(offers->types.items[i].arg);
	}
}

static void on_plugin(void *arg, const struct plugin_event *event)
{
	struct offers *offers = arg;
	const char *resource = event->resource;

	switch (event->kind) {
	case PLUGIN_REGISTERED:
		log_info("resource registered", log_str("resource", resource));
		ledger_ask(offers->ledger);
		return;
	case PLUGIN_LISTED:
		offered_check_answers(offers->offered);
		notify_listed(offers);
		return;
	case PLUGIN_WAITING:
		log_warn("resource not registered yet", log_str("resource", resource),
			 log_str("reason", event->err->msg));
		return;
	case PLUGIN_ALLOCATED:
		on_allocated(offers, event);
		return;
	case PLUGIN_NOT_ALLOCATED:
		on_refused(offers, event);
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

/* --- the DRA driver --------------------------------------------------------------------------- */

static void on_dra_devices(void *arg, const struct device_type *type, void *type_arg,
			   const struct plugin_resource *resources, size_t len)
{
	const struct offers *offers = arg;

	dra_driver_set(offers->dra, type, type_arg, resources, len);
}

static bool is_claimed(void *arg, const char *id)
{
	return has_claim(arg, id);
}

static const char *claimed_id(void *arg, const struct pod_device *device)
{
	const struct offers *offers = arg;

	return dra_driver_device_id(offers->dra, device->namespace, device->claim, device->device);
}

static char *bound_for_of(void *arg, const char *id)
{
	return offers_bound_for(arg, id);
}

/* Without a binder nothing can be bound. */
static char *on_demand_trouble(void *arg, const char *id)
{
	const struct offers *offers = arg;
	const struct on_demand_binder *on_demand = offers->deps.on_demand;

	return on_demand ? on_demand->trouble(on_demand->arg, id)
			 : xstrdup("it cannot be bound on demand");
}

static bool is_moving(void *arg, const char *id)
{
	const struct offers *offers = arg;
	const struct on_demand_binder *on_demand = offers->deps.on_demand;

	return on_demand && on_demand->moving(on_demand->arg, id);
}

static char *pod_of(void *arg, const char *id)
{
	char *holder = NULL;

	if (is_not_allocated(arg, id, &holder))
		return NULL;
	return holder ? holder : xstrdup("a pod, perhaps: the kubelet has not listed its pods yet");
}

/* An update looks at every device. What a Prepare decides on does not wait for it. */
static void on_prepared_due(void *arg)
{
	struct offers *offers = arg;
	struct json_strs ids = offers->prepared_ids;

	offers->prepared_ids = (struct json_strs){ 0 };
	ledger_ask(offers->ledger);
	offers_update_soon(offers);
	for (size_t i = 0; i < ids.len; i++)
		offers->deps.changed(offers->deps.arg, ids.items[i]);
	json_strs_done(&ids);
}

/* The numbers of its nodes count as a pod's from now on, or do not any more. */
static void on_claim_changed(void *arg, const char *id)
{
	struct offers *offers = arg;
	struct json_strs ids = { 0 };

	json_strs_add(&ids, id);
	if (has_claim(offers, id))
		node_numbers_allocate(offers->numbers, &ids);
	json_strs_done(&ids);
	if (offers->prepared_ids.len == 0)
		clock_timer_start(offers->node->clock, offers->prepared, CLAIMS_MS);
	(void)json_strs_add_new(&offers->prepared_ids, id);
}

static void make_dra(struct offers *offers)
{
	const char *dir = offers->deps.options.cdi_dir;
	const struct dra_driver_deps deps = { .watch = offers->watch,
					      .registry_dir = offers->registry_dir,
					      .cdi_dir = dir ? dir : cdi_dir,
					      .holder = pod_of,
					      .on_demand = offers->deps.on_demand,
					      .changed = on_claim_changed,
					      .arg = offers };

	offers->dra = dra_driver_new(offers->node, &deps);
}

static void select_dra(const struct offers *offers)
{
	const struct config *config = offers->view.config;
	bool selected[DRA_KINDS] = { false };

	for (size_t i = 0; config && i < config->pci.len; i++)
		selected[DRA_PCI] |= config->pci.items[i].dra != CONFIG_DRA_OFF;
	for (size_t i = 0; config && i < config->usb.len; i++)
		selected[DRA_USB] |= config->usb.items[i].dra != CONFIG_DRA_OFF;
	for (size_t i = 0; config && i < config->mdevs.len; i++)
		selected[DRA_MDEV] |= config->mdevs.items[i].dra != CONFIG_DRA_OFF;
	dra_driver_select(offers->dra, selected);
}

void offers_set_node(struct offers *offers)
{
	if (offers->dra)
		dra_driver_set_node(offers->dra);
}

/* --- the kubelet's folder --------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void on_nodes(void *arg)
{
	offers_update_soon(arg);
}

static void begin(struct offers *offers)
{
	const struct ledger_deps ledger = { .socket_path = offers->podresources_path,
					    .checkpoint_path = offers->checkpoint_path,
					    .changed = on_ledger,
					    .offers = is_offered,
					    .had = had_device,
					    .dra_driver = DRA_DRIVER,
					    .claimed_id = claimed_id,
					    .make_kubelet_write = make_kubelet_write,
					    .arg = offers };
	struct plugins_deps deps;

	if (offers->plugins || offers->stopping || !is_folder(offers->plugins_dir))
		return;
	offers->registration.mode =
		registration_way(offers->deps.options.registration, offers->registry_dir);
	deps = (struct plugins_deps){ .registration = offers->registration,
				      .socket_dir = offers->socket_dir,
				      .checkpoint_path = offers->checkpoint_path,
				      .fn = on_plugin,
				      .dra = on_dra_devices,
				      .claimed = is_claimed,
				      .arg = offers };
	make_dra(offers);
	offers->plugins = plugins_new(&deps);
	offers->node_watch =
		node_watch_new(offers->node->loop, offers->node->clock, on_nodes, offers);
	offers->ledger = ledger_new(offers->node, &ledger);
	ledger_set_heartbeat(offers->ledger, offers->heartbeat_ms);
	log_info("offering devices to the kubelet", log_str("folder", offers->plugins_dir),
		 log_str("registration", offers->registration.mode == REGISTRATION_REGISTRY
						 ? "registry"
						 : "direct"));
	ledger_ask(offers->ledger);
	offers_update_soon(offers);
}

void offers_set_heartbeat(struct offers *offers, int64_t heartbeat_ms)
{
	offers->heartbeat_ms = heartbeat_ms;
	if (offers->ledger)
		ledger_set_heartbeat(offers->ledger, heartbeat_ms);
}

static void on_kubelet(void *arg, enum kubelet_event event)
{
	struct offers *offers = arg;

	begin(offers);
	if (event == KUBELET_CAME && offers->plugins)
		ledger_ask(offers->ledger);
}

/* --- offers ----------------------------------------------------------------------------------- */

void offers_add(struct offers *offers, const struct offers_type *type)
{
	*array_add(&offers->types) = *type;
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
 * The kubelet writes its checkpoint for whichever resource it has a stream of. If nothing else is
 * offered, a resource without devices is, as long as the checkpoint has to be written.
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

static void offer_stream(struct offers *offers)
{
	static const struct plugin_resource resource = { .name = STREAM_RESOURCE };
	bool wanted = offers->selects && ledger_wants_written(offers->ledger) &&
		      !plugins_offer_others(offers->plugins, &stream_type);

	plugins_set(offers->plugins, &stream_type, offers, &resource, wanted ? 1 : 0);
}

/* Watch them before the first check, so that no change is missed. */
static void watch_nodes(struct offers *offers)
{
	const char *dev_root = offers->node->helper.dev_root;
	struct json_strs nodes = { 0 };
	struct json_strs paths = { 0 };

	for (size_t i = 0; i < offers->types.len; i++) {
		if (offers->types.items[i].nodes)
			offers->types.items[i].nodes(offers->types.items[i].arg, &nodes);
	}
	for (size_t i = 0; i < nodes.len; i++) {
		auto_free char *path = vfio_node_path(dev_root, nodes.items[i]);

		json_strs_add_new(&paths, path);
	}
	if (!json_strs_equal(&paths, &offers->nodes))
		node_watch_set(offers->node_watch, &paths);
	json_strs_done(&nodes);
	json_strs_done(&offers->nodes);
	offers->nodes = paths;
}

/* A pod may already have a device that is offered again. */
void offers_update(struct offers *offers)
{
	if (!offers->plugins || offers->stopping)
		return;
	node_numbers_update(offers->numbers);
	select_dra(offers);
	watch_nodes(offers);
	for (size_t i = 0; i < offers->types.len; i++)
		offers->types.items[i].offer(offers->types.items[i].arg, offers->plugins);
	offer_stream(offers);
	ledger_offered(offers->ledger);
	offered_check_answers(offers->offered);
	if (offers->selects || !offers->view.config || !offers->node->inventory)
		return;
	offers->selects = true;
	offers_update_soon(offers);
	offers->deps.changed(offers->deps.arg, NULL);
}

static void on_stopped(void *arg)
{
	struct offers *offers = arg;

	offers->stopped(offers->stopped_arg);
}

static void on_due(void *arg)
{
	struct offers *offers = arg;

	if (offers->stopping)
		on_stopped(offers);
	else
		offers_update(offers);
}

static void on_apart(void *arg)
{
	offers_update_soon(arg);
}

void offers_update_soon(struct offers *offers)
{
	if (offers->plugins && !offers->stopping)
		clock_timer_start(offers->node->clock, offers->timer, 0);
}

void offers_set_config(struct offers *offers, const struct config *config)
{
	offers->view.config = config;
}

void offers_stop(struct offers *offers, void (*stopped)(void *arg), void *arg)
{
	offers->stopping = true;
	offers->stopped = stopped;
	offers->stopped_arg = arg;
	clock_timer_stop(offers->node->clock, offers->timer);
	if (offers->plugins)
		plugins_stop(offers->plugins, on_stopped, offers);
	else
		clock_timer_start(offers->node->clock, offers->timer, 0);
}

/* --- life ------------------------------------------------------------------------------------- */

static void make_paths(struct offers *offers)
{
	const char *dir = offers->node->kubelet_dir;

	offers->plugins_dir = xasprintf("%s/device-plugins", dir);
	offers->registry_dir = xasprintf("%s/plugins_registry", dir);
	offers->socket_dir = xasprintf("%s/plugins/hostdev", dir);
	offers->checkpoint_path = xasprintf("%s/kubelet_internal_checkpoint", offers->plugins_dir);
	offers->podresources_path = xasprintf("%s/pod-resources/kubelet.sock", dir);
}

static void watch_kubelet(struct offers *offers)
{
	const struct this_node *node = offers->node;

	offers->watch = kubelet_watch_new(node->loop, node->clock, offers->plugins_dir);
	offers->listener = kubelet_watch_listen(offers->watch, NULL, on_kubelet, offers);
	offers->registration = (struct registration_deps){
		.loop = node->loop,
		.clock = node->clock,
		.watch = offers->watch,
		.kubelet_dir = offers->plugins_dir,
		.registry_dir = offers->registry_dir,
		.metrics = node->metrics,
	};
	begin(offers);
	if (!offers->plugins)
		log_info("no kubelet on this node, waiting for one to offer devices to",
			 log_str("folder", offers->plugins_dir));
}

struct offers *offers_new(const struct this_node *node, const struct offers_deps *deps)
{
	struct offers *offers = xcalloc(1, sizeof(*offers));

	offers->node = node;
	offers->deps = *deps;
	offers->last_holder = (struct last_holder){ .node_name = node->name,
						    .claims = deps->claims,
						    .devices = deps->devices,
						    .mdevs = deps->mdevs };
	offers->view = (struct pci_view){ .node = node,
					  .claims = deps->claims,
					  .devices = deps->devices,
					  .held_as = held_as,
					  .pods = pods_of,
					  .allocation = allocation_of,
					  .written = written,
					  .selected = on_selected,
					  .same_pod = is_same_pod,
					  .claimed = is_claimed,
					  .bound_for = bound_for_of,
					  .on_demand_trouble = on_demand_trouble,
					  .moving = is_moving,
					  .number = number_trouble,
					  .start = start_trouble,
					  .busy = is_busy,
					  .arg = offers };
	offers->numbers = node_numbers_new(
		node, &(struct node_numbers_deps){ add_held, holder_of, is_same_pod, offers });
	offers->pci = pci_type_new(&offers->view);
	offers->offered = offered_new(offers->pci, &offered_ops, offers);
	offers_add(offers, &(struct offers_type){
				   .offer = offer_pci, .arg = offers->pci, .nodes = nodes_of_pci });
	offers->timer = clock_timer_new(node->clock, on_due, offers);
	offers->apart = clock_timer_new(node->clock, on_apart, offers);
	offers->prepared = clock_timer_new(node->clock, on_prepared_due, offers);
	make_paths(offers);
	if (!deps->options.off)
		watch_kubelet(offers);
	return offers;
}

struct offers *offers_free(struct offers *offers)
{
	if (!offers)
		return NULL;
	plugins_free(offers->plugins);
	dra_driver_free(offers->dra);
	node_watch_free(offers->node_watch);
	json_strs_done(&offers->nodes);
	ledger_free(offers->ledger);
	kubelet_listener_free(offers->listener);
	kubelet_watch_free(offers->watch);
	clock_timer_free(offers->node->clock, offers->timer);
	clock_timer_free(offers->node->clock, offers->apart);
	clock_timer_free(offers->node->clock, offers->prepared);
	json_strs_done(&offers->prepared_ids);
	offered_free(offers->offered);
	node_numbers_free(offers->numbers);
	pci_type_free(offers->pci);
	array_done(&offers->types);
	free(offers->plugins_dir);
	free(offers->registry_dir);
	free(offers->socket_dir);
	free(offers->podresources_path);
	free(offers->checkpoint_path);
	free(offers);
	return NULL;
}
