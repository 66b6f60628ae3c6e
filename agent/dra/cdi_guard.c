#include "agent/dra/cdi_guard.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/dra/cdi_spec.h"
#include "agent/dra/prepared.h"
#include "agent/plugin/kubelet_watch.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "kube/metrics.h"

/* The files of one claim. */
struct kept {
	const struct cdi_guard *guard;
	const struct prepared_claim *claim;
	struct kubelet_listener *listener;
	bool lost; /* the last attempt to write them failed */
};

struct cdi_guard {
	struct kubelet_watch *watch;
	const struct cdi_place *place;
	struct map *kept; /* by UID */
	struct metric *restored;
};

static const struct metric_desc restored_desc = {
	.name = "hostdev_dra_files_restored_total",
	.help = "Writes of the files of a prepared ResourceClaim that were gone, by result.",
	.type = METRIC_COUNTER,
	.labels = { "result" },
};

static void restore(struct kept *kept)
{
	struct err err = { 0 };
	int r = cdi_spec_write(kept->guard->place, kept->claim, &err);

	if (r != 0)
		metric_count(kept->guard->restored, r < 0 ? "failed" : "done");
	if (r == CDI_SPEC_WRITTEN)
		log_warn("the files of a prepared ResourceClaim were gone, and are written again",
			 log_str("namespace", kept->claim->ns), log_str("claim", kept->claim->name),
			 log_str("folder", kept->guard->place->cdi_dir));
	if (r < 0 && !kept->lost)
		log_error("the files of a prepared ResourceClaim are gone, so its containers "
			  "cannot start again",
			  log_str("namespace", kept->claim->ns),
			  log_str("claim", kept->claim->name), log_str("reason", err.msg));
	kept->lost = r < 0;
}

static void on_kubelet(void *arg, enum kubelet_event event)
{
	struct kept *kept = arg;

	if (event == KUBELET_TOOK_OWN || (event == KUBELET_POLLED && kept->lost))
		restore(kept);
}

static void kept_free(void *arg)
{
	struct kept *kept = arg;

	if (!kept)
		return;
	kubelet_listener_free(kept->listener);
	free(kept);
}

struct cdi_guard *cdi_guard_new(struct kubelet_watch *watch, const struct cdi_place *place,
				struct metrics *metrics)
{
	struct cdi_guard *guard = xcalloc(1, sizeof(*guard));

	guard->watch = watch;
	guard->place = place;
	guard->kept = map_new();
	guard->restored = metrics_family(metrics, &restored_desc);
	metric_show(guard->restored, (const char *const[]){ "done" });
	metric_show(guard->restored, (const char *const[]){ "failed" });
	return guard;
}

struct cdi_guard *cdi_guard_free(struct cdi_guard *guard)
{
	if (!guard)
		return NULL;
	map_free_with(guard->kept, kept_free);
	free(guard);
	return NULL;
}

void cdi_guard_add(struct cdi_guard *guard, const struct prepared_claim *claim)
{
	struct kept *kept = xcalloc(1, sizeof(*kept));
	auto_free char *path = cdi_spec_path(guard->place, claim->uid);

	kept->guard = guard;
	kept->claim = claim;
	kept->lost = access(path, F_OK) < 0;
	/* Watch the folder, too: it may have been created for this file. */
	kubelet_watch_also(guard->watch, guard->place->cdi_dir);
	kept->listener = kubelet_watch_listen(guard->watch, path, on_kubelet, kept);
	kept_free(map_set(guard->kept, claim->uid, kept));
}

void cdi_guard_remove(struct cdi_guard *guard, const struct prepared_claim *claim)
{
	kept_free(map_remove(guard->kept, claim->uid));
}
