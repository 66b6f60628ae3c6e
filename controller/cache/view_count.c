#include "controller/cache/view_count.h"

#include "base/mem.h"
#include "controller/cache/reach.h"
#include "kube/metrics.h"
#include "kube/store.h"

static const struct metric_desc devices_desc = {
	.name = "hostdev_cluster_devices",
	.help = "Devices of all nodes by kind and whether they are allocated to containers.",
	.type = METRIC_GAUGE,
	.labels = { "kind", "state" },
};

static const struct metric_desc claims_desc = {
	.name = "hostdev_cluster_claims",
	.help = "Claims of all nodes by kind, condition Ready and state of the node.",
	.type = METRIC_GAUGE,
	.labels = { "kind", "ready", "reach" },
};

static const char *const kind_texts[VIEW_KINDS] = {
	[VIEW_PCIDEVICE] = "PCIDevice",           [VIEW_USBDEVICE] = "USBDevice",
	[VIEW_MEDIATEDDEVICE] = "MediatedDevice", [VIEW_PCICLAIM] = "PCIDeviceClaim",
	[VIEW_USBCLAIM] = "USBDeviceClaim",
};

static const char *reach_text(enum reach reach)
{
	return reach == REACH_UNKNOWN || reach == REACH_OK ? "Reachable" : reach_reason(reach);
}

static void add_device(const struct view_count *count, enum view_kind kind, bool allocated,
		       int64_t amount)
{
	metric_add(count->devices, amount,
		   (const char *const[]){ kind_texts[kind], allocated ? "allocated" : "free" });
}

static void add_claim(const struct view_count *count, enum view_kind kind, bool ready,
		      enum reach reach, int64_t amount)
{
	metric_add(count->claims, amount,
		   (const char *const[]){ kind_texts[kind], ready ? "true" : "false",
					  reach_text(reach) });
}

void view_count_init(struct view_count *count, struct metrics *metrics)
{
	static const enum view_kind devices[] = { VIEW_PCIDEVICE, VIEW_USBDEVICE,
						  VIEW_MEDIATEDDEVICE };
	static const enum view_kind claims[] = { VIEW_PCICLAIM, VIEW_USBCLAIM };

	count->devices = metrics_family(metrics, &devices_desc);
	count->claims = metrics_family(metrics, &claims_desc);
	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		add_device(count, devices[i], false, 0);
		add_device(count, devices[i], true, 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(claims); i++) {
		for (enum reach reach = REACH_OK; reach < REACH_LEN; reach++) {
			add_claim(count, claims[i], false, reach, 0);
			add_claim(count, claims[i], true, reach, 0);
		}
	}
}

static void count_add(const struct view_count *count, enum view_kind kind,
		      const struct entry *entry, int64_t amount)
{
	const struct view *view = entry->object;

	if (!view)
		return;
	if (kind == VIEW_PCICLAIM || kind == VIEW_USBCLAIM)
		add_claim(count, kind, view->ready, view->reach, amount);
	else
		add_device(count, kind, view->allocated, amount);
}

void view_count_on_change(const struct view_count *count, enum view_kind kind,
			  const struct entry *before, const struct entry *after)
{
	if (!kind_texts[kind])
		return;
	if (before)
		count_add(count, kind, before, -1);
	if (after)
		count_add(count, kind, after, 1);
}
