/* sriov_bench: cards between a made-up node, a helper that does what the test says, and an API server of a few
 * lines. */
#pragma once

#include "agent/sriov/sriov.h"
#include "agent/sriov/sriov_helper.h"
#include "agent/sriov/sriov_job.h"
#include "api/pcideviceclaim.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "unit/sriov/card_scene.h"

#define CARDS_PATH  "/sriovnetworkdevices?"
#define CLAIMS_PATH "/pcideviceclaims?"
#define JOB         "address=" PF " id=8086:10c9"
#define SETTING     ",'virtualFunctions':[{'index':1,'vlan':5}]"

enum { A_MINUTE = 60000 };

/* --- fakes ------------------------------------------------------------------------------------ */

struct sriov_helper {
	struct sriov_helper_spec spec;
};

/* The helper that runs, and how it was told to; there is never a second one in these tests. */
static struct {
	struct sriov_helper helper;
	bool runs;
	struct str words;
	int starts;
	bool refuses;
} fake;

struct sriov_helper *sriov_helper_start(const struct sriov_helper_spec *spec, struct err *err)
{
	if (fake.refuses)
		err_set(err, ERR_RETRY, -2, "start the helper: no such file");
	if (fake.refuses)
		return NULL;
	assert_false(fake.runs);
	fake.helper.spec = *spec;
	fake.runs = true;
	fake.starts++;
	str_clear(&fake.words);
	for (size_t i = 0; i < spec->job->words.len; i++)
		str_addf(&fake.words, "%s%s", i ? " " : "", spec->job->words.items[i]);
	return &fake.helper;
}

struct sriov_helper *sriov_helper_abandon(struct sriov_helper *helper)
{
	if (helper)
		fake.runs = false;
	return NULL;
}

const char *sriov_helper_text(struct sriov_helper *helper)
{
	assert_ptr_equal(helper, &fake.helper);
	return "it does not come back";
}

struct events {
	struct str said;
};

void events_record(struct events *events, const struct events_about *about, enum events_type type,
		   const char *reason, const char *fmt, ...)
{
	assert_non_null(about->meta->name);
	assert_non_null(fmt);
	str_addf(&events->said, "%s%s ", type == EVENTS_WARNING ? "!" : "", reason);
}

/* --- the bench ---------------------------------------------------------------------------------- */

struct bench {
	struct kube_client *client;
	struct fake_clock *clock;
	struct events events;
	struct informer *claims;
	struct sriov *sriov;
	struct world world;
	json_t *object; /* of the server; NULL: there is none */
	bool hidden;    /* it lacks the label                  */
	bool refused;   /* a second one was not made           */
	int version;
	int writes;
	struct str log; /* "PATCH status " for each request */
	int moves, frees;
	struct str named;
	const char *pod; /* that has 0000:03:10.0; "": not known */
};

static inline void bench_on_claim(void *arg, const char *name, const struct entry *before,
				  const struct entry *after)
{
	struct bench *b = arg;

	(void)name;
	(void)before;
	(void)after;
	sriov_touch_waiting(b->sriov);
}

static inline void bench_on_claims_synced(void *arg)
{
	struct bench *b = arg;

	sriov_synced(b->sriov);
}

static inline void bench_on_moved(void *arg)
{
	struct bench *b = arg;

	b->moves++;
}

static inline void bench_on_free(void *arg)
{
	struct bench *b = arg;

	b->frees++;
}

static inline void bench_on_named(void *arg, const char *address)
{
	struct bench *b = arg;

	str_addf(&b->named, "%s ", address);
}

static inline bool bench_is_free(void *arg, const char *address, char **ret_holder)
{
	const struct bench *b = arg;

	if (!b->pod || strcmp(address, "0000:03:10.0") != 0)
		return true;
	*ret_holder = *b->pod ? xstrdup(b->pod) : NULL;
	return false;
}

static inline void bench_list(struct bench *b, const char *path, const char *items)
{
	auto_free char *copy = scene_quotes(items);
	auto_free char *text =
		xasprintf("{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[%s]}", copy);

	fake_client_choose(b->client, path);
	fake_client_answer(b->client, 200, text);
	fake_clock_settle(b->clock);
}

/* Nothing has been listed. */
static inline void bench_open(struct bench *b)
{
	*b = (struct bench){ .client = fake_client_new(), .clock = fake_clock_new(), .version = 7 };
	fake.starts = 0;
	fake.runs = fake.refuses = false;
	b->claims = informer_new(
		&(struct informer_deps){ .client = b->client,
					 .clock = fake_clock_as_clock(b->clock) },
		&(struct informer_spec){ .kind = &pcideviceclaim_kind,
					 .handlers = { .on_change = bench_on_claim,
						       .on_synced = bench_on_claims_synced },
					 .arg = b });
	b->sriov = sriov_new(&(struct sriov_deps){
		.client = b->client,
		.clock = fake_clock_as_clock(b->clock),
		.events = &b->events,
		.claims = b->claims,
		.node_name = "node1",
		.on_moved = bench_on_moved,
		.on_free = bench_on_free,
		.on_named = bench_on_named,
		.is_free = bench_is_free,
		.arg = b,
	});
	informer_start(b->claims);
	sriov_start(b->sriov);
}

static inline void bench_close(struct bench *b)
{
	sriov_free(b->sriov);
	informer_free(b->claims);
	assert_int_equal(fake_client_open(b->client), 0);
	assert_false(fake.runs);
	kube_client_free(b->client);
	fake_clock_free(b->clock);
	world_close(&b->world);
	json_decref(b->object);
	str_done(&b->log);
	str_done(&b->named);
	str_done(&b->events.said);
	str_done(&fake.words);
}

SUITE_FIXTURE(bench, struct bench, bench_open, bench_close);

/* What the node has from now on, by a scan that begins a moment later. */
static inline void bench_look(struct bench *b, const char *const *lines)
{
	struct world before = b->world;

	fake_clock_advance(b->clock, 1);
	scene_world(&b->world, lines, 8);
	b->world.inventory->began_ms = clock_now_ms(fake_clock_as_clock(b->clock));
	sriov_set(b->sriov, b->world.inventory);
	if (before.inventory)
		world_close(&before);
	fake_clock_settle(b->clock);
}

static inline void bench_tell(struct bench *b, const char *path, const char *type, json_t *object)
{
	auto_free char *text = json_map_text(object);
	auto_free char *line = xasprintf("{\"type\":\"%s\",\"object\":%s}", type, text);

	fake_client_choose(b->client, path);
	fake_client_line(b->client, line);
	fake_clock_settle(b->clock);
}

static inline void bench_stamp(struct bench *b)
{
	auto_free char *version = xasprintf("%d", ++b->version);
	json_t *meta = json_object_get(b->object, "metadata");

	json_object_set_new(meta, "resourceVersion", json_string(version));
	if (!json_object_get(meta, "uid"))
		json_object_set_new(meta, "uid", json_string("u1"));
	if (!json_object_get(meta, "generation"))
		json_object_set_new(meta, "generation", json_integer(1));
}

/* kubectl patch: the spec is another one. */
static inline void bench_edit(struct bench *b, const char *spec)
{
	auto_json json_t *patch = scene_json(spec);
	json_t *meta = json_object_get(b->object, "metadata");

	scene_merge(json_object_get(b->object, "spec"), patch);
	json_object_set_new(
		meta, "generation",
		json_integer(json_integer_value(json_object_get(meta, "generation")) + 1));
	bench_stamp(b);
	bench_tell(b, CARDS_PATH, "MODIFIED", b->object);
}

/* The oldest request that is no watch is answered; false if there is none. */
static inline bool bench_answer(struct bench *b)
{
	const struct fake_request *request;
	auto_json json_t *body = NULL;
	auto_free char *text = NULL;
	bool status;
	bool post;

	if (fake_client_open(b->client) <= 2)
		return false;
	post = !b->refused && (!b->object || b->hidden);
	fake_client_choose(b->client, post ? "?fieldManager" : "/" NAME);
	request = fake_client_request(b->client);
	assert_int_equal(strcmp(request->method, "POST") == 0, post);
	status = strstr(request->path, "/status?") != NULL;
	str_addf(&b->log, "%s%s ", request->method, status ? " status" : "");
	if (post && b->object) {
		b->refused = true;
		fake_client_answer(b->client, 409, "{\"reason\":\"AlreadyExists\"}");
	} else if (strcmp(request->method, "GET") == 0) {
		text = json_map_text(b->object);
		fake_client_answer(b->client, 200, text);
	} else {
		body = json_loads(request->body, 0, NULL);
		assert_non_null(body);
		if (!b->object)
			b->object = json_object();
		scene_merge(b->object, body);
		b->writes++;
		bench_stamp(b);
		text = json_map_text(b->object);
		fake_client_answer(b->client, post ? 201 : 200, text);
		bench_tell(b, CARDS_PATH, post || b->hidden ? "ADDED" : "MODIFIED", b->object);
		b->hidden = false;
	}
	fake_clock_settle(b->clock);
	return true;
}

/* Everything that is asked is answered. */
static inline void bench_settle(struct bench *b)
{
	for (int i = 0; bench_answer(b); i++)
		assert_true(i < 20);
}

/* Listed, @object among it (NULL: none), and looked at. */
static inline void bench_begin(struct bench *b, const char *object, const char *const *lines)
{
	if (object)
		b->object = scene_json(object);
	bench_list(b, CARDS_PATH, object ? object : "");
	bench_list(b, CLAIMS_PATH, "");
	bench_look(b, lines);
	bench_settle(b);
}

static inline void bench_end_helper(struct bench *b, struct sriov_outcome outcome)
{
	assert_true(fake.runs);
	fake.runs = false;
	if (!outcome.done)
		outcome.message = xstrdup("so it was");
	fake.helper.spec.on_end(fake.helper.spec.arg, &outcome);
	sriov_outcome_done(&outcome);
	fake_clock_settle(b->clock);
	bench_settle(b);
}

static inline void bench_fail_helper(struct bench *b, const char *reason)
{
	bench_end_helper(b, (struct sriov_outcome){ .reason = xstrdup(reason) });
}

static inline void assert_ready(struct bench *b, const char *want)
{
	void *decoded = NULL;
	struct err err = { 0 };
	auto_free char *is = NULL;

	assert_int_equal(api_object_decode(&sriovnetworkdevice_kind, b->object, &decoded, &err), 0);
	is = scene_condition(decoded, "Ready");
	api_object_free(&sriovnetworkdevice_kind, decoded);
	assert_string_equal(is, want);
}

static const char *const none[] = { CARD, NULL };
static const char *const two[] = { CARD_2, VF("0", ",'driver':'igbvf'"), VF("2", ""), NULL };
