/*
 * dra_scene: a node with a DRA driver's devices, in the place of agent/dra/dra_devices.c, slices.c and
 * device_status.c, and with a kubelet's folder, an API server that the test answers for, and pods that it
 * makes up.
 *
 *	struct dra_scene *scene = dra_scene_new();
 *
 *	dra_scene_add(scene, "0000:3b:00.0", "14");
 *
 * Included by one file of a program.
 */
#pragma once

#include "agent/dra/device_status.h"
#include "agent/dra/dra_devices.h"
#include "agent/dra/slices.h"
#include "agent/inventory/inventory.h"
#include "agent/node/this_node.h"
#include "agent/plugin/device_type.h"
#include "agent/plugin/kubelet_watch.h"
#include "api/json_map.h"
#include "api/resourceclaim.h"
#include "base/err.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/kubelet/dra_client.h"
#include "unit/dra/made_claim.h"
#include "unit/plugin/stage.h"

#define BOOT "b00t-1"

#define NIC "0000:3b:00.0"
#define TOO "0000:3b:00.1"
#define GPU "0000:5e:00.0"

#define UID1 "11111111-aaaa-4bbb-8ccc-000000000001"
#define UID2 "22222222-aaaa-4bbb-8ccc-000000000002"

enum { FAKE_DEVICES_MAX = 300 };

struct dra_devices {
	struct str *log;
	void (*changed)(void *arg);
	void *arg;
	struct dra_device items[FAKE_DEVICES_MAX];
	size_t len;
	bool selects;
	size_t updates; /* of the slices */
};

struct dra_scene {
	struct stage stage;
	struct this_node node;
	struct kubelet_watch *watch;
	struct dra_devices devices;
	struct str allocated; /* "resource:id id|" of each allocate */
	struct str refusal;   /* the next allocate fails with it    */
	struct str told;      /* what device_status was told, as below */
	bool gives_nothing;
	bool gives_annotation;
	char *busy;   /* the ID of a device that a process still has */
	char *in_pod; /* the ID of a device that a pod has           */
	char *kubelet_dir, *registry_dir, *cdi_dir, *dir, *claims_dir, *metadata_dir;
};

/* --- devices ---------------------------------------------------------------------------------- */

static inline struct dra_devices **fake_devices(void)
{
	static struct dra_devices *devices;

	return &devices;
}

struct dra_devices *dra_devices_new(const struct this_node *node, void (*changed)(void *arg),
				    void *arg)
{
	struct dra_devices *devices = *fake_devices();

	devices->changed = changed;
	devices->arg = arg;
	return devices;
}

struct dra_devices *dra_devices_free(struct dra_devices *devices)
{
	devices->changed = NULL;
	return NULL;
}

void dra_devices_set(struct dra_devices *devices, const struct device_type *type, void *type_arg,
		     const struct plugin_resource *resources, size_t len)
{
	str_addf(devices->log, "set %s %zu|", type->name, len);
}

void dra_devices_select(struct dra_devices *devices, const bool selected[DRA_KINDS])
{
	devices->selects = selected[DRA_PCI];
}

bool dra_devices_selects(const struct dra_devices *devices, enum dra_kind kind)
{
	return devices->selects;
}

const struct dra_device *dra_devices_find(const struct dra_devices *devices, const char *name)
{
	for (size_t i = 0; i < devices->len; i++) {
		if (strcmp(devices->items[i].name, name) == 0)
			return &devices->items[i];
	}
	return NULL;
}

size_t dra_devices_len(const struct dra_devices *devices)
{
	return devices->len;
}

const struct dra_device *dra_devices_at(const struct dra_devices *devices, size_t i)
{
	return &devices->items[i];
}

/* --- slices ----------------------------------------------------------------------------------- */

struct slices {
	struct str *log;
};

struct slices *slices_new(const struct this_node *node, const struct dra_devices *devices,
			  bool (*is_held)(void *arg, const char *id), void *arg)
{
	struct slices *slices = xcalloc(1, sizeof(*slices));

	slices->log = devices->log;
	return slices;
}

struct slices *slices_free(struct slices *slices)
{
	free(slices);
	return NULL;
}

void slices_start(struct slices *slices)
{
	str_add(slices->log, "slices|");
}

void slices_update(struct slices *slices)
{
	(*fake_devices())->updates++;
}

/* --- the status of claims --------------------------------------------------------------------- */

/* "failed nic: MESSAGE|", "prepared nic|", "unprepared UID|". */
static inline struct str **fake_told(void)
{
	static struct str *told;

	return &told;
}

struct device_status {
	struct str *told;
};

struct device_status *device_status_new(const struct this_node *node)
{
	struct device_status *status = xcalloc(1, sizeof(*status));

	status->told = *fake_told();
	return status;
}

struct device_status *device_status_free(struct device_status *status)
{
	free(status);
	return NULL;
}

void device_status_failed(struct device_status *status, const char *ns,
			  const struct resourceclaim *claim, const char *message)
{
	assert_string_equal(ns, "default");
	str_addf(status->told, "failed %s: %s|", claim->meta.name, message);
}

void device_status_prepared(struct device_status *status, const char *ns,
			    const struct resourceclaim *claim)
{
	assert_string_equal(ns, "default");
	str_addf(status->told, "prepared %s|", claim->meta.name);
}

/* As the real one: of an earlier failure, the claim has an entry. */
bool device_status_is_told(const struct device_status *status, const struct resourceclaim *claim)
{
	(void)status;
	return claim->status.devices.len > 0;
}

void device_status_check(struct device_status *status, const char *uid, const char *ns,
			 const char *name)
{
	assert_string_equal(ns, "default");
	str_addf(status->told, "check %s %s|", name, uid);
}

void device_status_unprepared(struct device_status *status, const char *uid)
{
	str_addf(status->told, "unprepared %s|", uid);
}

/* And nothing else since the last time. */
static inline void dra_scene_assert_told(struct str *told, const char *expected)
{
	assert_string_equal(str_cstr(told), expected);
	str_clear(told);
}

/* --- a device type ---------------------------------------------------------------------------- */

/* "PCI_RESOURCE_NIC=...", a node of all and a node of each, as for VFIO. */
static inline int toy_allocate(void *arg, const char *resource, const struct json_strs *ids,
			       struct allocation *allocation, struct err *err)
{
	struct dra_scene *scene = arg;
	auto_str struct str value = STR_INIT;

	str_addf(&scene->allocated, "%s:", resource);
	for (size_t i = 0; i < ids->len; i++) {
		auto_free char *node = xasprintf("/dev/vfio/%s", ids->items[i]);

		str_addf(&scene->allocated, "%s%s", i ? " " : "", ids->items[i]);
		str_addf(&value, "%s%s", i ? "," : "", ids->items[i]);
		if (scene->gives_nothing)
			continue;
		allocation_add_device(allocation, "/dev/vfio/vfio", "mrw");
		allocation_add_device_as(allocation, node, "/dev/vfio/group", "rw");
	}
	str_add_char(&scene->allocated, '|');
	if (scene->refusal.len > 0)
		return err_set(err, ERR_INVALID, -EHOSTDOWN, "%s", str_cstr(&scene->refusal));
	if (scene->gives_annotation)
		json_pairs_set(&allocation->annotations, "a", "b");
	if (!scene->gives_nothing)
		json_pairs_set(&allocation->envs, "PCI_RESOURCE_NIC", str_cstr(&value));
	return 0;
}

static inline bool toy_is_busy(void *arg, const char *id)
{
	const struct dra_scene *scene = arg;

	return str_match(scene->busy, id);
}

static const struct device_type toy_type = { .name = "pci",
					     .allocate = toy_allocate,
					     .is_busy = toy_is_busy };

static inline void toy_allocate_later(void *arg, const char *resource, const struct json_strs *ids,
				      struct deferred *deferred)
{
	fail_msg("nobody can wait for this");
}

static const struct device_type later_type = { .name = "later",
					       .allocate_later = toy_allocate_later };

/* "pci-0000-3b-00-0"; the caller frees. */
static inline char *dra_scene_name(const char *id)
{
	char *name = xasprintf("pci-%s", id);

	for (char *c = name; *c; c++) {
		if (*c == ':' || *c == '.')
			*c = '-';
	}
	return name;
}

/* @group may be NULL. */
static inline struct dra_device *dra_scene_add(struct dra_scene *scene, const char *id,
					       const char *group)
{
	struct dra_device *device = &scene->devices.items[scene->devices.len++];

	assert_true(scene->devices.len <= FAKE_DEVICES_MAX);
	*device = (struct dra_device){ .type = &toy_type,
				       .type_arg = scene,
				       .resource = xstrdup("example.com/nic"),
				       .id = xstrdup(id),
				       .name = dra_scene_name(id),
				       .pool = xstrdup("node1"),
				       .iommu_group = xstrdup_or_null(group),
				       .attributes = made_attributes(id) };
	return device;
}

static inline struct dra_device *dra_scene_device(struct dra_scene *scene, const char *id)
{
	for (size_t i = 0; i < scene->devices.len; i++) {
		if (strcmp(scene->devices.items[i].id, id) == 0)
			return &scene->devices.items[i];
	}
	fail_msg("no device '%s'", id);
	return NULL;
}

static inline void dra_scene_clear(struct dra_scene *scene)
{
	for (size_t i = 0; i < scene->devices.len; i++) {
		struct dra_device *device = &scene->devices.items[i];

		free(device->resource);
		free(device->id);
		free(device->name);
		free(device->pool);
		free(device->iommu_group);
		free(device->trouble);
		free(device->attributes);
	}
	scene->devices.len = 0;
}

/* As h2's timer does soon after a change. */
static inline void dra_scene_changed(struct dra_scene *scene)
{
	scene->devices.changed(scene->devices.arg);
}

/* --- the API server --------------------------------------------------------------------------- */

/* A ResourceClaim default/@name with the results and the configuration given, ' for ". */
static inline char *dra_scene_object(const char *name, const char *uid, const char *annotations,
				     const char *results, const char *config)
{
	char *text =
		xasprintf("{'apiVersion':'resource.k8s.io/v1','kind':'ResourceClaim','metadata':"
			  "{'name':'%s','namespace':'default','uid':'%s','annotations':{%s}},"
			  "'spec':{'devices':{}},'status':{'allocation':{'devices':{"
			  "'results':[%s],'config':[%s]}},'reservedFor':[]}}",
			  name, uid, annotations, results, config);

	for (char *c = text; *c; c++) {
		if (*c == '\'')
			*c = '"';
	}
	return text;
}

/* A result of our driver; @id is that of a device. */
#define RESULT_OF(request, name) \
	"{'request':'" request "','driver':'hostdev.io','pool':'node1','device':'pci-" name "'}"
#define NIC_NAME "0000-3b-00-0"
#define TOO_NAME "0000-3b-00-1"
#define GPU_NAME "0000-5e-00-0"

static inline void dra_scene_answer(struct dra_scene *scene, const char *name, const char *uid,
				    const char *results)
{
	auto_free char *text = dra_scene_object(name, uid, "", results, "");

	fake_client_answer(scene->node.client, 200, text);
}

/* --- life ------------------------------------------------------------------------------------- */

static inline char *dra_scene_pod(void *arg, const char *id)
{
	const struct dra_scene *scene = arg;

	return str_match(scene->in_pod, id) ? xstrdup("pod default/vm-1") : NULL;
}

static inline void dra_scene_on_changed(void *arg, const char *id)
{
	struct dra_scene *scene = arg;

	str_addf(&scene->stage.log, "changed %s|", id);
}

static inline void dra_scene_init(struct dra_scene *scene)
{
	auto_free char *plugins = NULL;
	auto_free char *watched = NULL;

	stage_init(&scene->stage);
	/* What goes wrong here is meant to: the lines would hide what is not. */
	log_set_level(LOG_ERROR);
	scene->kubelet_dir = folder_path(&scene->stage.folder, "kubelet");
	scene->registry_dir = folder_path(&scene->stage.folder, "kubelet/plugins_registry");
	plugins = folder_path(&scene->stage.folder, "kubelet/plugins");
	watched = folder_path(&scene->stage.folder, "kubelet/device-plugins");
	scene->dir = folder_path(&scene->stage.folder, "kubelet/plugins/hostdev.io");
	scene->claims_dir = folder_path(&scene->stage.folder, "kubelet/plugins/hostdev.io/claims");
	scene->metadata_dir =
		folder_path(&scene->stage.folder, "kubelet/plugins/hostdev.io/metadata");
	scene->cdi_dir = folder_path(&scene->stage.folder, "cdi");
	assert_int_equal(mkdir(scene->kubelet_dir, 0700), 0);
	assert_int_equal(mkdir(scene->registry_dir, 0700), 0);
	assert_int_equal(mkdir(plugins, 0700), 0);
	assert_int_equal(mkdir(watched, 0700), 0);
	scene->node = (struct this_node){ .name = "node1",
					  .loop = &scene->stage.loop,
					  .client = fake_client_new(),
					  .clock = scene->stage.clock,
					  .kubelet_dir = scene->kubelet_dir };
	scene->watch = kubelet_watch_new(&scene->stage.loop, scene->stage.clock, watched);
	scene->devices.log = &scene->stage.log;
	*fake_devices() = &scene->devices;
	*fake_told() = &scene->told;
}

/* What uses it is freed. */
static inline void dra_scene_done(struct dra_scene *scene)
{
	dra_scene_clear(scene);
	kubelet_watch_free(scene->watch);
	kube_client_free(scene->node.client);
	stage_done(&scene->stage);
	str_done(&scene->allocated);
	str_done(&scene->refusal);
	str_done(&scene->told);
	free(scene->busy);
	free(scene->in_pod);
	free(scene->kubelet_dir);
	free(scene->registry_dir);
	free(scene->cdi_dir);
	free(scene->dir);
	free(scene->claims_dir);
	free(scene->metadata_dir);
}

/* How many files the folder @path has; 0 if it does not exist. */
static inline size_t dra_scene_files(const char *path)
{
	auto_dir DIR *dir = opendir(path);
	const struct dirent *entry;
	size_t n = 0;

	while (dir && (entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	return n;
}
