/*
 * health: streams the health of the devices that DRA offers to the kubelet, which shows it in the
 * status of their pods (KEP-4680).
 *
 * Each message has the whole list. It is sent when a stream opens, when the list changes, and often
 * enough that the kubelet does not take the health for unknown.
 */
#pragma once

#include <stddef.h>

struct clock;
struct dra_devices;
struct grpc_call;
struct health;

enum {
	HEALTH_STREAMS_MAX = 8,
	HEALTH_AGAIN_MS = 15000, /* kubelets 1.34 and 1.35 always wait for 30 s */
	HEALTH_VALID_S = 30,
};

/* Both are borrowed. */
struct health *health_new(struct clock *clock, const struct dra_devices *devices);
/* End or cancel its streams first. Takes NULL, returns NULL. */
struct health *health_free(struct health *health);

/* Answer @call, with which the kubelet opens a stream. */
void health_open(struct health *health, struct grpc_call *call);

/* Call it when the devices change. */
void health_update(struct health *health);
