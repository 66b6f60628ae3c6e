/* dra_driver: a kubelet finds the driver, prepares claims with it and watches its devices. */
#include "agent/dra/dra_driver.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "agent/dra/dra_codec.h"
#include "agent/dra/health.h"
#include "base/array.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "grpc/message.h"
#include "grpc/uv_client.h"
#include "grpc/uv_server.h"
#include "kube/metrics.h"
#include "proto/pluginregistration.pb-c.h"
#include "unit/dra/dra_scene.h"

#define DRA "/k8s.io.kubelet.pkg.apis.dra."

struct scene {
	struct dra_scene dra;
	struct metrics *metrics;
	struct dra_driver *driver;
	char *socket_path, *registry_path;
	struct grpc_uv_client *client;
	struct grpc_uv_client *registrar;
};

static void open_driver(struct scene *scene)
{
	const struct dra_driver_deps deps = {
		.watch = scene->dra.watch,
		.registry_dir = scene->dra.registry_dir,
		.cdi_dir = scene->dra.cdi_dir,
		.boot = BOOT,
		.holder = dra_scene_pod,
		.changed = dra_scene_on_changed,
		.arg = &scene->dra,
	};

	scene->driver = dra_driver_new(&scene->dra.node, &deps);
}

static void scene_init(struct scene *scene)
{
	dra_scene_init(&scene->dra);
	scene->metrics = metrics_new();
	scene->dra.node.metrics = scene->metrics;
	scene->socket_path = xasprintf("%s/dra.sock", scene->dra.dir);
	scene->registry_path = xasprintf("%s/hostdev.io-reg.sock", scene->dra.registry_dir);
	scene->client = grpc_uv_client_new(&scene->dra.stage.loop, scene->socket_path, NULL);
	scene->registrar = grpc_uv_client_new(&scene->dra.stage.loop, scene->registry_path, NULL);
	open_driver(scene);
}

/* With a device that DRA offers. */
static void scene_init_served(struct scene *scene)
{
	scene_init(scene);
	(void)dra_scene_add(&scene->dra, NIC, "14");
	(void)dra_scene_add(&scene->dra, GPU, "15");
	dra_scene_changed(&scene->dra);
	stage_settle(&scene->dra.stage, "");
}

static void scene_done(struct scene *scene)
{
	grpc_uv_client_free(scene->client);
	grpc_uv_client_free(scene->registrar);
	dra_driver_free(scene->driver);
	metrics_free(scene->metrics);
	free(scene->socket_path);
	free(scene->registry_path);
	dra_scene_done(&scene->dra);
}

SUITE_FIXTURE(idle, struct scene, scene_init, scene_done);
SUITE_FIXTURE(scene, struct scene, scene_init_served, scene_done);

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

/* --- the kubelet ------------------------------------------------------------------------------ */

static void on_end(void *arg, const struct grpc_result *result)
{
	struct scene *scene = arg;

	if (result->status != GRPC_OK)
		str_addf(&scene->dra.stage.log, "%s: %s|", grpc_status_name(result->status),
			 result->message);
}

static void log_results(struct scene *scene, struct dra_results *results)
{
	for (size_t i = 0; i < results->len; i++) {
		const struct dra_result *result = &results->items[i];

		str_addf(&scene->dra.stage.log, "%.1s", result->uid);
		if (result->error)
			str_addf(&scene->dra.stage.log, " %s", result->error);
		for (size_t k = 0; k < result->devices.len; k++) {
			const struct dra_result_device *device = &result->devices.items[k];

			str_addf(&scene->dra.stage.log, " %s=%s/%s", device->request, device->pool,
				 device->device);
			for (size_t n = 0; n < device->cdi_ids.len; n++)
				str_addf(&scene->dra.stage.log, " %s", device->cdi_ids.items[n]);
		}
		str_add_char(&scene->dra.stage.log, '|');
	}
	dra_results_done(results);
}

static void on_prepared(void *arg, const char *data, size_t len)
{
	struct dra_results results = { 0 };

	assert_int_equal(dra_codec_read_prepared(data, len, &results, NULL), 0);
	log_results(arg, &results);
}

static void on_unprepared(void *arg, const char *data, size_t len)
{
	struct dra_results results = { 0 };

	assert_int_equal(dra_codec_read_unprepared(data, len, &results, NULL), 0);
	log_results(arg, &results);
}

static struct grpc_rpc *call_bytes(struct scene *scene, const char *method, const char *data,
				   size_t len)
{
	bool undoes = strstr(method, "Unprepare");
	const struct grpc_request request = { .path = method,
					      .data = data,
					      .len = len,
					      .on_message = undoes ? on_unprepared : on_prepared,
					      .on_end = on_end,
					      .arg = scene };
	struct grpc_rpc *rpc = NULL;

	assert_int_equal(grpc_uv_client_call(scene->client, &request, &rpc, NULL), 0);
	return rpc;
}

/* Of the claims @names, with UID1 and UID2. */
static struct grpc_rpc *call(struct scene *scene, const char *method, const char *first,
			     const char *second)
{
	const char *const names[] = { first, second };
	const char *const uids[] = { UID1, UID2 };
	struct dra_claims claims = { 0 };
	auto_str struct str data = STR_INIT;

	for (size_t i = 0; i < 2; i++) {
		if (names[i])
			*array_add(&claims) = (struct dra_claim){ .ns = xstrdup("default"),
								  .name = xstrdup(names[i]),
								  .uid = xstrdup(uids[i]) };
	}
	assert_int_equal(dra_codec_write_claims(&claims, &data, NULL), 0);
	dra_claims_done(&claims);
	return call_bytes(scene, method, str_cstr(&data), data.len);
}

#define PREPARE   DRA "v1.DRAPlugin/NodePrepareResources"
#define UNPREPARE DRA "v1.DRAPlugin/NodeUnprepareResources"
#define NIC_CDI   "hostdev.io/device=" UID1 "-a"
#define GPU_CDI   "hostdev.io/device=" UID2 "-a"
#define NIC_IS    "1 a=node1/pci-" NIC_NAME " " NIC_CDI "|"
#define GPU_IS    "2 a=node1/pci-" GPU_NAME " " GPU_CDI "|"

static void prepare_nic(struct scene *scene)
{
	(void)call(scene, PREPARE, "nic", NULL);
	stage_rest(&scene->dra.stage);
	dra_scene_answer(&scene->dra, "nic", UID1, RESULT_OF("a", NIC_NAME));
	stage_settle(&scene->dra.stage, "changed " NIC "|" NIC_IS);
}

static void on_info(void *arg, const char *data, size_t len)
{
	struct scene *scene = arg;
	ProtobufCMessage *message = NULL;
	const Pluginregistration__PluginInfo *info;

	assert_int_equal(grpc_message_unpack(&pluginregistration__plugin_info__descriptor, data,
					     len, &message, NULL),
			 0);
	info = (const Pluginregistration__PluginInfo *)message;
	assert_string_equal(info->endpoint, scene->socket_path);
	str_addf(&scene->dra.stage.log, "%s %s", info->type, info->name);
	for (size_t i = 0; i < info->n_supported_versions; i++)
		str_addf(&scene->dra.stage.log, " %s", info->supported_versions[i]);
	str_add_char(&scene->dra.stage.log, '|');
	grpc_message_free(message);
}

static void on_nothing(void *arg, const char *data, size_t len)
{
	(void)arg;
	(void)data;
	assert_int_equal(len, 0);
}

/* @data: RegistrationStatus; NULL: ask who is there. */
static void registrar_call(struct scene *scene, const char *data, size_t len)
{
	const struct grpc_request request = {
		.path = data ? "/pluginregistration.Registration/NotifyRegistrationStatus"
			     : "/pluginregistration.Registration/GetInfo",
		.data = data ? data : "",
		.len = len,
		.on_message = data ? on_nothing : on_info,
		.on_end = on_end,
		.arg = scene
	};

	assert_int_equal(grpc_uv_client_call(scene->registrar, &request, NULL, NULL), 0);
}

/* --- found ------------------------------------------------------------------------------------ */

/* No socket, no folder, nothing on the network. */
static void without_devices_there_is_nothing(void **state)
{
	struct scene *scene = *state;

	dra_scene_changed(&scene->dra);
	fake_clock_advance(scene->dra.stage.fake, (uint64_t)10 * KUBELET_POLL_MS);
	stage_settle(&scene->dra.stage, "");
	assert_false(is_there(scene->dra.dir));
	assert_false(is_there(scene->registry_path));
	assert_false(is_there(scene->dra.cdi_dir));
	assert_int_equal(fake_client_sent(scene->dra.node.client), 0);
}

static void entry_without_devices_is_served(void **state)
{
	struct scene *scene = *state;
	const bool selected[DRA_KINDS] = { [DRA_PCI] = true };

	dra_driver_select(scene->driver, selected);
	dra_scene_changed(&scene->dra);
	stage_settle(&scene->dra.stage, "");
	assert_true(is_there(scene->registry_path));
}

static void kubelet_finds_the_driver(void **state)
{
	struct scene *scene = *state;

	assert_true(is_there(scene->socket_path));
	registrar_call(scene, NULL, 0);
	stage_settle(&scene->dra.stage,
		     "DRAPlugin hostdev.io v1.DRAPlugin v1beta1.DRAPlugin v1.DRAResourceHealth "
		     "v1alpha1.DRAResourceHealth|");
	registrar_call(scene, "\x08\x01", 2);
	stage_settle(&scene->dra.stage, "slices|");
	scene->driver = dra_driver_free(scene->driver);
	stage_rest(&scene->dra.stage);
	assert_false(is_there(scene->socket_path));
	assert_false(is_there(scene->registry_path));
	open_driver(scene);
}

/* Slices of a driver that the kubelet does not know would attract pods that cannot start. */
static void refused_driver_publishes_nothing(void **state)
{
	struct scene *scene = *state;

	registrar_call(scene, "\x12\x02no", 4);
	stage_settle(&scene->dra.stage, "");
	registrar_call(scene, "\x08\x01", 2);
	stage_settle(&scene->dra.stage, "slices|");
}

static void crashed_agents_socket_is_replaced(void **state)
{
	struct scene *scene = *state;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(mkdir(scene->dra.dir, 0700), 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", scene->socket_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	(void)dra_scene_add(&scene->dra, NIC, "14");
	dra_scene_changed(&scene->dra);
	prepare_nic(scene);
}

static void removed_socket_is_made_again(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(unlink(scene->socket_path), 0);
	while (!is_there(scene->socket_path))
		stage_turn(&scene->dra.stage);
	grpc_uv_client_free(scene->client);
	scene->client = grpc_uv_client_new(&scene->dra.stage.loop, scene->socket_path, NULL);
	prepare_nic(scene);
}

static void something_else_is_in_the_way(void **state)
{
	struct scene *scene = *state;

	log_set_level(LOG_ERROR + 1);
	folder_put(&scene->dra.stage.folder, "kubelet/plugins/hostdev.io", "");
	(void)dra_scene_add(&scene->dra, NIC, "14");
	dra_scene_changed(&scene->dra);
	stage_settle(&scene->dra.stage, "");
	assert_false(is_there(scene->registry_path));
	assert_int_equal(unlink(scene->dra.dir), 0);
	folder_put(&scene->dra.stage.folder, "kubelet/plugins/hostdev.io/dra.sock", "precious");
	fake_clock_advance(scene->dra.stage.fake, KUBELET_POLL_MS);
	stage_settle(&scene->dra.stage, "");
	assert_false(is_there(scene->registry_path));
	assert_int_equal(unlink(scene->socket_path), 0);
	fake_clock_advance(scene->dra.stage.fake, KUBELET_POLL_MS);
	stage_settle(&scene->dra.stage, "");
	assert_true(is_there(scene->registry_path));
	prepare_nic(scene);
}

/* The pods that have claims end some time, whatever is offered then. */
static void next_agent_serves_what_is_prepared(void **state)
{
	struct scene *scene = *state;
	auto_free char *holder = NULL;

	prepare_nic(scene);
	scene->driver = dra_driver_free(scene->driver);
	dra_scene_clear(&scene->dra);
	stage_rest(&scene->dra.stage);
	open_driver(scene);
	holder = dra_driver_holder(scene->driver, NIC);
	assert_string_equal(holder, "ResourceClaim default/nic");
	stage_rest(&scene->dra.stage);
	(void)call(scene, PREPARE, "nic", NULL);
	stage_settle(&scene->dra.stage, NIC_IS);
	(void)call(scene, UNPREPARE, "nic", NULL);
	stage_settle(&scene->dra.stage, "changed " NIC "|1|");
	assert_null(dra_driver_holder(scene->driver, NIC));
	assert_int_equal(fake_client_open(scene->dra.node.client), 0);
}

/* --- prepared --------------------------------------------------------------------------------- */

static struct version_case {
	const char *name;
	const char *prepare;
	const char *unprepare;
} versions[] = {
	{ "by v1", PREPARE, UNPREPARE },
	{ "by v1beta1", DRA "v1beta1.DRAPlugin/NodePrepareResources",
	  DRA "v1beta1.DRAPlugin/NodeUnprepareResources" },
};

static void claims_are_prepared_and_unprepared(void **state)
{
	struct scene *scene = *state;
	const struct version_case *c = suite_row(state);

	(void)call(scene, c->prepare, "nic", "gpu");
	stage_rest(&scene->dra.stage);
	fake_client_choose(scene->dra.node.client, "/gpu");
	dra_scene_answer(&scene->dra, "gpu", UID2, RESULT_OF("a", GPU_NAME));
	stage_settle(&scene->dra.stage, "changed " GPU "|");
	dra_scene_answer(&scene->dra, "nic", UID1, RESULT_OF("a", NIC_NAME));
	stage_settle(&scene->dra.stage, "changed " NIC "|" NIC_IS GPU_IS);
	(void)call(scene, c->prepare, "nic", "gpu");
	stage_settle(&scene->dra.stage, NIC_IS GPU_IS);
	(void)call(scene, c->unprepare, "nic", "gpu");
	stage_settle(&scene->dra.stage, "changed " NIC "|changed " GPU "|1|2|");
	(void)call(scene, c->unprepare, "nic", NULL);
	stage_settle(&scene->dra.stage, "1|");
}

/* A container that names the request gets its CDI device once, by the first device of it. */
static void devices_of_one_request(void **state)
{
	struct scene *scene = *state;

	(void)call(scene, PREPARE, "nic", NULL);
	stage_rest(&scene->dra.stage);
	dra_scene_answer(&scene->dra, "nic", UID1,
			 RESULT_OF("b/x", GPU_NAME) "," RESULT_OF("a", NIC_NAME));
	stage_settle(&scene->dra.stage,
		     "changed " GPU "|changed " NIC "|1 b=node1/pci-" GPU_NAME
		     " hostdev.io/device=" UID1 "-b a=node1/pci-" NIC_NAME " " NIC_CDI "|");
	(void)call(scene, UNPREPARE, "nic", NULL);
	stage_rest(&scene->dra.stage);
	str_clear(&scene->dra.stage.log);
	(void)call(scene, PREPARE, "nic", NULL);
	stage_rest(&scene->dra.stage);
	dra_scene_answer(&scene->dra, "nic", UID1,
			 RESULT_OF("a", GPU_NAME) "," RESULT_OF("a", NIC_NAME));
	stage_settle(&scene->dra.stage, "changed " GPU "|changed " NIC "|1 a=node1/pci-" GPU_NAME
					" " NIC_CDI " a=node1/pci-" NIC_NAME "|");
}

static void one_claim_fails_and_the_other_does_not(void **state)
{
	struct scene *scene = *state;

	(void)call(scene, PREPARE, "nic", "gpu");
	stage_rest(&scene->dra.stage);
	fake_client_choose(scene->dra.node.client, "/nic");
	dra_scene_answer(&scene->dra, "nic", UID2, RESULT_OF("a", NIC_NAME));
	dra_scene_answer(&scene->dra, "gpu", UID2, RESULT_OF("a", GPU_NAME));
	stage_settle(&scene->dra.stage,
		     "changed " GPU "|1 ResourceClaim default/nic: it was replaced by another one "
		     "of this name (UID '" UID2 "')|" GPU_IS);
}

static void kubelet_gives_up(void **state)
{
	struct scene *scene = *state;
	struct grpc_rpc *rpc = call(scene, PREPARE, "nic", "gpu");

	stage_rest(&scene->dra.stage);
	assert_int_equal(fake_client_open(scene->dra.node.client), 2);
	fake_client_choose(scene->dra.node.client, "/gpu");
	dra_scene_answer(&scene->dra, "gpu", UID2, RESULT_OF("a", GPU_NAME));
	grpc_rpc_cancel(rpc);
	stage_settle(&scene->dra.stage, "changed " GPU "|");
	assert_int_equal(fake_client_open(scene->dra.node.client), 0);
	prepare_nic(scene);
}

static void unprepared_while_it_is_prepared(void **state)
{
	struct scene *scene = *state;

	(void)call(scene, PREPARE, "nic", NULL);
	stage_rest(&scene->dra.stage);
	(void)call(scene, UNPREPARE, "nic", NULL);
	stage_settle(&scene->dra.stage, "1|");
	dra_scene_answer(&scene->dra, "nic", UID1, RESULT_OF("a", NIC_NAME));
	stage_settle(&scene->dra.stage, "1 ResourceClaim default/nic was unprepared meanwhile|");
	assert_null(dra_driver_holder(scene->driver, NIC));
}

/* With a call of the kubelet that waits. */
static void agent_ends(void **state)
{
	struct scene *scene = *state;

	(void)call(scene, PREPARE, "nic", NULL);
	stage_rest(&scene->dra.stage);
	scene->driver = dra_driver_free(scene->driver);
	assert_int_equal(fake_client_open(scene->dra.node.client), 0);
	stage_rest(&scene->dra.stage);
	str_clear(&scene->dra.stage.log);
	open_driver(scene);
}

static void rubbish_is_refused(void **state)
{
	struct scene *scene = *state;
	static const char twice[] = "\x0a\x0a\x0a\x01"
				    "d\x12\x01"
				    "1\x1a\x02"
				    "ab"
				    "\x0a\x0a\x0a\x01"
				    "d\x12\x01"
				    "1\x1a\x02"
				    "ab";

	(void)call_bytes(scene, PREPARE, "\xff", 1);
	stage_rest(&scene->dra.stage);
	assert_memory_equal(str_cstr(&scene->dra.stage.log), "InvalidArgument: ", 17);
	str_clear(&scene->dra.stage.log);
	(void)call_bytes(scene, UNPREPARE, "\xff", 1);
	stage_rest(&scene->dra.stage);
	assert_memory_equal(str_cstr(&scene->dra.stage.log), "InvalidArgument: ", 17);
	str_clear(&scene->dra.stage.log);
	(void)call_bytes(scene, PREPARE, twice, sizeof(twice) - 1);
	stage_settle(&scene->dra.stage,
		     "InvalidArgument: ResourceClaim '1' is in the request twice|");
	(void)call_bytes(scene, PREPARE, "", 0);
	stage_settle(&scene->dra.stage, "");
	prepare_nic(scene);
}

/* The kubelet removes the slices of a driver whose connection ends. */
static void idle_connection_stays(void **state)
{
	struct scene *scene = *state;
	const struct grpc_limits limits = GRPC_LIMITS;

	prepare_nic(scene);
	for (int i = 0; i < 10; i++) {
		fake_clock_advance(scene->dra.stage.fake, limits.idle_ms);
		stage_settle(&scene->dra.stage, "");
	}
	(void)call(scene, PREPARE, "nic", NULL);
	stage_settle(&scene->dra.stage, NIC_IS);
}

/* --- figures ---------------------------------------------------------------------------------- */

static void assert_metric(const struct scene *scene, const char *line)
{
	auto_str struct str text = STR_INIT;

	metrics_write(scene->metrics, &text);
	assert_non_null(strstr(str_cstr(&text), line));
}

static void figures_are_counted(void **state)
{
	struct scene *scene = *state;

	assert_metric(scene, "hostdev_dra_prepared_claims 0\n");
	assert_metric(scene, "hostdev_dra_prepare_errors_total{operation=\"prepare\"} 0\n");
	assert_metric(scene, "hostdev_dra_prepare_errors_total{operation=\"unprepare\"} 0\n");
	prepare_nic(scene);
	assert_metric(scene, "hostdev_dra_prepared_claims 1\n");
	assert_metric(scene, "hostdev_dra_prepare_seconds_count 1\n");
	(void)call(scene, PREPARE, "nic", "gpu");
	stage_rest(&scene->dra.stage);
	dra_scene_answer(&scene->dra, "gpu", UID2, RESULT_OF("a", NIC_NAME));
	stage_rest(&scene->dra.stage);
	str_clear(&scene->dra.stage.log);
	assert_metric(scene, "hostdev_dra_prepare_seconds_count 1\n");
	assert_metric(scene, "hostdev_dra_prepare_errors_total{operation=\"prepare\"} 1\n");
	(void)call(scene, UNPREPARE, "nic", NULL);
	stage_settle(&scene->dra.stage, "changed " NIC "|1|");
	assert_metric(scene, "hostdev_dra_prepared_claims 0\n");
}

static void registration_is_shown(void **state)
{
	struct scene *scene = *state;

	assert_metric(scene, "hostdev_dra_registered{driver=\"hostdev.io\"} 0\n");
	registrar_call(scene, "\x08\x01", 2);
	stage_settle(&scene->dra.stage, "slices|");
	assert_metric(scene, "hostdev_dra_registered{driver=\"hostdev.io\"} 1\n");
	registrar_call(scene, "\x12\x02no", 4);
	stage_rest(&scene->dra.stage);
	assert_metric(scene, "hostdev_dra_registered{driver=\"hostdev.io\"} 0\n");
}

static void restored_files_are_counted(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = xasprintf("%s/hostdev.io-device_" UID1 ".json", scene->dra.cdi_dir);

	assert_metric(scene, "hostdev_dra_files_restored_total{result=\"done\"} 0\n");
	assert_metric(scene, "hostdev_dra_files_restored_total{result=\"failed\"} 0\n");
	prepare_nic(scene);
	assert_metric(scene, "hostdev_dra_files_restored_total{result=\"done\"} 0\n");
	assert_int_equal(unlink(path), 0);
	while (!is_there(path))
		stage_turn(&scene->dra.stage);
	assert_metric(scene, "hostdev_dra_files_restored_total{result=\"done\"} 1\n");
	assert_metric(scene, "hostdev_dra_files_restored_total{result=\"failed\"} 0\n");
}

/* --- health ----------------------------------------------------------------------------------- */

static void on_health(void *arg, const char *data, size_t len)
{
	struct scene *scene = arg;

	assert_int_equal(dra_codec_read_health(data, len, &scene->dra.stage.log, NULL), 0);
}

static struct grpc_rpc *watch_health(struct scene *scene, const char *path)
{
	const struct grpc_request request = { .path = path,
					      .data = "",
					      .stream = true,
					      .on_message = on_health,
					      .on_end = on_end,
					      .arg = scene };
	struct grpc_rpc *rpc = NULL;

	assert_int_equal(grpc_uv_client_call(scene->client, &request, &rpc, NULL), 0);
	return rpc;
}

#define BOTH "node1/pci-" NIC_NAME "\nnode1/pci-" GPU_NAME "\n"

static struct health_case {
	const char *name;
	const char *path;
} healths[] = {
	{ "watched by v1", "/v1.DRAResourceHealth/NodeWatchResources" },
	{ "watched by v1alpha1", "/v1alpha1.DRAResourceHealth/NodeWatchResources" },
};

static void health_is_streamed(void **state)
{
	struct scene *scene = *state;
	const struct health_case *c = suite_row(state);
	struct grpc_rpc *rpc = watch_health(scene, c->path);

	stage_settle(&scene->dra.stage, BOTH);
	fake_clock_advance(scene->dra.stage.fake, HEALTH_AGAIN_MS - 1);
	stage_settle(&scene->dra.stage, "");
	fake_clock_advance(scene->dra.stage.fake, 1);
	stage_settle(&scene->dra.stage, BOTH);
	dra_scene_device(&scene->dra, GPU)->trouble = xstrdup("it is lost");
	dra_scene_changed(&scene->dra);
	stage_settle(&scene->dra.stage,
		     "node1/pci-" NIC_NAME "\nnode1/pci-" GPU_NAME " it is lost\n");
	grpc_rpc_cancel(rpc);
	stage_settle(&scene->dra.stage, "");
	dra_scene_changed(&scene->dra);
	fake_clock_advance(scene->dra.stage.fake, (uint64_t)2 * HEALTH_AGAIN_MS);
	stage_settle(&scene->dra.stage, "");
}

/* Of a healthy one the slice is the same. */
static void slice_of_an_unhealthy_device_depends_on_its_claim(void **state)
{
	struct scene *scene = *state;
	size_t before = scene->dra.devices.updates;

	prepare_nic(scene);
	(void)call(scene, UNPREPARE, "nic", NULL);
	stage_settle(&scene->dra.stage, "changed " NIC "|1|");
	prepare_nic(scene);
	assert_int_equal(scene->dra.devices.updates, before);
	dra_scene_device(&scene->dra, NIC)->trouble = xstrdup("it is lost");
	(void)call(scene, UNPREPARE, "nic", NULL);
	stage_settle(&scene->dra.stage, "changed " NIC "|1|");
	assert_int_equal(scene->dra.devices.updates, before + 1);
}

static void streams_are_few(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < HEALTH_STREAMS_MAX; i++) {
		(void)watch_health(scene, healths[0].path);
		stage_settle(&scene->dra.stage, BOTH);
	}
	(void)watch_health(scene, healths[0].path);
	stage_settle(&scene->dra.stage,
		     "ResourceExhausted: too many open NodeWatchResources calls|");
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_fixture(&suite, &idle_fixture);
	suite_add(&suite, "without devices there is nothing", without_devices_there_is_nothing,
		  NULL);
	suite_add(&suite, "an entry without devices is served", entry_without_devices_is_served,
		  NULL);
	suite_add(&suite, "a crashed agent's socket is replaced", crashed_agents_socket_is_replaced,
		  NULL);
	suite_add(&suite, "something else is in the way", something_else_is_in_the_way, NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "the kubelet finds the driver", kubelet_finds_the_driver, NULL);
	suite_add(&suite, "a driver that is refused publishes nothing",
		  refused_driver_publishes_nothing, NULL);
	suite_add(&suite, "a removed socket is made again", removed_socket_is_made_again, NULL);
	suite_add(&suite, "the next agent serves what is prepared",
		  next_agent_serves_what_is_prepared, NULL);
	suite_rows(&suite, versions, claims_are_prepared_and_unprepared);
	suite_add(&suite, "devices of one request have one CDI device", devices_of_one_request,
		  NULL);
	suite_add(&suite, "one claim fails and the other does not",
		  one_claim_fails_and_the_other_does_not, NULL);
	suite_add(&suite, "the kubelet gives up", kubelet_gives_up, NULL);
	suite_add(&suite, "a claim is unprepared while it is prepared",
		  unprepared_while_it_is_prepared, NULL);
	suite_add(&suite, "the agent ends while the kubelet waits", agent_ends, NULL);
	suite_add(&suite, "what is no request is refused", rubbish_is_refused, NULL);
	suite_add(&suite, "an idle connection stays", idle_connection_stays, NULL);
	suite_add(&suite, "figures are counted", figures_are_counted, NULL);
	suite_add(&suite, "the registration is shown", registration_is_shown, NULL);
	suite_add(&suite, "restored files are counted", restored_files_are_counted, NULL);
	suite_rows(&suite, healths, health_is_streamed);
	suite_add(&suite, "the slice of an unhealthy device depends on its claim",
		  slice_of_an_unhealthy_device_depends_on_its_claim, NULL);
	suite_add(&suite, "there are not many streams", streams_are_few, NULL);
	return suite_run(&suite, "dra_driver");
}
