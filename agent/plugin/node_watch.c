#include "agent/plugin/node_watch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "api/json_values.h"
#include "base/array.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/clock.h"

enum { EVENTS_SIZE = 4096 };

/* Not what is written to files: /dev/null is in the same folder as the nodes. */
#define FOLDER_MASK                                                                            \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | \
	 IN_ONLYDIR)

/* One path, and what it led to last. */
struct watched {
	char *path;
	bool there;
	dev_t dev;
	ino_t ino;
	mode_t mode;
	dev_t rdev;
};

/* A folder that inotify watches, and a name in it that is part of a path. */
struct step {
	int wd;
	char *name;
};

struct node_watch {
	struct clock *clock;
	struct clock_timer *timer; /* runs while a check is due */
	void (*changed)(void *arg);
	void *arg;
	int fd;         /* -1: there is no inotify */
	uv_poll_t poll; /* of fd */
	bool blind;     /* not every folder is watched, though it could be */
	bool warned;
	struct {
		struct watched *items;
		size_t len, cap;
	} paths;
	struct {
		struct step *items;
		size_t len, cap;
	} steps;
};

/* --- what the paths are ----------------------------------------------------------------------- */

/* True if the path changed. */
static bool stat_path(struct watched *w)
{
	struct watched before = *w;
	struct stat st = { 0 };

	w->there = stat(w->path, &st) == 0;
	w->dev = st.st_dev;
	w->ino = st.st_ino;
	w->mode = st.st_mode;
	w->rdev = st.st_rdev;
	return w->there != before.there || w->dev != before.dev || w->ino != before.ino ||
	       w->mode != before.mode || w->rdev != before.rdev;
}

static bool stat_all(struct node_watch *watch)
{
	bool changed = false;

	for (size_t i = 0; i < watch->paths.len; i++)
		changed |= stat_path(&watch->paths.items[i]);
	return changed;
}

/* --- the folders on the way ------------------------------------------------------------------- */

static void go_blind(struct node_watch *watch, const char *path)
{
	watch->blind = true;
	if (!watch->warned)
		log_warn("changes not watched; they are seen within seconds all the same",
			 log_str("path", path), log_str("error", strerror(errno)));
	watch->warned = true;
}

/* Watch @folder for @name. False: there is no such folder, so that nothing can be in it. */
static bool add_step(struct node_watch *watch, const char *folder, const char *name)
{
	int wd = inotify_add_watch(watch->fd, folder, FOLDER_MASK);

	if (wd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return false;
	if (wd < 0) {
		go_blind(watch, folder);
		return false;
	}
	*array_add(&watch->steps) = (struct step){ .wd = wd, .name = xstrdup(name) };
	return true;
}

/* From the root down: the watch on a folder reports what is created below it meanwhile. */
static void add_way(struct node_watch *watch, const char *path)
{
	auto_free char *folder = xstrdup("/");
	const char *name = path + 1;

	for (;;) {
		size_t len = strcspn(name, "/");
		auto_free char *part = xstrndup(name, len);

		if (!add_step(watch, folder, part) || !name[len])
			return;
		name += len + 1;
		free(folder);
		folder = xstrndup(path, (size_t)(name - path - 1));
	}
}

static bool is_on_a_way(const struct node_watch *watch, int wd)
{
	for (size_t i = 0; i < watch->steps.len; i++) {
		if (watch->steps.items[i].wd == wd)
			return true;
	}
	return false;
}

static void steps_done(struct node_watch *watch)
{
	for (size_t i = 0; i < watch->steps.len; i++)
		free(watch->steps.items[i].name);
	array_done(&watch->steps);
}

/* A folder that is watched already keeps its watch. */
static void follow(struct node_watch *watch)
{
	struct node_watch before = *watch;

	if (watch->fd < 0)
		return;
	watch->steps.items = NULL;
	watch->steps.len = watch->steps.cap = 0;
	watch->blind = false;
	for (size_t i = 0; i < watch->paths.len; i++)
		add_way(watch, watch->paths.items[i].path);
	for (size_t i = 0; i < before.steps.len; i++) {
		if (!is_on_a_way(watch, before.steps.items[i].wd))
			(void)inotify_rm_watch(watch->fd, before.steps.items[i].wd);
	}
	steps_done(&before);
}

static void rest(struct node_watch *watch)
{
	uint64_t wait_ms = watch->fd < 0 || watch->blind ? NODE_WATCH_BLIND_MS : NODE_WATCH_POLL_MS;

	if (watch->paths.len > 0)
		clock_timer_start(watch->clock, watch->timer, wait_ms);
	else
		clock_timer_stop(watch->clock, watch->timer);
}

/* Set the watches before the check, so that no change is missed. */
static void on_due(void *arg)
{
	struct node_watch *watch = arg;

	follow(watch);
	rest(watch);
	if (stat_all(watch))
		watch->changed(watch->arg);
}

/* --- events ----------------------------------------------------------------------------------- */

static bool concerns(const struct node_watch *watch, const struct inotify_event *event)
{
	if (event->mask & (IN_Q_OVERFLOW | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT))
		return true;
	for (size_t i = 0; i < watch->steps.len && event->len > 0; i++) {
		const struct step *step = &watch->steps.items[i];

		if (step->wd == event->wd && strcmp(step->name, event->name) == 0)
			return true;
	}
	return false;
}

static bool read_events(const struct node_watch *watch)
{
	char data[EVENTS_SIZE] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool due = false;
	ssize_t n;

	while ((n = read(watch->fd, data, sizeof(data))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event = (const void *)(data + at);

			due |= concerns(watch, event);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
	return due;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct node_watch *watch = poll->data;

	(void)status;
	(void)events;
	if (read_events(watch))
		clock_timer_start(watch->clock, watch->timer, 0);
}

/* --- life ------------------------------------------------------------------------------------- */

static void paths_done(struct node_watch *watch)
{
	for (size_t i = 0; i < watch->paths.len; i++)
		free(watch->paths.items[i].path);
	array_done(&watch->paths);
}

void node_watch_set(struct node_watch *watch, const struct json_strs *paths)
{
	paths_done(watch);
	for (size_t i = 0; i < paths->len; i++) {
		struct watched *w = array_add(&watch->paths);

		w->path = xstrdup(paths->items[i]);
	}
	follow(watch);
	(void)stat_all(watch);
	rest(watch);
}

struct node_watch *node_watch_new(struct uv_loop_s *loop, struct clock *clock,
				  void (*changed)(void *arg), void *arg)
{
	struct node_watch *watch = xcalloc(1, sizeof(*watch));

	watch->clock = clock;
	watch->changed = changed;
	watch->arg = arg;
	watch->timer = clock_timer_new(clock, on_due, watch);
	watch->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->fd < 0) {
		go_blind(watch, "inotify");
		return watch;
	}
	uv_poll_init(loop, &watch->poll, watch->fd);
	watch->poll.data = watch;
	uv_poll_start(&watch->poll, UV_READABLE, on_readable);
	return watch;
}

static void on_closed(uv_handle_t *handle)
{
	struct node_watch *watch = handle->data;

	close(watch->fd);
	free(watch);
}

struct node_watch *node_watch_free(struct node_watch *watch)
{
	if (!watch)
		return NULL;
	clock_timer_free(watch->clock, watch->timer);
	paths_done(watch);
	steps_done(watch);
	if (watch->fd < 0)
		free(watch);
	else
		uv_close((uv_handle_t *)&watch->poll, on_closed);
	return NULL;
}
