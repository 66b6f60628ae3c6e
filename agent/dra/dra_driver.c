#include "agent/dra/dra_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/dra/dra_codec.h"
#include "agent/dra/dra_devices.h"
#include "agent/dra/health.h"
#include "agent/dra/prepare.h"
#include "agent/dra/prepared.h"
#include "agent/dra/slices.h"
#include "agent/node/this_node.h"
#include "agent/plugin/kubelet_watch.h"
#include "agent/plugin/registration.h"
#include "agent/plugin/registration_codec.h"
#include "agent/plugin/registry.h"
#include "agent/plugin/socket_sweep.h"
#include "api/resourceclaim.h"
#include "base/array.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "grpc/uv_server.h"
#include "kube/clock.h"
#include "kube/metrics.h"

enum { FOLDER_MODE = 0750, BOOT_ID_MAX = 64 };

/* The same in every container. */
static const char boot_id_path[] = "/proc/sys/kernel/random/boot_id";

struct dra_driver {
	const struct this_node *node;
	struct dra_driver_deps deps;
	char *registry_dir, *cdi_dir, *boot;
	char *dir, *claims_dir, *metadata_dir, *socket_path;
	struct dra_devices *devices;
	struct prepare *prepare;
	struct slices *slices;
	struct health *health;
	struct grpc_service service;
	struct grpc_limits limits;
	struct grpc_uv_server *server;     /* NULL: not started, or it failed to start */
	struct kubelet_listener *listener; /* NULL: not started */
	struct registry *registry;         /* NULL: never served yet */
	bool served;                       /* this agent has opened the socket before */
	int trouble;                       /* the last error of serving that was logged; 0: none */
	char *refusal; /* why the kubelet has not accepted the driver; NULL: not known */
	struct metric *seconds;
	struct metric *claims;
	struct metric *errors;
	struct metric *registered;
};

static const struct metric_desc seconds_desc = {
	.name = "hostdev_dra_prepare_seconds",
	.help = "Time to prepare a ResourceClaim that was not prepared before.",
	.type = METRIC_SECONDS,
	.buckets_ms = { 1, 2, 5, 10, 15, 25, 50, 100, 250, 1000, 5000 },
};

static const struct metric_desc claims_desc = {
	.name = "hostdev_dra_prepared_claims",
	.help = "ResourceClaims that are prepared on this node.",
	.type = METRIC_GAUGE,
};

static const struct metric_desc errors_desc = {
	.name = "hostdev_dra_prepare_errors_total",
	.help = "ResourceClaims that could not be prepared or unprepared, by operation.",
	.type = METRIC_COUNTER,
	.labels = { "operation" },
};

/* Nothing before the driver is needed. */
static const struct metric_desc registered_desc = {
	.name = "hostdev_dra_registered",
	.help = "1 while the DRA driver is registered with the kubelet.",
	.type = METRIC_GAUGE,
	.labels = { "driver" },
};

static void show_registered(const struct dra_driver *driver, bool registered)
{
	metric_set(driver->registered, registered, (const char *const[]){ DRA_DRIVER });
}

static void count_claims(const struct dra_driver *driver)
{
	metric_set(driver->claims, (int64_t)prepare_len(driver->prepare), NULL);
}

/* --- NodePrepareResources --------------------------------------------------------------------- */

/* A call of the kubelet, with those of its claims that are not prepared yet. */
struct call {
	struct dra_driver *driver;
	struct grpc_call *call;
	struct dra_results results; /* in the order of the request */
	struct waiting *waiting;
	size_t len;
	size_t open;
	uint64_t begun_ms;
};

struct waiting {
	struct call *call;
	size_t at;               /* index of its result */
	struct prepare_job *job; /* NULL: it has ended */
};

static void call_free(struct call *call)
{
	dra_results_done(&call->results);
	free(call->waiting);
	free(call);
}

static void on_call_cancelled(void *arg)
{
	struct call *call = arg;

	for (size_t i = 0; i < call->len; i++) {
		if (call->waiting[i].job)
			prepare_cancel(call->waiting[i].job);
	}
	call_free(call);
}

static struct dra_result_device *first_of(const struct dra_result *result, const char *request)
{
	for (size_t i = 0; i < result->devices.len; i++) {
		if (strcmp(result->devices.items[i].request, request) == 0)
			return &result->devices.items[i];
	}
	return NULL;
}

/* Only the first device of a request has the CDI device of the request, so that a container that
 * uses the request gets it once. */
static void add_devices(const struct prepared_claim *claim, struct dra_result *result)
{
	for (size_t i = 0; i < claim->devices.len; i++) {
		const struct prepared_device *is = &claim->devices.items[i];
		struct dra_result_device *device = array_add(&result->devices);

		device->request = resourceclaim_base_request(is->request);
		device->pool = xstrdup(is->pool);
		device->device = xstrdup(is->device);
	}
	for (size_t i = 0; i < claim->requests.len; i++) {
		const struct prepared_request *request = &claim->requests.items[i];
		struct dra_result_device *device = first_of(result, request->name);
		auto_free char *id = cdi_spec_id(claim, request);

		if (device)
			json_strs_add(&device->cdi_ids, id);
	}
}

static void set_result(const struct dra_driver *driver, struct dra_result *result,
		       const struct prepared_claim *claim, const struct err *err)
{
	if (claim) {
		add_devices(claim, result);
		return;
	}
	result->error = xstrdup(err->msg);
	metric_count(driver->errors, "prepare");
	log_warn("ResourceClaim not prepared", log_str("uid", result->uid),
		 log_str("reason", err->msg));
}

static void answer_prepared(const struct dra_driver *driver, struct grpc_call *call,
			    const struct dra_results *results)
{
	auto_str struct str out = STR_INIT;
	struct err err = { 0 };

	count_claims(driver);
	if (dra_codec_write_prepared(results, &out, &err) < 0)
		grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, err.msg);
	else
		grpc_call_answer(call, str_cstr(&out), out.len);
}

static void on_prepared(void *arg, const struct prepared_claim *claim, const struct err *err)
{
	struct waiting *waiting = arg;
	struct call *call = waiting->call;
	const struct dra_driver *driver = call->driver;
	uint64_t took_ms = clock_now_ms(driver->node->clock) - call->begun_ms;

	waiting->job = NULL;
	set_result(driver, &call->results.items[waiting->at], claim, err);
	if (claim) {
		metric_observe(driver->seconds, took_ms, NULL);
		log_info("ResourceClaim prepared", log_str("namespace", claim->ns),
			 log_str("claim", claim->name), log_int("devices", claim->devices.len),
			 log_int("took_ms", took_ms));
	}
	if (--call->open > 0)
		return;
	answer_prepared(driver, call->call, &call->results);
	call_free(call);
}

/* Set the results of claims that are prepared already, and begin to prepare the others. */
static void call_begin(struct call *call, const struct dra_claims *claims)
{
	struct prepare *prepare = call->driver->prepare;

	call->waiting = xcalloc(claims->len + 1, sizeof(*call->waiting));
	for (size_t i = 0; i < claims->len; i++) {
		const struct prepared_claim *claim = NULL;
		struct err err = { 0 };
		struct dra_result *result = array_add(&call->results);
		int r = prepare_again(prepare, claims->items[i].uid, &claim, &err);

		result->uid = xstrdup(claims->items[i].uid);
		if (r != PREPARE_UNKNOWN)
			set_result(call->driver, result, claim, &err);
		else
			call->waiting[call->len++] = (struct waiting){ .call = call, .at = i };
	}
	call->open = call->len;
	for (size_t i = 0; i < call->len; i++)
		call->waiting[i].job = prepare_begin(prepare, &claims->items[call->waiting[i].at],
						     on_prepared, &call->waiting[i]);
}

static void handle_prepare(void *arg, struct grpc_call *grpc, const char *request, size_t len)
{
	struct dra_driver *driver = arg;
	struct dra_claims claims = { 0 };
	struct call *call;
	struct err err = { 0 };

	if (dra_codec_read_claims(request, len, &claims, &err) < 0) {
		grpc_call_finish(grpc, GRPC_INVALID_ARGUMENT, err.msg);
		return;
	}
	call = xcalloc(1, sizeof(*call));
	call->driver = driver;
	call->call = grpc;
	call->begun_ms = clock_now_ms(driver->node->clock);
	call_begin(call, &claims);
	dra_claims_done(&claims);
	if (call->open > 0) {
		grpc_call_on_cancel(grpc, on_call_cancelled, call);
		return;
	}
	answer_prepared(driver, grpc, &call->results);
	call_free(call);
}

/* --- NodeUnprepareResources ------------------------------------------------------------------- */

static void unprepare(struct dra_driver *driver, const struct dra_claim *claim,
		      struct dra_result *result)
{
	struct err err = { 0 };
	bool known = prepare_is_known(driver->prepare, claim->uid);

	result->uid = xstrdup(claim->uid);
	if (prepare_undo(driver->prepare, claim->uid, &err) < 0) {
		result->error = xstrdup(err.msg);
		metric_count(driver->errors, "unprepare");
		log_warn("ResourceClaim not unprepared", log_str("namespace", claim->ns),
			 log_str("claim", claim->name), log_str("reason", err.msg));
	} else if (known) {
		log_info("ResourceClaim unprepared", log_str("namespace", claim->ns),
			 log_str("claim", claim->name));
	}
}

static void handle_unprepare(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	struct dra_driver *driver = arg;
	struct dra_claims claims = { 0 };
	struct dra_results results = { 0 };
	auto_str struct str out = STR_INIT;
	struct err err = { 0 };

	if (dra_codec_read_claims(request, len, &claims, &err) < 0) {
		grpc_call_finish(call, GRPC_INVALID_ARGUMENT, err.msg);
		return;
	}
	for (size_t i = 0; i < claims.len; i++)
		unprepare(driver, &claims.items[i], array_add(&results));
	count_claims(driver);
	if (dra_codec_write_unprepared(&results, &out, &err) < 0)
		grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, err.msg);
	else
		grpc_call_answer(call, str_cstr(&out), out.len);
	dra_results_done(&results);
	dra_claims_done(&claims);
}

/* --- the services ----------------------------------------------------------------------------- */

static void handle_health(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	const struct dra_driver *driver = arg;

	(void)request;
	(void)len;
	health_open(driver->health, call);
}

#define KUBELET_DRA "/k8s.io.kubelet.pkg.apis.dra."

static const struct grpc_method methods[] = {
	{ KUBELET_DRA "v1.DRAPlugin/NodePrepareResources", handle_prepare },
	{ KUBELET_DRA "v1.DRAPlugin/NodeUnprepareResources", handle_unprepare },
	{ KUBELET_DRA "v1beta1.DRAPlugin/NodePrepareResources", handle_prepare },
	{ KUBELET_DRA "v1beta1.DRAPlugin/NodeUnprepareResources", handle_unprepare },
	{ "/v1.DRAResourceHealth/NodeWatchResources", handle_health },
	{ "/v1alpha1.DRAResourceHealth/NodeWatchResources", handle_health },
};

/* --- known to the kubelet --------------------------------------------------------------------- */

static void on_registration(void *arg, enum registration_state state, const struct err *err)
{
	struct dra_driver *driver = arg;

	show_registered(driver, state == REGISTRATION_DONE);
	if (state == REGISTRATION_DONE) {
		log_info("DRA driver registered", log_str("driver", DRA_DRIVER));
		slices_start(driver->slices);
	} else if (!str_match(driver->refusal, err->msg)) {
		log_warn("DRA driver not registered yet", log_str("driver", DRA_DRIVER),
			 log_str("reason", err->msg));
	}
	free(driver->refusal);
	driver->refusal = err ? xstrdup(err->msg) : NULL;
}

static void on_begins(void *arg)
{
	(void)arg;
}

static bool on_clear(void *arg)
{
	(void)arg;
	return false;
}

static const struct registration_ops registration_ops = { on_registration, on_begins, on_clear };

/* The kubelet uses the first version that it knows. */
static void register_driver(struct dra_driver *driver)
{
	const struct this_node *node = driver->node;
	auto_free char *path = xasprintf("%s/" DRA_DRIVER "-reg.sock", driver->registry_dir);
	const struct registration_deps deps = { .loop = node->loop,
						.clock = node->clock,
						.watch = driver->deps.watch,
						.registry_dir = driver->registry_dir };
	const struct plugin_info info = {
		.type = "DRAPlugin",
		.name = DRA_DRIVER,
		.endpoint = driver->socket_path,
		.versions = { "v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth",
			      "v1alpha1.DRAResourceHealth" },
	};

	driver->registry = registry_new(&deps, &info, path, &registration_ops, driver);
}

/* --- serving ---------------------------------------------------------------------------------- */

/* Remove an old socket. The first time, it belongs to an agent that has ended or that this one
 * replaces. Later it may be that of a second agent. */
static int make_room(const struct dra_driver *driver, struct err *err)
{
	const char *path = driver->socket_path;
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, ERR_INVALID, -EEXIST, "'%s' is no socket: remove it", path);
	if (driver->served && !socket_is_dead(path))
		return err_set(err, ERR_RETRY, -EADDRINUSE,
			       "another process serves '%s': a second agent on this node?", path);
	if (unlink(path) < 0 && errno != ENOENT)
		return err_set(err, ERR_RETRY, -errno, "remove '%s': %s", path, strerror(errno));
	return 0;
}

static int open_socket(struct dra_driver *driver, struct err *err)
{
	const struct grpc_uv_server_settings settings = { .path = driver->socket_path,
							  .service = &driver->service,
							  .limits = &driver->limits };
	auto_close int dir_fd = -1;
	int r = dir_make_open(driver->dir, FOLDER_MODE, &dir_fd, err);

	if (r == 0)
		r = make_room(driver, err);
	if (r == 0)
		r = grpc_uv_server_new(driver->node->loop, &settings, &driver->server, err);
	return r;
}

/* Serve first, then register: the kubelet connects at once. */
static void serve(struct dra_driver *driver)
{
	struct err err = { 0 };
	int r = open_socket(driver, &err);

	if (r < 0 && r != driver->trouble)
		log_error("DRA driver not served", log_str("socket", driver->socket_path),
			  log_str("reason", err.msg));
	driver->trouble = r;
	if (r < 0)
		return;
	driver->served = true;
	kubelet_watch_also(driver->deps.watch, driver->dir);
	if (!driver->registry)
		register_driver(driver);
}

/* Serve again if the socket is gone. The kubelet reconnects by itself, because its connection ends
 * with the old server. */
static void on_kubelet(void *arg, enum kubelet_event event)
{
	struct dra_driver *driver = arg;

	if ((event != KUBELET_POLLED && event != KUBELET_TOOK_OWN) ||
	    (driver->server && grpc_uv_server_has_socket(driver->server)))
		return;
	driver->server = grpc_uv_server_free(driver->server);
	serve(driver);
}

static void begin(struct dra_driver *driver)
{
	if (driver->listener)
		return;
	driver->listener =
		kubelet_watch_listen(driver->deps.watch, driver->socket_path, on_kubelet, driver);
	show_registered(driver, false);
	serve(driver);
}

/* --- the devices ------------------------------------------------------------------------------ */

static bool offers_something(const struct dra_driver *driver)
{
	bool offers = dra_devices_len(driver->devices) > 0;

	for (int kind = 0; kind < DRA_KINDS; kind++)
		offers = offers || dra_devices_selects(driver->devices, (enum dra_kind)kind);
	return offers;
}

static void on_devices(void *arg)
{
	struct dra_driver *driver = arg;

	if (offers_something(driver))
		begin(driver);
	slices_update(driver->slices);
	health_update(driver->health);
}

void dra_driver_set(struct dra_driver *driver, const struct device_type *type, void *type_arg,
		    const struct plugin_resource *resources, size_t len)
{
	dra_devices_set(driver->devices, type, type_arg, resources, len);
}

void dra_driver_select(struct dra_driver *driver, const bool selected[DRA_KINDS])
{
	dra_devices_select(driver->devices, selected);
}

char *dra_driver_holder(const struct dra_driver *driver, const char *id)
{
	return prepare_holder(driver->prepare, id);
}

const char *dra_driver_device_id(const struct dra_driver *driver, const char *ns, const char *name,
				 const char *device)
{
	return prepare_device_id(driver->prepare, ns, name, device);
}

char *dra_driver_bound_for(const struct dra_driver *driver, const char *id)
{
	return prepare_bound_for(driver->prepare, id);
}

void dra_driver_ids(const struct dra_driver *driver, struct json_strs *ids)
{
	prepare_ids(driver->prepare, ids);
}

void dra_driver_set_node(struct dra_driver *driver)
{
	slices_update(driver->slices);
}

/* --- life ------------------------------------------------------------------------------------- */

/* If the ID is unknown, all claims count as prepared in this boot. */
static char *boot_id(const char *given)
{
	char *boot = NULL;
	struct err err = { 0 };

	if (given)
		return xstrdup(given);
	if (file_read(AT_FDCWD, boot_id_path, BOOT_ID_MAX, &boot, NULL, &err) == 0)
		return boot;
	log_warn("this boot has no ID", log_str("reason", err.msg));
	return xstrdup("unknown");
}

static void make_paths(struct dra_driver *driver, const struct dra_driver_deps *deps)
{
	driver->registry_dir = xstrdup(deps->registry_dir);
	driver->cdi_dir = xstrdup(deps->cdi_dir);
	driver->boot = boot_id(deps->boot);
	driver->dir = xasprintf("%s/plugins/" DRA_DRIVER, driver->node->kubelet_dir);
	driver->claims_dir = xasprintf("%s/claims", driver->dir);
	driver->metadata_dir = xasprintf("%s/metadata", driver->dir);
	driver->socket_path = xasprintf("%s/dra.sock", driver->dir);
}

static bool is_held(void *arg, const char *id)
{
	const struct dra_driver *driver = arg;
	auto_free char *holder = prepare_holder(driver->prepare, id);

	return holder != NULL;
}

static char *holder_of(void *arg, const char *id)
{
	const struct dra_driver *driver = arg;

	return driver->deps.holder ? driver->deps.holder(driver->deps.arg, id) : NULL;
}

static bool is_unhealthy(const struct dra_driver *driver, const char *id)
{
	for (size_t i = 0; i < dra_devices_len(driver->devices); i++) {
		const struct dra_device *device = dra_devices_at(driver->devices, i);

		if (device->trouble && strcmp(device->id, id) == 0)
			return true;
	}
	return false;
}

/* Of a healthy device, the slice does not depend on who has it. */
static void on_holder_changed(void *arg, const char *id)
{
	struct dra_driver *driver = arg;

	if (driver->deps.changed)
		driver->deps.changed(driver->deps.arg, id);
	if (is_unhealthy(driver, id))
		slices_update(driver->slices);
}

static void make_prepare(struct dra_driver *driver)
{
	const struct prepare_deps deps = {
		.devices = driver->devices,
		.watch = driver->deps.watch,
		.place = { .cdi_dir = driver->cdi_dir, .metadata_dir = driver->metadata_dir },
		.claims_dir = driver->claims_dir,
		.boot = driver->boot,
		.holder = holder_of,
		.on_demand = driver->deps.on_demand,
		.changed = on_holder_changed,
		.arg = driver,
	};

	driver->prepare = prepare_new(driver->node, &deps);
}

struct dra_driver *dra_driver_new(const struct this_node *node, const struct dra_driver_deps *deps)
{
	struct dra_driver *driver = xcalloc(1, sizeof(*driver));

	driver->node = node;
	driver->deps = *deps;
	make_paths(driver, deps);
	driver->service = (struct grpc_service){ methods, ARRAY_LEN(methods), driver };
	/* The kubelet keeps its connection open, and removes the slices if it is closed. */
	driver->limits = GRPC_LIMITS;
	driver->limits.idle_ms = 0;
	driver->seconds = metrics_family(node->metrics, &seconds_desc);
	driver->claims = metrics_family(node->metrics, &claims_desc);
	driver->errors = metrics_family(node->metrics, &errors_desc);
	driver->registered = metrics_family(node->metrics, &registered_desc);
	metric_show(driver->errors, (const char *const[]){ "prepare" });
	metric_show(driver->errors, (const char *const[]){ "unprepare" });
	driver->devices = dra_devices_new(node, on_devices, driver);
	driver->slices = slices_new(node, driver->devices, is_held, driver);
	driver->health = health_new(node->clock, driver->devices);
	make_prepare(driver);
	count_claims(driver);
	if (prepare_len(driver->prepare) > 0)
		begin(driver);
	return driver;
}

struct dra_driver *dra_driver_free(struct dra_driver *driver)
{
	if (!driver)
		return NULL;
	registry_free(driver->registry);
	kubelet_listener_free(driver->listener);
	grpc_uv_server_free(driver->server);
	prepare_free(driver->prepare);
	health_free(driver->health);
	slices_free(driver->slices);
	dra_devices_free(driver->devices);
	free(driver->registry_dir);
	free(driver->cdi_dir);
	free(driver->boot);
	free(driver->dir);
	free(driver->claims_dir);
	free(driver->metadata_dir);
	free(driver->socket_path);
	free(driver->refusal);
	free(driver);
	return NULL;
}
