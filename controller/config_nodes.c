#include "controller/config_nodes.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/hostdeviceconfig.h"
#include "api/names.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/cache/view.h"
#include "kube/apply.h"
#include "kube/informer.h"
#include "kube/reconcile.h"
#include "kube/store.h"

enum { AGAIN_MS = 60 * 1000 }; /* retry for a node that exists but is not in the cache yet */

struct config_nodes {
	struct config_nodes_deps deps;
	struct api_kind kind;        /* for reading Nodes */
	struct reconcile *reconcile; /* by name of the listed node, one at a time */
	struct kube_call *call;      /* the removal in flight; NULL: none */
	char *name;                  /* node of that removal, or of the last one */
	char *removed_at;            /* resourceVersion after that removal; NULL: it failed */
};

static const struct entry *config_of(const struct config_nodes *nodes)
{
	const struct entry *entry =
		store_get(informer_store(nodes->deps.configs), HOSTDEVICECONFIG_NAME);

	return entry && entry->object ? entry : NULL;
}

static const struct hostdeviceconfig_nodes *listed_nodes(const struct config_nodes *nodes)
{
	const struct entry *entry = config_of(nodes);
	const struct hostdeviceconfig *config = entry ? entry->object : NULL;

	return config ? &config->status.nodes : NULL;
}

/* True if the item of @name was removed but the cache does not show that yet. */
static bool is_removed(const struct config_nodes *nodes, const char *name)
{
	const struct entry *entry = config_of(nodes);

	return entry && nodes->removed_at && strcmp(nodes->name, name) == 0 &&
	       strcmp(nodes->removed_at, entry->version) == 0;
}

/* --- callbacks of struct reconcile_spec --- */

static bool is_listed(void *arg, const char *name, const void *object)
{
	const struct config_nodes *nodes = arg;
	const struct hostdeviceconfig_nodes *list = listed_nodes(nodes);

	(void)object;
	for (size_t i = 0; list && i < list->len; i++) {
		if (list->items[i].node && strcmp(list->items[i].node, name) == 0)
			return !is_removed(nodes, name);
	}
	return false;
}

static void plan_node(void *arg, const struct reconcile_view *view, struct decision *ret_decision)
{
	(void)arg;
	if (!view->object)
		ret_decision->step = STEP_ACT;
	else if (view->fresh)
		ret_decision->again_ms = AGAIN_MS;
}

static void on_removed(void *arg, int result, const struct kube_response *response,
		       const struct err *err)
{
	struct config_nodes *nodes = arg;

	(void)response;
	nodes->call = NULL;
	if (result < 0 && result != -ENOENT) {
		free(take_ptr(nodes->removed_at));
		reconcile_failed(nodes->reconcile, nodes->name, err);
		return;
	}
	if (result == 0)
		log_info("deleted node removed from the HostDeviceConfig",
			 log_str("node", nodes->name));
	reconcile_acted(nodes->reconcile, nodes->name);
}

/* Uses the field manager of the node's agent, which owns these fields, so other fields are not
 * touched. */
static bool remove_item(void *arg, const struct reconcile_view *view,
			const struct decision *decision)
{
	struct config_nodes *nodes = arg;
	auto_free char *label = names_label_value(view->key);
	auto_free char *manager = xasprintf("hostdev-agent-%s", label);
	auto_json json_t *nothing = json_pack("{s:{}}", "status");

	(void)decision;
	free(nodes->name);
	free(nodes->removed_at);
	nodes->name = xstrdup(view->key);
	nodes->removed_at = xstrdup(config_of(nodes)->version);
	nodes->call = apply_send(nodes->deps.client,
				 &(struct apply_request){ .kind = &hostdeviceconfig_kind,
							  .name = HOSTDEVICECONFIG_NAME,
							  .subresource = "status",
							  .field_manager = manager,
							  .force = true,
							  .object = nothing },
				 on_removed, nodes);
	return true;
}

/* --- the module's functions --- */

void config_nodes_on_change(struct config_nodes *nodes, const char *name)
{
	reconcile_changed(nodes->reconcile, name);
}

void config_nodes_enqueue_all(struct config_nodes *nodes)
{
	const struct hostdeviceconfig_nodes *list = listed_nodes(nodes);

	for (size_t i = 0; list && i < list->len; i++) {
		if (list->items[i].node)
			reconcile_enqueue(nodes->reconcile, list->items[i].node);
	}
}

struct config_nodes *config_nodes_new(const struct config_nodes_deps *deps)
{
	struct config_nodes *nodes = xcalloc(1, sizeof(*nodes));

	nodes->deps = *deps;
	nodes->kind = view_kind(VIEW_NODE);
	nodes->reconcile = reconcile_new(&(struct reconcile_spec){
		.name = "hostdeviceconfigs",
		.kind = &nodes->kind,
		.objects = deps->nodes,
		.max_running = 1,
		.leads = deps->leads,
		.leads_arg = deps->arg,
		.is_ours = is_listed,
		.plan = plan_node,
		.act = remove_item,
		.arg = nodes,
		.client = deps->client,
		.clock = deps->clock,
		.metrics = deps->metrics,
	});
	return nodes;
}

struct config_nodes *config_nodes_free(struct config_nodes *nodes)
{
	if (!nodes)
		return NULL;
	if (nodes->call)
		kube_call_cancel(nodes->call);
	reconcile_free(nodes->reconcile);
	free(nodes->name);
	free(nodes->removed_at);
	free(nodes);
	return NULL;
}
