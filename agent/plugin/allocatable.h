/*
 * allocatable: asks the kubelet which devices pods can get: those that it has as healthy, of the
 * device plugins of all programs. One call at a time, and only when somebody asks.
 */
#pragma once

struct allocatable;
struct clock;
struct err;
struct pod_devices;
struct uv_loop_s;

enum { ALLOCATABLE_CALL_MS = 2000 }; /* an answer arrives within this */

/* Borrowed, and outlives the allocatable, but for the path, which is copied. */
struct allocatable_deps {
	struct uv_loop_s *loop;
	struct clock *clock;
	const char *socket_path; /* /var/lib/kubelet/pod-resources/kubelet.sock */
	/* The answer, once for each call: resources and devices, without pods. Valid during the
	 * call. NULL: there is none, see @err. Never before allocatable_ask() has returned; must
	 * not free the allocatable. */
	void (*answered)(void *arg, const struct pod_devices *devices, const struct err *err);
	void *arg;
};

struct allocatable *allocatable_new(const struct allocatable_deps *deps);
/* Takes NULL, returns NULL. The loop must run once more. */
struct allocatable *allocatable_free(struct allocatable *allocatable);

/* Without effect while a call is under way. */
void allocatable_ask(struct allocatable *allocatable);
