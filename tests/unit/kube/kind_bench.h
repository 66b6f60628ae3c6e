/*
 * kind_bench: what the benches of kinds have in common: informers, an API server that a test plays
 * by hand through fake_client, time that passes, and texts that record what happened.
 *
 * Each bench has its own struct bench and calls these.
 */
#pragma once

#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "kube/clock.h"
#include "kube/informer.h"
#include "unit/kube/objects.h"

struct bench;

/* An informer of @kind that calls @handlers with @b; not started. */
static inline struct informer *kind_bench_informer(struct bench *b, struct kube_client *client,
						   struct fake_clock *clock,
						   const struct api_kind *kind,
						   struct informer_handlers handlers)
{
	return informer_new(
		&(struct informer_deps){ .client = client, .clock = fake_clock_as_clock(clock) },
		&(struct informer_spec){ .kind = kind, .handlers = handlers, .arg = b });
}

/* @settle now, and every 100 ms for @ms. */
static inline void kind_bench_run(struct bench *b, struct fake_clock *clock,
				  void (*settle)(struct bench *b), uint64_t ms)
{
	settle(b);
	for (uint64_t gone = 0; gone < ms; gone += 100) {
		fake_clock_advance(clock, 100);
		settle(b);
	}
}

/* Answer the oldest request with @object. */
static inline void kind_bench_answer(struct kube_client *client, int status, const json_t *object)
{
	auto_free char *text = json_map_text(object);

	fake_client_answer(client, status, text);
}

/* Answer the list at @path with @items, the JSON of objects. */
static inline void kind_bench_answer_list(struct kube_client *client, const char *path,
					  const char *items)
{
	auto_free char *text =
		xasprintf("{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[%s]}", items);

	fake_client_choose(client, path);
	fake_client_answer(client, 200, text);
}

/* The line of a watch, "ADDED" or the like. The caller frees. */
static inline char *kind_bench_line(const char *type, const json_t *object)
{
	auto_free char *text = json_map_text(object);

	return xasprintf("{\"type\":\"%s\",\"object\":%s}", type, text);
}

/* The watch at @path shows @object. */
static inline void kind_bench_show(struct kube_client *client, const char *path, const char *type,
				   const json_t *object)
{
	auto_free char *line = kind_bench_line(type, object);

	fake_client_choose(client, path);
	(void)fake_client_line(client, line);
}

/* @text is @wanted; it is empty afterwards. */
static inline void assert_recorded(struct str *text, const char *wanted)
{
	assert_string_equal(str_cstr(text), wanted);
	str_clear(text);
}
