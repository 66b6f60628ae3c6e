/*
 * fake_registration: in the place of agent/plugin/registration.c and kubelet_watch.c: writes to a
 * log what is asked of them, and tells what the test wants told. Included by one file of a program.
 */
#pragma once

#include "agent/plugin/kubelet_watch.h"
#include "agent/plugin/registration.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "unit/suite.h"

enum { FAKE_MAX = 32 };

struct registration {
	char *resource;
	char *path;
	const struct registration_ops *ops;
	void *arg;
};

struct kubelet_listener {
	char *own_socket;
	kubelet_watch_fn *fn;
	void *arg;
};

/* What there is at the moment. */
struct fake_registrations {
	struct str *log;
	struct registration *items[FAKE_MAX];
	struct kubelet_listener *listeners[FAKE_MAX];
	size_t forgotten; /* how often metrics were dropped   */
	size_t shown;     /* how often they were shown again */
};

static inline struct fake_registrations *fakes(void)
{
	static struct fake_registrations all;

	return &all;
}

static inline size_t fake_slot(void *const *slots, const void *wanted)
{
	for (size_t i = 0; i < FAKE_MAX; i++) {
		if (slots[i] == wanted)
			return i;
	}
	fail_msg("no such slot");
	return 0;
}

enum registration_mode registration_way(enum registration_mode mode, const char *registry_dir)
{
	if (mode != REGISTRATION_AUTO)
		return mode;
	return access(registry_dir, F_OK) == 0 ? REGISTRATION_REGISTRY : REGISTRATION_DIRECT;
}

struct registration *registration_new(const struct registration_deps *deps, const char *resource,
				      const char *socket_path, const struct registration_ops *ops,
				      void *arg)
{
	struct registration *r = xcalloc(1, sizeof(*r));

	assert_non_null(deps->clock);
	assert_int_not_equal(deps->mode, REGISTRATION_AUTO);
	r->resource = xstrdup(resource);
	r->path = xstrdup(socket_path);
	r->ops = ops;
	r->arg = arg;
	fakes()->items[fake_slot((void *const *)fakes()->items, NULL)] = r;
	str_addf(fakes()->log, "register %s|", resource);
	ops->begins(arg);
	return r;
}

struct registration *registration_free(struct registration *r)
{
	if (!r)
		return NULL;
	fakes()->items[fake_slot((void *const *)fakes()->items, r)] = NULL;
	str_addf(fakes()->log, "unregister %s|", r->resource);
	free(r->resource);
	free(r->path);
	free(r);
	return NULL;
}

void registration_show(const struct registration *r)
{
	assert_non_null(r->resource);
	fakes()->shown++;
}

void registration_show_none(const struct registration_deps *deps, const char *resource)
{
	(void)deps;
	assert_non_null(resource);
}

void registration_forget(const struct registration_deps *deps, const char *resource)
{
	(void)deps;
	assert_non_null(resource);
	fakes()->forgotten++;
}

void registration_again(struct registration *r)
{
	str_addf(fakes()->log, "again %s|", r->resource);
}

void kubelet_watch_also(struct kubelet_watch *watch, const char *dir)
{
	(void)watch;
	(void)dir;
}

struct kubelet_listener *kubelet_watch_listen(struct kubelet_watch *watch, const char *own_socket,
					      kubelet_watch_fn *fn, void *arg)
{
	struct kubelet_listener *l = xcalloc(1, sizeof(*l));

	(void)watch;
	l->own_socket = xstrdup_or_null(own_socket);
	l->fn = fn;
	l->arg = arg;
	fakes()->listeners[fake_slot((void *const *)fakes()->listeners, NULL)] = l;
	return l;
}

struct kubelet_listener *kubelet_listener_free(struct kubelet_listener *l)
{
	if (!l)
		return NULL;
	fakes()->listeners[fake_slot((void *const *)fakes()->listeners, l)] = NULL;
	free(l->own_socket);
	free(l);
	return NULL;
}

/* The registration of @resource. */
static inline struct registration *fake_registration(const char *resource)
{
	for (size_t i = 0; i < FAKE_MAX; i++) {
		if (fakes()->items[i] && strcmp(fakes()->items[i]->resource, resource) == 0)
			return fakes()->items[i];
	}
	fail_msg("'%s' is not registered", resource);
	return NULL;
}

/* The kubelet took @resource; or, with @why, did not. */
static inline void fake_registration_report(const char *resource, const char *why)
{
	const struct registration *r = fake_registration(resource);
	struct err err = { 0 };

	if (why)
		err_set(&err, ERR_RETRY, -EIO, "%s", why);
	r->ops->on_state(r->arg, why ? REGISTRATION_WAITING : REGISTRATION_DONE, why ? &err : NULL);
}

/* Every listener; of a socket that was removed only who has one. */
static inline void fake_kubelet_notify(enum kubelet_event event)
{
	struct kubelet_listener *before[FAKE_MAX];

	memcpy(before, fakes()->listeners, sizeof(before));
	for (size_t i = 0; i < FAKE_MAX; i++) {
		if (before[i] && (event != KUBELET_TOOK_OWN || before[i]->own_socket))
			before[i]->fn(before[i]->arg, event);
	}
}
