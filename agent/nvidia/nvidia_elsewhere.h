/*
 * nvidia_elsewhere: whether another device plugin offers the GPUs of this node. Two plugins would
 * give each GPU to two containers.
 *
 * NVIDIA's plugin is known by its sockets. Of any other one the kubelet knows: before we offer the
 * GPUs, devices that it lists of a resource of ours are another's; after that, those that are none
 * of ours. It is believed when it says so twice, so that a plugin that has just ended is not
 * another one. A kubelet that has never listed another one and does not answer knows of none.
 *
 * A kubelet that has just started has removed all sockets, and knows no plugin until it registers
 * again. So another plugin has ended only if it is missed for ELSEWHERE_GONE_MS.
 */
#pragma once

#include <stdbool.h>

struct nvidia_elsewhere;
struct this_node;

enum {
	ELSEWHERE_CHECK_MS = 30000, /* from one question to the kubelet to the next           */
	ELSEWHERE_AGAIN_MS = 500,   /* from an answer that another one offers them to the next */
	ELSEWHERE_GONE_MS = 4000,   /* that it is missed: from one look to the next          */
};

/* Borrowed. */
struct nvidia_elsewhere_deps {
	/* Do we offer any device as @resource, or would we? */
	bool (*wants)(void *arg, const char *resource);
	/* Has the kubelet been told of the GPUs, and is the unit @id of one of them? */
	bool (*offers)(void *arg);
	bool (*has)(void *arg, const char *id);
	/* An answer of the functions below changed. */
	void (*changed)(void *arg);
	void *arg;
};

/* @node is borrowed. */
struct nvidia_elsewhere *nvidia_elsewhere_new(const struct this_node *node,
					      const struct nvidia_elsewhere_deps *deps);
/* Takes NULL, returns NULL. The loop must run once more. */
struct nvidia_elsewhere *nvidia_elsewhere_free(struct nvidia_elsewhere *elsewhere);

/* Look for sockets. */
void nvidia_elsewhere_look(struct nvidia_elsewhere *elsewhere);

/* Ask the kubelet if it is time to: what we offer, or would, is known. Does not call back before it
 * has returned. */
void nvidia_elsewhere_ask(struct nvidia_elsewhere *elsewhere);

/* Why nothing is to be offered: "another plugin offers nvidia.com/gpu: ..."; NULL: for no such
 * reason. Valid until `changed`. */
const char *nvidia_elsewhere_why(const struct nvidia_elsewhere *elsewhere);

/* Has the kubelet been asked, and answered if it runs? */
bool nvidia_elsewhere_known(const struct nvidia_elsewhere *elsewhere);
