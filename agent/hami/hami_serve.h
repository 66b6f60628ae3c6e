/*
 * hami_serve: answers Allocate calls for pods of HAMi's scheduler, one after the other.
 *
 * The kubelet does not say for which pod it calls; the node's lock names it. The pod's annotation
 * says what its next container gets. That entry is removed from the annotation before the call is
 * answered, so that no GPU is allocated twice.
 *
 *	read the Node's lock (from the cache, else the API server) -> read the pod -> grant ->
 *	patch the pod -> answer
 *
 * With the last container of a pod, its bind-phase becomes success and the lock is released. If a
 * pod is refused, hami_refusals.h tells the scheduler. HAMI_SERVE_MS after a call the kubelet gets
 * an error if there is no answer yet, for example because the API server does not respond.
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
	HAMI_SERVE_MS = 4500, /* timeout of a call                          */
	HAMI_RETRY_MS = 250,  /* after an error, until the next request     */
};

/* Borrowed. */
struct hami_serve_deps {
	const struct this_node *node;
	struct hami_node *annotations;
	/* Fill the empty @allocation with what @container of @pod needs for @entry. < 0 if the
	 * GPUs cannot be allocated. May run more than once per Allocate call. */
	int (*grant)(void *arg, const struct hami_entry *entry, const struct hami_pod *pod,
		     const struct hami_pod_container *container, struct allocation *allocation,
		     struct err *err);
	void *arg;
};

struct hami_serve *hami_serve_new(const struct hami_serve_deps *deps); /* copied */
/* Refuses the calls that wait. Takes NULL, returns NULL. */
struct hami_serve *hami_serve_free(struct hami_serve *serve);

/* Answer @deferred, a call for a container with @wanted units of @resource. */
void hami_serve_add(struct hami_serve *serve, const char *resource, size_t wanted,
		    struct deferred *deferred);
