/*
 * offers_scene: a claimed NIC that is offered to a fake kubelet, podresources included.
 *
 *	struct scene *scene = scene_new();
 *
 *	kubelet_start(&scene->kubelet);
 *	pods_serve(scene);
 *	give(scene, "vm-1");
 *	offers_begin(scene, false);
 *	assert_holder(scene, "pod default/vm-1");
 *	scene_free(scene);
 */
#pragma once

#include "agent/plugin/plugins.h"
#include "agent/resource/offers.h"
#include "fake/fake_clock.h"
#include "unit/plugin/fake_kubelet.h"
#include "unit/plugin/pods.h"
#include "unit/resource/node1.h"

#define MODEL "unknown.com/10d3"

/* A checkpoint that says what pods have. */
#define CHECKPOINT_ENTRY(uid, resource, ids)               \
	"{\"PodUID\":\"" uid "\",\"ContainerName\":\"c\"," \
	"\"ResourceName\":\"" resource "\",\"DeviceIDs\":{\"-1\":[" ids "]}}"
#define CHECKPOINT_OF(entries) "{\"Data\":{\"PodDeviceEntries\":[" entries "]}}"

struct scene {
	struct stage stage;
	struct node1 node;
	struct store *mdevs; /* NULL: none */
	struct fake_kubelet kubelet;
	char *proc; /* the host's */
	char *pods_path;
	struct grpc_service pods_service;
	struct grpc_uv_server *pods; /* NULL: podresources is not served */
	struct pod_device listed[4]; /* by podresources                  */
	size_t listed_len;
	unsigned asked; /* how often podresources was */
	bool stopped;
	struct offers *offers;
};

static const char *const lines[NODE1_LINES] = { FUNCTION(NIC, "vfio-pci", "12", "") };

/* --- the kubelet ------------------------------------------------------------------------------ */

static inline void on_list(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	struct scene *scene = arg;
	auto_str struct str message = STR_INIT;

	(void)request;
	(void)len;
	scene->asked++;
	if (scene->listed_len > 0)
		pods_pack(&message, scene->listed, scene->listed_len);
	grpc_call_answer(call, str_cstr(&message), message.len);
}

static const struct grpc_method pods_methods[] = { { "/v1.PodResourcesLister/List", on_list } };

static inline void pods_serve(struct scene *scene)
{
	struct grpc_uv_server_settings settings = { .path = scene->pods_path,
						    .service = &scene->pods_service };

	assert_int_equal(grpc_uv_server_new(&scene->stage.loop, &settings, &scene->pods, NULL), 0);
}

static inline void list_more(struct scene *scene, const char *resource, const char *id,
			     const char *pod)
{
	assert_true(scene->listed_len < ARRAY_LEN(scene->listed));
	scene->listed[scene->listed_len++] =
		(struct pod_device){ resource, id, "default", pod, "main", NULL };
}

static inline void list_none(struct scene *scene)
{
	scene->listed_len = 0;
}

static inline void give(struct scene *scene, const char *pod)
{
	list_none(scene);
	list_more(scene, MODEL, NIC, pod);
}

/* --- the scene -------------------------------------------------------------------------------- */

static inline void on_changed(void *arg, const char *address)
{
	struct scene *scene = arg;

	str_addf(&scene->stage.log, "changed %s|", address ? address : "all");
}

static inline void on_offered(void *arg, const char *address)
{
	struct scene *scene = arg;

	str_addf(&scene->stage.log, "offered %s|", address);
}

static inline void offers_begin(struct scene *scene, bool off)
{
	scene->offers =
		offers_new(&scene->node.this_node,
			   &(struct offers_deps){
				   .claims = scene->node.claims,
				   .devices = scene->node.devices,
				   .mdevs = scene->mdevs,
				   .options = { .off = off, .registration = REGISTRATION_AUTO },
				   .changed = on_changed,
				   .offered = on_offered,
				   .arg = scene,
			   });
	offers_update(scene->offers);
}

/* The host has one process more, in @cgroup. */
static inline void process_begin(struct scene *scene, const char *pid, const char *cgroup)
{
	const struct folder *folder = &scene->stage.folder;
	auto_free char *process = xasprintf("proc/%s", pid);
	auto_free char *file = xasprintf("proc/%s/cgroup", pid);
	auto_free char *line = xasprintf("0::%s\n", cgroup);
	auto_free char *path = folder_path(folder, process);

	assert_int_equal(mkdir(path, 0700), 0);
	folder_put(folder, file, line);
}

static inline struct scene *scene_of(const char *const *functions)
{
	struct scene *scene = xcalloc(1, sizeof(*scene));
	auto_free char *folder = NULL;

	stage_init(&scene->stage);
	kubelet_init(&scene->kubelet, &scene->stage);
	node1_open(&scene->node, functions);
	scene->node.this_node.loop = &scene->stage.loop;
	scene->node.this_node.clock = scene->stage.clock;
	scene->node.this_node.kubelet_dir = scene->stage.folder.path;
	node1_nodes(&scene->node, "vfio 12");
	node1_claim(&scene->node, NIC_CLAIM("", "", READY_OF("True")));
	folder = folder_path(&scene->stage.folder, "pod-resources");
	assert_int_equal(mkdir(folder, 0700), 0);
	scene->pods_path = xasprintf("%s/kubelet.sock", folder);
	scene->pods_service = (struct grpc_service){ pods_methods, 1, scene };
	scene->proc = folder_path(&scene->stage.folder, "proc");
	assert_int_equal(mkdir(scene->proc, 0700), 0);
	scene->node.this_node.helper.proc_root = scene->proc;
	process_begin(scene, "1", "/init.scope");
	return scene;
}

static inline struct scene *scene_new(void)
{
	return scene_of(lines);
}

static inline void scene_free(struct scene *scene)
{
	offers_free(scene->offers);
	grpc_uv_server_free(scene->pods);
	kubelet_done(&scene->kubelet);
	stage_done(&scene->stage);
	node1_close(&scene->node);
	free(scene->pods_path);
	free(scene->proc);
	free(scene);
}

SUITE_OBJECT(scene, scene_new(), scene_free);

static inline void settle(struct scene *scene)
{
	for (int i = 0; i < STAGE_QUIET_TURNS; i++) {
		fake_clock_settle(scene->stage.fake);
		uv_run(&scene->stage.loop, UV_RUN_NOWAIT);
	}
}

/* Let @ms go by, in steps in which sockets get their turn. */
static inline void pass(struct scene *scene, uint64_t ms)
{
	for (uint64_t gone = 0; gone < ms; gone += 50) {
		fake_clock_advance(scene->stage.fake, 50);
		settle(scene);
	}
}

static inline void await_stream(struct scene *scene)
{
	fake_clock_settle(scene->stage.fake);
	while (!scene->kubelet.stream)
		stage_turn(&scene->stage);
}

/* What the kubelet has on disk, and what it writes as lists come. */
static inline void checkpoint_put(struct scene *scene, const char *before, const char *later)
{
	folder_put(&scene->stage.folder, "device-plugins/kubelet_internal_checkpoint", before);
	scene->kubelet.checkpoint = later;
}

static inline void process_end(struct scene *scene, const char *pid)
{
	auto_free char *file = xasprintf("%s/%s/cgroup", scene->proc, pid);

	assert_int_equal(remove(file), 0);
}

/* "free", "not known", or who has it. */
static inline void assert_holder(struct scene *scene, const char *wanted)
{
	auto_free char *holder = NULL;
	bool is_free = offers_is_free(scene->offers, NIC, &holder);

	assert_string_equal(is_free ? "free" : holder ? holder : "not known", wanted);
}

static inline bool told(struct scene *scene, const char *text)
{
	bool found = strstr(str_cstr(&scene->stage.log), text) != NULL;

	str_clear(&scene->stage.log);
	return found;
}

static inline void on_allocate_end(void *arg, const struct grpc_result *result)
{
	int *status = arg;

	*status = (int)result->status;
}

/* As the kubelet does it when it admits a pod: a container gets the devices @ids. How it ends. */
static inline enum grpc_status allocate_ids(struct scene *scene, char **ids, size_t len)
{
	V1beta1__ContainerAllocateRequest container = V1BETA1__CONTAINER_ALLOCATE_REQUEST__INIT;
	V1beta1__ContainerAllocateRequest *containers[] = { &container };
	V1beta1__AllocateRequest message = V1BETA1__ALLOCATE_REQUEST__INIT;
	auto_str struct str data = STR_INIT;
	int status = -1;
	struct grpc_request request = { .path = "/v1beta1.DevicePlugin/Allocate",
					.on_message = kubelet_on_message,
					.on_end = on_allocate_end,
					.arg = &status };

	container.devices_ids = ids;
	container.n_devices_ids = len;
	message.container_requests = containers;
	message.n_container_requests = 1;
	assert_int_equal(grpc_message_pack(&message.base, SIZE_MAX, &data, NULL), 0);
	request.data = str_cstr(&data);
	request.len = data.len;
	assert_int_equal(grpc_uv_client_call(scene->kubelet.plugin, &request, NULL, NULL), 0);
	while (status < 0)
		stage_turn(&scene->stage);
	return (enum grpc_status)status;
}

static inline enum grpc_status allocate_one(struct scene *scene, const char *id)
{
	char *ids[] = { pods_unconst(id) };

	return allocate_ids(scene, ids, 1);
}

static inline void allocate(struct scene *scene)
{
	assert_int_equal(allocate_one(scene, NIC), GRPC_OK);
}
