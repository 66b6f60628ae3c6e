/*
 * kubelet_watch: reports when the kubelet's registration socket appears or disappears, and when one
 * of our own sockets is removed. One per agent.
 *
 * Checks after each inotify event of the folders, which may be created again, and every five
 * seconds: there may be no inotify instance left, and a mounted folder has no events once its host
 * has replaced it. It reports the difference from its previous check, so the cause and the delay of
 * a check do not matter.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clock;
struct kubelet_listener;
struct kubelet_watch;
struct uv_loop_s;

enum { KUBELET_POLL_MS = 5000 };

#define KUBELET_SOCKET "kubelet.sock"

enum kubelet_event {
	KUBELET_CAME,     /* its socket is there, or another one than before          */
	KUBELET_WENT,     /* its socket is not there any more                         */
	KUBELET_TOOK_OWN, /* the listener's own socket is gone or replaced; comes first */
	KUBELET_POLLED,   /* five seconds passed: check what has no events here */
};

/* Distinguishes a file from a later file of the same name. The inode number is not enough, because
 * file systems reuse it immediately. So the birth time counts too, or the time of the last status
 * change on file systems without a birth time. Zero: there is no such file. */
struct socket_id {
	bool there;
	uint64_t dev;
	uint64_t ino;
	int64_t s;
	uint32_t ns;
};

/* Identify the file at @path. A file that cannot be read counts as absent. */
struct socket_id socket_id_of(const char *path);

bool socket_id_same(const struct socket_id *a, const struct socket_id *b);

/* @arg may be freed in it, and so may the listener. Never runs before a function below has
 * returned, but for kubelet_watch_check(). */
typedef void kubelet_watch_fn(void *arg, enum kubelet_event event);

/* On the folder @dir (copied), which need not be there. */
struct kubelet_watch *kubelet_watch_new(struct uv_loop_s *loop, struct clock *clock,
					const char *dir);
/* Look too when something happens in the folder @dir (copied), where own sockets are. Twice the
 * same, and the folder of kubelet_watch_new(), is once. */
void kubelet_watch_also(struct kubelet_watch *watch, const char *dir);
/* Takes NULL, returns NULL; its listeners are freed before. The loop must run once more. */
struct kubelet_watch *kubelet_watch_free(struct kubelet_watch *watch);

/* Check now, and report. */
void kubelet_watch_check(struct kubelet_watch *watch);

/* Was the kubelet's socket there at the last check? */
bool kubelet_watch_present(const struct kubelet_watch *watch);

/* Call @fn for each event. @own_socket (copied; NULL: none) is the path of a socket or another file
 * of ours. A file that appears there later is watched from then on. */
struct kubelet_listener *kubelet_watch_listen(struct kubelet_watch *watch, const char *own_socket,
					      kubelet_watch_fn *fn, void *arg);
/* Takes NULL, returns NULL. No callback runs any more. */
struct kubelet_listener *kubelet_listener_free(struct kubelet_listener *listener);
