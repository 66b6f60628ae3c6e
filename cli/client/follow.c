#include "cli/client/follow.h"

#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/mem.h"
#include "cli/client/lists.h"
#include "cli/client/session.h"
#include "kube/clock.h"
#include "kube/informer.h"
#include "kube/store.h"

struct follow {
	struct clock *clock;
	struct kind {
		struct follow *follow;
		enum cluster_kind kind;
		struct informer *informer;
		char *labels; /* selectors; NULL: none */
		char *fields;
	} kinds[CLUSTER_KINDS];
	size_t len;
	bool changed;
};

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct kind *kind = arg;

	(void)name;
	(void)before;
	(void)after;
	kind->follow->changed = true;
}

static void open_kind(struct follow *follow, enum cluster_kind what, const struct lists_want *want,
		      const struct informer_deps *deps)
{
	struct kind *kind = &follow->kinds[follow->len++];

	*kind = (struct kind){ .follow = follow, .kind = what };
	lists_select(want, what, &kind->labels, &kind->fields);
	kind->informer = informer_new(deps, &(struct informer_spec){
						    .kind = cluster_kind(what),
						    .label_selector = kind->labels,
						    .field_selector = kind->fields,
						    .optional = true,
						    .handlers = { .on_change = on_change },
						    .arg = kind,
					    });
	informer_start(kind->informer);
}

struct follow *follow_new(struct session *session, const struct lists_want *want)
{
	struct follow *follow = xcalloc(1, sizeof(*follow));
	struct informer_deps deps = { .client = session_client(session) };

	follow->clock = clock_new(session_loop(session));
	follow->changed = true;
	deps.clock = follow->clock;
	for (int kind = 0; kind < CLUSTER_KINDS; kind++) {
		if (want->kinds & CLUSTER_SET(kind))
			open_kind(follow, (enum cluster_kind)kind, want, &deps);
	}
	return follow;
}

struct follow *follow_free(struct follow *follow)
{
	if (!follow)
		return NULL;
	for (size_t i = 0; i < follow->len; i++) {
		informer_free(follow->kinds[i].informer);
		free(follow->kinds[i].labels);
		free(follow->kinds[i].fields);
	}
	clock_free(follow->clock);
	free(follow);
	return NULL;
}

bool follow_changed(struct follow *follow)
{
	for (size_t i = 0; i < follow->len; i++) {
		struct informer *informer = follow->kinds[i].informer;

		if (!informer_synced(informer) && !informer_error(informer)[0])
			return false;
	}
	if (!follow->changed)
		return false;
	follow->changed = false;
	return true;
}

static void fill_kind(const struct kind *kind, struct cluster *cluster)
{
	const struct store *store = informer_store(kind->informer);
	const struct entry *entry;
	size_t cursor = 0;

	while ((entry = store_next(store, &cursor)) != NULL) {
		if (entry->object)
			cluster_put(cluster, kind->kind,
				    api_object_copy(cluster_kind(kind->kind), entry->object));
	}
	if (kind->kind == CLUSTER_NODE && informer_synced(kind->informer) &&
	    store_unreadable(store) == 0)
		cluster_know_nodes(cluster);
}

void follow_fill(const struct follow *follow, struct cluster *cluster)
{
	for (size_t i = 0; i < follow->len; i++)
		fill_kind(&follow->kinds[i], cluster);
}

const char *follow_error(const struct follow *follow)
{
	for (size_t i = 0; i < follow->len; i++) {
		const char *error = informer_error(follow->kinds[i].informer);

		/* A kind that could not be listed at first was reported then. */
		if (error[0] && informer_synced(follow->kinds[i].informer) &&
		    informer_installed(follow->kinds[i].informer))
			return error;
	}
	return "";
}
