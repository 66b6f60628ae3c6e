/* host_watch: opens what there is, tells of nothing while nothing changes, and closes it all. What a
 * change looks like is the kernel's to show: tests/flow. */
#include "agent/look/host_watch.h"

#include <uv.h>

#include "base/log.h"
#include "unit/folder.h"

static void on_change(void *arg)
{
	++*(int *)arg;
}

static void count(uv_handle_t *handle, void *arg)
{
	(void)handle;
	++*(size_t *)arg;
}

static struct watch_case {
	const char *name;
	const char *proc_root; /* NULL: a folder with what is listed next */
	const char *files[2];
	size_t at_least;
} cases[] = {
	{ "a machine without proc is watched as far as it goes", NULL, { NULL }, 0 },
	{ "a copy of a machine cannot tell of changes", NULL, { "1/mountinfo", "swaps" }, 0 },
	{ "the kernel's own proc is watched", "/proc", { NULL }, 2 },
};

static void watch_opens_and_closes(void **state)
{
	const struct watch_case *c = suite_row(state);
	struct folder *folder = *state;
	struct host_watch *watch;
	uv_loop_t loop;
	size_t handles = 0;
	int changes = 0;

	for (size_t i = 0; i < ARRAY_LEN(c->files) && c->files[i]; i++)
		folder_put(folder, c->files[i], "");
	assert_int_equal(uv_loop_init(&loop), 0);
	watch = host_watch_new(&loop, c->proc_root ? c->proc_root : folder->path, on_change,
			       &changes);
	assert_int_equal(changes, 0);
	uv_walk(&loop, count, &handles);
	assert_in_range(handles, c->at_least, 3);
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_null(host_watch_free(watch));
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void nothing_can_be_freed(void **state)
{
	assert_null(host_watch_free(NULL));
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_add(&suite, "freeing nothing is nothing", nothing_can_be_freed, NULL);
	suite_fixture(&suite, &folder_fixture);
	suite_rows(&suite, cases, watch_opens_and_closes);
	return suite_run(&suite, "host_watch");
}
