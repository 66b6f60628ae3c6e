/* pods: what a kubelet's podresources say, as a text and as the message. */
#pragma once

#include <string.h>

#include "agent/plugin/podresources.h"
#include "base/mem.h"
#include "base/str.h"
#include "grpc/message.h"
#include "proto/podresources.pb-c.h"
#include "unit/suite.h"

/* protobuf-c's own form of one device of one container of one pod. */
struct pod_message {
	char *ids[1];
	V1__ContainerDevices devices;
	V1__ContainerDevices *groups[1];
	V1__ClaimResource claimed;
	V1__ClaimResource *claimeds[1];
	V1__DynamicResource claim;
	V1__DynamicResource *claims[1];
	V1__ContainerResources container;
	V1__ContainerResources *containers[1];
	V1__PodResources pod;
};

enum { PODS_MAX = 16 };

/* protobuf-c's messages have no const, and are not written to when they are packed. */
static inline char *pods_unconst(const char *text)
{
	union {
		const char *in;
		char *out;
	} u = { .in = text };

	return u.out;
}

/* As a kubelet lists a device of a ResourceClaim. */
static inline void pod_message_init_claim(struct pod_message *m, const struct pod_device *device)
{
	v1__claim_resource__init(&m->claimed);
	m->claimed.driver_name = pods_unconst(device->resource);
	m->claimed.device_name = pods_unconst(device->device);
	m->claimeds[0] = &m->claimed;
	v1__dynamic_resource__init(&m->claim);
	m->claim.claim_name = pods_unconst(device->claim);
	m->claim.claim_namespace = pods_unconst(device->namespace);
	m->claim.claim_resources = m->claimeds;
	m->claim.n_claim_resources = 1;
	m->claims[0] = &m->claim;
}

static inline void pod_message_init(struct pod_message *m, const struct pod_device *device)
{
	m->ids[0] = pods_unconst(device->device);
	v1__container_devices__init(&m->devices);
	m->devices.resource_name = pods_unconst(device->resource);
	m->devices.device_ids = m->ids;
	m->devices.n_device_ids = 1;
	m->groups[0] = &m->devices;
	v1__container_resources__init(&m->container);
	m->container.name = pods_unconst(device->container);
	m->container.devices = m->groups;
	m->container.n_devices = device->claim ? 0 : 1;
	if (device->claim)
		pod_message_init_claim(m, device);
	m->container.dynamic_resources = m->claims;
	m->container.n_dynamic_resources = device->claim ? 1 : 0;
	m->containers[0] = &m->container;
	v1__pod_resources__init(&m->pod);
	m->pod.name = pods_unconst(device->pod);
	m->pod.namespace_ = pods_unconst(device->namespace);
	m->pod.containers = m->containers;
	m->pod.n_containers = 1;
}

/* Append the message that lists these; a text of NULL is the empty one. */
static inline void pods_pack(struct str *out, const struct pod_device *devices, size_t len)
{
	V1__ListPodResourcesResponse list = V1__LIST_POD_RESOURCES_RESPONSE__INIT;
	struct pod_message messages[PODS_MAX];
	V1__PodResources *pods[PODS_MAX];

	assert_in_range(len, 0, PODS_MAX);
	for (size_t i = 0; i < len; i++) {
		pod_message_init(&messages[i], &devices[i]);
		pods[i] = &messages[i].pod;
	}
	list.pod_resources = pods;
	list.n_pod_resources = len;
	assert_int_equal(grpc_message_pack(&list.base, SIZE_MAX, out, NULL), 0);
}

/* "RESOURCE DEVICE NAMESPACE/POD/CONTAINER, ..."; of a ResourceClaim with its name: "(nic)". */
static inline void pods_show(struct str *out, const struct pod_devices *devices)
{
	for (size_t i = 0; i < devices->len; i++) {
		const struct pod_device *d = &devices->items[i];

		str_addf(out, "%s%s %s %s/%s/%s", i ? ", " : "", d->resource, d->device,
			 d->namespace, d->pod, d->container);
		if (d->claim)
			str_addf(out, " (%s)", d->claim);
	}
}
