/*
 * gpus_bench: the objects of a card between a made-up node, programs that do what the test says, and
 * an API server of a few lines, which has objects of all kinds and shows each change at once.
 *
 * Kinds and names are short in the log: "card", "mig", "vgpu4" (of the function 0000:08:00.4),
 * "claim4", "device4".
 */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "agent/gpu/gpus.h"
#include "agent/process/helper_run.h"
#include "api/meta.h"
#include "api/migconfiguration.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/sriovgpudevice.h"
#include "api/vgpudevice.h"
#include "base/array.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "unit/agent/world.h"
#include "unit/gpu/gpu_scene.h"
#include "unit/kube/kind_bench.h"
#include "unit/kube/objects.h"
#include "unit/made_json.h"
#include "unit/this_node.h"

#define CARD_NAME "node1-000008000"
#define FN4       "node1-000008004"
#define FN5       "node1-000008005"
#define VF5       VF2

/* --- fakes ----------------------------------------------------------------------------------- */

/* One program that runs. */
struct helper_run {
	struct helper_spec spec;
	char *words;
	bool is_stuck;
};

struct bench_runs {
	struct {
		struct helper_run *run;
	} * items;
	size_t len;
	size_t cap;
};

static struct bench_runs runs;
static bool programs_missing; /* none can be started */
static struct str programs;   /* "/sm -e 0000:08:00.0|" of each program since the last look */

int helper_run_start(struct uv_loop_s *loop, const struct helper_spec *spec,
		     struct helper_run **ret_run, struct err *err)
{
	struct helper_run *run;

	(void)loop;
	if (programs_missing)
		return err_set(err, ERR_RETRY, -ENOENT, "no such file");
	run = xcalloc(1, sizeof(*run));
	run->spec = *spec;
	array_add(&runs)->run = run;
	run->words = xstrdup(spec->path);
	for (const char *const *arg = spec->args; *arg; arg++) {
		auto_free char *before = run->words;

		run->words = xasprintf("%s %s", before, *arg);
	}
	str_addf(&programs, "%s|", run->words);
	*ret_run = run;
	return 0;
}

int helper_run_pid(const struct helper_run *run)
{
	assert_non_null(run);
	return 17;
}

static inline void runs_remove(struct helper_run *run)
{
	for (size_t i = 0; i < runs.len; i++) {
		if (runs.items[i].run == run)
			runs.items[i] = runs.items[--runs.len];
	}
	free(run->words);
	free(run);
}

void helper_run_extend(struct helper_run *run, uint64_t deadline_ms)
{
	fail_msg("%s: its deadline is moved by %d ms", run->words, (int)deadline_ms);
}

void helper_run_cancel(struct helper_run *run)
{
	fail_msg("%s: it is cancelled", run->words);
}

struct helper_run *helper_run_abandon(struct helper_run *run)
{
	if (run)
		runs_remove(run);
	return NULL;
}

struct events {
	struct str recorded;
};

static const char *bench_short(const char *plural, const char *name);

void events_record(struct events *events, const struct events_about *about, enum events_type type,
		   const char *reason, const char *fmt, ...)
{
	assert_non_null(fmt);
	str_addf(&events->recorded, "%s%s %s|", type == EVENTS_WARNING ? "!" : "", reason,
		 bench_short(about->kind->plural, about->meta->name));
}

/* --- the bench ------------------------------------------------------------------------------- */

struct bench {
	uv_loop_t loop;
	struct kube_client *client;
	struct fake_clock *clock;
	struct events events;
	struct informer *claims, *devices;
	struct this_node node;
	struct gpus *gpus;
	struct world world;
	json_t *objects; /* "plural/name" -> object                                      */
	int version, uids;
	struct str writes; /* "PATCH card/status Applying|" for each since the last look  */
	struct str reads;
	const char *slow;     /* the watch of this plural shows nothing; see bench_catch_up() */
	json_t *unshown;      /* its lines */
	const char *unlisted; /* the list of this plural fails */
	const char *hidden;   /* "plural/name" of what lacks the label     */
	const char *pod;      /* that has the function 0000:08:00.4         */
	bool is_taken;        /* another kind has the resource of vGPUs     */
	int moves, lent;
};

static inline const char *bench_short(const char *plural, const char *name)
{
	static const struct {
		const char *plural;
		const char *word;
	} words[] = {
		{ "sriovgpudevices", "card" }, { "migconfigurations", "mig" },
		{ "vgpudevices", "vgpu" },     { "pcideviceclaims", "claim" },
		{ "pcidevices", "device" },
	};
	static char text[16];
	bool is_function = strcmp(name, CARD_NAME) != 0;

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(words[i].plural, plural) == 0)
			(void)snprintf(text, sizeof(text), "%s%s", words[i].word,
				       is_function ? name + strlen(name) - 1 : "");
	}
	return text;
}

static inline void bench_on_change(void *arg, const char *name, const struct entry *before,
				   const struct entry *after)
{
	struct bench *b = arg;

	(void)before;
	(void)after;
	gpus_enqueue_device(b->gpus, name);
}

static inline void bench_on_synced(void *arg)
{
	struct bench *b = arg;

	gpus_enqueue_all(b->gpus);
}

static inline void bench_request_scan(void *arg)
{
	struct bench *b = arg;

	b->moves++;
}

static inline void bench_offers_changed(void *arg)
{
	struct bench *b = arg;

	b->lent++;
}

static inline bool bench_is_free(void *arg, const char *id, char **ret_holder)
{
	const struct bench *b = arg;

	if (!b->pod || strcmp(id, VF1) != 0)
		return true;
	*ret_holder = xstrdup(b->pod);
	return false;
}

static inline bool bench_is_taken(void *arg, const char *resource)
{
	const struct bench *b = arg;

	assert_string_equal(resource, "nvidia.com/NVIDIA_A2-4C");
	return b->is_taken;
}

/* The program begins, or begins again. */
static inline void bench_begin(struct bench *b)
{
	const struct informer_handlers handlers = { .on_change = bench_on_change,
						    .on_synced = bench_on_synced };

	assert_int_equal(uv_loop_init(&b->loop), 0);
	b->claims = kind_bench_informer(b, b->client, b->clock, &pcideviceclaim_kind, handlers);
	b->devices = kind_bench_informer(b, b->client, b->clock, &pcidevice_kind, handlers);
	b->node = this_node_of(b->client, fake_clock_as_clock(b->clock), &b->events);
	b->node.loop = &b->loop;
	b->node.helper.path = "helper";
	b->node.claims[INVENTORY_PCI] = b->claims;
	b->node.devices[INVENTORY_PCI] = b->devices;
	b->gpus = gpus_new(&b->node, &(struct gpus_deps){
					     .options = { .sriov_manage = "/sm",
							  .nvidia_smi = "/smi",
							  .deadline_ms = 1000 },
					     .request_scan = bench_request_scan,
					     .offers_changed = bench_offers_changed,
					     .is_free = bench_is_free,
					     .is_taken = bench_is_taken,
					     .arg = b,
				     });
	informer_start(b->claims);
	informer_start(b->devices);
}

static inline void bench_end(struct bench *b)
{
	b->gpus = gpus_free(b->gpus);
	b->claims = informer_free(b->claims);
	b->devices = informer_free(b->devices);
	assert_int_equal(fake_client_open(b->client), 0);
	assert_int_equal(runs.len, 0);
	uv_run(&b->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&b->loop), 0);
}

static inline void bench_open(struct bench *b)
{
	*b = (struct bench){ .client = fake_client_new(),
			     .clock = fake_clock_new(),
			     .objects = json_object(),
			     .unshown = json_array(),
			     .version = 10 };
	bench_begin(b);
}

static inline void bench_close(struct bench *b)
{
	bench_end(b);
	kube_client_free(b->client);
	fake_clock_free(b->clock);
	if (b->world.inventory)
		world_close(&b->world);
	json_decref(b->objects);
	json_decref(b->unshown);
	str_done(&b->writes);
	str_done(&b->reads);
	str_done(&b->events.recorded);
	str_done(&programs);
	array_done(&runs);
	programs_missing = false;
}

SUITE_FIXTURE(bench, struct bench, bench_open, bench_close);

/* --- the server ------------------------------------------------------------------------------ */

static inline json_t *bench_object(struct bench *b, const char *plural, const char *name)
{
	auto_free char *key = xasprintf("%s/%s", plural, name);

	return json_object_get(b->objects, key);
}

/* The reason of its condition Ready; "" without one. */
static inline const char *bench_ready(struct bench *b, const char *plural, const char *name)
{
	const char *reason = gpu_scene_ready(bench_object(b, plural, name));

	return reason ? reason : "";
}

static inline void bench_show_line(struct bench *b, const char *plural, const char *line)
{
	auto_free char *path = xasprintf("/%s?", plural);

	fake_client_choose(b->client, path);
	(void)fake_client_line(b->client, line);
}

/* The watch shows what has become of an object. */
static inline void bench_show(struct bench *b, const char *plural, const char *type,
			      const json_t *object)
{
	auto_free char *key = xasprintf("%s/%s", plural, object_meta_text(object, "name"));
	auto_free char *line = kind_bench_line(type, object);

	if (b->hidden && strcmp(b->hidden, key) == 0)
		return;
	if (b->slow && strcmp(b->slow, plural) == 0)
		json_array_append_new(b->unshown, json_pack("[s, s]", plural, line));
	else
		bench_show_line(b, plural, line);
	fake_clock_settle(b->clock);
}

/* All that it has not shown, at once. */
static inline void bench_catch_up(struct bench *b)
{
	size_t i;
	json_t *line;

	b->slow = NULL;
	json_array_foreach (b->unshown, i, line)
		bench_show_line(b, json_string_value(json_array_get(line, 0)),
				json_string_value(json_array_get(line, 1)));
	json_array_clear(b->unshown);
	fake_clock_settle(b->clock);
}

/* Merge @patch into the object, which is made if there is none. What changes nothing makes no new
 * version, as with the API server: then *@ret_type is NULL, else the watch's word. */
static inline json_t *bench_write(struct bench *b, const char *plural, const char *name,
				  json_t *patch, const char **ret_type)
{
	auto_free char *key = xasprintf("%s/%s", plural, name);
	json_t *object = json_object_get(b->objects, key);
	auto_json json_t *before = json_deep_copy(object);
	json_int_t generation;

	*ret_type = object ? NULL : "ADDED";
	if (!object) {
		auto_free char *uid = xasprintf("u%d", ++b->uids);

		object = json_pack("{s:{s:s, s:s}}", "metadata", "name", name, "uid", uid);
		json_object_set_new(b->objects, key, object);
	}
	generation = json_integer_value(json_object_get(object_meta(object), "generation"));
	object_merge(object, patch);
	if (json_equal(before, object))
		return object;
	if (before)
		*ret_type = "MODIFIED";
	if (!before ||
	    !json_equal(json_object_get(before, "spec"), json_object_get(object, "spec")))
		generation++;
	json_object_set_new(object_meta(object), "generation", json_integer(generation));
	object_stamp(object, &b->version);
	return object;
}

static inline void bench_user_writes(struct bench *b, const char *plural, const char *name,
				     const char *text)
{
	auto_free char *clean = made_json(text);
	auto_json json_t *patch = json_loads(clean, 0, NULL);
	const json_t *object;
	const char *type;

	assert_non_null(patch);
	object = bench_write(b, plural, name, patch, &type);
	if (type)
		bench_show(b, plural, type, object);
}

static inline void bench_remove(struct bench *b, const char *plural, const char *name)
{
	auto_free char *key = xasprintf("%s/%s", plural, name);
	auto_json json_t *object = json_incref(json_object_get(b->objects, key));

	object_set_deleted(object);
	object_stamp(object, &b->version);
	if (object_is_gone(object))
		json_object_del(b->objects, key);
	bench_show(b, plural, object_is_gone(object) ? "DELETED" : "MODIFIED", object);
}

/* One request, parsed. */
struct bench_request {
	char plural[32];
	char name[64]; /* "": of the collection */
	bool is_status;
	bool is_list;
	json_t *body;
};

static inline void bench_parse(const struct fake_request *request, struct bench_request *r)
{
	const char *at = strstr(request->path, "/v1beta1/") + strlen("/v1beta1/");
	size_t len = strcspn(at, "/?");

	*r = (struct bench_request){ .body = json_loads(request->body, 0, NULL) };
	r->is_list = strcmp(request->verb, "list") == 0;
	(void)snprintf(r->plural, sizeof(r->plural), "%.*s", (int)len, at);
	at += len;
	if (*at == '/')
		(void)snprintf(r->name, sizeof(r->name), "%.*s", (int)strcspn(at + 1, "/?"),
			       at + 1);
	else if (r->body)
		(void)snprintf(r->name, sizeof(r->name), "%s", object_meta_text(r->body, "name"));
	r->is_status = strstr(request->path, "/status") != NULL;
}

static inline void bench_refuse(struct bench *b, int status, const char *reason, const char *name)
{
	auto_json json_t *json = json_pack("{s:s, s:s, s:{s:s}}", "kind", "Status", "reason",
					   reason, "details", "name", name);

	kind_bench_answer(b->client, status, json);
}

static inline void bench_answer_list(struct bench *b, const struct bench_request *r)
{
	auto_json json_t *list =
		json_pack("{s:{s:s}, s:[]}", "metadata", "resourceVersion", "5", "items");
	auto_free char *prefix = xasprintf("%s/", r->plural);
	const char *key;
	json_t *object;

	json_object_foreach (b->objects, key, object) {
		if (strncmp(key, prefix, strlen(prefix)) == 0 &&
		    (!b->hidden || strcmp(b->hidden, key) != 0))
			json_array_append(json_object_get(list, "items"), object);
	}
	kind_bench_answer(b->client, 200, list);
}

static inline void bench_answer_write(struct bench *b, struct bench_request *r, bool is_new)
{
	auto_free char *key = xasprintf("%s/%s", r->plural, r->name);
	bool was_hidden = b->hidden && strcmp(b->hidden, key) == 0;
	const char *type;
	json_t *object;

	if (r->is_status)
		json_object_del(r->body, "metadata");
	else
		json_object_del(r->body, "status");
	object = bench_write(b, r->plural, r->name, r->body, &type);
	kind_bench_answer(b->client, is_new ? 201 : 200, object);
	if (was_hidden &&
	    json_object_get(json_object_get(object_meta(object), "labels"), "nodename"))
		b->hidden = NULL;
	if (type)
		bench_show(b, r->plural, was_hidden ? "ADDED" : type, object);
}

/* Does the request's precondition, if it has one, name the object as it is? */
static inline bool bench_is_current(const json_t *object, const json_t *meta)
{
	const char *version = json_string_value(json_object_get(meta, "resourceVersion"));

	assert_non_null(version);
	return strcmp(version, object_meta_text(object, "resourceVersion")) == 0;
}

static inline void bench_log_write(struct bench *b, const char *method,
				   const struct bench_request *r)
{
	const char *reason = gpu_scene_ready(r->body);

	str_addf(&b->writes, "%s %s%s%s%s|", method, bench_short(r->plural, r->name),
		 r->is_status ? "/status" : "", reason ? " " : "", reason ? reason : "");
}

static inline void bench_serve_object(struct bench *b, const char *method, struct bench_request *r)
{
	const json_t *object = bench_object(b, r->plural, r->name);

	if (strcmp(method, "GET") == 0)
		str_addf(&b->reads, "%s|", bench_short(r->plural, r->name));
	else
		bench_log_write(b, method, r);
	if (strcmp(method, "POST") == 0) {
		if (object)
			bench_refuse(b, 409, "AlreadyExists", r->name);
		else
			bench_answer_write(b, r, true);
	} else if (!object) {
		bench_refuse(b, 404, "NotFound", r->name);
	} else if (strcmp(method, "GET") == 0) {
		kind_bench_answer(b->client, 200, object);
	} else if (strcmp(method, "PATCH") == 0) {
		if (bench_is_current(object, object_meta(r->body)))
			bench_answer_write(b, r, false);
		else
			bench_refuse(b, 409, "Conflict", r->name);
	} else {
		if (!bench_is_current(object, json_object_get(r->body, "preconditions"))) {
			bench_refuse(b, 409, "Conflict", r->name);
			return;
		}
		fake_client_answer(b->client, 200, "{\"kind\":\"Status\",\"status\":\"Success\"}");
		bench_remove(b, r->plural, r->name);
	}
}

/* Serve the oldest request that is no watch. False: there is none. */
static inline bool bench_serve(struct bench *b)
{
	const struct fake_request *request;
	struct bench_request r;
	char method[8];

	fake_clock_settle(b->clock);
	if (!fake_client_choose_call(b->client))
		return false;
	request = fake_client_request(b->client);
	(void)snprintf(method, sizeof(method), "%s", request->method);
	bench_parse(request, &r);
	if (r.is_list && b->unlisted && strcmp(r.plural, b->unlisted) == 0)
		bench_refuse(b, 500, "InternalError", "");
	else if (r.is_list)
		bench_answer_list(b, &r);
	else
		bench_serve_object(b, method, &r);
	json_decref(r.body);
	fake_clock_settle(b->clock);
	return true;
}

/* Everything that is asked is answered. */
static inline void bench_settle(struct bench *b)
{
	for (int i = 0; bench_serve(b); i++) {
		if (i > 200)
			fail_msg("it does not come to rest: %s", str_cstr(&b->writes));
	}
}

static inline void bench_run(struct bench *b, uint64_t ms)
{
	kind_bench_run(b, b->clock, bench_settle, ms);
}

/* --- the node -------------------------------------------------------------------------------- */

/* What the node has from now on, by a scan that begins a moment later. */
static inline void bench_scan(struct bench *b, const char *const *lines)
{
	struct world before = b->world;
	char *copies[16] = { NULL };

	fake_clock_advance(b->clock, 1);
	for (size_t i = 0; lines[i]; i++)
		copies[i] = made_json(lines[i]);
	world_of(&b->world, (const char *const *)copies, ARRAY_LEN(copies));
	for (size_t i = 0; copies[i]; i++)
		free(copies[i]);
	b->world.inventory->began_ms = clock_now_ms(fake_clock_as_clock(b->clock));
	b->world.inventory->facts->vgpus_known = true;
	b->node.inventory = b->world.inventory;
	gpus_find_cards(b->gpus);
	gpus_enqueue_all(b->gpus);
	if (before.inventory)
		world_close(&before);
	bench_settle(b);
}

#define bench_has(b, ...) bench_scan(b, (const char *const[]){ __VA_ARGS__, NULL })

/* The oldest program that runs, and is not stuck, prints @text, with ' for ", and ends as @err says
 * (NULL: well). */
static inline void bench_finish(struct bench *b, const char *text, const struct err *err)
{
	auto_free char *clean = made_json(text);
	const struct err well = { 0 };
	struct err ignored = { 0 };
	struct helper_run *run = NULL;
	char *rest = clean;
	char *line;

	for (size_t i = 0; i < runs.len && !run; i++)
		run = runs.items[i].run->is_stuck ? NULL : runs.items[i].run;
	if (!run) {
		fail_msg("no program runs");
		return;
	}
	while ((line = strsep(&rest, "\n")))
		(void)run->spec.on_line(run->spec.arg, line, strlen(line), &ignored);
	run->is_stuck = err && err->kind == ERR_STUCK;
	run->spec.on_end(run->spec.arg, err ? err->code : 0, err ? err : &well);
	if (!run->is_stuck)
		runs_remove(run);
	bench_settle(b);
}

#define DONE "{'kind':'end','result':'Done'}"

static const struct err bench_failed = { .kind = ERR_RETRY,
					 .code = -EPIPE,
					 .msg = "exited with 1" };
static const struct err bench_stuck = { .kind = ERR_STUCK, .code = -ETIMEDOUT, .msg = "waiting" };

static inline int bench_by_object(const void *a, const void *b)
{
	const char *const *x = a;
	const char *const *y = b;
	const char *of_x = strchr(*x, ' ') + 1;
	const char *of_y = strchr(*y, ' ') + 1;
	size_t len_x = strcspn(of_x, " /");
	size_t len_y = strcspn(of_y, " /");
	int order = strncmp(of_x, of_y, len_x < len_y ? len_x : len_y);

	if (order == 0)
		order = (len_x > len_y) - (len_x < len_y);
	return order != 0 ? order : (*x > *y) - (*x < *y);
}

/* What is in @text since the last look, by object: in which order objects are written is left open. */
static inline void assert_text(struct str *text, const char *wanted)
{
	auto_free char *copy = xstrdup(str_cstr(text));
	auto_str struct str sorted = STR_INIT;
	const char *items[64];
	size_t len = 0;
	char *rest = copy;
	char *item;

	while ((item = strsep(&rest, "|")) && *item) {
		assert_true(len < ARRAY_LEN(items));
		items[len++] = item;
	}
	qsort(items, len, sizeof(items[0]), bench_by_object);
	for (size_t i = 0; i < len; i++)
		str_addf(&sorted, "%s|", items[i]);
	assert_string_equal(str_cstr(&sorted), wanted);
	str_clear(text);
}

static inline void assert_writes(struct bench *b, const char *wanted)
{
	assert_text(&b->writes, wanted);
}

static inline void assert_events(struct bench *b, const char *wanted)
{
	assert_text(&b->events.recorded, wanted);
}

static inline void assert_programs(const char *wanted)
{
	assert_recorded(&programs, wanted);
}
