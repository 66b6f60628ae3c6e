/* look: what becomes of a kernel that tells nothing of its devices. Scans and sockets are made
 * up. */
#include "agent/monitor/monitor.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include <uv.h>

#include "agent/monitor/host_watch.h"
#include "agent/monitor/rescan.h"
#include "agent/monitor/uevent.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/metrics.h"
#include "unit/suite.h"

/* In place of the others' files. */
struct scan {
	scan_done_fn *done;
	void *arg;
	unsigned starts;
	uv_loop_t *loop;
	uint64_t began_ms; /* by the loop */
};

static struct stage {
	struct scan scan;
	bool deaf;
	unsigned tries;
	const char *unread; /* of the scan that ends next */
	host_watch_fn *host_fn;
	void *host_arg;
	char proc_root[64];
} stage;

struct scan *scan_new(struct uv_loop_s *loop, const struct scan_options *options,
		      scan_done_fn *done, void *arg)
{
	(void)options;
	stage.scan = (struct scan){ .done = done, .arg = arg, .loop = loop };
	return &stage.scan;
}

struct scan *scan_free(struct scan *scan)
{
	(void)scan;
	return NULL;
}

void scan_set_node_address(struct scan *scan, const char *address)
{
	(void)scan;
	(void)address;
}

void scan_listen(struct scan *scan, void (*read)(void *arg, const struct facts *facts), void *arg)
{
	(void)scan;
	(void)read;
	(void)arg;
}

void scan_start(struct scan *scan)
{
	scan->starts++;
	scan->began_ms = uv_now(scan->loop);
}

int uevent_socket_new(struct uv_loop_s *loop, uevent_socket_fn *fn, void *arg,
		      struct uevent_socket **ret_socket, struct err *err)
{
	(void)loop;
	(void)fn;
	(void)arg;
	stage.tries++;
	if (stage.deaf)
		return err_set(err, ERR_RETRY, -EPERM, "open uevent socket: not permitted");
	*ret_socket = NULL;
	return 0;
}

struct uevent_socket *uevent_socket_free(struct uevent_socket *s)
{
	(void)s;
	return NULL;
}

const char *inventory_unread(const struct inventory *inventory)
{
	(void)inventory;
	return stage.unread;
}

struct host_watch *host_watch_new(struct uv_loop_s *loop, const char *proc_root,
				  const char *sysfs_root, host_watch_fn *fn, void *arg)
{
	(void)loop;
	(void)sysfs_root;
	(void)snprintf(stage.proc_root, sizeof(stage.proc_root), "%s", proc_root);
	stage.host_fn = fn;
	stage.host_arg = arg;
	return NULL;
}

struct host_watch *host_watch_free(struct host_watch *w)
{
	(void)w;
	return NULL;
}

/* Counts, where it is given what to count in. */
static void on_look(void *arg, struct inventory *inventory, const struct err *err)
{
	unsigned *told = arg;

	(void)inventory;
	(void)err;
	if (told)
		(*told)++;
}

static void assert_shows(const struct metrics *metrics, const char *line)
{
	auto_str struct str text = STR_INIT;

	metrics_write(metrics, &text);
	if (!strstr(str_cstr(&text), line))
		fail_msg("no '%s' in %s", line, str_cstr(&text));
}

static void assert_hears(const struct metrics *metrics, const char *wanted)
{
	auto_free char *line = xasprintf("\nhostdev_uevents_heard %s\n", wanted);

	assert_shows(metrics, line);
}

static void assert_host_hints(const struct metrics *metrics, unsigned wanted)
{
	auto_free char *line =
		xasprintf("\nhostdev_change_hints_total{source=\"host\"} %u\n", wanted);

	assert_shows(metrics, line);
}

static struct inventory found; /* not read */

/* One monitor, at once: it begins, and ends with @inventory. */
static void look_once_for(struct monitor *monitor, uv_loop_t *loop, struct inventory *inventory)
{
	unsigned before = stage.scan.starts;
	auto_free char *address = xasprintf("192.0.2.%u", before);

	monitor_set_node_address(monitor, address);
	while (stage.scan.starts == before)
		uv_run(loop, UV_RUN_ONCE);
	assert_int_equal(stage.scan.starts, before + 1);
	stage.scan.done(stage.scan.arg, inventory, &(struct err){ 0 });
}

static void look_once(struct monitor *monitor, uv_loop_t *loop)
{
	look_once_for(monitor, loop, &found);
}

SUITE_OBJECT(metrics, metrics_new(), metrics_free);

/* kernel-and-reliability row 20. */
static void a_kernel_that_tells_nothing_is_asked_again(void **state)
{
	struct metrics *metrics = *state;
	struct monitor_options options = { 0 };
	struct monitor *monitor;
	uv_loop_t loop;

	log_set_level(LOG_ERROR);
	stage = (struct stage){ .deaf = true };
	assert_int_equal(uv_loop_init(&loop), 0);
	monitor = monitor_new(&loop, &options, metrics, on_look, NULL);
	assert_hears(metrics, "0");
	look_once(monitor, &loop);
	assert_int_equal(stage.tries, 2);
	assert_hears(metrics, "0");
	stage.deaf = false;
	look_once(monitor, &loop);
	assert_int_equal(stage.tries, 3);
	assert_hears(metrics, "1");
	uv_run(&loop, UV_RUN_NOWAIT); /* what it did not tell meanwhile is looked at */
	assert_int_equal(stage.scan.starts, 3);
	monitor_free(monitor);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void a_kernel_that_tells_is_not_asked_again(void **state)
{
	struct metrics *metrics = *state;
	struct monitor_options options = { 0 };
	struct monitor *monitor;
	uv_loop_t loop;

	stage = (struct stage){ .deaf = false };
	assert_int_equal(uv_loop_init(&loop), 0);
	monitor = monitor_new(&loop, &options, metrics, on_look, NULL);
	look_once(monitor, &loop);
	assert_int_equal(stage.tries, 1);
	assert_hears(metrics, "1");
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(stage.scan.starts, 1);
	monitor_free(monitor);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

/* The last whole scan decides; one that failed changes nothing. */
static void what_hides_the_host_is_known(void **state)
{
	struct monitor_options options = { 0 };
	auto_str struct str reason = STR_INIT;
	struct monitor *monitor;
	uv_loop_t loop;

	stage = (struct stage){ .unread = "process 1 is hidden" };
	assert_int_equal(uv_loop_init(&loop), 0);
	monitor = monitor_new(&loop, &options, NULL, on_look, NULL);
	assert_true(monitor_sees_host(monitor, NULL));
	look_once(monitor, &loop);
	assert_false(monitor_sees_host(monitor, &reason));
	assert_string_equal(str_cstr(&reason),
			    "cannot read what the host uses: process 1 is hidden");
	stage.unread = NULL;
	look_once(monitor, &loop);
	assert_true(monitor_sees_host(monitor, NULL));
	stage.unread = "process 1 is hidden";
	look_once(monitor, &loop);
	look_once_for(monitor, &loop, NULL);
	assert_false(monitor_sees_host(monitor, NULL));
	monitor_free(monitor);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

/* A loop that is late: when a task ends, the scan after an earlier change is due already. In the
 * same millisecond it would count as older than the task. */
static void a_scan_is_later_than_what_it_is_to_see(void **state)
{
	struct monitor_options options = { 0 };
	struct monitor *monitor;
	uv_loop_t loop;

	stage = (struct stage){ .deaf = false };
	assert_int_equal(uv_loop_init(&loop), 0);
	monitor = monitor_new(&loop, &options, NULL, on_look, NULL);
	look_once(monitor, &loop);
	for (int i = 0; i < 10; i++) {
		unsigned before = stage.scan.starts;
		uint64_t ended_ms;

		monitor_scan_again(monitor);
		(void)usleep(25000);
		uv_update_time(&loop);
		ended_ms = uv_now(&loop);
		monitor_scan_again(monitor);
		while (stage.scan.starts == before)
			uv_run(&loop, UV_RUN_ONCE);
		assert_true(stage.scan.began_ms > ended_ms);
		stage.scan.done(stage.scan.arg, &found, &(struct err){ 0 });
	}
	monitor_free(monitor);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

/* What pods do is looked at with the next scan, which then comes within RESCAN_LATE_MS. */
static void what_may_have_changed_is_no_hint(void **state)
{
	struct metrics *metrics = *state;
	struct monitor_options options = { 0 };
	struct monitor *monitor;
	uv_loop_t loop;

	stage = (struct stage){ .deaf = false };
	assert_int_equal(uv_loop_init(&loop), 0);
	monitor = monitor_new(&loop, &options, metrics, on_look, NULL);
	look_once(monitor, &loop);
	assert_true(monitor_is_settled(monitor));
	stage.host_fn(stage.host_arg, HOST_CHANGE_POSSIBLE);
	assert_true(monitor_is_settled(monitor));
	assert_host_hints(metrics, 0);
	assert_in_range(uv_backend_timeout(&loop), RESCAN_LATE_MS - 1000, RESCAN_LATE_MS);
	stage.host_fn(stage.host_arg, HOST_CHANGE_SEEN);
	assert_false(monitor_is_settled(monitor));
	assert_host_hints(metrics, 1);
	assert_in_range(uv_backend_timeout(&loop), 0, RESCAN_LAZY_QUIET_MS);
	monitor_free(monitor);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

/* The next scan is begun and ended for somebody else. */
static void a_look_can_be_gone_on_with(void **state)
{
	struct monitor_options options = { 0 };
	struct monitor *monitor;
	uv_loop_t loop;
	unsigned first = 0;
	unsigned second = 0;

	stage = (struct stage){ .deaf = false };
	assert_int_equal(uv_loop_init(&loop), 0);
	monitor = monitor_new(&loop, &options, NULL, on_look, &first);
	assert_false(monitor_is_settled(monitor)); /* a scan is due  */
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_false(monitor_is_settled(monitor)); /* it runs        */
	monitor_scan_again(monitor);
	stage.scan.done(stage.scan.arg, &found, &(struct err){ 0 });
	assert_false(monitor_is_settled(monitor)); /* another is due */
	look_once(monitor, &loop);
	assert_true(monitor_is_settled(monitor));
	monitor_give(monitor, on_look, &second);
	assert_true(monitor_is_settled(monitor));
	look_once(monitor, &loop);
	assert_int_equal(first, 2);
	assert_int_equal(second, 1);
	monitor_free(monitor);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void the_hosts_proc_is_beside_its_sysfs(void **state)
{
	static const struct {
		const char *sysfs_root, *proc_root;
		const char *wanted;
	} rows[] = {
		{ NULL, NULL, "/sys/../proc" },
		{ "/host/sys", NULL, "/host/sys/../proc" },
		{ "/host/sys", "/host/proc", "/host/proc" },
		{ NULL, "/host/proc", "/host/proc" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct monitor_options options = { .scan = { .sysfs_root = rows[i].sysfs_root,
							     .proc_root = rows[i].proc_root } };
		uv_loop_t loop;

		stage = (struct stage){ 0 };
		assert_int_equal(uv_loop_init(&loop), 0);
		monitor_free(monitor_new(&loop, &options, NULL, on_look, NULL));
		uv_run(&loop, UV_RUN_DEFAULT);
		assert_int_equal(uv_loop_close(&loop), 0);
		assert_string_equal(stage.proc_root, rows[i].wanted);
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "what hides the host is known until a scan sees it again",
		  what_hides_the_host_is_known, NULL);
	suite_add(&suite, "the host's proc is beside its sysfs, unless it is said",
		  the_hosts_proc_is_beside_its_sysfs, NULL);
	suite_add(&suite, "a scan is later than what it is to see",
		  a_scan_is_later_than_what_it_is_to_see, NULL);
	suite_add(&suite, "who takes a look over is told what it finds", a_look_can_be_gone_on_with,
		  NULL);
	suite_fixture(&suite, &metrics_fixture);
	suite_add(&suite,
		  "row 20: a kernel that tells nothing is asked again, and that is measured",
		  a_kernel_that_tells_nothing_is_asked_again, NULL);
	suite_add(&suite, "what may have changed is no hint, and is looked at within a minute",
		  what_may_have_changed_is_no_hint, NULL);
	suite_add(&suite, "one that tells is not asked again",
		  a_kernel_that_tells_is_not_asked_again, NULL);
	return suite_run(&suite, "monitor");
}
