/* informer_bench: one informer between a fake client and a fake clock; its handlers write a log. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "api/pcidevice.h"
#include "base/str.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "kube/informer.h"
#include "kube/store.h"
#include "unit/suite.h"

#define LIST_PATH  "/apis/devices.harvesterhci.io/v1beta1/pcidevices?"
#define EMPTY_LIST "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}"

/* One informer with its surroundings; what its handlers heard goes to the log. */
struct bench {
	struct kube_client *client;
	struct fake_clock *clock;
	struct informer *informer;
	struct str log;
	bool free_on_change;
	bool stop_on_change;
};

static inline void on_change(void *arg, const char *name, const struct entry *before,
			     const struct entry *after)
{
	struct bench *b = arg;

	str_addf(&b->log, " %c%s", before && after ? '~' : after ? '+' : '-', name);
	if (b->free_on_change)
		b->informer = informer_free(b->informer);
	else if (b->stop_on_change)
		informer_stop(b->informer);
}

static inline void on_synced(void *arg)
{
	struct bench *b = arg;

	str_add(&b->log, " synced");
}

static inline void on_denied(void *arg)
{
	struct bench *b = arg;

	str_add(&b->log, informer_denied(b->informer) ? " denied" : " allowed");
}

static inline void open_bench(struct bench *b)
{
	*b = (struct bench){ .client = fake_client_new(), .clock = fake_clock_new() };
	b->informer = informer_new(
		&(struct informer_deps){ .client = b->client,
					 .clock = fake_clock_as_clock(b->clock) },
		&(struct informer_spec){ .kind = &pcidevice_kind,
					 .label_selector = "nodename=n",
					 .handlers = { on_change, on_synced, on_denied },
					 .arg = b });
	informer_start(b->informer);
	assert_string_equal(str_cstr(&b->log), "");
}

static inline void close_bench(struct bench *b)
{
	informer_free(b->informer);
	assert_int_equal(fake_client_open(b->client), 0);
	kube_client_free(b->client);
	fake_clock_free(b->clock);
	str_done(&b->log);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

static inline void heard(struct bench *b, const char *log)
{
	assert_string_equal(str_cstr(&b->log), log);
	str_clear(&b->log);
}

static inline void asks(const struct bench *b, const char *part)
{
	const char *path = fake_client_request(b->client)->path;

	assert_int_equal(fake_client_open(b->client), 1);
	assert_int_equal(strncmp(path, LIST_PATH, strlen(LIST_PATH)), 0);
	if (!strstr(path, part))
		fail_msg("'%s' asks nothing of '%s'", path, part);
}

static inline char *object(const char *name, const char *uid, const char *version)
{
	return xasprintf(
		"{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":\"%s\"}}", name,
		uid, version);
}

static inline void send_event(struct bench *b, const char *type, const char *name,
			      const char *version)
{
	auto_free char *text = object(name, "u", version);
	auto_free char *line = xasprintf("{\"type\":\"%s\",\"object\":%s}", type, text);

	fake_client_line(b->client, line);
}

/* A bench that watches an empty collection at version 5. */
static inline void open_watching(struct bench *b)
{
	fake_client_answer(b->client, 200, EMPTY_LIST);
	heard(b, " synced");
	asks(b, "watch=true");
}
