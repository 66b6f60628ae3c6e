#include "controller/views/views.h"

#include <stdlib.h>

#include "base/mem.h"
#include "kube/informer.h"

/* One kind. */
struct watched {
	struct views *views;
	enum view_kind kind;
	struct api_kind api;
	struct informer *informer;
};

struct views {
	struct views_spec spec;
	struct watched watched[VIEW_KINDS];
	const struct store *stores[VIEW_KINDS];
	bool told; /* on_synced has been called */
};

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct watched *watched = arg;
	const struct views_spec *spec = &watched->views->spec;

	spec->on_change(spec->arg, watched->kind, name, before, after);
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
			      .handlers = { on_change, on_synced },
			      .arg = watched,
		      });
	views->stores[kind] = informer_store(watched->informer);
}

static bool is_watched(const struct views *views, enum view_kind kind)
{
	return kind != VIEW_AGENT || views->spec.agents_selector;
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

const struct store *const *views_stores(const struct views *views)
{
	return views->stores;
}

const char *views_waiting(const struct views *views)
{
	for (int i = 0; i < VIEW_KINDS; i++) {
		struct informer *informer = views->watched[i].informer;

		if (is_watched(views, (enum view_kind)i) && !informer_synced(informer))
			return informer_text(informer);
	}
	return NULL;
}
