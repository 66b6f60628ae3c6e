#include "agent/gpu/gpu_writes.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/gpu/gpu_keys.h"
#include "agent/gpu/gpu_write.h"
#include "agent/gpu/gpus.h"
#include "api/pcidevice.h"
#include "base/array.h"
#include "base/mem.h"
#include "kube/audit.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/store.h"

struct item {
	struct gpu_writes *writes;
	const char *key; /* the queue's, until end */
	struct gpu_decision decision;
	struct gpu_write *write;
	work_end_fn *end;
	void *end_arg;
};

struct slot {
	struct item *item;
};

struct gpu_writes {
	const struct gpu_world *world;
	struct echoes *echoes;
	ARRAY(struct slot) items;
};

struct gpu_writes *gpu_writes_new(const struct gpu_world *world, struct echoes *echoes)
{
	struct gpu_writes *writes = xcalloc(1, sizeof(*writes));

	writes->world = world;
	writes->echoes = echoes;
	return writes;
}

static void item_free(struct item *item)
{
	gpu_write_free(item->write);
	gpu_decision_done(&item->decision);
	free(item);
}

struct gpu_writes *gpu_writes_free(struct gpu_writes *writes)
{
	if (!writes)
		return NULL;
	while (writes->items.len > 0) {
		struct item *item = writes->items.items[--writes->items.len].item;

		item->end(item->end_arg, 0, NULL);
		item_free(item);
	}
	array_done(&writes->items);
	free(writes);
	return NULL;
}

/* The PCIDevice has the name of its card's or vGPU's object; it has this in its history, too. */
static void tell_event(const struct item *item)
{
	const struct gpus_deps *deps = item->writes->world->deps;
	const struct gpu_decision *d = &item->decision;
	enum gpu_kind kind = gpu_key_kind(item->key);
	const char *name = item->key + GPU_KEY_NAME;
	const struct api_meta *meta =
		store_object(informer_store(item->writes->world->objects[kind]), name);
	const struct api_meta *device = store_object(informer_store(deps->devices), name);

	if (!d->event_reason || !meta)
		return;
	audit_record(deps->events, &(struct events_about){ &pcidevice_kind, device },
		     &(struct audit){
			     .action = "configure",
			     .result = audit_result(d->event_reason, d->warning),
			     .kind = gpu_kind_api(kind)->kind,
			     .device = name,
			     .node = deps->node_name,
			     .reason = d->event_reason,
			     .message = d->event_message,
			     .warning = d->warning,
		     });
	events_record(deps->events, &(struct events_about){ gpu_kind_api(kind), meta },
		      d->warning ? EVENTS_WARNING : EVENTS_NORMAL, d->event_reason, "%s",
		      d->event_message);
}

/* Somebody made it without the label by which it would be seen. */
static void tell_hidden(const struct item *item)
{
	const struct gpus_deps *deps = item->writes->world->deps;

	deps->on_hidden(deps->arg, gpu_kind_api(gpu_key_kind(item->key)), item->key + GPU_KEY_NAME);
}

static void on_written(void *arg, struct gpu_write *write, int result, const struct err *err)
{
	struct item *item = arg;
	struct gpu_writes *writes = item->writes;

	(void)write;
	item->write = NULL;
	if (result == 0)
		tell_event(item);
	if (result == -EEXIST && item->decision.step == GPU_CREATE)
		tell_hidden(item);
	for (size_t i = 0; i < writes->items.len; i++) {
		if (writes->items.items[i].item == item)
			writes->items.items[i] = writes->items.items[--writes->items.len];
	}
	item->end(item->end_arg, result, err);
	item_free(item);
}

void gpu_writes_start(struct gpu_writes *writes, const char *key, struct gpu_decision *decision,
		      work_end_fn *end, void *end_arg)
{
	struct item *item = xcalloc(1, sizeof(*item));

	*item = (struct item){
		.writes = writes, .key = key, .decision = *decision, .end = end, .end_arg = end_arg
	};
	*decision = (struct gpu_decision){ 0 };
	array_add(&writes->items)->item = item;
	item->write = gpu_write_start(writes->world, writes->echoes, key, &item->decision,
				      on_written, item);
}
