/*
 * health: streams the health of the devices that DRA offers to the kubelet, which shows it in the
 * status of the pods that have them (KEP-4680).
 *
 * Each message is the whole list. It is sent when a stream opens, when the list changes, and again
 * before the kubelet would count the devices as unknown.
 */
#pragma once

#include <stddef.h>

struct clock;
struct dra_devices;
struct grpc_call;
struct health;

enum {
	HEALTH_STREAMS_MAX = 8,
	HEALTH_AGAIN_MS = 15000, /* a kubelet of 1.34 or 1.35 waits for 30 s, whatever we say */
	HEALTH_VALID_S = 30,
};

/* Both are borrowed. */
struct health *health_new(struct clock *clock, const struct dra_devices *devices);
/* Its streams are ended or cancelled before. Takes NULL, returns NULL. */
struct health *health_free(struct health *health);

/* A kubelet opens a stream with @call. */
void health_open(struct health *health, struct grpc_call *call);

/* The devices changed. */
void health_update(struct health *health);
