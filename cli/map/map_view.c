#include "cli/map/map_view.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/map/map_board.h"
#include "cli/map/map_server.h"
#include "cli/map/map_watch.h"
#include "kube/clock.h"
#include "kube/informer.h"

enum {
	CHANGES_MS = 250, /* time from the first change until changes are sent */
	BEAT_MS = 5000,   /* time between events that show that the server is alive */
	UNREAD_BEATS = 3, /* then cards are sent although kinds are unread */
};

struct map_view {
	struct map_view_options options;
	char *cluster;
	struct map_watch *watch;
	struct map_server *server;
	struct clock_timer *changes;
	struct clock_timer *beat;
	struct str sent_beat; /* the last heartbeat */
	bool waiting;         /* for @changes */
	unsigned beats;
};

/* --- what pages get --- */

static void add_beat(const struct map_view *view, struct str *out)
{
	auto_str struct str json = STR_INIT;

	json_write_open(&json, NULL, '{');
	json_write_open(&json, "about", '{');
	json_write_str(&json, "cluster", view->cluster);
	json_write_int(&json, "every_ms", BEAT_MS);
	json_write_close(&json, '}');
	map_watch_write_kinds(view->watch, &json);
	json_write_close(&json, '}');
	str_addf(out, "event: beat\ndata: %s\n\n", str_cstr(&json));
}

/* True if it differs from the last one. */
static bool update_beat(struct map_view *view, struct str *out)
{
	size_t start = out->len;
	bool other;

	add_beat(view, out);
	other = strcmp(str_cstr(out) + start, str_cstr(&view->sent_beat)) != 0;
	str_clear(&view->sent_beat);
	str_add(&view->sent_beat, str_cstr(out) + start);
	return other;
}

/* Also without a connected page, so that the next one gets finished cards. */
static void on_changes(void *arg)
{
	struct map_view *view = arg;
	auto_str struct str text = STR_INIT;
	auto_str struct str beat = STR_INIT;

	view->waiting = false;
	(void)map_board_write_changes(map_watch_board(view->watch), &text);
	if (update_beat(view, &beat))
		str_add(&text, str_cstr(&beat));
	if (text.len > 0)
		map_server_send(view->server, str_cstr(&text), text.len);
}

static void on_changed(void *arg)
{
	struct map_view *view = arg;

	if (view->waiting)
		return;
	view->waiting = true;
	clock_timer_start(view->options.clock, view->changes, CHANGES_MS);
}

static void on_beat(void *arg)
{
	struct map_view *view = arg;
	auto_str struct str text = STR_INIT;

	if (++view->beats == UNREAD_BEATS)
		map_watch_show_unread(view->watch);
	map_watch_print_errors(view->watch, view->options.print);
	(void)update_beat(view, &text);
	map_server_send(view->server, str_cstr(&text), text.len);
	clock_timer_start(view->options.clock, view->beat, BEAT_MS);
}

/* Send all cards. Cards of an earlier stream that are not sent before "end" are gone. */
static void add_first_events(void *arg, struct str *out)
{
	const struct map_view *view = arg;

	str_add(out, "retry: 1000\nevent: begin\ndata: {}\n\n");
	add_beat(view, out);
	map_board_write_all(map_watch_board(view->watch), out);
	str_add(out, "event: end\ndata: {}\n\n");
}

/* --- the whole --- */

int map_view_new(const struct map_view_options *options, struct map_view **ret_view,
		 struct err *err)
{
	struct informer_deps deps = { .client = options->client, .clock = options->clock };
	struct map_view *view = xcalloc(1, sizeof(*view));
	int r = map_server_new(options->loop, options->port, add_first_events, view, &view->server,
			       err);

	if (r < 0) {
		free(view);
		return r;
	}
	view->options = *options;
	view->options.user = NULL; /* map_watch_new() copies it */
	view->cluster = xstrdup(options->cluster);
	view->changes = clock_timer_new(options->clock, on_changes, view);
	view->beat = clock_timer_new(options->clock, on_beat, view);
	view->watch = map_watch_new(&deps, options->user, on_changed, view);
	clock_timer_start(options->clock, view->beat, BEAT_MS);
	*ret_view = view;
	return 0;
}

struct map_view *map_view_free(struct map_view *view)
{
	if (!view)
		return NULL;
	map_server_free(view->server);
	map_watch_free(view->watch);
	clock_timer_free(view->options.clock, view->changes);
	clock_timer_free(view->options.clock, view->beat);
	str_done(&view->sent_beat);
	free(view->cluster);
	free(view);
	return NULL;
}

const char *map_view_address(const struct map_view *view)
{
	return map_server_address(view->server);
}
