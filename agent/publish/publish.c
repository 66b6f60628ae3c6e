#include "agent/publish/publish.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "agent/publish/publish_plan.h"
#include "api/json_map.h"
#include "api/kind.h"
#include "api/mediateddeviceparent.h"
#include "api/meta.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/usbdeviceclaim.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/apply.h"
#include "kube/audit.h"
#include "kube/clock.h"
#include "kube/echoes.h"
#include "kube/events.h"
#include "kube/fetch.h"
#include "kube/informer.h"
#include "kube/store.h"
#include "kube/workq_run.h"

static const struct pcidevice_allocations *
allocations_of(const struct publish_deps *deps, enum inventory_kind kind, const char *name)
{
	static const struct pcidevice_allocations none = { 0 };

	return deps->allocations ? deps->allocations(deps->arg, kind, name) : &none;
}

/* What others know of a mediated device, or of a parent of them. */
static void fill_mdev(const struct publish_deps *deps, struct publish_case *c)
{
	if (c->kind == INVENTORY_MDEV && c->wanted && deps->resource)
		c->resource = deps->resource(deps->arg, c->wanted);
	if (c->kind == INVENTORY_MDEV_PARENT && c->wanted && deps->condition) {
		const struct mediateddeviceparent *parent = c->wanted;

		c->condition = deps->condition(deps->arg, parent->status.parent);
	}
}

/* Of the object @name, which the API server has as @entry (NULL: it has none). Borrowed, until the loop
 * goes on. */
static struct publish_case publish_view(const struct publish_deps *deps,
					const struct inventory *inventory, enum inventory_kind kind,
					const char *name, const struct entry *entry)
{
	const struct informer *claims = deps->claims[kind];
	const struct entry *claim = claims ? store_get(informer_store(claims), name) : NULL;
	struct publish_case c = {
		.kind = kind,
		.wanted = inventory_find(inventory, kind, name),
		.seen = entry ? entry->object : NULL,
		.claimed = claim != NULL,
		.allocations = allocations_of(deps, kind, name),
		.now_wall_ms = clock_wall_ms(deps->clock),
	};

	if (kind == INVENTORY_PCI && deps->parent)
		c.parent = deps->parent(deps->arg, name, &c.parent_key);
	if (kind == INVENTORY_PCI && deps->held_as)
		c.resource = deps->held_as(deps->arg, name);
	if (kind == INVENTORY_PCI && deps->offer)
		deps->offer(deps->arg, name, &c.offer);
	if (kind == INVENTORY_PCI)
		c.claim = claim ? claim->object : NULL;
	else if (kind == INVENTORY_USB)
		c.usb_claim = claim ? claim->object : NULL;
	fill_mdev(deps, &c);
	return c;
}

/* Borrowed. */
struct publish_audit {
	struct events *events; /* may be NULL */
	const struct api_kind *kind;
	const char *name;
	const struct api_meta *meta; /* of the object; NULL: it is not seen yet, or not any more */
	const char *node_name;
	const char *user; /* whose claim it is; NULL: nobody's, or not known */
};

/* The list as JSON, [] for NULL, for the caller to json_decref(). */
static json_t *publish_audit_list(const struct pcidevice_allocations *list)
{
	json_t *json = json_array();

	for (size_t i = 0; list && i < list->len; i++)
		json_array_append_new(json,
				      json_map_encode(pcidevice_allocation_map, &list->items[i]));
	return json;
}

static bool has(const json_t *list, const json_t *item)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (json_equal(json_array_get(list, i), item))
			return true;
	}
	return false;
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* The pod has its name in the line alone: see events.h. */
static void tell(const struct publish_audit *about, const json_t *item, const char *resource,
		 bool given)
{
	auto_free char *message = resource && given ? xasprintf("given to a pod as %s", resource)
						    : xstrdup("given to a pod");

	audit_record(about->events, &(struct events_about){ about->kind, about->meta },
		     &(struct audit){
			     .action = given ? "allocate" : "free",
			     .result = "Done",
			     .user = about->user,
			     .kind = about->kind->kind,
			     .device = about->name,
			     .node = about->node_name,
			     .ns = text_of(item, "namespace"),
			     .pod = text_of(item, "pod"),
			     .container = text_of(item, "container"),
			     .resource = resource,
			     .reason = given ? "Allocated" : "Freed",
			     .message = given ? message
					      : "no pod's any more: the one that had it has ended",
		     });
}

/* @before: as publish_audit_list(); @status: the status that was written, NULL: the object was deleted. */
static void publish_audit_tell(const struct publish_audit *audit, const json_t *before,
			       const json_t *status)
{
	const json_t *after = json_object_get(status, "allocations");
	const char *resource = text_of(status, "resourceName");

	for (size_t i = 0; i < json_array_size(before); i++) {
		if (!has(after, json_array_get(before, i)))
			tell(audit, json_array_get(before, i), resource, false);
	}
	for (size_t i = 0; i < json_array_size(after); i++) {
		if (!has(before, json_array_get(after, i)))
			tell(audit, json_array_get(after, i), resource, true);
	}
}

enum {
	WRITES_AT_A_TIME = 16,
	INSTALL_MS = 2000, /* how often to look whether the kinds have been installed    */
	KEY_NAME = 2,      /* where the name begins in a key                             */
};

static const char field_manager[] = "hostdev-agent";

struct publish {
	struct publish_deps deps;
	struct inventory *inventory;
	struct workq_run *queue;
	struct echoes *echoes; /* of our own writes, by key */
	struct write *writes[WRITES_AT_A_TIME];
	size_t writing;
};

/* One key's work under way. */
struct write {
	struct publish *publish;
	enum inventory_kind kind;
	const char *key; /* the queue's, until end */
	const char *name;
	bool first; /* the status follows the object, which was created just now */
	struct kube_call *call;
	json_t *sent; /* the status that was applied, NULL before */
	json_t *had;  /* who had the device, by the object as it was seen */
	work_end_fn *end;
	void *end_arg;
};

static const char kind_letters[INVENTORY_KINDS + 1] = {
	[INVENTORY_PCI] = 'p',
	[INVENTORY_USB] = 'u',
	[INVENTORY_MDEV] = 'm',
	[INVENTORY_MDEV_PARENT] = 'd',
};

static char *key_of(enum inventory_kind kind, const char *name)
{
	return xasprintf("%c/%s", kind_letters[kind], name);
}

static enum inventory_kind kind_of_key(const char *key)
{
	return (enum inventory_kind)(strchr(kind_letters, key[0]) - kind_letters);
}

static void expect_echo(const struct write *write, const char *version)
{
	struct publish *publish = write->publish;

	echoes_expect(publish->echoes, write->key, version, clock_now_ms(publish->deps.clock));
}

static void end_write(struct write *write, int result, const struct err *err)
{
	struct publish *publish = write->publish;

	for (size_t i = 0; i < publish->writing; i++) {
		if (publish->writes[i] == write)
			publish->writes[i] = publish->writes[--publish->writing];
	}
	if (write->call)
		log_debug("written", log_str("object", write->name), log_int("result", result));
	write->end(write->end_arg, result, err);
	json_decref(write->sent);
	json_decref(write->had);
	free(write);
}

static char *version_in(const struct kube_response *response)
{
	auto_json json_t *json = NULL;
	const char *version;

	if (json_map_load(response->body, response->body_len, &json, NULL) < 0)
		return NULL;
	version = json_string_value(
		json_object_get(json_object_get(json, "metadata"), "resourceVersion"));
	return xstrdup_or_null(version);
}

/* What a write has come to: the object's new version or, with @err filled, NULL. An answer that is
 * not an object came from elsewhere, so that nothing may have been written. */
static char *outcome_of(int result, const struct kube_response *response, struct err *err)
{
	char *version = NULL;

	if (result == 0)
		version = version_in(response);
	if (result == 0 && !version)
		err_set(err, ERR_RETRY, -EBADMSG, "the answer to a write is not an object");
	if (result == -EMSGSIZE)
		err->kind = ERR_RETRY;
	if (result == -ENOENT)
		err->kind = ERR_CONFLICT; /* deleted meanwhile, or the kind is */
	return version;
}

/* Whose claim the device is; NULL: nobody's. */
static const char *user_of(const struct write *write)
{
	const struct informer *claims = write->publish->deps.claims[write->kind];
	const void *claim = claims ? store_object(informer_store(claims), write->name) : NULL;

	if (!claim)
		return NULL;
	return write->kind == INVENTORY_PCI
		       ? ((const struct pcideviceclaim *)claim)->spec.user_name
		       : ((const struct usbdeviceclaim *)claim)->spec.user_name;
}

static void tell_allocations(const struct write *write)
{
	const struct publish *publish = write->publish;
	const struct api_meta *meta =
		store_object(informer_store(publish->deps.devices[write->kind]), write->name);

	publish_audit_tell(
		&(struct publish_audit){
			.events = publish->deps.events,
			.kind = publish->inventory->sets[write->kind].kind,
			.name = write->name,
			.meta = meta,
			.node_name = publish->deps.node_name,
			.user = user_of(write),
		},
		write->had, json_object_get(write->sent, "status"));
}

static void on_written(void *arg, int result, const struct kube_response *response,
		       const struct err *err)
{
	struct write *write = arg;
	struct err cause = *err;
	auto_free char *version = outcome_of(result, response, &cause);

	if (version)
		expect_echo(write, version);
	if (version && write->sent)
		tell_allocations(write);
	end_write(write, version ? 0 : cause.code, &cause);
}

static struct apply_request request_of(const struct write *write, const char *subresource,
				       const json_t *body)
{
	return (struct apply_request){
		.kind = write->publish->inventory->sets[write->kind].kind,
		.name = write->name,
		.subresource = subresource,
		.field_manager = field_manager,
		.force = true,
		.object = body,
	};
}

/* What the apply could not remove goes by a patch of its own, or the next look would apply again. */
static void on_status_applied(void *arg, int result, const struct kube_response *response,
			      const struct err *err)
{
	struct write *write = arg;
	auto_json json_t *answer = NULL;
	auto_json json_t *left_over = NULL;
	struct apply_request request;

	if (result == 0 && json_map_load(response->body, response->body_len, &answer, NULL) == 0)
		left_over = publish_left_over(write->kind, write->sent, answer);
	if (!left_over) {
		on_written(write, result, response, err);
		return;
	}
	log_info("removing status fields of other writers", log_str("object", write->name));
	request = request_of(write, "status", left_over);
	write->call = apply_merge(write->publish->deps.client, &request, on_written, write);
}

static void apply_status(struct write *write, json_t *body)
{
	struct apply_request request = request_of(write, "status", body);

	json_decref(write->sent);
	write->sent = json_incref(body);
	write->call = apply_send(write->publish->deps.client, &request, on_status_applied, write);
}

/* The status goes right behind a new object; behind a changed one comes a new look. */
static void on_object_applied(void *arg, int result, const struct kube_response *response,
			      const struct err *err)
{
	struct write *write = arg;
	const struct publish_case c = publish_view(&write->publish->deps, write->publish->inventory,
						   write->kind, write->name, NULL);
	struct err cause = *err;
	auto_free char *version = outcome_of(result, response, &cause);

	if (version && write->first && c.wanted) {
		auto_json json_t *body = publish_first_status(&c);

		apply_status(write, body);
		return;
	}
	on_written(write, result, response, err);
}

static void apply_object(struct write *write, const json_t *body)
{
	struct apply_request request = request_of(write, NULL, body);

	write->call = apply_send(write->publish->deps.client, &request, on_object_applied, write);
}

static void on_deleted(void *arg, int result, const struct kube_response *response,
		       const struct err *err)
{
	struct write *write = arg;
	auto_json json_t *answer = NULL;
	struct err cause = *err;

	/* A 404 that does not name it says that the path is not served, which may pass. */
	if (result == -ENOENT && fetch_says_gone(response, write->name))
		result = 0;
	else if (result == 0)
		result = json_map_load(response->body, response->body_len, &answer, &cause);
	if (result == 0) {
		tell_allocations(write);
		expect_echo(write, NULL);
	} else if (cause.kind == ERR_INVALID) {
		cause.kind = ERR_RETRY; /* nothing in a deletion can be wrong for good */
	}
	end_write(write, result, &cause);
}

static void delete (struct write *write, const struct entry *entry)
{
	struct publish *publish = write->publish;

	log_info("device gone, deleting its object", log_str("object", write->name));
	write->call = apply_delete(publish->deps.client,
				   &(struct delete_request){
					   .kind = publish->inventory->sets[write->kind].kind,
					   .name = write->name,
					   .uid = entry->uid,
				   },
				   on_deleted, write);
}

static void do_step(struct write *write, enum publish_step step, json_t *body,
		    const struct entry *entry)
{
	struct publish *publish = write->publish;

	assert(publish->writing < WRITES_AT_A_TIME);
	publish->writes[publish->writing++] = write;
	write->first = entry == NULL;
	if (step != PUBLISH_NOTHING)
		log_debug("writing", log_str("object", write->name), log_int("step", step));
	switch (step) {
	case PUBLISH_OBJECT:
		apply_object(write, body);
		return;
	case PUBLISH_STATUS:
		apply_status(write, body);
		return;
	case PUBLISH_DELETE:
		delete (write, entry);
		return;
	case PUBLISH_NOTHING:
		end_write(write, 0, NULL);
		return;
	}
}

static bool is_moving(const struct publish *publish, enum inventory_kind kind, const char *name)
{
	return kind == INVENTORY_PCI && publish->deps.moving &&
	       publish->deps.moving(publish->deps.arg, name);
}

/* True if it is too early to decide on @key: then it has been put off or waits for a change. */
static bool put_off(struct publish *publish, enum inventory_kind kind, const char *key,
		    const struct entry *entry)
{
	uint64_t wait_ms =
		echoes_wait_ms(publish->echoes, key, entry, clock_now_ms(publish->deps.clock));

	if (!publish->inventory || !informer_synced(publish->deps.devices[kind]) ||
	    (publish->deps.claims[kind] && !informer_synced(publish->deps.claims[kind])))
		return true; /* publish_set() or publish_synced() adds it again */
	if (entry && !entry->object)
		return true; /* unreadable: the store has said so; a write could not mend it */
	if (is_moving(publish, kind, key + KEY_NAME))
		return true; /* publish_set() adds it again */
	if (wait_ms == 0 && !informer_installed(publish->deps.devices[kind]))
		wait_ms = INSTALL_MS;
	if (wait_ms > 0)
		workq_run_add_after(publish->queue, key, wait_ms);
	return wait_ms > 0;
}

static void work(void *arg, const char *key, work_end_fn *end, void *end_arg)
{
	struct publish *publish = arg;
	enum inventory_kind kind = kind_of_key(key);
	const char *name = key + KEY_NAME;
	const struct entry *entry = store_get(informer_store(publish->deps.devices[kind]), name);
	auto_json json_t *body = NULL;
	enum publish_step step;
	struct publish_case c;
	struct write *write;

	if (put_off(publish, kind, key, entry)) {
		end(end_arg, 0, NULL);
		return;
	}
	c = publish_view(&publish->deps, publish->inventory, kind, name, entry);
	step = publish_plan(&c, &body);
	write = xcalloc(1, sizeof(*write));
	*write = (struct write){ .publish = publish,
				 .kind = kind,
				 .key = key,
				 .name = name,
				 .had = publish_audit_list(publish_allocations(kind, c.seen)),
				 .end = end,
				 .end_arg = end_arg };
	do_step(write, step, body, entry);
}

struct publish *publish_new(const struct publish_deps *deps)
{
	struct publish *publish = xcalloc(1, sizeof(*publish));

	publish->deps = *deps;
	publish->echoes = echoes_new();
	publish->queue = workq_run_new(&(struct workq_run_spec){
		.name = "inventory",
		.max_running = WRITES_AT_A_TIME,
		.work = work,
		.arg = publish,
		.clock = deps->clock,
		.metrics = deps->metrics,
	});
	return publish;
}

struct publish *publish_free(struct publish *publish)
{
	if (!publish)
		return NULL;
	while (publish->writing > 0) {
		struct write *write = publish->writes[--publish->writing];

		kube_call_cancel(write->call);
		write->end(write->end_arg, 0, NULL);
		json_decref(write->sent);
		json_decref(write->had);
		free(write);
	}
	workq_run_free(publish->queue);
	echoes_free(publish->echoes);
	inventory_free(publish->inventory);
	free(publish);
	return NULL;
}

void publish_touch(struct publish *publish, enum inventory_kind kind, const char *name)
{
	auto_free char *key = key_of(kind, name);

	workq_run_add(publish->queue, key);
}

/* Whoever has, had or should have an object is looked at. */
static void touch_all(struct publish *publish, enum inventory_kind kind)
{
	const struct inventory_set *set = &publish->inventory->sets[kind];
	const struct store *store;
	const struct entry *entry;
	size_t cursor = 0;

	if (!publish->deps.devices[kind])
		return;
	store = informer_store(publish->deps.devices[kind]);
	for (size_t i = 0; i < set->len; i++)
		publish_touch(publish, kind, ((const struct api_meta *)set->objects[i])->name);
	while ((entry = store_next(store, &cursor)))
		publish_touch(publish, kind, entry->name);
}

void publish_set(struct publish *publish, struct inventory *inventory)
{
	inventory_free(publish->inventory);
	publish->inventory = inventory;
	publish_synced(publish);
}

void publish_synced(struct publish *publish)
{
	for (int kind = 0; publish->inventory && kind < INVENTORY_KINDS; kind++)
		touch_all(publish, (enum inventory_kind)kind);
}

bool publish_settled(const struct publish *publish)
{
	return publish->inventory && publish->writing == 0 && workq_run_idle(publish->queue);
}
