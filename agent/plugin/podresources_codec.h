/* podresources_codec: the kubelet's list of pods and their devices as plain structs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;
struct pod_devices;

#define PODRESOURCES_LIST_PATH        "/v1.PodResourcesLister/List"
#define PODRESOURCES_ALLOCATABLE_PATH "/v1.PodResourcesLister/GetAllocatableResources"

/* Borrowed. */
struct podresources_wanted {
	bool (*resource)(void *arg, const char *resource); /* NULL: all of them */
	void *arg;
	const char *dra_driver; /* NULL: no driver's */
};

/*
 * Read the devices of the resources and of the DRA driver that are @wanted from the answer of List:
 * each entry once, sorted, and without entries whose texts are no names. Release *@ret_devices with
 * pod_devices_done(). -EBADMSG, -EMSGSIZE.
 *
 * A kubelet lists the devices of ResourceClaims since 1.34 (KubeletPodResourcesDynamicResources),
 * once the claim is prepared.
 */
int podresources_unpack(const char *data, size_t len, const struct podresources_wanted *wanted,
			struct pod_devices *ret_devices, struct err *err);

/* The same from the answer of GetAllocatableResources, of all resources: no pod has them, so those
 * texts are empty. */
int podresources_unpack_allocatable(const char *data, size_t len, struct pod_devices *ret_devices,
				    struct err *err);

bool pod_devices_same(const struct pod_devices *a, const struct pod_devices *b);

/* Release the items; what is empty may be released again. */
void pod_devices_done(struct pod_devices *devices);
