/*
 * registration: makes the kubelet know one resource, and keeps it so.
 *
 * Through the kubelet's registration socket, or through a socket in its plugins_registry; never
 * both. The owner already serves the device plugin on its socket, because the kubelet calls it
 * during the registration.
 */
#pragma once

#include <stdbool.h>

struct clock;
struct err;
struct kubelet_watch;
struct metrics;
struct registration;
struct uv_loop_s;

enum registration_mode {
	REGISTRATION_AUTO,     /* REGISTRY if its folder is there when it begins, else DIRECT   */
	REGISTRATION_DIRECT,   /* Register at kubelet.sock; the service's socket is beside it   */
	REGISTRATION_REGISTRY, /* a socket in plugins_registry, which the kubelet calls; the
				* service's socket should not be where the kubelet wipes at start */
};

/* Borrowed, and outlives the registration. */
struct registration_deps {
	struct uv_loop_s *loop;
	struct clock *clock;
	struct kubelet_watch *watch; /* on kubelet_dir (agent/plugin/kubelet_watch.h) */
	const char *kubelet_dir;     /* /var/lib/kubelet/device-plugins  */
	const char *registry_dir;    /* /var/lib/kubelet/plugins_registry */
	enum registration_mode mode;
	struct metrics *metrics; /* may be NULL */
};

enum registration_state {
	REGISTRATION_WAITING, /* see the error; it keeps trying */
	REGISTRATION_DONE,    /* the kubelet knows the resource and opens a stream */
};

/*
 * What came of it, each time that it changes; REGISTRATION_DONE once for every time that the
 * kubelet took it. @err is NULL then, else a text that a person can act on; valid during the call.
 * May free the registration, and never runs before the function that was called has returned.
 */
typedef void registration_fn(void *arg, enum registration_state state, const struct err *err);

/* What its owner does. Static. */
struct registration_ops {
	registration_fn *on_state;
	/* From now on the kubelet may open its stream. Frees nothing. May be NULL. */
	void (*begins)(void *arg);
	/*
	 * The kubelet is about to be called. Close what has been open since the last call; true:
	 * something was open, so the call is delayed a moment. Kubelets up to 1.36 that see the end
	 * of a stream remove what is registered under the resource's name at that time. Frees
	 * nothing. May be NULL.
	 */
	bool (*clear)(void *arg);
};

/* The way that @mode means now: one that begins with REGISTRATION_AUTO goes this way to its end.
 * Who asks before it begins and names the answer has all resources on one way. */
enum registration_mode registration_way(enum registration_mode mode, const char *registry_dir);

/* Begin to register @resource, which is served on @socket_path, and go on until it is freed. Both
 * are copied, @ops are borrowed. */
struct registration *registration_new(const struct registration_deps *deps, const char *resource,
				      const char *socket_path, const struct registration_ops *ops,
				      void *arg);

/* Takes NULL, returns NULL. Makes no call to the kubelet: the resource ends with its stream. The
 * loop must run once more. */
struct registration *registration_free(struct registration *registration);

/* Show those of its metrics that found no room before. */
void registration_show(const struct registration *registration);

/* @resource is offered and no registration of it has begun: show that the kubelet does not know
 * it. */
void registration_show_none(const struct registration_deps *deps, const char *resource);

/* @resource is not offered any more: drop its metrics. They outlive a registration, because a
 * registration with another socket follows it. */
void registration_forget(const struct registration_deps *deps, const char *resource);

/*
 * The kubelet has no stream open: register again after a short random wait, which grows if this
 * repeats. Without effect while a registration is under way, so the owner calls this again if there
 * is no stream some seconds after REGISTRATION_DONE.
 */
void registration_again(struct registration *registration);
