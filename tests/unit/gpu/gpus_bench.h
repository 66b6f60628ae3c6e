/*
 * gpus_bench: the objects of a card between a made-up node, programs that do what the test says,
 * and a fake_server, whose watches show each change at once.
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
#include "fake/fake_server.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "unit/agent/world.h"
#include "unit/gpu/gpu_scene.h"
#include "unit/kube/kind_bench.h"
#include "unit/made_json.h"
#include "unit/this_node.h"

#define CARD_NAME "node1-000008000"
#define FN4       "node1-000008004"
#define FN5       "node1-000008005"
#define VF5       VF2

/* --- fakes ------------------------------------------------------------------------------------ */

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

/* --- the bench -------------------------------------------------------------------------------- */

static const struct api_kind *const kinds[] = { &sriovgpudevice_kind, &vgpudevice_kind,
						&migconfiguration_kind, &pcidevice_kind,
						&pcideviceclaim_kind };

struct bench {
	uv_loop_t loop;
	struct fake_server *server; /* of all kinds */
	struct fake_clock *clock;
	struct events events;
	struct informer *claims, *devices;
	struct this_node node;
	struct gpus *gpus;
	struct world world;
	struct str writes; /* "PATCH card/status Applying|" for each since the last look  */
	struct str reads;
	const char *unlisted; /* the list of this plural fails */
	const char *pod;      /* that has the function 0000:08:00.4         */
	bool is_taken;        /* another kind has the resource of vGPUs     */
	int moves, lent;
	bool by_hand; /* nothing is served by itself */
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
				       is_function && *name ? name + strlen(name) - 1 : "");
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
	struct kube_client *client = fake_server_client(b->server);

	assert_int_equal(uv_loop_init(&b->loop), 0);
	b->claims = kind_bench_informer(b, client, b->clock, &pcideviceclaim_kind, handlers);
	b->devices = kind_bench_informer(b, client, b->clock, &pcidevice_kind, handlers);
	b->node = this_node_of(client, fake_clock_as_clock(b->clock), &b->events);
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
	assert_int_equal(fake_client_open(fake_server_client(b->server)), 0);
	assert_int_equal(runs.len, 0);
	uv_run(&b->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&b->loop), 0);
}

/* The watches show all that they have not shown, and from now on each change at once. */
static inline void bench_catch_up(struct bench *b)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		fake_server_set_watch(fake_server_of(b->server, kinds[i]->plural), FAKE_WATCH_NEXT);
	fake_clock_settle(b->clock);
}

/* Which writes, and what they say; and which reads. */
static inline void bench_note(void *arg, const struct fake_asked *asked)
{
	struct bench *b = arg;
	const char *reason = asked->body ? gpu_scene_ready(asked->body) : NULL;
	const char *word = bench_short(asked->kind->plural, asked->name);

	if (!*asked->name)
		return;
	if (strcmp(asked->method, "GET") == 0)
		str_addf(&b->reads, "%s|", word);
	else
		str_addf(&b->writes, "%s %s%s%s%s|", asked->method, word,
			 asked->is_status ? "/status" : "", reason ? " " : "",
			 reason ? reason : "");
}

static inline void bench_open(struct bench *b)
{
	*b = (struct bench){ .server = fake_server_new(kinds[0]), .clock = fake_clock_new() };
	for (size_t i = 1; i < ARRAY_LEN(kinds); i++)
		(void)fake_server_join(b->server, kinds[i]);
	fake_server_listen(b->server, bench_note, b);
	bench_catch_up(b);
	bench_begin(b);
}

static inline void bench_close(struct bench *b)
{
	bench_end(b);
	kube_client_free(fake_server_client(b->server));
	fake_server_free(b->server);
	fake_clock_free(b->clock);
	if (b->world.inventory)
		world_close(&b->world);
	str_done(&b->writes);
	str_done(&b->reads);
	str_done(&b->events.recorded);
	str_done(&programs);
	array_done(&runs);
	programs_missing = false;
}

SUITE_FIXTURE(bench, struct bench, bench_open, bench_close);

/* --- the server ------------------------------------------------------------------------------- */

static inline const json_t *bench_object(const struct bench *b, const char *plural,
					 const char *name)
{
	return fake_server_get(fake_server_of(b->server, plural), name);
}

/* The reason of its condition Ready; "" without one. */
static inline const char *bench_ready(const struct bench *b, const char *plural, const char *name)
{
	const char *reason = gpu_scene_ready(bench_object(b, plural, name));

	return reason ? reason : "";
}

static inline void bench_slow(struct bench *b, const char *plural)
{
	fake_server_set_watch(fake_server_of(b->server, plural), FAKE_WATCH_BY_HAND);
}

static inline void bench_user_writes(struct bench *b, const char *plural, const char *name,
				     const char *text)
{
	fake_server_write(fake_server_of(b->server, plural), name, text);
	fake_clock_settle(b->clock);
}

static inline void bench_remove(struct bench *b, const char *plural, const char *name)
{
	fake_server_delete(fake_server_of(b->server, plural), name);
	fake_clock_settle(b->clock);
}

/* The object @name lacks the label of its node; "": none does. */
static inline void bench_hide(struct bench *b, const char *plural, const char *name)
{
	fake_server_hide(fake_server_of(b->server, plural), name);
}

/* Serve the oldest request that is no watch. False: there is none. */
static inline bool bench_serve(struct bench *b)
{
	struct kube_client *client = fake_server_client(b->server);
	enum fake_fault fault = FAULT_NONE;

	fake_clock_settle(b->clock);
	if (!fake_client_choose_call(client))
		return false;
	if (b->unlisted && strcmp(fake_client_request(client)->verb, "list") == 0 &&
	    strstr(fake_client_request(client)->path, b->unlisted))
		fault = FAULT_TROUBLE;
	(void)fake_server_serve(b->server, fault);
	fake_clock_settle(b->clock);
	return true;
}

/* Everything that is asked is answered. */
static inline void bench_settle(struct bench *b)
{
	fake_clock_settle(b->clock);
	for (int i = 0; !b->by_hand && bench_serve(b); i++) {
		if (i > 200)
			fail_msg("it does not come to rest: %s", str_cstr(&b->writes));
	}
}

static inline void bench_run(struct bench *b, uint64_t ms)
{
	kind_bench_run(b, b->clock, bench_settle, ms);
}

/* --- the node --------------------------------------------------------------------------------- */

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

/* What is in @text since the last look, by object: in which order objects are written is left
 * open. */
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
