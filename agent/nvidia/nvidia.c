#include "agent/nvidia/nvidia.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config/config.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/node/node_reconcile.h"
#include "agent/node/this_node.h"
#include "agent/nvidia/cdi_files.h"
#include "agent/nvidia/nvidia_ctk.h"
#include "agent/nvidia/nvidia_devices.h"
#include "agent/nvidia/nvidia_elsewhere.h"
#include "agent/nvidia/nvidia_file.h"
#include "agent/nvidia/nvidia_gpus.h"
#include "agent/nvidia/nvidia_labels.h"
#include "agent/nvidia/nvidia_mps.h"
#include "agent/nvidia/nvidia_node.h"
#include "agent/nvidia/nvidia_nodes.h"
#include "agent/nvidia/nvidia_plan.h"
#include "agent/nvidia/nvidia_released.h"
#include "agent/nvidia/nvidia_type.h"
#include "agent/nvidia/nvml_line.h"
#include "agent/nvidia/nvml_run.h"
#include "agent/nvidia/xid_policy.h"
#include "agent/plugin/gpu_bind.h"
#include "agent/plugin/plugins.h"
#include "agent/process/helper_run.h"
#include "api/json_map.h"
#include "api/names.h"
#include "api/node.h"
#include "api/override.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "base/array.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/metrics.h"
#include "kube/store.h"

static const struct metric_desc healthy_desc = {
	.name = "hostdev_gpu_healthy",
	.help = "1 while containers can get the GPU or a claim takes it, 0 while it is not "
		"healthy.",
	.type = METRIC_GAUGE,
	.labels = { "address", "uuid" },
};

static const struct metric_desc xids_desc = {
	.name = "hostdev_gpu_xids_total",
	.help = "Xids that NVIDIA's driver has reported, fatal or not.",
	.type = METRIC_COUNTER,
	.labels = { "address", "xid" },
};

/* Questions, or watches. */
struct role {
	struct nvml_run *run; /* NULL: none is under way */
	enum nvml_verb verb;
	struct json_strs addresses; /* that it is about */
	uint64_t from_ms;           /* no other one before */
	uint64_t replaced_ms;
	bool replaced;
};

struct nvidia {
	const struct this_node *node;
	struct nvidia_options options;
	struct nvidia_deps deps;
	struct nvml_program *program;
	struct xid_policy policy;
	struct nvidia_gpus gpus;
	struct nvidia_released *released; /* that the driver has to take back */
	struct nvidia_type type;
	struct role question;
	struct role watch;
	uint64_t migs_ms;           /* when the MIG devices were looked at last */
	struct json_strs left_out;  /* devices that are not offered, as logged  */
	struct clock_timer *due;    /* to plan */
	const struct config *asked; /* the HostDeviceConfig; NULL: not known */
	bool knows_labels;          /* of the Node */
	struct json_pairs labels;
	struct nvidia_file file;             /* the configuration */
	char *file_trouble;                  /* that was logged; NULL: none */
	struct cdi_files cdi;                /* if they are used */
	struct nvidia_ctk *ctk;              /* NULL: no CDI file is written */
	struct json_strs no_mps;             /* resources that no MPS daemon serves, but should */
	bool no_imex;                        /* the IMEX channel that must be there is not */
	struct nvidia_elsewhere *elsewhere;  /* other plugins; NULL: not --nvidia */
	struct clock_timer *look;            /* at what else is on the node */
	bool searched;                       /* for GPUs */
	bool listed;                         /* there is an inventory, which claims need */
	bool known;                          /* something was known of each GPU once */
	char resource[NVIDIA_RESOURCE_SIZE]; /* nvidia_offered()     */
	struct pcidevice_allocations allocations; /* nvidia_allocations() */
	struct metric *healthy, *xids;
	struct json_strs measured;    /* addresses of the GPUs in these */
	struct nvidia_node *labelled; /* the Node, with labels of its GPUs; NULL: there is none */
	char *driver, *machine;       /* for them; NULL: not known */
	int cuda;                     /* -1: not known */
};

static uint64_t now_ms(const struct nvidia *nvidia)
{
	return clock_now_ms(nvidia->node->clock);
}

static void plan_soon(struct nvidia *nvidia)
{
	clock_timer_start(nvidia->node->clock, nvidia->due, 0);
}

static bool is_elsewhere(const struct nvidia *nvidia)
{
	return nvidia->elsewhere && nvidia_elsewhere_why(nvidia->elsewhere);
}

static bool knows_claims(const struct nvidia *nvidia)
{
	const struct informer *claims = nvidia->node->claims[INVENTORY_PCI];

	return nvidia->listed && (!claims || informer_synced(claims));
}

/* Nothing is offered before that. */
static bool knows_all(const struct nvidia *nvidia)
{
	return nvidia->known && nvidia->file.is_read && knows_claims(nvidia) &&
	       nvidia_elsewhere_known(nvidia->elsewhere);
}

/* --- report changes --------------------------------------------------------------------------- */

/* An event needs the object, which may not be there yet. */
static void record_health(const struct nvidia *nvidia, const char *address, const char *uuid,
			  const char *trouble)
{
	const struct this_node *node = nvidia->node;
	const struct informer *devices = node->devices[INVENTORY_PCI];
	auto_free char *name = names_pcidevice(node->name, address);
	const struct pcidevice *device =
		devices ? store_object(informer_store(devices), name) : NULL;

	if (!device)
		return;
	events_record(node->events, &(struct events_about){ &pcidevice_kind, &device->meta },
		      trouble ? EVENTS_WARNING : EVENTS_NORMAL,
		      trouble ? "GPUUnhealthy" : "GPUHealthy", "GPU '%s' is %s%s", uuid,
		      trouble ? "not given to containers: " : "healthy again",
		      trouble ? trouble : "");
}

static void tell_health(const struct nvidia *nvidia, const char *address, const char *uuid,
			const char *trouble, bool *told_ill)
{
	if (*told_ill == (trouble != NULL))
		return;
	*told_ill = trouble;
	record_health(nvidia, address, uuid, trouble);
	if (trouble)
		log_warn("GPU is not healthy", log_str("address", address), log_str("uuid", uuid),
			 log_str("reason", trouble));
	else
		log_info("GPU is healthy again", log_str("address", address),
			 log_str("uuid", uuid));
}

static void tell_gpu(const struct nvidia *nvidia, struct nvidia_gpu *gpu)
{
	tell_health(nvidia, gpu->address, gpu->uuid ? gpu->uuid : "", gpu->trouble, &gpu->told_ill);
	for (size_t i = 0; i < gpu->migs.len; i++) {
		struct nvidia_mig *mig = &gpu->migs.items[i];

		tell_health(nvidia, gpu->address, mig->uuid, mig->trouble, &mig->told_ill);
	}
}

/* A GPU that has gone, or has another UUID, has no series of its own any more. */
static void measure(struct nvidia *nvidia)
{
	const struct nvidia_gpus *gpus = &nvidia->gpus;

	for (size_t i = 0; i < nvidia->measured.len; i++) {
		metric_forget(nvidia->healthy, nvidia->measured.items[i]);
		if (!nvidia_gpus_at(gpus, nvidia->measured.items[i]))
			metric_forget(nvidia->xids, nvidia->measured.items[i]);
	}
	json_strs_done(&nvidia->measured);
	for (size_t i = 0; i < gpus->len; i++) {
		const struct nvidia_gpu *gpu = &gpus->items[i];

		json_strs_add(&nvidia->measured, gpu->address);
		metric_set(nvidia->healthy, gpu->claim || !gpu->trouble,
			   (const char *const[]){ gpu->address, gpu->uuid ? gpu->uuid : "" });
	}
}

static void count_xid(const struct nvidia *nvidia, const struct nvml_line *line)
{
	auto_free char *xid = NULL;

	if (line->kind != NVML_LINE_EVENT || line->event != NVML_EVENT_TYPE_XID)
		return;
	xid = xasprintf("%lld", (long long)line->data);
	metric_count(nvidia->xids, line->address ? line->address : "unknown", xid);
}

/* Each once, as long as it is so. */
static void log_left_out(struct nvidia *nvidia)
{
	const struct nvidia_type *type = &nvidia->type;
	struct nvidia_devices devices;

	nvidia_devices_make(type->gpus, type->config, type->mig, &devices);
	for (size_t i = 0; i < devices.left_out.len; i++) {
		if (!json_strs_has(&nvidia->left_out, devices.left_out.items[i]))
			log_warn("a device is not offered",
				 log_str("device", devices.left_out.items[i]));
	}
	json_strs_done(&nvidia->left_out);
	nvidia->left_out = devices.left_out;
	devices.left_out = (struct json_strs){ 0 };
	nvidia_devices_done(&devices);
}

/* If none of them can be read, such as during an update of the driver, they are as before. */
static bool has_unread_only(const struct nvidia_gpus *gpus, const struct json_pairs *labels)
{
	bool some = false;

	for (size_t i = 0; i < gpus->len; i++)
		some = some || !gpus->items[i].claim;
	return some && labels->len == 0;
}

/* What the Node's labels say of the GPUs is what containers can get. */
static void label(struct nvidia *nvidia)
{
	static const struct json_pairs none;
	const struct nvidia_options *options = &nvidia->options;
	struct json_pairs labels;

	if (!nvidia->labelled)
		return;
	if (!options->on || options->no_labels || is_elsewhere(nvidia) ||
	    (nvidia->searched && nvidia->gpus.len == 0)) {
		nvidia_node_set(nvidia->labelled, &none);
		return;
	}
	if (!knows_all(nvidia))
		return;
	nvidia_labels_make(&(struct nvidia_label_case){ .gpus = &nvidia->gpus,
							.config = nvidia->type.config,
							.mig = nvidia->type.mig,
							.driver = nvidia->driver,
							.cuda = nvidia->cuda,
							.machine = nvidia->machine },
			   &labels);
	if (!has_unread_only(&nvidia->gpus, &labels))
		nvidia_node_set(nvidia->labelled, &labels);
	json_pairs_done(&labels);
}

static void tell(struct nvidia *nvidia)
{
	struct nvidia_gpus *gpus = &nvidia->gpus;

	if (!gpus->changed)
		return;
	gpus->changed = false;
	for (size_t i = 0; i < gpus->len; i++)
		tell_gpu(nvidia, &gpus->items[i]);
	nvidia->known = nvidia->known || nvidia_gpus_are_known(gpus);
	measure(nvidia);
	if (nvidia->known) {
		log_left_out(nvidia);
		nvidia->deps.changed(nvidia->deps.arg);
		if (nvidia->file.is_read)
			nvidia_elsewhere_ask(nvidia->elsewhere);
	}
	label(nvidia);
	plan_soon(nvidia);
}

/* A GPU that the watch has lost is watched again by the next one only. */
static void forget_unwatched(struct nvidia *nvidia)
{
	for (size_t i = 0; i < nvidia->gpus.len; i++) {
		if (nvidia->gpus.items[i].unwatched)
			(void)json_strs_remove(&nvidia->watch.addresses,
					       nvidia->gpus.items[i].address);
	}
}

/* --- claims ----------------------------------------------------------------------------------- */

static void find_claims(struct nvidia *nvidia)
{
	const struct nvidia_deps *deps = &nvidia->deps;

	for (size_t i = 0; nvidia->listed && i < nvidia->gpus.len; i++) {
		const char *address = nvidia->gpus.items[i].address;
		auto_free char *claim = deps->claim_of(deps->arg, address);

		if (!nvidia_gpus_set_claim(&nvidia->gpus, address, claim))
			continue;
		log_info(claim ? "GPU is withdrawn for a claim" : "GPU is offered again",
			 log_str("address", address), log_str("claim", claim ? claim : ""));
	}
}

/* Has the administrator taken it upon himself that nothing uses the card? */
static bool is_forced(const struct nvidia *nvidia, const char *address)
{
	const struct informer *claims = nvidia->node->claims[INVENTORY_PCI];
	auto_free char *name = nvidia->deps.claim_of(nvidia->deps.arg, address);
	const struct pcideviceclaim *claim =
		claims && name ? store_object(informer_store(claims), name) : NULL;

	return claim && override_applies(&claim->meta, "UseUnknown");
}

static bool is_of_another(const struct nvidia *nvidia, const struct nvidia_gpu *gpu,
			  const char *uuid)
{
	const struct nvidia_gpu *found = nvidia_gpus_find(&nvidia->gpus, uuid);

	return (found && found != gpu) || nvidia_gpus_has_mig(&nvidia->gpus, gpu, uuid);
}

/* Is the unit @id one of @gpu? A MIG device that is not there any more may have been, and any
 * device that is not known if the GPU has not told its UUID. */
static bool is_unit_of(const struct nvidia *nvidia, const struct nvidia_gpu *gpu, const char *id)
{
	auto_free char *uuid = nvidia_unit_uuid(id);
	bool mig = strncmp(uuid, "MIG-", 4) == 0;

	if (nvidia->options.chosen && !mig)
		return strncmp(uuid, "GPU-", 4) == 0; /* it can be any GPU's */
	if (gpu->uuid && strcmp(uuid, gpu->uuid) == 0)
		return true;
	if (!mig && (gpu->uuid || strncmp(uuid, "GPU-", 4) != 0))
		return false;
	return (gpu->has_mig || !gpu->uuid) && !is_of_another(nvidia, gpu, uuid);
}

/* The units of @gpu that pods have, as far as is known. */
static void add_given(const struct nvidia *nvidia, const struct nvidia_gpu *gpu,
		      struct json_strs *ids)
{
	struct json_strs all = { 0 };

	nvidia->deps.given(nvidia->deps.arg, &all);
	for (size_t i = 0; i < all.len; i++) {
		if (is_unit_of(nvidia, gpu, all.items[i]))
			(void)json_strs_add_new(ids, all.items[i]);
	}
	json_strs_done(&all);
}

/* As gpu_unit_bind_trouble(). */
static char *unit_trouble(const struct nvidia *nvidia, const char *id)
{
	const struct nvidia_deps *deps = &nvidia->deps;
	auto_free char *holder = NULL;

	if (!nvidia->options.chosen || deps->is_free(deps->arg, id, &holder) || !holder)
		return gpu_unit_bind_trouble(deps->is_free, deps->arg, id);
	return xasprintf("%s has a GPU of this node, and the kubelet does not know which HAMi's "
			 "scheduler has chosen: the card is bound when no container has one",
			 holder);
}

/* Why a container may have @gpu; NULL: none has it. The caller frees. */
static char *given_trouble(const struct nvidia *nvidia, const struct nvidia_gpu *gpu)
{
	struct json_strs ids = { 0 };
	char *trouble = NULL;

	if (is_elsewhere(nvidia))
		return NULL;
	/* The library does not tell the UUID of one that was let go before. */
	if (!gpu->uuid && !gpu->trouble && !gpu->altered)
		return xasprintf("%s: NVIDIA's library has not reported its UUID", gpu_use_unknown);
	/* Also if the kubelet has not said yet what pods have. */
	json_strs_add(&ids, gpu->uuid ? gpu->uuid : "GPU-");
	add_given(nvidia, gpu, &ids);
	for (size_t i = 0; i < ids.len && !trouble; i++)
		trouble = unit_trouble(nvidia, ids.items[i]);
	json_strs_done(&ids);
	return trouble;
}

/* The driver is asked to let those go that claims take and that no container has. */
static void find_vacant(struct nvidia *nvidia)
{
	for (size_t i = 0; i < nvidia->gpus.len; i++) {
		const struct nvidia_gpu *gpu = &nvidia->gpus.items[i];
		auto_free char *trouble = gpu->claim ? given_trouble(nvidia, gpu) : NULL;

		nvidia_gpus_set_vacant(&nvidia->gpus, gpu->address, gpu->claim && !trouble);
	}
}

char *nvidia_bind_trouble(const struct nvidia *nvidia, const char *address)
{
	const struct nvidia_gpu *gpu = nvidia_gpus_at(&nvidia->gpus, address);
	char *trouble;

	if (!gpu)
		return NULL;
	if (!gpu->claim)
		return is_elsewhere(nvidia) ? NULL : xstrdup(gpu_still_offered);
	trouble = given_trouble(nvidia, gpu);
	if (trouble || gpu->released || is_forced(nvidia, address))
		return trouble;
	if (gpu->refusal)
		return xasprintf("NVIDIA's driver does not let the GPU go: %s", gpu->refusal);
	return xstrdup("NVIDIA's driver is asked to let the GPU go");
}

/* --- GPUs that the driver lets go ------------------------------------------------------------- */

/* What a restarted agent has to know. One that is bound elsewhere stays in the record. */
static void record_released(struct nvidia *nvidia, const struct nvml_line *line)
{
	const struct nvidia_gpu *gpu = nvidia_gpus_at(&nvidia->gpus, line->address);

	if (!gpu || (line->kind != NVML_LINE_RELEASING && line->kind != NVML_LINE_RELEASED &&
		     line->kind != NVML_LINE_ATTACHED))
		return;
	if (gpu->altered)
		nvidia_released_set(nvidia->released, gpu->address, gpu->persistent);
	else
		nvidia_released_remove(nvidia->released, gpu->address);
	if (line->kind != NVML_LINE_RELEASING)
		log_info(line->kind == NVML_LINE_RELEASED ? "NVIDIA's driver has let a GPU go"
							  : "NVIDIA's driver has taken a GPU back",
			 log_str("address", gpu->address));
}

/* Cards that have come back, and those that an earlier agent has not given back. */
static void recall_released(struct nvidia *nvidia)
{
	for (size_t i = 0; i < nvidia->gpus.len; i++) {
		const struct nvidia_gpu *gpu = &nvidia->gpus.items[i];
		bool persistent;

		if (!gpu->altered &&
		    nvidia_released_has(nvidia->released, gpu->address, &persistent))
			nvidia_gpus_set_altered(&nvidia->gpus, gpu->address, persistent);
	}
}

static void end_release(struct nvidia *nvidia, const struct nvml_end *end)
{
	const struct role *question = &nvidia->question;

	/* An agent that knows nothing of NVIDIA's library binds the card, too. */
	if (end->kind == NVML_FAILED && question->verb == NVML_ASK_RELEASE) {
		log_warn("NVIDIA's driver cannot be asked to let a GPU go",
			 log_str("address", question->addresses.items[0]),
			 log_str("reason", end->message));
		nvidia_gpus_cannot_release(&nvidia->gpus, &question->addresses);
		return;
	}
	nvidia_gpus_end_release(&nvidia->gpus, &question->addresses,
				question->verb == NVML_ASK_ATTACH, end->message, now_ms(nvidia));
}

/* --- runs ------------------------------------------------------------------------------------- */

static void take_system(struct nvidia *nvidia, const struct nvml_line *line)
{
	if (line->kind != NVML_LINE_SYSTEM ||
	    (str_equal(line->driver, nvidia->driver) && line->cuda == nvidia->cuda))
		return;
	str_set(&nvidia->driver, line->driver);
	nvidia->cuda = line->cuda;
	nvidia->gpus.changed = true;
}

static void on_line(void *arg, const struct nvml_line *line)
{
	struct nvidia *nvidia = arg;

	count_xid(nvidia, line);
	take_system(nvidia, line);
	nvidia_gpus_take(&nvidia->gpus, &nvidia->policy, line, now_ms(nvidia));
	record_released(nvidia, line);
	forget_unwatched(nvidia);
	if (line->kind == NVML_LINE_EVENT &&
	    (line->event == NVML_EVENT_TYPE_RECOVERY || line->event == NVML_EVENT_TYPE_MIG))
		plan_soon(nvidia);
	tell(nvidia);
}

/* The first may be followed at once. */
static void replace(struct nvidia *nvidia, struct role *role)
{
	uint64_t now = now_ms(nvidia);
	uint64_t next = role->replaced_ms + NVIDIA_REPLACE_MS;

	role->from_ms = role->replaced && next > now ? next : now;
	role->replaced_ms = role->from_ms;
	role->replaced = true;
}

static bool has_answered(const struct nvidia *nvidia)
{
	for (size_t i = 0; i < nvidia->gpus.len; i++) {
		if (nvidia->gpus.items[i].uuid)
			return true;
	}
	return false;
}

static void log_end(const char *what, const struct nvml_end *end)
{
	log_warn("hostdev-nvml has no answer", log_str("run", what),
		 log_str("reason", end->message), log_str("gpu", end->address));
}

static void on_answer(void *arg, const struct nvml_end *end)
{
	struct nvidia *nvidia = arg;
	struct role *question = &nvidia->question;
	struct nvidia_gpus *gpus = &nvidia->gpus;
	bool releases = question->verb == NVML_ASK_RELEASE || question->verb == NVML_ASK_ATTACH;

	question->run = NULL;
	if (releases && end->kind != NVML_SILENT)
		end_release(nvidia, end);
	switch (end->kind) {
	case NVML_ANSWERED:
		if (question->verb == NVML_ASK_TOPOLOGY)
			nvidia_gpus_placed(gpus, &question->addresses);
		else if (!releases)
			nvidia_gpus_end(gpus, &question->addresses, now_ms(nvidia));
		break;
	case NVML_FAILED:
		if (!releases)
			nvidia_gpus_fail(gpus, &question->addresses, end->message, now_ms(nvidia));
		question->from_ms = now_ms(nvidia) + (has_answered(nvidia) ? (uint64_t)GPU_PROBE_MS
									   : NVIDIA_ABSENT_MS);
		break;
	case NVML_SILENT:
		log_end("question", end);
		nvidia_gpus_hung(gpus, end->address, &question->addresses, now_ms(nvidia));
		replace(nvidia, question);
		break;
	case NVML_DIED:
		log_end("question", end);
		if (question->verb == NVML_ASK_INVENTORY)
			nvidia_gpus_doubt(gpus, &question->addresses);
		replace(nvidia, question);
		break;
	}
	forget_unwatched(nvidia);
	tell(nvidia);
	plan_soon(nvidia);
}

/* What the watch has missed, the "watched" lines of the next one tell. Until then, or if it fails
 * because of the driver, a probe does. */
static void on_watch_end(void *arg, const struct nvml_end *end)
{
	struct nvidia *nvidia = arg;
	struct role *watch = &nvidia->watch;

	watch->run = NULL;
	if (end->kind != NVML_ANSWERED) {
		log_end("watch", end);
		replace(nvidia, watch);
		if (end->kind == NVML_SILENT && end->address)
			nvidia_gpus_hung(&nvidia->gpus, end->address, &watch->addresses,
					 now_ms(nvidia));
		nvidia_gpus_missed(&nvidia->gpus, &watch->addresses);
	}
	json_strs_done(&watch->addresses);
	tell(nvidia);
	plan_soon(nvidia);
}

/* @addresses moves into the role. */
static void start(struct nvidia *nvidia, struct role *role, enum nvml_verb verb,
		  struct json_strs *addresses)
{
	bool watches = verb == NVML_WATCH;
	struct nvml_run_spec spec = { .verb = verb,
				      .addresses = &role->addresses,
				      .deadline_ms = NVIDIA_WARM_MS,
				      .on_line = on_line,
				      .on_end = watches ? on_watch_end : on_answer,
				      .arg = nvidia };
	struct err err = { 0 };

	json_strs_done(&role->addresses);
	role->addresses = *addresses;
	role->verb = verb;
	*addresses = (struct json_strs){ 0 };
	for (size_t i = 0; i < role->addresses.len; i++) {
		if (!nvidia_gpus_at(&nvidia->gpus, role->addresses.items[i])->looked)
			spec.deadline_ms = NVIDIA_COLD_MS;
	}
	spec.persistence = verb == NVML_ASK_ATTACH &&
			   nvidia_gpus_at(&nvidia->gpus, role->addresses.items[0])->persistent;
	nvidia_gpus_begin(&nvidia->gpus, &role->addresses, watches);
	if (verb == NVML_ASK_INVENTORY)
		nvidia_gpus_begin_look(&nvidia->gpus, &role->addresses);
	if (nvml_run_start(nvidia->program, &spec, &role->run, &err) == 0)
		return;
	json_strs_done(&role->addresses);
	role->from_ms = now_ms(nvidia) + NVIDIA_REPLACE_MS;
	log_error("hostdev-nvml cannot be started", log_str("reason", err.msg));
	plan_soon(nvidia);
}

static void on_due(void *arg)
{
	struct nvidia *nvidia = arg;
	const struct nvidia_case c = {
		.gpus = &nvidia->gpus,
		.asks = nvidia->question.run,
		.ask_ms = nvidia->question.from_ms,
		.watches = nvidia->watch.run,
		.watched = &nvidia->watch.addresses,
		.watch_ms = nvidia->watch.from_ms,
		.no_watch = xid_policy_is_off(&nvidia->policy),
		.no_attach = !knows_claims(nvidia),
		.now_ms = now_ms(nvidia),
	};
	struct nvidia_step step;

	find_vacant(nvidia);
	nvidia_plan(&c, &step);
	if (step.again_ms != UINT64_MAX)
		clock_timer_start(nvidia->node->clock, nvidia->due, step.again_ms - c.now_ms);
	if (step.ask)
		start(nvidia, &nvidia->question, step.verb, &step.asked);
	if (step.watch || step.end_watch) {
		nvidia->watch.run = nvml_run_stop(nvidia->watch.run);
		json_strs_done(&nvidia->watch.addresses);
	}
	if (step.watch)
		start(nvidia, &nvidia->watch, NVML_WATCH, &step.watched);
	nvidia_step_done(&step);
}

/* --- what else is on the node ----------------------------------------------------------------- */

static void on_cdi_written(void *arg)
{
	struct nvidia *nvidia = arg;

	nvidia->gpus.changed = true;
	clock_timer_start(nvidia->node->clock, nvidia->look, 0);
}

/* For the devices that containers could get. */
static void write_cdi(struct nvidia *nvidia)
{
	const struct nvidia_type *type = &nvidia->type;
	struct nvidia_devices devices;
	struct json_strs wanted = { 0 };

	if (!nvidia->known || is_elsewhere(nvidia))
		return;
	nvidia_devices_make(type->gpus, type->config, type->mig, &devices);
	for (size_t i = 0; i < devices.len; i++) {
		const struct nvidia_device *device = &devices.items[i];

		if (device->uuid && !nvidia_gpu_trouble(device->gpu))
			json_strs_add(&wanted, device->uuid);
	}
	if (nvidia_ctk_look(nvidia->ctk, &nvidia->cdi, &wanted))
		nvidia->gpus.changed = true;
	nvidia_devices_done(&devices);
	json_strs_done(&wanted);
}

/* They may be written late, after a change of the driver, or removed. */
static void look_at_cdi(struct nvidia *nvidia)
{
	struct cdi_files now;

	cdi_files_read(nvidia->node->host_root, NVIDIA_CDI_KIND, &now);
	if (!cdi_files_equal(&nvidia->cdi, &now))
		nvidia->gpus.changed = true;
	cdi_files_done(&nvidia->cdi);
	nvidia->cdi = now;
	if (nvidia->ctk)
		write_cdi(nvidia);
}

/* An administrator starts the daemons of MPS, perhaps later, and ends them. */
static void look_at_mps(struct nvidia *nvidia)
{
	const struct nvidia_config *config = &nvidia->file.config;
	struct json_strs now = { 0 };

	for (size_t i = 0; config->mps_root && i < config->sharings.len; i++) {
		const char *name = config->sharings.items[i].name;

		if (nvidia_mps_is_served(nvidia->node->host_root, config->mps_root, name) ||
		    !json_strs_add_new(&now, name))
			continue;
		if (!json_strs_has(&nvidia->no_mps, name))
			log_warn("no MPS daemon serves a shared resource",
				 log_str("resource", name), log_str("root", config->mps_root));
	}
	if (!json_strs_equal(&nvidia->no_mps, &now))
		nvidia->gpus.changed = true;
	json_strs_done(&nvidia->no_mps);
	nvidia->no_mps = now;
}

/* The driver makes the node of a channel on request. */
static void look_at_imex(struct nvidia *nvidia)
{
	bool no_imex =
		nvidia->file.config.imex_required && !nvidia_nodes_have_imex(nvidia->type.place);

	if (nvidia->no_imex != no_imex)
		nvidia->gpus.changed = true;
	nvidia->no_imex = no_imex;
}

static const char *cdi_trouble(const struct nvidia *nvidia, const char *uuid)
{
	const char *trouble = cdi_files_trouble(&nvidia->cdi, uuid);
	const char *why = nvidia->ctk ? nvidia_ctk_trouble(nvidia->ctk) : NULL;

	return trouble && why && !json_strs_has(&nvidia->cdi.conflicts, uuid) ? why : trouble;
}

static const char *hindrance(void *arg, const struct nvidia_device *device)
{
	const struct nvidia *nvidia = arg;
	bool mps = nvidia->file.config.mps_root && device->sharing;
	const char *common =
		nvidia->deps.hindrance ? nvidia->deps.hindrance(nvidia->deps.arg) : NULL;

	if (common)
		return common;
	if (nvidia->no_imex)
		return "/dev/nvidia-caps-imex-channels/channel0 does not exist, and imex.required "
		       "is set";
	if (mps && device->mig)
		return "MPS cannot share a MIG device";
	if (mps && json_strs_has(&nvidia->no_mps, device->sharing->name))
		return "no MPS daemon serves the resource: RESOURCE/pipe/control does not exist "
		       "below flags.mpsRoot";
	return nvidia->type.lists & NVIDIA_LIST_CDI ? cdi_trouble(nvidia, device->uuid) : NULL;
}

/* What the command line says goes before the file. */
static void use_config(struct nvidia *nvidia)
{
	const struct nvidia_config *config = &nvidia->file.config;
	struct nvidia_type *type = &nvidia->type;

	type->lists = nvidia->options.lists;
	if (!type->lists)
		type->lists = config->lists ? config->lists : NVIDIA_LIST_ENVVAR;
	if (!nvidia->options.mig || !nvidia_mig_strategy_from_text(nvidia->options.mig, &type->mig))
		type->mig = config->mig;
	nvidia->gpus.changed = true;
	if (nvidia->file.name)
		log_info("configuration of the GPUs read", log_str("file", nvidia->file.name));
	for (size_t i = 0; i < config->ignored.len; i++)
		log_warn("a field of the GPUs' configuration has no effect",
			 log_str("field", config->ignored.items[i]));
}

/* An event needs the Node, which may not be there yet. */
static void record_file_trouble(const struct nvidia *nvidia, const char *trouble,
				const char *effect)
{
	const struct this_node *node = nvidia->node;
	const struct node *self = node_reconcile_object(node);

	if (self)
		events_record(node->events, &(struct events_about){ &node_kind, &self->meta },
			      EVENTS_WARNING, "GPUConfigNotUsed",
			      "the configuration of the GPUs cannot be used: %s; %s", trouble,
			      effect);
}

/* Once as long as it stays the same. */
static void log_file_trouble(struct nvidia *nvidia, const char *trouble)
{
	const char *effect = nvidia->file.is_read ? "the last good one stays" : "no GPU is offered";

	if (trouble && !str_equal(trouble, nvidia->file_trouble)) {
		log_error("configuration of the GPUs cannot be used", log_str("reason", trouble),
			  log_str("effect", effect));
		record_file_trouble(nvidia, trouble, effect);
	}
	str_set(&nvidia->file_trouble, trouble);
}

/* The first entry of the HostDeviceConfig that selects this node; NULL: none. */
static const struct config_nvidia *find_entry(const struct nvidia *nvidia)
{
	for (size_t i = 0; i < nvidia->asked->nvidia.len; i++) {
		const struct config_nvidia *entry = &nvidia->asked->nvidia.items[i];

		if (config_selects(&entry->selector, &nvidia->labels))
			return entry;
	}
	return NULL;
}

/* @trouble is of the configuration in use; NULL: none. */
static void report_entry(const struct nvidia *nvidia, const char *trouble)
{
	const struct nvidia_options *options = &nvidia->options;
	bool has_file = options->config_file || options->config_dir;
	struct config_troubles troubles = { 0 };
	const struct config_nvidia *entry;

	if (!nvidia->asked || !nvidia->deps.report)
		return;
	entry = options->on ? find_entry(nvidia) : NULL;
	if (entry && (has_file || trouble))
		config_troubles_add(&troubles,
				    &(struct config_trouble_value){
					    .list = CONFIG_LIST_NVIDIA,
					    .index = (int64_t)entry->index,
					    .reason = has_file ? CONFIG_FILE_USED : NULL,
					    .message = has_file ? "the agent of this node has a "
								  "configuration file of its own"
								: trouble,
				    });
	nvidia->deps.report(nvidia->deps.arg, &troubles);
	config_troubles_done(&troubles);
}

/* Nothing is decided before all is known that it depends on. */
static void give_entry(struct nvidia *nvidia)
{
	const struct config_nvidia *entry;
	auto_free char *name = NULL;

	if (!nvidia->asked || (nvidia->asked->nvidia.len > 0 && !nvidia->knows_labels))
		return;
	entry = find_entry(nvidia);
	if (entry)
		name = xasprintf("HostDeviceConfig nvidia[%zu]", entry->index);
	(void)nvidia_file_give(&nvidia->file, name, entry ? entry->text : NULL);
	if (nvidia->options.on)
		clock_timer_start(nvidia->node->clock, nvidia->look, 0);
	else
		report_entry(nvidia, NULL);
}

void nvidia_set_config(struct nvidia *nvidia, const struct config *config)
{
	nvidia->asked = config;
	give_entry(nvidia);
}

/* When to look again. */
static uint64_t look_at_file(struct nvidia *nvidia)
{
	struct err err = { 0 };
	int r = nvidia_file_look(&nvidia->file, &err);

	log_file_trouble(nvidia, r < 0 ? err.msg : NULL);
	report_entry(nvidia, r < 0 ? err.msg : NULL);
	if (r == NVIDIA_FILE_NEW)
		use_config(nvidia);
	return r == NVIDIA_FILE_UNSETTLED ? NVIDIA_SETTLE_MS : NVIDIA_LOOK_MS;
}

void nvidia_set_labels(struct nvidia *nvidia, const struct json_pairs *labels)
{
	static const struct json_pairs none;
	const char *value = labels ? json_pairs_get(labels, NVIDIA_CONFIG_LABEL) : NULL;

	if (nvidia_file_set_label(&nvidia->file, value) && nvidia->options.on)
		clock_timer_start(nvidia->node->clock, nvidia->look, 0);
	if (nvidia->knows_labels && json_pairs_equal(&nvidia->labels, labels ? labels : &none))
		return;
	nvidia->knows_labels = true;
	json_pairs_done(&nvidia->labels);
	for (size_t i = 0; labels && i < labels->len; i++)
		(void)json_pairs_set(&nvidia->labels, labels->items[i].key, labels->items[i].value);
	give_entry(nvidia);
}

/* --- other plugins ---------------------------------------------------------------------------- */

static bool wants_resource(void *arg, const char *resource)
{
	const struct nvidia *nvidia = arg;
	const struct nvidia_type *type = &nvidia->type;
	struct nvidia_devices devices;
	bool wants = strcmp(resource, NVIDIA_RESOURCE) == 0;

	nvidia_devices_make(type->gpus, type->config, type->mig, &devices);
	for (size_t i = 0; i < devices.len && !wants; i++)
		wants = strcmp(nvidia_device_resource(&devices.items[i]), resource) == 0;
	nvidia_devices_done(&devices);
	return wants;
}

static bool has_offered(void *arg)
{
	const struct nvidia *nvidia = arg;

	return knows_all(nvidia) && !is_elsewhere(nvidia);
}

static bool has_unit(void *arg, const char *id)
{
	const struct nvidia *nvidia = arg;
	auto_free char *uuid = nvidia_unit_uuid(id);

	return nvidia_gpus_find(&nvidia->gpus, uuid) ||
	       nvidia_gpus_has_mig(&nvidia->gpus, NULL, uuid);
}

static void on_elsewhere(void *arg)
{
	struct nvidia *nvidia = arg;

	nvidia->gpus.changed = true;
	tell(nvidia);
}

/* --- looks ------------------------------------------------------------------------------------ */

static void look_at_migs(struct nvidia *nvidia)
{
	if (nvidia->type.mig == NVIDIA_MIG_NONE || now_ms(nvidia) - nvidia->migs_ms < NVIDIA_MIG_MS)
		return;
	nvidia->migs_ms = now_ms(nvidia);
	nvidia_gpus_doubt(&nvidia->gpus, NULL);
	plan_soon(nvidia);
}

static void on_look(void *arg)
{
	struct nvidia *nvidia = arg;
	uint64_t next_ms = look_at_file(nvidia);

	if (nvidia->type.lists & NVIDIA_LIST_CDI)
		look_at_cdi(nvidia);
	look_at_mps(nvidia);
	look_at_imex(nvidia);
	nvidia_elsewhere_look(nvidia->elsewhere);
	if (nvidia->known && nvidia->file.is_read)
		nvidia_elsewhere_ask(nvidia->elsewhere);
	look_at_migs(nvidia);
	clock_timer_start(nvidia->node->clock, nvidia->look, next_ms);
	tell(nvidia);
}

/* --- the GPUs of the node --------------------------------------------------------------------- */

static bool is(const char *a, const char *b)
{
	return a && strcmp(a, b) == 0;
}

/* NVML knows no virtual functions of the host. */
static bool is_gpu(const struct pci_facts *pci)
{
	return is(pci->vendor, "10de") && pci->class_code &&
	       strncmp(pci->class_code, "03", 2) == 0 && is(pci->driver, "nvidia") &&
	       !is(pci->role, "VirtualFunction");
}

static int by_address(const void *a, const void *b)
{
	const struct nvidia_card *x = a;
	const struct nvidia_card *y = b;

	return strcmp(x->address, y->address);
}

void nvidia_find_gpus_in(struct nvidia *nvidia, const struct facts *facts)
{
	ARRAY(struct nvidia_card) cards = { 0 };

	if (!nvidia->options.on)
		return;
	for (size_t i = 0; i < facts->pci.len; i++) {
		const struct pci_facts *pci = &facts->pci.items[i];

		if (is_gpu(pci))
			*array_add(&cards) = (struct nvidia_card){
				.address = pci->address,
				.numa_node = pci->numa_node,
				.pci_class = (unsigned)strtoul(pci->class_code, NULL, 16),
			};
	}
	if (cards.len > 0)
		qsort(cards.items, cards.len, sizeof(*cards.items), by_address);
	if (nvidia_gpus_set(&nvidia->gpus, cards.items, cards.len) || !nvidia->searched)
		log_info("GPUs of NVIDIA's driver found", log_int("gpus", nvidia->gpus.len));
	nvidia->searched = true;
	array_done(&cards);
	recall_released(nvidia);
	find_claims(nvidia);
	tell(nvidia);
	label(nvidia);
	plan_soon(nvidia);
}

void nvidia_find_gpus(struct nvidia *nvidia)
{
	if (!nvidia->node->inventory || !nvidia->options.on)
		return;
	if (!nvidia->listed && nvidia->gpus.len > 0)
		nvidia->gpus.changed = true;
	nvidia->listed = true;
	nvidia_find_gpus_in(nvidia, nvidia->node->inventory->facts);
}

void nvidia_pods_changed(struct nvidia *nvidia)
{
	if (nvidia->options.on)
		plan_soon(nvidia);
}

const struct nvidia_type *nvidia_view(const struct nvidia *nvidia, bool *ret_elsewhere)
{
	*ret_elsewhere = is_elsewhere(nvidia);
	return *ret_elsewhere || !knows_all(nvidia) ? NULL : &nvidia->type;
}

void nvidia_offer(void *arg, struct plugins *plugins)
{
	struct nvidia *nvidia = arg;

	if (is_elsewhere(nvidia))
		plugins_set(plugins, &nvidia_device_type, &nvidia->type, NULL, 0);
	else if (knows_all(nvidia))
		nvidia_type_offer(&nvidia->type, plugins);
}

/* --- for the PCIDevice ------------------------------------------------------------------------ */

bool nvidia_has(const struct nvidia *nvidia, const char *address)
{
	return nvidia_gpus_at(&nvidia->gpus, address) != NULL;
}

bool nvidia_offered(struct nvidia *nvidia, const char *address, const char **ret_resource,
		    const char **ret_trouble)
{
	const struct nvidia_type *type = &nvidia->type;
	const struct nvidia_gpu *gpu = nvidia_gpus_at(&nvidia->gpus, address);
	struct nvidia_devices devices;

	*ret_resource = *ret_trouble = NULL;
	if (is_elsewhere(nvidia)) {
		*ret_trouble = nvidia_elsewhere_why(nvidia->elsewhere);
		return true;
	}
	if (!knows_all(nvidia))
		return false;
	nvidia_devices_make(type->gpus, type->config, type->mig, &devices);
	for (size_t i = 0; i < devices.len && !*ret_resource; i++) {
		const struct nvidia_device *device = &devices.items[i];

		if (device->gpu != gpu || !device->uuid)
			continue;
		(void)snprintf(nvidia->resource, sizeof(nvidia->resource), "%s",
			       nvidia_device_resource(device));
		*ret_resource = nvidia->resource;
		*ret_trouble = nvidia_type_trouble(type, device);
	}
	nvidia_devices_done(&devices);
	return true;
}

static bool has_allocation(const struct pcidevice_allocations *list,
			   const struct pcidevice_allocation *one)
{
	for (size_t i = 0; i < list->len; i++) {
		if (str_equal(list->items[i].namespace, one->namespace) &&
		    str_equal(list->items[i].pod, one->pod) &&
		    str_equal(list->items[i].container, one->container))
			return true;
	}
	return false;
}

static void add_allocations(struct pcidevice_allocations *list,
			    const struct pcidevice_allocations *more)
{
	for (size_t i = 0; i < more->len && list->len < NVIDIA_ALLOCATIONS_MAX; i++) {
		if (!has_allocation(list, &more->items[i]))
			json_map_copy(pcidevice_allocation_map, array_add(list), &more->items[i]);
	}
}

static void clear_allocations(struct pcidevice_allocations *list)
{
	for (size_t i = 0; i < list->len; i++)
		json_map_done(pcidevice_allocation_map, &list->items[i]);
	array_done(list);
}

const struct pcidevice_allocations *nvidia_allocations(struct nvidia *nvidia, const char *address)
{
	const struct nvidia_gpu *gpu = nvidia_gpus_at(&nvidia->gpus, address);
	const struct nvidia_deps *deps = &nvidia->deps;
	struct json_strs ids = { 0 };
	bool known = gpu->uuid != NULL && !nvidia->options.chosen;

	clear_allocations(&nvidia->allocations);
	if (known) {
		json_strs_add(&ids, gpu->uuid);
		add_given(nvidia, gpu, &ids);
	}
	for (size_t i = 0; i < ids.len && known; i++) {
		const struct pcidevice_allocations *of = deps->allocations(deps->arg, ids.items[i]);

		known = of != NULL;
		if (of)
			add_allocations(&nvidia->allocations, of);
	}
	json_strs_done(&ids);
	return known ? &nvidia->allocations : NULL;
}

/* --- the Node's labels ------------------------------------------------------------------------ */

void nvidia_look_at_node(struct nvidia *nvidia)
{
	if (nvidia->labelled)
		nvidia_node_changed(nvidia->labelled);
}

/* The name that the firmware has for the machine. */
static char *read_machine(const struct this_node *node)
{
	const char *root = node->helper.sysfs_root ? node->helper.sysfs_root : "/sys";
	auto_free char *path = xasprintf("%s/class/dmi/id/product_name", root);
	char *text = NULL;

	(void)file_read(AT_FDCWD, path, NVIDIA_MACHINE_MAX, &text, NULL, NULL);
	return text;
}

/* --- life ------------------------------------------------------------------------------------- */

struct nvidia *nvidia_new(const struct this_node *node, const struct nvidia_options *options,
			  const struct nvidia_deps *deps)
{
	struct nvidia *nvidia = xcalloc(1, sizeof(*nvidia));
	auto_free char *path = helper_run_nvml_path(node->helper.path ? node->helper.path : "");

	nvidia->node = node;
	nvidia->options = *options;
	nvidia->deps = *deps;
	nvidia->healthy = metrics_family(node->metrics, &healthy_desc);
	nvidia->xids = metrics_family(node->metrics, &xids_desc);
	nvidia->program = nvml_program_new(node->loop, path, options->driver_root);
	xid_policy_init(&nvidia->policy, options->ignored_xids, options->fatal_xids);
	nvidia->file =
		(struct nvidia_file){ .path = options->config_file, .folder = options->config_dir };
	nvidia->released = nvidia_released_new(options->on ? node->helper.state_dir : NULL);
	nvidia->type = (struct nvidia_type){ .gpus = &nvidia->gpus,
					     .config = &nvidia->file.config,
					     .clock = node->clock,
					     .place = &node->helper,
					     .hindrance = hindrance,
					     .arg = nvidia };
	nvidia->due = clock_timer_new(node->clock, on_due, nvidia);
	nvidia->look = clock_timer_new(node->clock, on_look, nvidia);
	nvidia->migs_ms = now_ms(nvidia);
	nvidia->cuda = -1;
	nvidia->machine = options->on ? read_machine(node) : NULL;
	if (options->on)
		nvidia->elsewhere = nvidia_elsewhere_new(
			node, &(struct nvidia_elsewhere_deps){ .wants = wants_resource,
							       .offers = has_offered,
							       .has = has_unit,
							       .changed = on_elsewhere,
							       .arg = nvidia });
	nvidia->labelled = node->self ? nvidia_node_new(node) : NULL;
	label(nvidia);
	if (options->on && options->ctk && *options->ctk)
		nvidia->ctk = nvidia_ctk_new(&(struct nvidia_ctk_deps){
			.loop = node->loop,
			.clock = node->clock,
			.path = options->ctk,
			.host_root = node->host_root,
			.ended = on_cdi_written,
			.arg = nvidia,
		});
	if (options->on)
		clock_timer_start(node->clock, nvidia->look, 0);
	return nvidia;
}

struct nvidia *nvidia_free(struct nvidia *nvidia)
{
	if (!nvidia)
		return NULL;
	nvml_run_stop(nvidia->question.run);
	nvml_run_stop(nvidia->watch.run);
	json_strs_done(&nvidia->question.addresses);
	json_strs_done(&nvidia->watch.addresses);
	nvml_program_free(nvidia->program);
	xid_policy_done(&nvidia->policy);
	nvidia_gpus_done(&nvidia->gpus);
	nvidia_released_free(nvidia->released);
	cdi_files_done(&nvidia->cdi);
	nvidia_ctk_free(nvidia->ctk);
	nvidia_node_free(nvidia->labelled);
	nvidia_elsewhere_free(nvidia->elsewhere);
	free(nvidia->driver);
	free(nvidia->machine);
	json_strs_done(&nvidia->no_mps);
	nvidia_file_done(&nvidia->file);
	json_pairs_done(&nvidia->labels);
	free(nvidia->file_trouble);
	json_strs_done(&nvidia->left_out);
	clear_allocations(&nvidia->allocations);
	json_strs_done(&nvidia->measured);
	clock_timer_free(nvidia->node->clock, nvidia->due);
	clock_timer_free(nvidia->node->clock, nvidia->look);
	free(nvidia);
	return NULL;
}
