/* host_watch: opens what there is, tells of nothing while nothing changes, and closes it all. What
 * a change looks like is the kernel's to show: tests/flow. */
#include "agent/monitor/host_watch.h"

#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "unit/folder.h"

static void on_change(void *arg, enum host_change change)
{
	*(int *)arg += change == HOST_CHANGE_SEEN;
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
	watch = host_watch_new(&loop, c->proc_root ? c->proc_root : folder->path, "/sys", on_change,
			       &changes);
	assert_int_equal(changes, 0);
	uv_walk(&loop, count, &handles);
	assert_in_range(handles, c->at_least + 3, 6); /* with the timers */
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_null(host_watch_free(watch));
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static bool is_timer_active;

static void find_timer(uv_handle_t *handle, void *arg)
{
	(void)arg;
	if (handle->type == UV_TIMER && uv_is_active(handle))
		is_timer_active = true;
}

static bool tries_again(uv_loop_t *loop)
{
	is_timer_active = false;
	uv_walk(loop, find_timer, NULL);
	return is_timer_active;
}

static void mounts_that_were_hidden_are_a_change(void **state)
{
	struct folder *folder = *state;
	struct host_watch *watch;
	uv_loop_t loop;
	int changes = 0;

	assert_int_equal(uv_loop_init(&loop), 0);
	watch = host_watch_new(&loop, folder->path, folder->path, on_change, &changes);
	assert_true(tries_again(&loop));
	folder_put(folder, "swaps", ""); /* is not waited for */
	usleep(HOST_WATCH_RETRY_MS * 1000);
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(changes, 0);
	assert_true(tries_again(&loop));
	folder_put(folder, "1/mountinfo", "");
	usleep(HOST_WATCH_RETRY_MS * 1000);
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(changes, 1);
	assert_false(tries_again(&loop));
	host_watch_free(watch);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void mounts_that_can_be_opened_are_not_tried_again(void **state)
{
	struct host_watch *watch;
	uv_loop_t loop;
	int changes = 0;

	(void)state;
	assert_int_equal(uv_loop_init(&loop), 0);
	watch = host_watch_new(&loop, "/proc", "/sys", on_change, &changes);
	assert_false(tries_again(&loop));
	host_watch_free(watch);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void hurry(uv_handle_t *handle, void *arg)
{
	(void)arg;
	if (handle->type != UV_TIMER || !uv_is_active(handle))
		return;
	uv_timer_set_repeat((uv_timer_t *)handle, 1);
	uv_timer_again((uv_timer_t *)handle);
}

static void run_timers(uv_loop_t *loop)
{
	uv_walk(loop, hurry, NULL);
	usleep(3000);
	uv_run(loop, UV_RUN_NOWAIT);
}

/* Its proc tree is of no namespace of ours. Which routes matter is host_state's to say. */
static const struct {
	const char *file;
	const char *text;
	int changes; /* by then */
} routes[] = {
	{ "1/net/route", "Iface Destination\n", 1 },
	{ "1/net/route", "Iface Destination\n", 1 },
	{ "1/net/route", "Iface Destination\neth0 0\n", 2 },
	{ "1/net/fib_trie", "Id 100:\n /0 universe UNICAST\n", 3 },
	{ "1/net/ipv6_route", "short", 4 },
	{ "1/net/dev", "eth0: 7 7\n", 4 },
};

static void routes_of_another_namespace_are_compared(void **state)
{
	struct folder *folder = *state;
	struct host_watch *watch;
	uv_loop_t loop;
	int changes = 0;

	assert_int_equal(uv_loop_init(&loop), 0);
	folder_put(folder, "1/mountinfo", "");
	folder_put(folder, "1/net/dev", "");
	watch = host_watch_new(&loop, folder->path, folder->path, on_change, &changes);
	for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
		folder_put(folder, routes[i].file, routes[i].text);
		run_timers(&loop);
		assert_int_equal(changes, routes[i].changes);
	}
	host_watch_free(watch);
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
	suite_add(&suite, "mounts that can be opened are not tried again",
		  mounts_that_can_be_opened_are_not_tried_again, NULL);
	suite_fixture(&suite, &folder_fixture);
	suite_rows(&suite, cases, watch_opens_and_closes);
	suite_add(&suite, "mounts that were hidden are tried again, and seen is a change",
		  mounts_that_were_hidden_are_a_change, NULL);
	suite_add(&suite, "routes of another network namespace are compared",
		  routes_of_another_namespace_are_compared, NULL);
	return suite_run(&suite, "host_watch");
}
