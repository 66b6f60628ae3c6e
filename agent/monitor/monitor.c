#include "agent/monitor/monitor.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "agent/inventory/inventory.h"
#include "agent/monitor/host_watch.h"
#include "agent/monitor/rescan.h"
#include "agent/monitor/uevent.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/metrics.h"

static const struct metric_desc scans_desc = {
	.name = "hostdev_scans_total",
	.help = "Scans of the node's devices by result.",
	.type = METRIC_COUNTER,
	.labels = { "result" },
};

static const struct metric_desc duration_desc = {
	.name = "hostdev_scan_duration_seconds",
	.help = "Duration of a scan, from the start of the helper to the inventory.",
	.type = METRIC_SECONDS,
	.buckets_ms = { 5, 10, 25, 50, 100, 250, 500, 1000, 5000 },
};

static const struct metric_desc hints_desc = {
	.name = "hostdev_change_hints_total",
	.help = "Hints that devices may have changed, by source.",
	.type = METRIC_COUNTER,
	.labels = { "source" },
};

static const struct metric_desc heard_desc = {
	.name = "hostdev_uevents_heard",
	.help = "1 while the agent receives uevents, 0 while only scans find changes.",
	.type = METRIC_GAUGE,
};

struct monitor {
	struct rescan rescan;
	struct scan *scan;
	struct uevent_socket *uevents;
	struct host_watch *host;
	uv_timer_t timer;
	uint64_t began_ms;
	char *node_address;
	char *unread; /* what the last scan could not see, or NULL */

	struct metric *scans;
	struct metric *duration;
	struct metric *hints;
	struct metric *hears;
	monitor_fn *fn;
	void *arg;
	uint64_t hinted_ms; /* when a device changed, or a task ended, last */
	void (*heard)(void *arg);
	void *heard_arg;
};

static void on_timer(uv_timer_t *timer);

static void arm(struct monitor *monitor)
{
	uint64_t due = rescan_due(&monitor->rescan);
	uint64_t now;

	uv_update_time(monitor->timer.loop);
	now = uv_now(monitor->timer.loop);
	if (due == RESCAN_NEVER)
		uv_timer_stop(&monitor->timer);
	else
		uv_timer_start(&monitor->timer, on_timer, due > now ? due - now : 0, 0);
}

/* Show the possible labels from the start. */
static void show(const struct monitor *monitor)
{
	static const char *const results[] = { "ok", "failed" };
	static const char *const sources[] = { "uevent", "uevents lost", "host", "transition",
					       "node address" };

	for (size_t i = 0; i < ARRAY_LEN(results); i++)
		metric_show(monitor->scans, &results[i]);
	for (size_t i = 0; i < ARRAY_LEN(sources); i++)
		metric_show(monitor->hints, &sources[i]);
}

static void hint(struct monitor *monitor, enum rescan_urgency urgency, const char *source)
{
	metric_count(monitor->hints, source);
	uv_update_time(monitor->timer.loop);
	rescan_hint(&monitor->rescan, urgency, uv_now(monitor->timer.loop));
	if (urgency == RESCAN_DEVICE)
		monitor->hinted_ms = uv_now(monitor->timer.loop);
	arm(monitor);
}

/* A scan that begins in the millisecond of a hint would not count as later than what the hint is
 * about (attempt_is_newer()), and nothing would ask for another scan. */
static void on_timer(uv_timer_t *timer)
{
	struct monitor *monitor = timer->data;

	if (uv_now(timer->loop) <= monitor->hinted_ms) {
		uv_timer_start(timer, on_timer, 1, 0);
		return;
	}
	monitor->began_ms = uv_now(timer->loop);
	log_debug("scan starts");
	rescan_begin(&monitor->rescan);
	scan_start(monitor->scan);
}

static void on_uevent(void *arg, enum uevent_hint kind, bool lost)
{
	const struct monitor *monitor = arg;

	if (monitor->heard && kind == UEVENT_DEVICE)
		monitor->heard(monitor->heard_arg);
	hint(arg, kind == UEVENT_DEVICE ? RESCAN_DEVICE : RESCAN_LAZY,
	     lost ? "uevents lost" : "uevent");
}

/* What could not be opened is tried again after each scan. */
static void listen_to_kernel(struct monitor *monitor)
{
	bool was_deaf = monitor->rescan.deaf;
	struct err err = { 0 };

	monitor->rescan.deaf = uevent_socket_new(monitor->timer.loop, on_uevent, monitor,
						 &monitor->uevents, &err) < 0;
	metric_set(monitor->hears, monitor->rescan.deaf ? 0 : 1, NULL);
	if (monitor->rescan.deaf && !was_deaf)
		log_warn("no uevents, scanning periodically", log_str("reason", err.msg),
			 log_int("interval_ms", RESCAN_DEAF_MS));
	if (!monitor->rescan.deaf && was_deaf) {
		log_info("receiving uevents again");
		hint(monitor, RESCAN_NOW, "uevents lost");
	}
}

static void on_scanned(void *arg, struct inventory *inventory, const struct err *err)
{
	struct monitor *monitor = arg;

	uv_update_time(monitor->timer.loop);
	rescan_end(&monitor->rescan, inventory != NULL, uv_now(monitor->timer.loop));
	log_debug("scan ended",
		  log_int("ms", (int64_t)(uv_now(monitor->timer.loop) - monitor->began_ms)));
	metric_count(monitor->scans, inventory ? "ok" : "failed");
	metric_observe(monitor->duration, uv_now(monitor->timer.loop) - monitor->began_ms, NULL);
	if (!inventory)
		log_error("scan of the devices failed, keeping the last result",
			  log_str("reason", err->msg));
	if (inventory)
		str_set(&monitor->unread, inventory_unread(inventory));
	if (monitor->rescan.deaf)
		listen_to_kernel(monitor);
	arm(monitor);
	monitor->fn(monitor->arg, inventory, err);
}

/* The late scan is asked for without a known change, so it does not count as a hint. */
static void on_host_change(void *arg, enum host_change change)
{
	struct monitor *monitor = arg;

	if (change == HOST_CHANGE_SEEN) {
		hint(monitor, RESCAN_LAZY, "host");
		return;
	}
	uv_update_time(monitor->timer.loop);
	rescan_hint(&monitor->rescan, RESCAN_LATE, uv_now(monitor->timer.loop));
	arm(monitor);
}

struct monitor *monitor_new(struct uv_loop_s *loop, const struct monitor_options *options,
			    struct metrics *metrics, monitor_fn *fn, void *arg)
{
	const char *sysfs_root = options->scan.sysfs_root ? options->scan.sysfs_root : "/sys";
	auto_free char *beside = xasprintf("%s/../proc", sysfs_root);
	const char *proc_root = options->scan.proc_root ? options->scan.proc_root : beside;
	struct monitor *monitor = xcalloc(1, sizeof(*monitor));

	*monitor = (struct monitor){ .fn = fn, .arg = arg };
	monitor->rescan.interval_ms = options->interval_ms;
	monitor->scans = metrics_family(metrics, &scans_desc);
	monitor->duration = metrics_family(metrics, &duration_desc);
	monitor->hints = metrics_family(metrics, &hints_desc);
	monitor->hears = metrics_family(metrics, &heard_desc);
	show(monitor);
	monitor->scan = scan_new(loop, &options->scan, on_scanned, monitor);
	uv_timer_init(loop, &monitor->timer);
	monitor->timer.data = monitor;
	monitor->host = host_watch_new(loop, proc_root, sysfs_root, on_host_change, monitor);
	listen_to_kernel(monitor);
	hint(monitor, RESCAN_NOW, "start");
	return monitor;
}

static void on_closed(uv_handle_t *handle)
{
	struct monitor *monitor = handle->data;

	free(monitor->node_address);
	free(monitor->unread);
	free(monitor);
}

struct monitor *monitor_free(struct monitor *monitor)
{
	if (!monitor)
		return NULL;
	scan_free(monitor->scan);
	uevent_socket_free(monitor->uevents);
	host_watch_free(monitor->host);
	uv_close((uv_handle_t *)&monitor->timer, on_closed);
	return NULL;
}

void monitor_give(struct monitor *monitor, monitor_fn *fn, void *arg)
{
	monitor->fn = fn;
	monitor->arg = arg;
}

bool monitor_is_settled(const struct monitor *monitor)
{
	return !monitor->rescan.running && !monitor->rescan.wanted;
}

bool monitor_sees_host(const struct monitor *monitor, struct str *reason)
{
	if (monitor->unread && reason)
		str_addf(reason, "cannot read what the host uses: %s", monitor->unread);
	return !monitor->unread;
}

void monitor_scan_again(struct monitor *monitor)
{
	hint(monitor, RESCAN_DEVICE, "transition");
}

void monitor_listen(struct monitor *monitor, void (*heard)(void *arg), void *arg)
{
	monitor->heard = heard;
	monitor->heard_arg = arg;
}

void monitor_listen_early(struct monitor *monitor,
			  void (*read)(void *arg, const struct facts *facts), void *arg)
{
	scan_listen(monitor->scan, read, arg);
}

void monitor_set_node_address(struct monitor *monitor, const char *address)
{
	const char *old = monitor->node_address ? monitor->node_address : "";

	if (strcmp(old, address ? address : "") == 0)
		return;
	str_set(&monitor->node_address, address);
	scan_set_node_address(monitor->scan, address);
	hint(monitor, RESCAN_NOW, "node address");
}
