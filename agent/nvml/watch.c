#include "agent/nvml/watch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/nvml/gpus.h"
#include "agent/nvml/inventory.h"
#include "agent/nvml/nvml.h"
#include "agent/nvml/reply.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/timefmt.h"

enum {
	FAILURES_MAX = 3,    /* waits in a row that fail without a GPU that is lost  */
	PAUSE_MS = 1000,     /* after such a wait                                    */
	EARLY_PAUSE_MS = 10, /* after one that ended too early, so that no loop spins */
	EVENTS_WANTED = NVML_EVENT_DOUBLE_BIT_ECC | NVML_EVENT_XID | NVML_EVENT_MIG |
			NVML_EVENT_UNAVAILABLE | NVML_EVENT_RECOVERY,
};

struct watch {
	struct nvml nvml;
	struct reply reply;
	struct gpus gpus;
	uint64_t events[NVML_GPUS_MAX]; /* that each GPU reports */
	struct nvml_event_set *set;
	uint64_t said_ms; /* when the last line was written */
	unsigned failures;
};

/* clang-format off */
static const struct {
	uint64_t bit;
	const char *type;
} event_types[] = {
	{ NVML_EVENT_XID,            "xid" },
	{ NVML_EVENT_DOUBLE_BIT_ECC, "doubleBitEcc" },
	{ NVML_EVENT_MIG,            "mig" },
	{ NVML_EVENT_UNAVAILABLE,    "unavailable" },
	{ NVML_EVENT_RECOVERY,       "recovery" },
};
/* clang-format on */

static void flush(struct watch *w)
{
	reply_flush(&w->reply);
	w->said_ms = timefmt_now_ms();
}

static void pause_ms(unsigned ms)
{
	(void)poll(NULL, 0, (int)ms);
}

/* Tell of the loss of GPU @i, and forget it. */
static void drop_gpu(struct watch *w, size_t i, const char *function, int code)
{
	struct gpu *gpu = &w->gpus.items[i];
	struct str *out = &w->reply.out;
	auto_free char *name = xasprintf("nvml%s", function);

	reply_open(&w->reply, out, "lost");
	json_write_str(out, "address", gpu->address);
	json_write_str(out, "uuid", gpu->uuid);
	json_write_str(out, "function", name);
	json_write_int(out, "code", code);
	json_write_str(out, "message", nvml_meaning(code));
	reply_close(out);
	flush(w);
	w->gpus.len--;
	memmove(gpu, gpu + 1, (w->gpus.len - i) * sizeof(*gpu));
	memmove(&w->events[i], &w->events[i + 1], (w->gpus.len - i) * sizeof(w->events[0]));
}

/* What registering GPU @i comes to, and the function that said so. */
static int register_gpu(struct watch *w, size_t i, const char **ret_function)
{
	struct nvml_device *device = w->gpus.items[i].device;
	uint64_t wanted = EVENTS_WANTED;
	int code;

	w->events[i] = 0;
	reply_at(&w->reply, w->gpus.items[i].address, 0);
	*ret_function = "DeviceGetSupportedEventTypes";
	code = NVML_CALL(&w->nvml, DeviceGetSupportedEventTypes, device, &wanted);
	if (code != NVML_SUCCESS)
		return code;
	wanted &= EVENTS_WANTED;
	if (!wanted)
		return NVML_SUCCESS;
	*ret_function = "DeviceRegisterEvents";
	code = NVML_CALL(&w->nvml, DeviceRegisterEvents, device, wanted, w->set);
	if (code == NVML_SUCCESS)
		w->events[i] = wanted;
	return code;
}

/*
 * Register all GPUs in a new set. A GPU that cannot report events stays, for what the look after
 * this finds. With any other error the set is of no more use, by the library's documentation, so it
 * is made again without that GPU.
 */
static int register_all(struct watch *w)
{
	size_t i = 0;

	if (w->set)
		(void)NVML_CALL(&w->nvml, EventSetFree, w->set);
	w->set = NULL;
	while (i < w->gpus.len) {
		const char *function;
		int code = NVML_SUCCESS;

		if (!w->set)
			code = NVML_CALL(&w->nvml, EventSetCreate, &w->set);
		if (code != NVML_SUCCESS) {
			reply_failed(&w->reply, "EventSetCreate", code, NULL);
			return -EIO;
		}
		code = register_gpu(w, i, &function);
		if (code == NVML_SUCCESS || code == NVML_NOT_SUPPORTED ||
		    code == NVML_NO_FUNCTION) {
			i++;
			continue;
		}
		drop_gpu(w, i, function, code);
		(void)NVML_CALL(&w->nvml, EventSetFree, w->set);
		w->set = NULL;
		i = 0;
	}
	return 0;
}

static int begin(struct watch *w)
{
	if (register_all(w) < 0)
		return -EIO;
	for (size_t i = 0; i < w->gpus.len; i++) {
		const struct gpu *gpu = &w->gpus.items[i];
		auto_str struct str line = STR_INIT;

		reply_at(&w->reply, gpu->address, 0);
		reply_open(&w->reply, &line, "watched");
		json_write_str(&line, "address", gpu->address);
		json_write_str(&line, "uuid", gpu->uuid);
		json_write_int(&line, "events", (int64_t)w->events[i]);
		(void)inventory_health(&w->nvml, gpu, &w->reply, &line);
		reply_close(&line);
		str_add_mem(&w->reply.out, line.buf, line.len);
	}
	reply_open(&w->reply, &w->reply.out, "watching");
	json_write_int(&w->reply.out, "gpus", (int64_t)w->gpus.len);
	reply_close(&w->reply.out);
	flush(w);
	return 0;
}

/* Who an event is about; the library may use another handle than ours. NULL: it cannot be told. */
static const struct gpu *gpu_of(const struct watch *w, struct nvml_device *device)
{
	const struct gpu *gpu = gpus_with(&w->gpus, device);
	char uuid[NVML_UUID_SIZE] = "";

	if (gpu || !device ||
	    NVML_CALL(&w->nvml, DeviceGetUUID, device, uuid, sizeof(uuid)) != NVML_SUCCESS)
		return gpu;
	uuid[sizeof(uuid) - 1] = '\0';
	for (size_t i = 0; i < w->gpus.len; i++) {
		if (strcmp(w->gpus.items[i].uuid, uuid) == 0)
			return &w->gpus.items[i];
	}
	return NULL;
}

/* Written at once, because the next wait can hang. This blocks while the reader does not read; the
 * driver queues later events. */
static void reply_event(struct watch *w, const struct nvml_event *event)
{
	const struct gpu *gpu = gpu_of(w, event->device);
	struct str *out = &w->reply.out;
	const char *type = "other";

	for (size_t i = 0; i < ARRAY_LEN(event_types); i++) {
		if (event->type == event_types[i].bit)
			type = event_types[i].type;
	}
	reply_open(&w->reply, out, "event");
	if (gpu) {
		json_write_str(out, "address", gpu->address);
		json_write_str(out, "uuid", gpu->uuid);
	}
	json_write_str(out, "type", type);
	json_write_int(out, "data", (int64_t)(event->data & INT64_MAX));
	if (event->gpu_instance != (uint32_t)NVML_WHOLE_GPU)
		json_write_int(out, "gi", event->gpu_instance);
	if (event->compute_instance != (uint32_t)NVML_WHOLE_GPU)
		json_write_int(out, "ci", event->compute_instance);
	reply_close(out);
	flush(w);
	w->failures = 0;
}

/* The oldest form of the wait does not write the instances. */
static int wait_event(struct watch *w, struct nvml_event *ret_event, unsigned ms)
{
	*ret_event = (struct nvml_event){ .gpu_instance = (uint32_t)NVML_WHOLE_GPU,
					  .compute_instance = (uint32_t)NVML_WHOLE_GPU };
	return NVML_CALL(&w->nvml, EventSetWait, w->set, ret_event, ms);
}

/* The wait has failed: report the lost GPUs and drop them. */
static bool drop_lost(struct watch *w)
{
	size_t before = w->gpus.len;

	for (size_t i = w->gpus.len; i-- > 0;) {
		const struct gpu *gpu = &w->gpus.items[i];
		const char *function = "DeviceGetMemoryInfo";
		struct nvml_memory memory;
		char uuid[NVML_UUID_SIZE];
		int code;

		reply_at(&w->reply, gpu->address, 0);
		code = NVML_CALL(&w->nvml, DeviceGetMemoryInfo, gpu->device, &memory);
		if (code == NVML_NOT_SUPPORTED || code == NVML_NO_FUNCTION) {
			function = "DeviceGetUUID";
			code = NVML_CALL(&w->nvml, DeviceGetUUID, gpu->device, uuid, sizeof(uuid));
		}
		/* Besides 15 and 16, lost GPUs answer 999. */
		if (code != NVML_SUCCESS)
			drop_gpu(w, i, function, code);
	}
	return w->gpus.len < before;
}

/* The wait failed with @code. < 0: it is of no use to go on. */
static int recover(struct watch *w, int code)
{
	if (!drop_lost(w)) {
		if (++w->failures > FAILURES_MAX) {
			reply_failed(&w->reply, "EventSetWait", code, NULL);
			return -EIO;
		}
		reply_problem(&w->reply, NULL, -1, "EventSetWait", code);
		flush(w);
		pause_ms(PAUSE_MS);
	}
	return begin(w);
}

static bool input_has_ended(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	char data[256];

	if (poll(&input, 1, 0) <= 0)
		return false;
	return read(STDIN_FILENO, data, sizeof(data)) <= 0;
}

static void be_idle(struct watch *w, uint64_t began_ms)
{
	uint64_t now_ms = timefmt_now_ms();

	w->failures = 0;
	if (now_ms - began_ms < WATCH_WAIT_MS / 2)
		pause_ms(EARLY_PAUSE_MS);
	if (now_ms - w->said_ms < WATCH_WAIT_MS)
		return;
	reply_open(&w->reply, &w->reply.out, "idle");
	reply_close(&w->reply.out);
	flush(w);
}

static int watch(struct watch *w)
{
	struct nvml_event event;
	int r = begin(w);

	while (r == 0 && w->gpus.len > 0 && !w->reply.broken) {
		uint64_t began_ms = timefmt_now_ms();
		int code = wait_event(w, &event, WATCH_WAIT_MS);

		if (code == NVML_SUCCESS)
			reply_event(w, &event);
		else if (code == NVML_TIMEOUT)
			be_idle(w, began_ms);
		else
			r = recover(w, code);
		if (input_has_ended())
			break;
	}
	if (r == 0 && w->gpus.len == 0)
		reply_end(&w->reply);
	return r;
}

int watch_run(const struct nvml_place *place, const struct gpu_addresses *addresses, int fd)
{
	struct watch *w = xcalloc(1, sizeof(*w));
	int status = EXIT_FAILURE;

	w->reply.fd = fd;
	if (nvml_begin(&w->nvml, place, &w->reply)) {
		gpus_open(&w->nvml, addresses, &w->reply, &w->gpus);
		if (watch(w) == 0)
			status = EXIT_SUCCESS;
	}
	str_done(&w->reply.out);
	free(w);
	return status;
}
