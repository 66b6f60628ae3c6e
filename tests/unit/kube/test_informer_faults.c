/*
 * An informer against a model of an API server that lies in the ways real ones do: it drops
 * connections, forgets versions, answers from the past, repeats and withholds events, loses its
 * place, deletes and recreates under one name. When it has come to rest, the store and what the
 * handlers were told must both equal the truth.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "api/pcidevice.h"
#include "base/log.h"
#include "base/map.h"
#include "base/num.h"
#include "base/str.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "kube/informer.h"
#include "kube/store.h"
#include "unit/suite.h"

enum { NAMES = 6, HISTORY = 64, STEPS = 400, SEEDS = 300 };

/* One write: name @name was given uid and version, or deleted at that version. */
struct change {
	int name;
	bool deleted;
	uint64_t uid;
	uint64_t version;
};

struct server {
	struct change now[NAMES];  /* version 0: not there */
	struct change past[NAMES]; /* what a lagging replica still has */
	uint64_t past_version;
	struct change history[HISTORY];
	size_t changes; /* ever made; the last HISTORY are kept */
	uint64_t version;
	uint64_t uid;
	uint64_t seen; /* the open watch has been sent up to here, as an index into the changes */
};

struct bench {
	struct server server;
	struct kube_client *client;
	struct fake_clock *clock;
	struct informer *informer;
	struct map *mirror; /* name -> uid, as the handlers told */
	uint64_t seed;
};

static uint64_t dice(struct bench *b, uint64_t sides)
{
	return suite_random(&b->seed) % sides;
}

/* The handlers' view must be possible at every step: nothing changes that is not there, nothing is
 * added twice, and a change never turns one object into another. */
static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct bench *b = arg;
	char *known = map_get(b->mirror, name);

	assert_int_equal(known != NULL, before != NULL);
	if (before)
		assert_string_equal(known, before->uid);
	if (before && after)
		assert_string_equal(before->uid, after->uid);
	if (after)
		map_set(b->mirror, name, xstrdup(after->uid));
	else
		map_remove(b->mirror, name);
	free(known);
}

/* --- the server --- */

static void write_object(struct str *out, const struct change *c)
{
	str_addf(out,
		 "{\"metadata\":{\"name\":\"n%d\",\"uid\":\"%llu\",\"resourceVersion\":\"%llu\"}}",
		 c->name, (unsigned long long)c->uid, (unsigned long long)c->version);
}

static void server_write(struct bench *b)
{
	struct server *s = &b->server;
	int name = (int)dice(b, NAMES);
	struct change *c = &s->now[name];
	bool was = c->version != 0;
	bool deletes = was && dice(b, 3) == 0;

	s->version += 1 + dice(b, 3);
	if (!was)
		s->uid++;
	*c = (struct change){ .name = name,
			      .uid = was ? c->uid : s->uid,
			      .version = s->version,
			      .deleted = deletes };
	s->history[s->changes++ % HISTORY] = *c;
	if (deletes)
		c->version = 0;
}

static void server_lag(struct server *s)
{
	memcpy(s->past, s->now, sizeof(s->now));
	s->past_version = s->version;
}

static bool asked_for(const struct bench *b, const char *part)
{
	return strstr(fake_client_request(b->client)->path, part) != NULL;
}

static void answer_list(struct bench *b, bool stale)
{
	const struct server *s = &b->server;
	const struct change *objects = stale ? s->past : s->now;
	auto_str struct str body = STR_INIT;
	const char *comma = "";

	str_addf(&body, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"items\":[",
		 (unsigned long long)(stale ? s->past_version : s->version));
	for (int i = 0; i < NAMES; i++) {
		if (objects[i].version == 0)
			continue;
		str_add(&body, comma);
		write_object(&body, &objects[i]);
		comma = ",";
	}
	str_add(&body, "]}");
	fake_client_answer(b->client, 200, str_cstr(&body));
}

/* The version that the open watch was asked to begin after. */
static uint64_t watch_version(const struct bench *b)
{
	const char *at = strstr(fake_client_request(b->client)->path, "resourceVersion=");
	char text[32] = "";
	uint64_t version = 0;

	assert_non_null(at);
	assert_int_equal(sscanf(at, "resourceVersion=%31[0-9]", text), 1);
	assert_true(str_to_u64(text, &version));
	return version;
}

/* Where in the history a watch begins; false if that is forgotten. */
static bool find_place(const struct bench *b, uint64_t *ret_index)
{
	const struct server *s = &b->server;
	uint64_t version = watch_version(b);
	uint64_t oldest = s->changes > HISTORY ? s->changes - HISTORY : 0;

	if (oldest > 0 && s->history[oldest % HISTORY].version > version + 1)
		return false;
	*ret_index = oldest;
	while (*ret_index < s->changes && s->history[*ret_index % HISTORY].version <= version)
		(*ret_index)++;
	return true;
}

static void send_change(struct bench *b, const struct change *c)
{
	auto_str struct str line = STR_INIT;

	str_addf(&line, "{\"type\":\"%s\",\"object\":",
		 c->deleted   ? "DELETED"
		 : dice(b, 2) ? "ADDED"
			      : "MODIFIED");
	write_object(&line, c);
	str_add(&line, "}");
	fake_client_line(b->client, str_cstr(&line));
}

/* Send what the watch has not seen yet, some of it twice where @faulty. */
static void feed_watch(struct bench *b, bool faulty)
{
	const struct server *s = &b->server;
	size_t sent = fake_client_sent(b->client);
	uint64_t at;

	if (!find_place(b, &at)) {
		fake_client_line(b->client, "{\"type\":\"ERROR\",\"object\":{\"code\":410}}");
		return;
	}
	if (b->server.seen > at)
		at = b->server.seen;
	for (; at < s->changes && sent == fake_client_sent(b->client); at++) {
		send_change(b, &s->history[at % HISTORY]);
		if (faulty && dice(b, 4) == 0)
			send_change(b, &s->history[at % HISTORY]);
	}
	b->server.seen = at;
}

/* --- one step of the run --- */

/* An answer that goes wrong, the same for lists and watches. */
static void fail_request(struct bench *b)
{
	static const int statuses[] = { 410, 429, 500, 503, 504, 403, 404, 400 };

	if (dice(b, 3) == 0)
		fake_client_fail(b->client, dice(b, 2) ? -EIO : -ETIMEDOUT);
	else
		fake_client_answer_later(b->client, statuses[dice(b, ARRAY_LEN(statuses))], "{}",
					 dice(b, 5000));
}

static void serve(struct bench *b, bool faulty)
{
	if (faulty && dice(b, 4) == 0)
		fail_request(b);
	else if (!asked_for(b, "watch=true"))
		answer_list(b, faulty && dice(b, 3) == 0);
	else if (faulty && dice(b, 5) == 0)
		fake_client_answer(b->client, 200, ""); /* ends, events withheld */
	else
		feed_watch(b, faulty);
}

static void step(struct bench *b)
{
	size_t sent = fake_client_sent(b->client);

	switch (dice(b, 5)) {
	case 0:
	case 1:
		server_write(b);
		break;
	case 2:
		server_lag(&b->server);
		break;
	case 3:
		fake_clock_advance(b->clock, dice(b, 20000));
		break;
	default:
		if (fake_client_open(b->client) > 0)
			serve(b, true);
		break;
	}
	if (fake_client_sent(b->client) != sent)
		b->server.seen = 0;
}

/* No more faults: within a few turns everything is as it should be. */
static void come_to_rest(struct bench *b)
{
	for (int i = 0; i < 20; i++) {
		size_t sent = fake_client_sent(b->client);

		if (fake_client_open(b->client) > 0)
			serve(b, false);
		else
			fake_clock_advance(b->clock, fake_clock_next(b->clock));
		if (fake_client_sent(b->client) != sent)
			b->server.seen = 0;
	}
}

static void check(const struct bench *b)
{
	const struct store *store = informer_store(b->informer);
	size_t len = 0;

	for (int i = 0; i < NAMES; i++) {
		const struct change *c = &b->server.now[i];
		auto_free char *name = xasprintf("n%d", i);
		auto_free char *uid = xasprintf("%llu", (unsigned long long)c->uid);
		const struct entry *entry = store_get(store, name);
		const char *told = map_get(b->mirror, name);

		assert_int_equal(entry != NULL, c->version != 0);
		assert_int_equal(told != NULL, c->version != 0);
		if (!entry || !told)
			continue;
		assert_string_equal(entry->uid, uid);
		assert_string_equal(told, uid);
		len++;
	}
	assert_int_equal(store_len(store), len);
}

static void run_with_seed(uint64_t seed)
{
	struct bench b = { .client = fake_client_new(),
			   .clock = fake_clock_new(),
			   .mirror = map_new(),
			   .server = { .version = 10, .past_version = 10 },
			   .seed = seed };
	size_t cursor = 0;
	void *uid;

	b.informer = informer_new(&(struct informer_deps){ .client = b.client,
							   .clock = fake_clock_as_clock(b.clock) },
				  &(struct informer_spec){ .kind = &pcidevice_kind,
							   .handlers = { .on_change = on_change },
							   .arg = &b });
	informer_start(b.informer);
	for (int i = 0; i < STEPS; i++)
		step(&b);
	come_to_rest(&b);
	check(&b);

	informer_free(b.informer);
	kube_client_free(b.client);
	fake_clock_free(b.clock);
	while (map_next(b.mirror, &cursor, NULL, &uid))
		free(uid);
	map_free(b.mirror);
}

static void every_run_ends_in_the_truth(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		run_with_seed(seed);
	}
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_add(&suite, "every run ends in the truth", every_run_ends_in_the_truth, NULL);
	return suite_run(&suite, "informer_faults");
}
