#include "agent/look/look.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "agent/inventory/inventory.h"
#include "agent/look/host_watch.h"
#include "agent/look/rescan.h"
#include "agent/look/uevent.h"
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

struct look {
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
	look_fn *fn;
	void *arg;
	uint64_t hinted_ms; /* when a device changed, or a task ended, last */
	void (*heard)(void *arg);
	void *heard_arg;
};

static void on_timer(uv_timer_t *timer);

static void arm(struct look *look)
{
	uint64_t due = rescan_due(&look->rescan);
	uint64_t now;

	uv_update_time(look->timer.loop);
	now = uv_now(look->timer.loop);
	if (due == RESCAN_NEVER)
		uv_timer_stop(&look->timer);
	else
		uv_timer_start(&look->timer, on_timer, due > now ? due - now : 0, 0);
}

/* What there can be, from the start. */
static void show(const struct look *look)
{
	static const char *const results[] = { "ok", "failed" };
	static const char *const sources[] = { "uevent", "uevents lost", "host", "transition",
					       "node address" };

	for (size_t i = 0; i < ARRAY_LEN(results); i++)
		metric_show(look->scans, &results[i]);
	for (size_t i = 0; i < ARRAY_LEN(sources); i++)
		metric_show(look->hints, &sources[i]);
}

static void hint(struct look *look, enum rescan_urgency urgency, const char *source)
{
	metric_count(look->hints, source);
	uv_update_time(look->timer.loop);
	rescan_hint(&look->rescan, urgency, uv_now(look->timer.loop));
	if (urgency == RESCAN_DEVICE)
		look->hinted_ms = uv_now(look->timer.loop);
	arm(look);
}

/* A scan that begins in the millisecond of a hint would not count as later than what the hint is
 * about (attempt_is_newer()), and nothing would ask for another scan. */
static void on_timer(uv_timer_t *timer)
{
	struct look *look = timer->data;

	if (uv_now(timer->loop) <= look->hinted_ms) {
		uv_timer_start(timer, on_timer, 1, 0);
		return;
	}
	look->began_ms = uv_now(timer->loop);
	log_debug("scan starts");
	rescan_begin(&look->rescan);
	scan_start(look->scan);
}

static void on_uevent(void *arg, enum uevent_hint kind, bool lost)
{
	const struct look *look = arg;

	if (look->heard && kind == UEVENT_DEVICE)
		look->heard(look->heard_arg);
	hint(arg, kind == UEVENT_DEVICE ? RESCAN_DEVICE : RESCAN_LAZY,
	     lost ? "uevents lost" : "uevent");
}

/* What cannot be had is tried again after each scan. */
static void listen_to_kernel(struct look *look)
{
	bool was_deaf = look->rescan.deaf;
	struct err err = { 0 };

	look->rescan.deaf =
		uevent_socket_new(look->timer.loop, on_uevent, look, &look->uevents, &err) < 0;
	metric_set(look->hears, look->rescan.deaf ? 0 : 1, NULL);
	if (look->rescan.deaf && !was_deaf)
		log_warn("no uevents, scanning periodically", log_str("reason", err.msg),
			 log_int("interval_ms", RESCAN_DEAF_MS));
	if (!look->rescan.deaf && was_deaf) {
		log_info("receiving uevents again");
		hint(look, RESCAN_NOW, "uevents lost");
	}
}

static void on_scanned(void *arg, struct inventory *inventory, const struct err *err)
{
	struct look *look = arg;

	uv_update_time(look->timer.loop);
	rescan_end(&look->rescan, inventory != NULL, uv_now(look->timer.loop));
	log_debug("scan ended",
		  log_int("ms", (int64_t)(uv_now(look->timer.loop) - look->began_ms)));
	metric_count(look->scans, inventory ? "ok" : "failed");
	metric_observe(look->duration, uv_now(look->timer.loop) - look->began_ms, NULL);
	if (!inventory)
		log_error("scan of the devices failed, keeping the last result",
			  log_str("reason", err->msg));
	if (inventory) {
		free(look->unread);
		look->unread = xstrdup_or_null(inventory_unread(inventory));
	}
	if (look->rescan.deaf)
		listen_to_kernel(look);
	arm(look);
	look->fn(look->arg, inventory, err);
}

static void on_host_change(void *arg)
{
	hint(arg, RESCAN_LAZY, "host");
}

struct look *look_new(struct uv_loop_s *loop, const struct look_options *options,
		      struct metrics *metrics, look_fn *fn, void *arg)
{
	const char *sysfs_root = options->scan.sysfs_root ? options->scan.sysfs_root : "/sys";
	auto_free char *beside = xasprintf("%s/../proc", sysfs_root);
	const char *proc_root = options->scan.proc_root ? options->scan.proc_root : beside;
	struct look *look = xcalloc(1, sizeof(*look));

	*look = (struct look){ .fn = fn, .arg = arg };
	look->rescan.interval_ms = options->interval_ms;
	look->scans = metrics_family(metrics, &scans_desc);
	look->duration = metrics_family(metrics, &duration_desc);
	look->hints = metrics_family(metrics, &hints_desc);
	look->hears = metrics_family(metrics, &heard_desc);
	show(look);
	look->scan = scan_new(loop, &options->scan, on_scanned, look);
	uv_timer_init(loop, &look->timer);
	look->timer.data = look;
	look->host = host_watch_new(loop, proc_root, on_host_change, look);
	listen_to_kernel(look);
	hint(look, RESCAN_NOW, "start");
	return look;
}

static void on_closed(uv_handle_t *handle)
{
	struct look *look = handle->data;

	free(look->node_address);
	free(look->unread);
	free(look);
}

struct look *look_free(struct look *look)
{
	if (!look)
		return NULL;
	scan_free(look->scan);
	uevent_socket_free(look->uevents);
	host_watch_free(look->host);
	uv_close((uv_handle_t *)&look->timer, on_closed);
	return NULL;
}

void look_give(struct look *look, look_fn *fn, void *arg)
{
	look->fn = fn;
	look->arg = arg;
}

bool look_is_settled(const struct look *look)
{
	return !look->rescan.running && !look->rescan.wanted;
}

bool look_sees_host(const struct look *look, struct str *reason)
{
	if (look->unread && reason)
		str_addf(reason, "cannot read what the host uses: %s", look->unread);
	return !look->unread;
}

void look_again(struct look *look)
{
	hint(look, RESCAN_DEVICE, "transition");
}

void look_listen(struct look *look, void (*heard)(void *arg), void *arg)
{
	look->heard = heard;
	look->heard_arg = arg;
}

void look_set_node_address(struct look *look, const char *address)
{
	const char *old = look->node_address ? look->node_address : "";

	if (strcmp(old, address ? address : "") == 0)
		return;
	free(look->node_address);
	look->node_address = xstrdup_or_null(address);
	scan_set_node_address(look->scan, address);
	hint(look, RESCAN_NOW, "node address");
}
