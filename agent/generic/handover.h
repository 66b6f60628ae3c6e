/*
 * handover: one-shot sockets through which a container takes over one open descriptor each, as
 * KubeVirt's launcher takes /dev/iommu.
 *
 * A peer that connects gets one byte with the descriptor (SCM_RIGHTS); the socket is removed when
 * the peer has sent one byte back, or after HANDOVER_MS without a peer.
 *
 * The files of waiting sockets survive a restart: a container that starts later finds a new socket
 * at the same path. A container that mounted the old socket cannot use the new one.
 */
#pragma once

#include <stddef.h>

struct err;
struct handovers;
struct this_node;

enum {
	HANDOVERS_MAX = 256,          /* at a time                               */
	HANDOVER_MS = 15 * 60 * 1000, /* images may have to be pulled before     */
	HANDOVER_ACK_MS = 30 * 1000,  /* from the byte to the byte that is sent back */
};

/* Open what is handed over, when somebody is there to take it. */
typedef int handover_open_fn(void *arg, int *ret_fd, struct err *err);

/*
 * Takes over the sockets that a process before has left in @folder, for what is left of their time.
 * @folder has only them, and is created when needed. @label is their SELinux label; NULL: as it
 * comes. All is borrowed.
 */
struct handovers *handovers_new(const struct this_node *node, const char *folder, const char *label,
				handover_open_fn *open, void *arg);
/* Leaves the files of those that still wait. Takes NULL, returns NULL. The loop must run once
 * more. */
struct handovers *handovers_free(struct handovers *all);

/* A new socket; its path, which the caller frees, in *@ret_path. Errors: -EAGAIN when there are
 * HANDOVERS_MAX, and those of making a socket. */
int handovers_add(struct handovers *all, char **ret_path, struct err *err);

/* How many wait. */
size_t handovers_len(const struct handovers *all);
