/*
 * podresources: knows which container has which device, from the kubelet's podresources socket.
 *
 * The device plugin API has no call for a released device, and Allocate does not name the pod; so
 * this asks soon after podresources_ask(), and every thirty seconds while anything is allocated.
 * While the kubelet does not answer, its last answer is kept and called stale.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock;
struct err;
struct metrics;
struct podresources;
struct uv_loop_s;

enum {
	PODRESOURCES_SOON_MS = 100,    /* from a request to the call; more requests come with it */
	PODRESOURCES_PAUSE_MS = 250,   /* from one call to the next, at least                   */
	PODRESOURCES_SECOND_MS = 2000, /* a request's second call: an allocation may be in no
					* list yet when its first one comes                     */
	PODRESOURCES_SLOW_MS = 30000,  /* while anything is allocated                           */
	PODRESOURCES_CALL_MS = 10000,  /* an answer arrives within this */
	PODRESOURCES_MESSAGE_MAX = 16 << 20,
	POD_DEVICES_MAX = 65536,
};

/*
 * One device that a container has. Texts are printable ASCII of at most 253 bytes.
 *
 * By a ResourceClaim, of which @claim is the name in the pod's namespace, it is a device of our DRA
 * driver: @resource is the driver's name, which is no resource's, and @device the name in the
 * driver's slice.
 */
struct pod_device {
	const char *resource;
	const char *device;
	const char *namespace;
	const char *pod;
	const char *container;
	const char *claim; /* NULL: a device plugin's */
};

/* In the order of resource and device. A device may be listed for several containers: those of a
 * pod that has ended may still be there. */
struct pod_devices {
	struct pod_device *items;
	size_t len;
	char *texts; /* private: all of them */
};

/* Borrowed, and outlives the podresources. */
struct podresources_deps {
	struct uv_loop_s *loop;
	struct clock *clock;
	const char *socket_path; /* /var/lib/kubelet/pod-resources/kubelet.sock */
	bool (*wants)(void *arg, const char *resource); /* NULL: every resource          */
	const char *dra_driver;     /* whose devices are read, too; NULL: none's */
	void (*changed)(void *arg); /* the answers of the functions below changed */
	/* The kubelet has answered; after `changed`, which then must not free the podresources.
	 * NULL: none. */
	void (*answered)(void *arg);
	void *arg;
	struct metrics *metrics; /* may be NULL */
};

/* Asks nothing yet: an agent that begins calls podresources_ask(). */
struct podresources *podresources_new(const struct podresources_deps *deps);
/* Takes NULL, returns NULL. The loop must run once more. May be called from `changed`. */
struct podresources *podresources_free(struct podresources *p);

/* A device was allocated, or may have been released: ask soon, and retry until it succeeds. Never
 * calls back before it has returned. */
void podresources_ask(struct podresources *p);

/* The kubelet's last answer; empty before the first. Valid until `changed` is called. */
const struct pod_devices *podresources_devices(const struct podresources *p);

/* The first container that has this device; NULL: none. Valid as above. */
const struct pod_device *podresources_find(const struct podresources *p, const char *resource,
					   const char *device);

/* When the last answer was requested, by the clock; 0 before the first. It may lack later
 * changes. */
uint64_t podresources_asked_ms(const struct podresources *p);

/* NULL: the last answer is what there is now. Else why no newer one came; before the first answer,
 * too. */
const struct err *podresources_stale(const struct podresources *p);
