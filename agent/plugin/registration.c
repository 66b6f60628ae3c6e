#include "agent/plugin/registration.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/plugin/direct.h"
#include "agent/plugin/registration_codec.h"
#include "agent/plugin/registry.h"
#include "base/err.h"
#include "base/mem.h"
#include "kube/metrics.h"

/* One of two ways. */
struct registration {
	struct direct *direct;
	struct registry *registry;
	char *resource;
	const struct registration_ops *ops;
	void *arg;
	char *last_error; /* the last one; NULL: it was DONE, or nothing was reported */
	bool known;       /* the kubelet has it, according to the last state */
	struct metric *registrations;
	struct metric *registered;
};

static const struct metric_desc registrations_desc = {
	.name = "hostdev_kubelet_registrations_total",
	.help = "Registrations of resources with the kubelet by result.",
	.type = METRIC_COUNTER,
	.labels = { "resource", "way", "result" },
};

static const struct metric_desc registered_desc = {
	.name = "hostdev_kubelet_registered",
	.help = "1 while the resource is registered with the kubelet.",
	.type = METRIC_GAUGE,
	.labels = { "resource" },
};

static void set_registered(struct registration *r, bool registered)
{
	r->known = registered;
	metric_set(r->registered, registered, (const char *const[]){ r->resource });
}

static const char *way_text(const struct registration *r)
{
	return r->registry ? "registry" : "direct";
}

/* The same failure is counted each time and reported once. */
static void on_state(void *arg, enum registration_state state, const struct err *err)
{
	struct registration *r = arg;

	metric_count(r->registrations, r->resource, way_text(r), err ? "failed" : "done");
	set_registered(r, !err);
	if (err && r->last_error && strcmp(r->last_error, err->msg) == 0)
		return;
	free(r->last_error);
	r->last_error = err ? xstrdup(err->msg) : NULL;
	r->ops->on_state(r->arg, state, err);
}

static void on_begins(void *arg)
{
	const struct registration *r = arg;

	if (r->ops->begins)
		r->ops->begins(r->arg);
}

static bool on_clear(void *arg)
{
	const struct registration *r = arg;

	return r->ops->clear && r->ops->clear(r->arg);
}

static const struct registration_ops way_ops = { on_state, on_begins, on_clear };

static struct registry *registry_begin(struct registration *r, const struct registration_deps *deps,
				       const char *socket_path)
{
	auto_free char *path = registry_socket_path(deps->registry_dir, r->resource);
	const struct plugin_info info = { .type = "DevicePlugin",
					  .name = r->resource,
					  .endpoint = socket_path,
					  .versions = { PLUGIN_API_VERSION } };

	return registry_new(deps, &info, path, &way_ops, r);
}

enum registration_mode registration_way(enum registration_mode mode, const char *registry_dir)
{
	struct stat st;

	if (mode != REGISTRATION_AUTO)
		return mode;
	return stat(registry_dir, &st) == 0 && S_ISDIR(st.st_mode) ? REGISTRATION_REGISTRY
								   : REGISTRATION_DIRECT;
}

struct registration *registration_new(const struct registration_deps *deps, const char *resource,
				      const char *socket_path, const struct registration_ops *ops,
				      void *arg)
{
	struct registration *r = xcalloc(1, sizeof(*r));

	r->resource = xstrdup(resource);
	r->ops = ops;
	r->arg = arg;
	r->registrations = metrics_family(deps->metrics, &registrations_desc);
	r->registered = metrics_family(deps->metrics, &registered_desc);
	if (registration_way(deps->mode, deps->registry_dir) == REGISTRATION_REGISTRY)
		r->registry = registry_begin(r, deps, socket_path);
	else
		r->direct = direct_new(deps, resource, socket_path, &way_ops, r);
	registration_show(r);
	return r;
}

void registration_show(const struct registration *r)
{
	metric_show(r->registrations, (const char *const[]){ r->resource, way_text(r), "done" });
	metric_show(r->registrations, (const char *const[]){ r->resource, way_text(r), "failed" });
	metric_set(r->registered, r->known, (const char *const[]){ r->resource });
}

void registration_show_none(const struct registration_deps *deps, const char *resource)
{
	metric_set(metrics_family(deps->metrics, &registered_desc), 0,
		   (const char *const[]){ resource });
}

void registration_forget(const struct registration_deps *deps, const char *resource)
{
	metric_forget(metrics_family(deps->metrics, &registrations_desc), resource);
	metric_forget(metrics_family(deps->metrics, &registered_desc), resource);
}

struct registration *registration_free(struct registration *r)
{
	if (!r)
		return NULL;
	set_registered(r, false);
	direct_free(r->direct);
	registry_free(r->registry);
	free(r->last_error);
	free(r->resource);
	free(r);
	return NULL;
}

void registration_again(struct registration *r)
{
	set_registered(r, false);
	if (r->direct)
		direct_again(r->direct);
	else
		registry_again(r->registry);
}
