/*
 * hami_serve: Allocate calls for pods of HAMi's scheduler, one after the other. The kubelet does not
 * say for which pod it asks; the node's lock does. The pod's annotation says what its next container
 * gets. That is answered once it is erased there, so that nobody gets it twice.
 *
 *	lock of the Node (the cache's, else read) -> read the pod -> grant -> patch the pod -> answer
 *
 * With the last container of a pod, its bind-phase becomes success, and the lock is released. If a
 * pod is refused, hami_refusals.h reports that to the scheduler. HAMI_SERVE_MS after its call the
 * kubelet gets an error, even if the API server has not answered.
 */
#pragma once

#include <stddef.h>

struct allocation;
struct deferred;
struct err;
struct hami_entry;
struct hami_node;
struct hami_pod;
struct hami_pod_container;
struct hami_serve;
struct this_node;

enum {
	HAMI_SERVE_MS = 4500, /* from the kubelet's call to the error  */
	HAMI_RETRY_MS = 250,  /* until the API server is asked again   */
};

/* Borrowed. */
struct hami_serve_deps {
	const struct this_node *node;
	struct hami_node *annotations;
	/* Fill @allocation, which is empty, with what @container of @pod needs for @entry; or < 0
	 * and @err says why it cannot be given. May be called several times for one call. */
	int (*grant)(void *arg, const struct hami_entry *entry, const struct hami_pod *pod,
		     const struct hami_pod_container *container, struct allocation *allocation,
		     struct err *err);
	void *arg;
};

struct hami_serve *hami_serve_new(const struct hami_serve_deps *deps); /* copied */
/* Calls that wait are refused. Takes NULL, returns NULL. */
struct hami_serve *hami_serve_free(struct hami_serve *serve);

/* Answer @deferred, for a container that the kubelet has chosen @wanted units of @resource for. */
void hami_serve_add(struct hami_serve *serve, const char *resource, size_t wanted,
		    struct deferred *deferred);
