#include "agent/nvidia/nvidia_elsewhere.h"

#include <stdlib.h>

#include "agent/node/this_node.h"
#include "agent/plugin/allocatable.h"
#include "agent/plugin/podresources.h"
#include "agent/plugin/socket_sweep.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"

struct nvidia_elsewhere {
	const struct this_node *node;
	struct nvidia_elsewhere_deps deps;
	struct allocatable *allocatable;
	struct clock_timer *again;
	char *socket;       /* of NVIDIA's plugin; NULL: there is none                    */
	uint64_t missed_ms; /* since when it is not there any more; 0: it is there        */
	char *listed;       /* what the kubelet has said twice of another one; NULL: none */
	bool doubted;       /* it has said once that this is not so                       */
	char *why;          /* one of both, as a sentence                                 */
	bool known;
	uint64_t ask_ms; /* not before */
};

/* A change of `socket` or `listed`; `known` may have changed, too. */
static void conclude(struct nvidia_elsewhere *e, bool was_known)
{
	auto_free char *why = NULL;
	bool same;

	if (e->socket)
		why = xasprintf("NVIDIA's device plugin runs on the node: it serves %s", e->socket);
	else if (e->listed)
		why = xasprintf("another device plugin offers %s on the node", e->listed);
	same = str_equal(why, e->why);
	if (!same && why)
		log_warn("GPUs are not offered while another device plugin offers them",
			 log_str("reason", why));
	else if (!same)
		log_info("no other device plugin offers the GPUs any more");
	str_set(&e->why, why);
	if (!same || was_known != e->known)
		e->deps.changed(e->deps.arg);
}

/* --- the kubelet ------------------------------------------------------------------------------ */

/* The first device that another plugin has; the caller frees. The devices of a resource, which can
 * be thousands, follow each other. */
static char *find_foreign(const struct nvidia_elsewhere *e, const struct pod_devices *devices)
{
	const struct nvidia_elsewhere_deps *deps = &e->deps;
	bool offers = deps->offers(deps->arg);
	const char *resource = NULL;
	bool wanted = false;

	for (size_t i = 0; i < devices->len; i++) {
		const struct pod_device *device = &devices->items[i];

		if (!str_equal(resource, device->resource))
			wanted = deps->wants(deps->arg, device->resource);
		resource = device->resource;
		if (wanted && !(offers && deps->has(deps->arg, device->device)))
			return xasprintf("%s, with the device '%s',", device->resource,
					 device->device);
	}
	return NULL;
}

static void ask(void *arg)
{
	struct nvidia_elsewhere *e = arg;

	e->ask_ms = clock_now_ms(e->node->clock) + ELSEWHERE_CHECK_MS;
	allocatable_ask(e->allocatable);
}

/* What is not believed yet is asked for again soon. */
static void doubt(struct nvidia_elsewhere *e)
{
	e->doubted = true;
	if (e->listed)
		e->ask_ms = clock_now_ms(e->node->clock) + ELSEWHERE_GONE_MS;
	else
		clock_timer_start(e->node->clock, e->again, ELSEWHERE_AGAIN_MS);
}

/* One that offers them, or may, is asked for at each look. Of another one that it lists, the first
 * device is as good as the others. */
static void on_answer(void *arg, const struct pod_devices *devices, const struct err *err)
{
	struct nvidia_elsewhere *e = arg;
	auto_free char *foreign = devices ? find_foreign(e, devices) : NULL;
	bool differs = !foreign != !e->listed;
	bool was_known = e->known;

	if (err)
		log_debug("other device plugins are not known", log_str("reason", err->msg));
	if (err && (e->listed || e->doubted)) {
		e->ask_ms = 0;
		return;
	}
	if (differs && !e->doubted) {
		doubt(e);
		return;
	}
	e->doubted = false;
	if (differs)
		str_set(&e->listed, foreign);
	if (foreign)
		e->ask_ms = 0;
	e->known = true;
	conclude(e, was_known);
}

/* --- looks ------------------------------------------------------------------------------------ */

/* Has the socket been away long enough to be believed? A kubelet that starts removes the sockets of
 * all plugins, which then make them again. */
static bool is_gone(struct nvidia_elsewhere *e)
{
	uint64_t now_ms = clock_now_ms(e->node->clock);

	if (e->missed_ms == 0)
		e->missed_ms = now_ms;
	return now_ms - e->missed_ms >= ELSEWHERE_GONE_MS;
}

/* NVIDIA's has one for each of its resources, "nvidia-gpu.sock", "nvidia-mig-1g.5gb.sock". */
void nvidia_elsewhere_look(struct nvidia_elsewhere *e)
{
	auto_free char *folder = xasprintf("%s/device-plugins", e->node->kubelet_dir);
	auto_free char *path = socket_find(folder, "nvidia-*.sock");

	if (e->socket && !path && !is_gone(e))
		return;
	e->missed_ms = 0;
	if (e->socket && path)
		return;
	str_set(&e->socket, path);
	conclude(e, e->known);
}

void nvidia_elsewhere_ask(struct nvidia_elsewhere *e)
{
	if (clock_now_ms(e->node->clock) >= e->ask_ms)
		ask(e);
}

const char *nvidia_elsewhere_why(const struct nvidia_elsewhere *e)
{
	return e->why;
}

bool nvidia_elsewhere_known(const struct nvidia_elsewhere *e)
{
	return e->known;
}

/* --- life ------------------------------------------------------------------------------------- */

struct nvidia_elsewhere *nvidia_elsewhere_new(const struct this_node *node,
					      const struct nvidia_elsewhere_deps *deps)
{
	struct nvidia_elsewhere *e = xcalloc(1, sizeof(*e));
	auto_free char *path = xasprintf("%s/pod-resources/kubelet.sock", node->kubelet_dir);

	e->node = node;
	e->deps = *deps;
	e->again = clock_timer_new(node->clock, ask, e);
	e->allocatable = allocatable_new(&(struct allocatable_deps){ .loop = node->loop,
								     .clock = node->clock,
								     .socket_path = path,
								     .answered = on_answer,
								     .arg = e });
	return e;
}

struct nvidia_elsewhere *nvidia_elsewhere_free(struct nvidia_elsewhere *e)
{
	if (!e)
		return NULL;
	allocatable_free(e->allocatable);
	clock_timer_free(e->node->clock, e->again);
	free(e->socket);
	free(e->listed);
	free(e->why);
	free(e);
	return NULL;
}
