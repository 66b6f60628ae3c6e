#include "controller/config_nodes.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/hostdeviceconfig.h"
#include "api/names.h"
#include "api/node.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/apply.h"
#include "kube/fetch.h"
#include "kube/store.h"
#include "kube/workq_run.h"

enum { ASK_AGAIN_MS = 60 * 1000 }; /* about a node that is there, but not in the views yet */

struct config_nodes {
	struct config_nodes_deps deps;
	struct workq_run *queue; /* of names of nodes, one at a time */
	/* What is under way; NULL: nothing. */
	struct kube_call *call;
	const char *name; /* the queue's, until end */
	work_end_fn *end;
	void *end_arg;
};

static const struct hostdeviceconfig_nodes *listed(const struct config_nodes *nodes)
{
	const struct hostdeviceconfig *object =
		store_object(nodes->deps.configs, HOSTDEVICECONFIG_NAME);

	return object ? &object->status.nodes : NULL;
}

static bool is_listed(const struct config_nodes *nodes, const char *name)
{
	const struct hostdeviceconfig_nodes *list = listed(nodes);

	for (size_t i = 0; list && i < list->len; i++) {
		if (list->items[i].node && strcmp(list->items[i].node, name) == 0)
			return true;
	}
	return false;
}

static void end(struct config_nodes *nodes, int result, const struct err *err)
{
	nodes->call = NULL;
	nodes->end(nodes->end_arg, result, err);
}

static void on_removed(void *arg, int result, const struct kube_response *response,
		       const struct err *err)
{
	struct config_nodes *nodes = arg;

	(void)response;
	if (result == 0)
		log_info("what a deleted node had in the HostDeviceConfig is removed",
			 log_str("node", nodes->name));
	end(nodes, result == -ENOENT ? 0 : result, err);
}

/* In the name of the node's own agent, whose fields these are: nobody else's are touched. */
static struct kube_call *send_removal(struct config_nodes *nodes)
{
	auto_free char *label = names_label_value(nodes->name);
	auto_free char *manager = xasprintf("hostdev-agent-%s", label);
	auto_json json_t *nothing = json_pack("{s:{}}", "status");

	return apply_send(nodes->deps.client,
			  &(struct apply_request){ .kind = &hostdeviceconfig_kind,
						   .name = HOSTDEVICECONFIG_NAME,
						   .subresource = "status",
						   .field_manager = manager,
						   .force = true,
						   .object = nothing },
			  on_removed, nodes);
}

static void on_asked(void *arg, int result, const struct kube_response *response,
		     const struct err *err)
{
	struct config_nodes *nodes = arg;
	struct err cause = *err;

	if (result == -ENOENT && fetch_says_gone(response, nodes->name)) {
		if (is_listed(nodes, nodes->name) && nodes->deps.leads(nodes->deps.arg))
			nodes->call = send_removal(nodes);
		else
			end(nodes, 0, NULL);
		return;
	}
	if (result == 0)
		workq_run_add_after(nodes->queue, nodes->name, ASK_AGAIN_MS);
	if (result == -ENOENT) /* that says nothing of the node */
		err_set(&cause, ERR_RETRY, -EIO, "%s", err->msg);
	end(nodes, result, &cause);
}

static void work(void *arg, const char *name, work_end_fn *end_fn, void *end_arg)
{
	struct config_nodes *nodes = arg;

	if (!is_listed(nodes, name) || store_get(nodes->deps.nodes, name)) {
		end_fn(end_arg, 0, NULL);
		return;
	}
	nodes->name = name;
	nodes->end = end_fn;
	nodes->end_arg = end_arg;
	nodes->call = fetch_object(nodes->deps.client, &node_kind, name, on_asked, nodes);
}

void config_nodes_gone(struct config_nodes *nodes, const char *name)
{
	workq_run_add(nodes->queue, name);
}

void config_nodes_look(struct config_nodes *nodes)
{
	const struct hostdeviceconfig_nodes *list = listed(nodes);

	for (size_t i = 0; list && i < list->len; i++) {
		if (list->items[i].node)
			workq_run_add(nodes->queue, list->items[i].node);
	}
}

struct config_nodes *config_nodes_new(const struct config_nodes_deps *deps)
{
	struct config_nodes *nodes = xcalloc(1, sizeof(*nodes));

	nodes->deps = *deps;
	nodes->queue = workq_run_new(&(struct workq_run_spec){ .name = "configs",
							       .max_running = 1,
							       .work = work,
							       .arg = nodes,
							       .clock = deps->clock,
							       .metrics = deps->metrics });
	config_nodes_look(nodes);
	return nodes;
}

struct config_nodes *config_nodes_free(struct config_nodes *nodes)
{
	if (!nodes)
		return NULL;
	if (nodes->call) {
		kube_call_cancel(nodes->call);
		end(nodes, 0, NULL);
	}
	workq_run_free(nodes->queue);
	free(nodes);
	return NULL;
}
