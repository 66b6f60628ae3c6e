/* node_watch: what comes and goes at a path, and in the folders on its way, causes events. */
#include "agent/plugin/node_watch.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "api/json_values.h"
#include "fake/fake_clock.h"
#include "unit/plugin/stage.h"

static void on_changed(void *arg)
{
	stage_log(arg, "changed");
}

/* What happens below the folder, word for word: "mkdir a", "put a/b", "rm a/b", "rmdir a", "mv a
 * b", "link a b". */
static struct watch_case {
	const char *name;
	const char *before[6];
	const char *path;
	const char *changes[4];
	const char *log; /* of all the changes: each is reported at most once */
} rows[] = {
	{ "a file that comes", { NULL }, "x", { "put x" }, "changed|" },
	{ "a file that goes", { "put x" }, "x", { "rm x" }, "changed|" },
	{ "a file that goes and comes again",
	  { "put x" },
	  "x",
	  { "rm x", "put x" },
	  "changed|changed|" },
	{ "a file that another takes the place of",
	  { "put x", "put y" },
	  "x",
	  { "mv y x" },
	  "changed|" },
	{ "a file that is moved away", { "put x" }, "x", { "mv x y" }, "changed|" },
	{ "what happens beside it is nobody's",
	  { "put x" },
	  "x",
	  { "put y", "rm y", "mkdir z" },
	  "" },
	{ "what is written to it is nobody's", { "put x" }, "x", { "put x" }, "" },
	{ "a folder that comes with the file in it",
	  { "mkdir b", "put b/x" },
	  "a/x",
	  { "mv b a" },
	  "changed|" },
	{ "a folder that comes, then the file",
	  { NULL },
	  "a/x",
	  { "mkdir a", "put a/x" },
	  "changed|" },
	{ "#18669: the folder is created again, and the socket in it",
	  { "mkdir a", "put a/x" },
	  "a/x",
	  { "rm a/x", "rmdir a", "mkdir a", "put a/x" },
	  "changed|changed|" },
	{ "a folder two levels up is created again",
	  { "mkdir a", "mkdir a/b", "put a/b/x" },
	  "a/b/x",
	  { "mv a c", "mkdir a", "mkdir a/b", "put a/b/x" },
	  "changed|changed|" },
	{ "a folder on the way is moved away",
	  { "mkdir a", "mkdir a/b", "put a/b/x" },
	  "a/b/x",
	  { "mv a/b c" },
	  "changed|" },
	{ "a link on the way is turned elsewhere",
	  { "mkdir a", "mkdir b", "put a/x", "link a l", "link b m" },
	  "l/x",
	  { "mv m l" },
	  "changed|" },
	{ "the file behind a link on the way goes",
	  { "mkdir a", "put a/x", "link a l" },
	  "l/x",
	  { "rm a/x" },
	  "changed|" },
	{ "a file where a folder should be is no way",
	  { "put a" },
	  "a/x",
	  { "rm a", "mkdir a", "put a/x" },
	  "changed|" },
};

static void do_change(const struct folder *folder, const char *change)
{
	char verb[16] = "";
	char one[64] = "";
	char other[64] = "";
	auto_free char *from = NULL;
	auto_free char *to = NULL;

	assert_true(sscanf(change, "%15s %63s %63s", verb, one, other) >= 2);
	from = folder_path(folder, one);
	to = folder_path(folder, other);
	if (strcmp(verb, "mkdir") == 0)
		assert_int_equal(mkdir(from, 0700), 0);
	else if (strcmp(verb, "put") == 0)
		folder_put(folder, one, "text");
	else if (strcmp(verb, "rm") == 0)
		assert_int_equal(unlink(from), 0);
	else if (strcmp(verb, "rmdir") == 0)
		assert_int_equal(rmdir(from), 0);
	else if (strcmp(verb, "mv") == 0)
		assert_int_equal(rename(from, to), 0);
	else if (strcmp(verb, "link") == 0)
		assert_int_equal(symlink(from, to), 0);
	else
		fail_msg("no such change: %s", change);
}

static void quiet(struct stage *stage)
{
	for (int i = 0; i < STAGE_QUIET_TURNS; i++) {
		uv_run(&stage->loop, UV_RUN_NOWAIT);
		fake_clock_settle(stage->fake);
	}
}

static void set_path(struct node_watch *watch, const struct folder *folder, const char *path)
{
	auto_free char *whole = folder_path(folder, path);
	struct json_strs paths = { 0 };

	json_strs_add(&paths, whole);
	node_watch_set(watch, &paths);
	json_strs_done(&paths);
}

/* No time goes by: it is inotify that tells. */
static void changes_are_reported(void **state)
{
	const struct watch_case *row = suite_row(state);
	struct stage *stage = *state;
	struct node_watch *watch;

	for (size_t i = 0; i < ARRAY_LEN(row->before) && row->before[i]; i++)
		do_change(&stage->folder, row->before[i]);
	watch = node_watch_new(&stage->loop, stage->clock, on_changed, stage);
	set_path(watch, &stage->folder, row->path);
	stage_settle(stage, "");
	for (size_t i = 0; i < ARRAY_LEN(row->changes) && row->changes[i]; i++) {
		do_change(&stage->folder, row->changes[i]);
		quiet(stage);
	}
	stage_settle(stage, row->log);
	node_watch_free(watch);
}

/* All of a storm is one change, or none. */
static void a_storm_is_reported_once(void **state)
{
	struct stage *stage = *state;
	struct node_watch *watch;

	watch = node_watch_new(&stage->loop, stage->clock, on_changed, stage);
	set_path(watch, &stage->folder, "a/x");
	for (int i = 0; i < 1000; i++) {
		do_change(&stage->folder, "mkdir a");
		do_change(&stage->folder, "put a/x");
		do_change(&stage->folder, "rm a/x");
		do_change(&stage->folder, "rmdir a");
	}
	stage_settle(stage, "");
	do_change(&stage->folder, "mkdir a");
	do_change(&stage->folder, "put a/x");
	stage_await(stage, "changed|");
	node_watch_free(watch);
}

/* A path that is not watched any more causes no events, and no watch is left. */
static void other_paths_follow(void **state)
{
	struct stage *stage = *state;
	struct node_watch *watch;
	struct json_strs none = { 0 };
	size_t fds;

	fds = stage_count_fds();
	watch = node_watch_new(&stage->loop, stage->clock, on_changed, stage);
	set_path(watch, &stage->folder, "x");
	set_path(watch, &stage->folder, "y");
	do_change(&stage->folder, "put x");
	stage_settle(stage, "");
	do_change(&stage->folder, "put y");
	stage_await(stage, "changed|");
	node_watch_set(watch, &none);
	do_change(&stage->folder, "rm y");
	stage_pass(stage, NODE_WATCH_POLL_MS);
	node_watch_free(watch);
	quiet(stage);
	assert_int_equal(stage_count_fds(), fds);
}

/* A link at the very end: nothing tells of its other end but the look that comes by itself. */
static void what_no_event_shows_is_seen_in_time(void **state)
{
	struct stage *stage = *state;
	struct node_watch *watch;

	do_change(&stage->folder, "mkdir a");
	do_change(&stage->folder, "link a/x l");
	watch = node_watch_new(&stage->loop, stage->clock, on_changed, stage);
	set_path(watch, &stage->folder, "l");
	do_change(&stage->folder, "put a/x");
	stage_settle(stage, "");
	fake_clock_advance(stage->fake, NODE_WATCH_POLL_MS);
	stage_settle(stage, "changed|");
	node_watch_free(watch);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &stage_fixture);
	suite_rows(&suite, rows, changes_are_reported);
	suite_add(&suite, "a storm is reported once", a_storm_is_reported_once, NULL);
	suite_add(&suite, "other paths follow", other_paths_follow, NULL);
	suite_add(&suite, "what no event shows is seen in time",
		  what_no_event_shows_is_seen_in_time, NULL);
	return suite_run(&suite, "node_watch");
}
