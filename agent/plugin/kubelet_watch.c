#include "agent/plugin/kubelet_watch.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <uv.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"

/* A folder that inotify watches. */
struct folder_watch {
	uv_fs_event_t event;
	struct folder_watch *next;
	struct kubelet_watch *watch;
	char *path;
	struct socket_id id; /* which folder; not there: none is watched */
};

struct kubelet_listener {
	struct kubelet_watch *watch;
	struct kubelet_listener *next;
	char *own_socket;
	struct socket_id own;
	kubelet_watch_fn *fn; /* NULL: freed inside its callback */
	void *arg;
};

struct kubelet_watch {
	struct clock *clock;
	struct clock_timer *poll;
	struct uv_loop_s *loop;
	struct folder_watch *folders;
	char *socket_path;
	struct socket_id kubelet;
	struct kubelet_listener *listeners;
	unsigned notifying;
	bool warned; /* that inotify does not work */
};

/* --- socket files ----------------------------------------------------------------------------- */

struct socket_id socket_id_of(const char *path)
{
	const unsigned mask = STATX_INO | STATX_CTIME | STATX_BTIME;
	struct statx_timestamp time;
	struct statx st;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, mask, &st) < 0)
		return (struct socket_id){ 0 };
	time = (st.stx_mask & STATX_BTIME) ? st.stx_btime : st.stx_ctime;
	return (struct socket_id){ .there = true,
				   .dev = makedev(st.stx_dev_major, st.stx_dev_minor),
				   .ino = st.stx_ino,
				   .s = time.tv_sec,
				   .ns = time.tv_nsec };
}

bool socket_id_same(const struct socket_id *a, const struct socket_id *b)
{
	return a->there == b->there && a->dev == b->dev && a->ino == b->ino && a->s == b->s &&
	       a->ns == b->ns;
}

/* --- listeners -------------------------------------------------------------------------------- */

struct kubelet_listener *kubelet_watch_listen(struct kubelet_watch *watch, const char *own_socket,
					      kubelet_watch_fn *fn, void *arg)
{
	struct kubelet_listener *l = xcalloc(1, sizeof(*l));

	l->watch = watch;
	l->own_socket = xstrdup_or_null(own_socket);
	if (own_socket)
		l->own = socket_id_of(own_socket);
	l->fn = fn;
	l->arg = arg;
	l->next = watch->listeners;
	watch->listeners = l;
	return l;
}

/* Unless listeners are being notified, because the loop holds a `next`. */
static void sweep(struct kubelet_watch *w)
{
	struct kubelet_listener **at = &w->listeners;

	if (w->notifying > 0)
		return;
	while (*at) {
		struct kubelet_listener *l = *at;

		if (l->fn) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		free(l->own_socket);
		free(l);
	}
}

struct kubelet_listener *kubelet_listener_free(struct kubelet_listener *listener)
{
	if (!listener)
		return NULL;
	listener->fn = NULL;
	sweep(listener->watch);
	return NULL;
}

static void notify_all(struct kubelet_watch *w, enum kubelet_event event)
{
	w->notifying++;
	for (struct kubelet_listener *l = w->listeners; l; l = l->next) {
		if (l->fn)
			l->fn(l->arg, event);
	}
	w->notifying--;
	sweep(w);
}

static void check_own_socket(struct kubelet_listener *l)
{
	struct socket_id now = socket_id_of(l->own_socket);

	if (l->own.there && !socket_id_same(&l->own, &now)) {
		l->fn(l->arg, KUBELET_TOOK_OWN);
		now = socket_id_of(l->own_socket);
	}
	l->own = now;
}

static void check_own_sockets(struct kubelet_watch *w)
{
	w->notifying++;
	for (struct kubelet_listener *l = w->listeners; l; l = l->next) {
		if (l->fn && l->own_socket)
			check_own_socket(l);
	}
	w->notifying--;
	sweep(w);
}

/* --- the folder ------------------------------------------------------------------------------- */

static void warn_once(struct kubelet_watch *w, const char *path, int error)
{
	/* That it is not there yet is no trouble. */
	if (w->warned || error == UV_ENOENT || error == UV_ENOTDIR)
		return;
	w->warned = true;
	log_warn("changes not watched; they are seen within seconds all the same",
		 log_str("path", path), log_str("error", uv_strerror(error)));
}

static void on_folder_event(uv_fs_event_t *event, const char *name, int events, int status);

/* Watch the folder that has the path now. */
static void folder_follow(struct folder_watch *f)
{
	struct socket_id now = socket_id_of(f->path);
	int r;

	if (socket_id_same(&now, &f->id))
		return;
	uv_fs_event_stop(&f->event);
	f->id = (struct socket_id){ 0 };
	if (!now.there)
		return;
	r = uv_fs_event_start(&f->event, on_folder_event, f->path, 0);
	if (r < 0)
		warn_once(f->watch, f->path, r);
	else
		f->id = now;
}

void kubelet_watch_check(struct kubelet_watch *w)
{
	struct socket_id now;
	bool other;

	for (struct folder_watch *f = w->folders; f; f = f->next)
		folder_follow(f);
	check_own_sockets(w);
	now = socket_id_of(w->socket_path);
	other = !socket_id_same(&now, &w->kubelet);
	w->kubelet = now;
	if (other)
		notify_all(w, now.there ? KUBELET_CAME : KUBELET_WENT);
}

bool kubelet_watch_present(const struct kubelet_watch *w)
{
	return w->kubelet.there;
}

/* The kubelet writes its checkpoint into the same folder with every pod. */
static bool concerns(const struct kubelet_watch *w, const char *name)
{
	if (!name || strcmp(name, KUBELET_SOCKET) == 0)
		return true;
	for (const struct folder_watch *f = w->folders; f; f = f->next) {
		if (strcmp(name, str_base_name(f->path)) == 0)
			return true;
	}
	for (const struct kubelet_listener *l = w->listeners; l; l = l->next) {
		if (l->own_socket && strcmp(name, str_base_name(l->own_socket)) == 0)
			return true;
	}
	return false;
}

static void on_folder_event(uv_fs_event_t *event, const char *name, int events, int status)
{
	struct folder_watch *f = event->data;

	(void)events;
	(void)status;
	if (concerns(f->watch, name))
		kubelet_watch_check(f->watch);
}

static void on_poll(void *arg)
{
	struct kubelet_watch *w = arg;

	clock_timer_start(w->clock, w->poll, KUBELET_POLL_MS);
	kubelet_watch_check(w);
	notify_all(w, KUBELET_POLLED);
}

/* --- life ------------------------------------------------------------------------------------- */

static void follow(struct kubelet_watch *w, const char *path)
{
	struct folder_watch *f;

	for (f = w->folders; f; f = f->next) {
		if (strcmp(f->path, path) == 0)
			return;
	}
	f = xcalloc(1, sizeof(*f));
	f->watch = w;
	f->path = xstrdup(path);
	uv_fs_event_init(w->loop, &f->event);
	f->event.data = f;
	f->next = w->folders;
	w->folders = f;
	folder_follow(f);
}

static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return xstrdup(".");
	return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

struct kubelet_watch *kubelet_watch_new(struct uv_loop_s *loop, struct clock *clock,
					const char *dir)
{
	struct kubelet_watch *w = xcalloc(1, sizeof(*w));
	auto_free char *parent = parent_of(dir);

	w->loop = loop;
	w->clock = clock;
	w->socket_path = xasprintf("%s/%s", dir, KUBELET_SOCKET);
	follow(w, parent); /* where the folder is created again */
	follow(w, dir);
	w->kubelet = socket_id_of(w->socket_path);
	w->poll = clock_timer_new(clock, on_poll, w);
	clock_timer_start(clock, w->poll, KUBELET_POLL_MS);
	return w;
}

void kubelet_watch_also(struct kubelet_watch *watch, const char *dir)
{
	follow(watch, dir);
}

static void on_closed(uv_handle_t *handle)
{
	struct folder_watch *f = handle->data;

	free(f->path);
	free(f);
}

struct kubelet_watch *kubelet_watch_free(struct kubelet_watch *w)
{
	if (!w)
		return NULL;
	w->poll = clock_timer_free(w->clock, w->poll);
	for (struct folder_watch *next, *f = w->folders; f; f = next) {
		next = f->next;
		f->watch = NULL;
		uv_close((uv_handle_t *)&f->event, on_closed);
	}
	free(w->socket_path);
	free(w);
	return NULL;
}
