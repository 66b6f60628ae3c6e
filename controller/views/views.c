#include "controller/views/views.h"

#include <assert.h>
#include <stdlib.h>

#include "api/hostdeviceconfig.h"
#include "base/mem.h"
#include "kube/informer.h"

/* A watched kind. */
struct watched {
	struct views *views;
	enum view_kind kind;
	struct api_kind api;
	struct informer *informer;
};

struct views {
	struct views_spec spec;
	struct views_listener listeners[VIEWS_LISTENERS_MAX]; /* on_change NULL: unused */
	struct watched watched[VIEW_KINDS];
	const struct store *stores[VIEW_KINDS];
	const struct informer *informers[VIEW_KINDS];
	bool told; /* on_synced was called */
};

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct watched *watched = arg;
	const struct views *views = watched->views;

	views->spec.on_change(views->spec.arg, watched->kind, name, before, after);
	for (size_t i = 0; i < VIEWS_LISTENERS_MAX; i++) {
		const struct views_listener *listener = &views->listeners[i];

		if (listener->on_change)
			listener->on_change(listener->arg, watched->kind, name, before, after);
	}
}

static void on_synced(void *arg)
{
	struct watched *watched = arg;
	struct views *views = watched->views;

	if (views->told || views_waiting(views))
		return;
	views->told = true;
	views->spec.on_synced(views->spec.arg);
}

#define CONFIG_ALONE "metadata.name=" HOSTDEVICECONFIG_NAME

static void watch(struct views *views, enum view_kind kind, const struct informer_deps *deps)
{
	struct watched *watched = &views->watched[kind];
	bool agents = kind == VIEW_AGENT;

	*watched = (struct watched){ .views = views, .kind = kind, .api = view_kind(kind) };
	if (agents)
		watched->api.ns = views->spec.agents_ns;
	watched->informer = informer_new(
		deps, &(struct informer_spec){
			      .kind = &watched->api,
			      .label_selector = agents ? views->spec.agents_selector : NULL,
			      .field_selector = kind == VIEW_CONFIG ? CONFIG_ALONE : NULL,
			      .optional = kind == VIEW_VM,
			      .handlers = { .on_change = on_change, .on_synced = on_synced },
			      .arg = watched,
		      });
	views->stores[kind] = informer_store(watched->informer);
	views->informers[kind] = watched->informer;
}

static bool is_watched(const struct views *views, enum view_kind kind)
{
	if (kind == VIEW_AGENT)
		return views->spec.agents_selector != NULL;
	return kind != VIEW_VM || views->spec.machines;
}

struct views *views_new(const struct informer_deps *deps, const struct views_spec *spec)
{
	struct views *views = xcalloc(1, sizeof(*views));

	views->spec = *spec;
	for (int i = 0; i < VIEW_KINDS; i++)
		watch(views, (enum view_kind)i, deps);
	for (int i = 0; i < VIEW_KINDS; i++) {
		if (is_watched(views, (enum view_kind)i))
			informer_start(views->watched[i].informer);
	}
	return views;
}

struct views *views_free(struct views *views)
{
	if (!views)
		return NULL;
	for (int i = 0; i < VIEW_KINDS; i++)
		informer_free(views->watched[i].informer);
	free(views);
	return NULL;
}

void views_listen(struct views *views, const struct views_listener *listener)
{
	size_t i = 0;

	while (i < VIEWS_LISTENERS_MAX && views->listeners[i].on_change)
		i++;
	assert(i < VIEWS_LISTENERS_MAX);
	views->listeners[i] = *listener;
}

void views_forget(struct views *views, const void *arg)
{
	for (size_t i = 0; i < VIEWS_LISTENERS_MAX; i++) {
		if (views->listeners[i].arg == arg)
			views->listeners[i] = (struct views_listener){ 0 };
	}
}

const struct store *const *views_stores(const struct views *views)
{
	return views->stores;
}

const struct informer *const *views_informers(const struct views *views)
{
	return views->informers;
}

bool views_synced(const struct views *views, enum view_kind kind)
{
	return informer_synced(views->watched[kind].informer);
}

const char *views_line(const struct views *views, enum view_kind kind)
{
	return informer_text(views->watched[kind].informer);
}

bool views_installed(const struct views *views, enum view_kind kind)
{
	return informer_installed(views->watched[kind].informer);
}

/* The parts that read virtual machines check for them separately: nothing else must wait for
 * KubeVirt. */
const char *views_waiting(const struct views *views)
{
	for (int i = 0; i < VIEW_KINDS; i++) {
		enum view_kind kind = (enum view_kind)i;

		if (kind != VIEW_VM && is_watched(views, kind) && !views_synced(views, kind))
			return views_line(views, kind);
	}
	return NULL;
}
