/*
 * handover: one-shot sockets through which a container takes over one open descriptor each, as
 * KubeVirt's launcher takes /dev/iommu.
 *
 * A peer that connects gets one byte with the descriptor (SCM_RIGHTS); the socket is removed when the
 * peer has sent one byte back, or after HANDOVER_MS without a peer.
 *
 * The files of waiting sockets survive a restart: a container that starts later finds a new socket at
 * the same path. A container that mounted the old socket cannot use the new one.
 */
#pragma once

#include <stddef.h>

struct clock;
struct err;
struct handovers;
struct uv_loop_s;

enum {
	HANDOVERS_MAX = 256,          /* at a time                               */
	HANDOVER_MS = 15 * 60 * 1000, /* images may have to be pulled before     */
	HANDOVER_ACK_MS = 30 * 1000,  /* from the byte to the byte that is sent back */
};

/* Borrowed. */
struct handovers_deps {
	struct uv_loop_s *loop;
	struct clock *clock;
	const char *folder; /* of the sockets only; it is created when needed */
	const char *label;  /* SELinux label of the sockets; NULL: as it comes     */
	/* Open what is handed over, when somebody is there to take it. */
	int (*open)(void *arg, int *ret_fd, struct err *err);
	void *arg;
};

/* Takes over the sockets that a process before has left in the folder, for what is left of their time. */
struct handovers *handovers_new(const struct handovers_deps *deps);
/* Leaves the files of those that still wait. Takes NULL, returns NULL. The loop must run once more. */
struct handovers *handovers_free(struct handovers *all);

/* A new socket; its path, which the caller frees, in *@ret_path. Errors: -EAGAIN when there are
 * HANDOVERS_MAX, and those of making a socket. */
int handovers_add(struct handovers *all, char **ret_path, struct err *err);

/* How many wait. */
size_t handovers_len(const struct handovers *all);
