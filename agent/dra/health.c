#include "agent/dra/health.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "agent/dra/dra_codec.h"
#include "agent/dra/dra_devices.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "grpc/server.h"
#include "kube/clock.h"

struct stream {
	struct health *health;
	struct grpc_call *call; /* NULL: unused */
};

struct health {
	struct clock *clock;
	const struct dra_devices *devices;
	struct clock_timer *timer; /* runs while a stream is open */
	struct stream streams[HEALTH_STREAMS_MAX];
};

static void send(const struct stream *stream)
{
	const struct dra_devices *devices = stream->health->devices;
	size_t len = dra_devices_len(devices);
	auto_free struct dra_health *list = xcalloc(len + 1, sizeof(*list));
	auto_str struct str out = STR_INIT;
	struct err err = { 0 };

	for (size_t i = 0; i < len; i++) {
		const struct dra_device *device = dra_devices_at(devices, i);

		list[i] = (struct dra_health){ .pool = device->pool,
					       .device = device->name,
					       .trouble = device->trouble };
	}
	if (dra_codec_write_health(list, len, clock_wall_ms(stream->health->clock) / 1000,
				   HEALTH_VALID_S, &out, &err) < 0 ||
	    grpc_call_send_latest(stream->call, str_cstr(&out), out.len, &err) < 0)
		log_error("health of devices not sent", log_str("reason", err.msg));
}

static void send_all(struct health *health)
{
	bool open = false;

	for (size_t i = 0; i < HEALTH_STREAMS_MAX; i++) {
		if (!health->streams[i].call)
			continue;
		open = true;
		send(&health->streams[i]);
	}
	if (open)
		clock_timer_start(health->clock, health->timer, HEALTH_AGAIN_MS);
}

static void on_timer(void *arg)
{
	send_all(arg);
}

static void on_cancelled(void *arg)
{
	struct stream *stream = arg;

	stream->call = NULL;
}

void health_open(struct health *health, struct grpc_call *call)
{
	for (size_t i = 0; i < HEALTH_STREAMS_MAX; i++) {
		struct stream *stream = &health->streams[i];

		if (stream->call)
			continue;
		*stream = (struct stream){ .health = health, .call = call };
		grpc_call_on_cancel(call, on_cancelled, stream);
		send(stream);
		clock_timer_start(health->clock, health->timer, HEALTH_AGAIN_MS);
		return;
	}
	grpc_call_finish(call, GRPC_RESOURCE_EXHAUSTED, "too many open NodeWatchResources calls");
}

void health_update(struct health *health)
{
	send_all(health);
}

struct health *health_new(struct clock *clock, const struct dra_devices *devices)
{
	struct health *health = xcalloc(1, sizeof(*health));

	health->clock = clock;
	health->devices = devices;
	health->timer = clock_timer_new(clock, on_timer, health);
	return health;
}

struct health *health_free(struct health *health)
{
	if (!health)
		return NULL;
	clock_timer_free(health->clock, health->timer);
	free(health);
	return NULL;
}
