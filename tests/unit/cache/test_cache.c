#include "controller/cache/cache.h"

#include <string.h>

#include "base/str.h"
#include "kube/metrics.h"
#include "unit/cache/stage.h"

#define READY "{\"type\":\"Ready\",\"status\":\"True\"}"
#define GONE  "{\"type\":\"NodeReachable\",\"status\":\"False\",\"reason\":\"NodeGone\"}"
#define POD   "\"status\":{\"allocations\":[{\"namespace\":\"a\",\"pod\":\"b\",\"container\":\"c\"}]}"

static void hear(void *arg, enum view_kind kind, const char *name, const struct entry *before,
		 const struct entry *after)
{
	(void)name;
	view_count_on_change(arg, kind, before, after);
}

static void shows(const struct metrics *metrics, const char *series, int n)
{
	auto_str struct str text = STR_INIT;
	auto_free char *line = xasprintf("hostdev_cluster_%s} %d\n", series, n);

	metrics_write(metrics, &text);
	if (!strstr(str_cstr(&text), line))
		fail_msg("no %s in %s", line, str_cstr(&text));
}

static void what_comes_changes_and_goes_is_counted(void **state)
{
	struct metrics *metrics = metrics_new();
	struct view_count count;
	struct stage stage = { .hear = hear, .arg = &count };

	stage_open(&stage);
	view_count_init(&count, metrics);
	shows(metrics, "devices{kind=\"MediatedDevice\",state=\"allocated\"", 0);
	shows(metrics, "claims{kind=\"USBDeviceClaim\",ready=\"true\",reach=\"AgentNotRunning\"",
	      0);
	stage_put(&stage, VIEW_PCIDEVICE, "n-1", "");
	stage_put(&stage, VIEW_PCIDEVICE, "n-2", POD);
	shows(metrics, "devices{kind=\"PCIDevice\",state=\"free\"", 1);
	shows(metrics, "devices{kind=\"PCIDevice\",state=\"allocated\"", 1);
	stage_put(&stage, VIEW_PCIDEVICE, "n-1", POD);
	shows(metrics, "devices{kind=\"PCIDevice\",state=\"free\"", 0);
	shows(metrics, "devices{kind=\"PCIDevice\",state=\"allocated\"", 2);
	stage_remove(&stage, VIEW_PCIDEVICE, "n-1");
	shows(metrics, "devices{kind=\"PCIDevice\",state=\"allocated\"", 1);

	stage_put(&stage, VIEW_PCICLAIM, "n-2", "\"status\":{\"conditions\":[" READY "]}");
	shows(metrics, "claims{kind=\"PCIDeviceClaim\",ready=\"true\",reach=\"Reachable\"", 1);
	stage_put(&stage, VIEW_PCICLAIM, "n-2", "\"status\":{\"conditions\":[" READY "," GONE "]}");
	shows(metrics, "claims{kind=\"PCIDeviceClaim\",ready=\"true\",reach=\"Reachable\"", 0);
	shows(metrics, "claims{kind=\"PCIDeviceClaim\",ready=\"true\",reach=\"NodeGone\"", 1);
	stage_put(&stage, VIEW_NIC, "n-3", "");
	stage_close(&stage);
	metrics_free(metrics);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "what comes, changes and goes is counted",
		  what_comes_changes_and_goes_is_counted, NULL);
	return suite_run(&suite, "cache");
}
