#include "agent/plugin/registry.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/plugin/kubelet_watch.h"
#include "agent/plugin/registration_codec.h"
#include "agent/plugin/socket_sweep.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "grpc/uv_server.h"
#include "kube/backoff.h"
#include "kube/clock.h"

enum {
	PATH_LEN_MAX = 107,
	AGAIN_FIRST_MS = 50,
	AGAIN_MAX_MS = 10000,
	CALM_MS = 60000,
	JITTER_PERCENT = 50,
	KUBELET_LATE_MS = 10000, /* it scans its folder every second */
};

#define PREFIX "hostdev-"

struct registry {
	uv_loop_t *loop;
	struct clock *clock;
	struct kubelet_listener *listener;
	struct plugin_info info;
	char *type, *name, *endpoint; /* the texts that it borrows */
	char *path;
	const struct registration_ops *ops;
	void *arg;

	struct grpc_service service;
	struct grpc_uv_server *server; /* NULL: could not be made, or another's is there */
	struct clock_timer *timer;     /* until the socket is created, or created again */
	struct backoff backoff;
	bool begun;         /* the socket was ours once   */
	bool reported;      /* a kubelet called, or its absence was reported */
	uint64_t opened_ms; /* when the socket was made   */
};

/* --- what the kubelet asks -------------------------------------------------------------------- */

static void on_get_info(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	struct registry *r = arg;
	auto_str struct str answer = STR_INIT;
	struct err err = { 0 };

	(void)request;
	(void)len;
	/* It comes by itself: no need to make it come. */
	clock_timer_stop(r->clock, r->timer);
	r->ops->begins(r->arg);
	if (plugin_info_pack(&r->info, &answer, &err) < 0)
		grpc_call_finish(call, GRPC_INTERNAL, err.msg);
	else
		grpc_call_answer(call, str_cstr(&answer), answer.len);
}

static void on_notify(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	struct registry *r = arg;
	auto_free char *error = NULL;
	bool registered = false;
	struct err err = { 0 };

	if (registration_status_unpack(request, len, &registered, &error, &err) < 0) {
		grpc_call_finish(call, GRPC_INVALID_ARGUMENT, err.msg);
		return;
	}
	/* The kubelet forgets us again if this does not reach it. */
	grpc_call_answer(call, "", 0);
	r->reported = true;
	if (!registered) {
		err_set(&err, ERR_RETRY, -EPROTO, "the kubelet refuses to register '%s': %s",
			r->name, error);
		r->ops->on_state(r->arg, REGISTRATION_WAITING, &err);
		return;
	}
	r->ops->on_state(r->arg, REGISTRATION_DONE, NULL);
}

static const struct grpc_method methods[] = {
	{ GET_INFO_PATH, on_get_info },
	{ NOTIFY_STATUS_PATH, on_notify },
};

/* --- the socket ------------------------------------------------------------------------------- */

static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ULL; /* FNV-1a */

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3ULL;
	return h;
}

char *registry_socket_path(const char *dir, const char *resource)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
	auto_free char *path = xasprintf("%s/" PREFIX "%s.sock", dir, resource);

	for (char *c = path + strlen(dir) + 1; *c; c++) {
		if (!strchr(plain, *c))
			*c = '_';
	}
	if (strlen(path) <= PATH_LEN_MAX)
		return take_ptr(path);
	return xasprintf("%s/" PREFIX "%016" PRIx64 ".sock", dir, hash(resource));
}

static bool is_ours(const void *arg, const char *name)
{
	const char *suffix = strrchr(name, '.');

	(void)arg;
	return strncmp(name, PREFIX, strlen(PREFIX)) == 0 && suffix && strcmp(suffix, ".sock") == 0;
}

int registry_sweep(const char *dir, struct err *err)
{
	return socket_sweep(dir, is_ours, NULL, err);
}

static int make_room(const struct registry *r, struct err *err)
{
	struct stat st;

	if (lstat(r->path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, ERR_INVALID, -EEXIST, "'%s' is no socket: remove it", r->path);
	if (r->begun && !socket_is_dead(r->path))
		return err_set(err, ERR_RETRY, -EADDRINUSE,
			       "another process serves '%s': a second agent on this node?",
			       r->path);
	if (unlink(r->path) < 0 && errno != ENOENT)
		return err_set(err, ERR_RETRY, -errno, "remove '%s': %s", r->path, strerror(errno));
	return 0;
}

static int open_socket(struct registry *r, struct err *err)
{
	struct grpc_uv_server_settings settings = { .path = r->path, .service = &r->service };
	int result = make_room(r, err);

	if (result < 0)
		return result;
	result = grpc_uv_server_new(r->loop, &settings, &r->server, err);
	if (result < 0)
		return result;
	r->begun = true;
	r->reported = false;
	r->opened_ms = clock_now_ms(r->clock);
	return 0;
}

static void open_or_report(struct registry *r)
{
	struct err err = { 0 };

	clock_timer_stop(r->clock, r->timer);
	if (open_socket(r, &err) < 0)
		r->ops->on_state(r->arg, REGISTRATION_WAITING, &err);
}

static void on_timer(void *arg)
{
	struct registry *r = arg;

	r->server = grpc_uv_server_free(r->server);
	open_or_report(r);
}

static void report_late(struct registry *r)
{
	struct err err = { 0 };

	if (r->reported || clock_now_ms(r->clock) - r->opened_ms < KUBELET_LATE_MS)
		return;
	r->reported = true;
	err_set(&err, ERR_RETRY, -ETIMEDOUT,
		"the kubelet has not come to '%s'; is it running, and its folder mounted here?",
		r->path);
	r->ops->on_state(r->arg, REGISTRATION_WAITING, &err);
}

static void on_kubelet(void *arg, enum kubelet_event event)
{
	struct registry *r = arg;

	if (event != KUBELET_POLLED && event != KUBELET_TOOK_OWN)
		return;
	if (r->server && grpc_uv_server_has_socket(r->server)) {
		report_late(r);
		return;
	}
	r->server = grpc_uv_server_free(r->server);
	open_or_report(r);
}

/* --- life ------------------------------------------------------------------------------------- */

struct registry *registry_new(const struct registration_deps *deps, const struct plugin_info *info,
			      const char *path, const struct registration_ops *ops, void *arg)
{
	struct registry *r = xcalloc(1, sizeof(*r));

	r->loop = deps->loop;
	r->clock = deps->clock;
	r->type = xstrdup(info->type);
	r->name = xstrdup(info->name);
	r->endpoint = xstrdup(info->endpoint);
	r->info = *info;
	r->info.type = r->type;
	r->info.name = r->name;
	r->info.endpoint = r->endpoint;
	r->path = xstrdup(path);
	r->ops = ops;
	r->arg = arg;
	r->service = (struct grpc_service){ methods, ARRAY_LEN(methods), r };
	r->backoff = (struct backoff){ .first_ms = AGAIN_FIRST_MS,
				       .max_ms = AGAIN_MAX_MS,
				       .reset_after_ms = CALM_MS,
				       .jitter_percent = JITTER_PERCENT };
	r->timer = clock_timer_new(r->clock, on_timer, r);
	clock_timer_start(r->clock, r->timer, 0);
	kubelet_watch_also(deps->watch, deps->registry_dir);
	r->listener = kubelet_watch_listen(deps->watch, r->path, on_kubelet, r);
	return r;
}

struct registry *registry_free(struct registry *r)
{
	if (!r)
		return NULL;
	kubelet_listener_free(r->listener);
	clock_timer_free(r->clock, r->timer);
	grpc_uv_server_free(r->server);
	free(r->type);
	free(r->name);
	free(r->endpoint);
	free(r->path);
	free(r);
	return NULL;
}

void registry_again(struct registry *r)
{
	clock_timer_start(
		r->clock, r->timer,
		backoff_next(&r->backoff, clock_now_ms(r->clock), clock_random(r->clock)));
}
