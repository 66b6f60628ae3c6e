#include "cli/why_pod.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/json_values.h"
#include "api/names.h"
#include "api/node.h"
#include "api/pcidevice.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "cli/client/lists.h"
#include "cli/client/pod_facts.h"
#include "cli/command.h"
#include "cli/model/cluster.h"
#include "cli/print/device_json.h"
#include "cli/why_claims.h"
#include "text/table.h"

/* A resource that devices are offered as, and how many of it the pod requests. */
struct request {
	const char *resource; /* borrowed from the pod */
	long long wanted;
};

struct requests {
	struct request *items;
	size_t len, cap;
};

/* --- the pod ---------------------------------------------------------------------------------- */

static int read_pod(struct command_run *run, const char *word, json_t **ret_pod, struct err *err)
{
	const char *slash = strchr(word, '/');
	auto_free char *ns = xstrndup(word, (size_t)(slash - word));

	return pod_read(run->session, ns, slash + 1, ret_pod, err);
}

static struct request *request_of(struct requests *requests, const char *resource)
{
	for (size_t i = 0; i < requests->len; i++) {
		if (strcmp(requests->items[i].resource, resource) == 0)
			return &requests->items[i];
	}
	*array_add(requests) = (struct request){ .resource = resource };
	return &requests->items[requests->len - 1];
}

/* Containers run side by side, so their requests add up; init containers run one after the
 * other. */
static void add_requests(const json_t *containers, bool side_by_side, struct requests *requests)
{
	const json_t *container;
	size_t i;

	json_array_foreach (containers, i, container) {
		json_t *limits = json_object_get(json_object_get(container, "resources"), "limits");
		const char *key;
		json_t *value;

		json_object_foreach (limits, key, value) {
			const char *text = json_string_value(value);
			long long wanted =
				text ? strtoll(text, NULL, 10) : json_integer_value(value);
			struct request *request;

			if (!names_valid_offered_resource(key))
				continue;
			request = request_of(requests, key);
			if (side_by_side)
				request->wanted += wanted;
			else if (wanted > request->wanted)
				request->wanted = wanted;
		}
	}
}

/* Why it does not run: what the scheduler says, else the pod's own message. */
static const char *message_of(const json_t *status)
{
	const json_t *conditions = json_object_get(status, "conditions");
	const char *own = json_string_value(json_object_get(status, "message"));
	const json_t *one;
	size_t i;

	json_array_foreach (conditions, i, one) {
		const char *type = json_string_value(json_object_get(one, "type"));
		const char *is = json_string_value(json_object_get(one, "status"));

		if (type && is && strcmp(type, "PodScheduled") == 0 && strcmp(is, "False") == 0)
			return json_string_value(json_object_get(one, "message"));
	}
	return own;
}

static const char *phase_of(const json_t *pod)
{
	return str_or_empty(
		json_string_value(json_object_get(json_object_get(pod, "status"), "phase")));
}

static const char *node_of(const json_t *pod)
{
	return json_string_value(json_object_get(json_object_get(pod, "spec"), "nodeName"));
}

/*
 * Why the pod does not start on its node: the node lists fewer of the resource than it requests.
 * The scheduler does not choose such a node, but a pod with spec.nodeName never meets the
 * scheduler, and devices may become unhealthy. NULL: the node lists enough, or is not known. The
 * caller frees.
 */
static char *lack_of(struct cluster *cluster, const json_t *pod, const struct request *request)
{
	const char *name = node_of(pod);
	const struct node *node = name ? cluster_get(cluster, CLUSTER_NODE, name) : NULL;
	const char *phase = phase_of(pod);
	uint64_t listed = 0;
	const char *text;

	if (!node || strcmp(phase, "Running") == 0 || strcmp(phase, "Succeeded") == 0)
		return NULL;
	text = json_pairs_get(&node->status.allocatable, request->resource);
	if (text && (!str_to_u64(text, &listed) || (long long)listed >= request->wanted))
		return NULL;
	return text ? xasprintf("node '%s' lists %s of it as allocatable, so its kubelet does not "
				"start the pod",
				name, text)
		    : xasprintf("node '%s' does not list it as allocatable, so its kubelet does "
				"not start the pod",
				name);
}

/* --- what is printed -------------------------------------------------------------------------- */

static const struct table_column columns[] = {
	{ .title = "DEVICE" },
	{ .title = "NODE", .least = TABLE_NAME_LEAST },
	{ .title = "STATE" },
	{ .title = "POD", .least = TABLE_NAME_LEAST },
	{ .title = "MESSAGE", .wraps = true },
};

static void add_field(struct out *out, const char *label, const char *text)
{
	if (!text || !*text)
		return;
	str_addf(&out->text, "%-10s", label);
	out_wrap(out, &out->text, text, 10, 10);
	str_add_char(&out->text, '\n');
}

static void add_row(struct table *table, const struct cluster_device *device)
{
	const struct state_look *look = state_look(device->verdict.state);
	const struct pcidevice_allocations *list = device->allocations;
	auto_free char *pod = list && list->len > 0 ? xasprintf("%s/%s", list->items[0].namespace,
								list->items[0].pod)
						    : NULL;

	table_add(table, device->name);
	table_add(table, device->node);
	table_add_coloured(table, look->word, look->colour);
	table_add(table, pod ? pod : "-");
	table_add(table, device->verdict.message);
}

static void print_request(struct cluster *cluster, const json_t *pod, const struct request *request,
			  struct out *out)
{
	const struct cluster_view *view = cluster_view(cluster);
	auto_free char *lack = lack_of(cluster, pod, request);
	size_t offered = 0, available = 0;
	struct table table;

	table_init(&table, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < view->len; i++) {
		const struct cluster_device *device = &view->devices[i];

		if (strcmp(device->resource, request->resource) != 0)
			continue;
		offered++;
		available += device->verdict.state == STATE_AVAILABLE;
		add_row(&table, device);
	}
	str_add(&out->text, "\n");
	out_text(&out->text, request->resource);
	str_addf(&out->text, ": %lld requested, %zu of %zu devices with this name available\n",
		 request->wanted, available, offered);
	add_field(out, "Warning:", lack);
	if (table.len > 0)
		table_print(&table, out, true, &out->text);
	table_done(&table);
}

static void print_text(const json_t *pod, const char *word, struct cluster *cluster,
		       const struct requests *requests, const struct why_claims *claims,
		       struct out *out)
{
	add_field(out, "Pod:", word);
	add_field(out, "Phase:", phase_of(pod));
	add_field(out, "Node:", node_of(pod));
	add_field(out, "Message:", message_of(json_object_get(pod, "status")));
	if (requests->len + claims->len == 0)
		str_add(&out->text,
			"\nIt requests no resource that devices are offered as, and has "
			"no ResourceClaim.\n");
	for (size_t i = 0; i < requests->len; i++)
		print_request(cluster, pod, &requests->items[i], out);
	why_claims_print(claims, cluster, out);
}

static void print_json(const json_t *pod, const char *word, struct cluster *cluster,
		       const struct requests *requests, const struct why_claims *claims,
		       struct out *out)
{
	const struct cluster_view *view = cluster_view(cluster);
	json_t *list = json_array();
	auto_json json_t *all = json_pack("{ss,so}", "pod", word, "resources", list);

	out_set_text(all, "message", message_of(json_object_get(pod, "status")));
	for (size_t i = 0; i < requests->len; i++) {
		const struct request *request = &requests->items[i];
		auto_free char *lack = lack_of(cluster, pod, request);
		json_t *devices = json_array();
		json_t *json;

		for (size_t k = 0; k < view->len; k++) {
			if (strcmp(view->devices[k].resource, request->resource) == 0)
				json_array_append_new(devices, device_json(&view->devices[k]));
		}
		json = json_pack("{ss,sI,so}", "name", request->resource, "requested",
				 (json_int_t)request->wanted, "devices", devices);
		out_set_text(json, "message", lack);
		json_array_append_new(list, json);
	}
	if (claims->len > 0)
		json_object_set_new(all, "resourceClaims", why_claims_json(claims, cluster));
	out_json(out, all);
}

/* What is read for a pod. */
struct sight {
	json_t *pod;
	struct cluster *cluster;
	struct lists_missing missing;
	struct why_claims claims;
};

static void sight_done(struct sight *sight)
{
	why_claims_done(&sight->claims);
	cluster_free(sight->cluster);
	json_decref(sight->pod);
}

/* The devices that DRA offers, and who has them, only for a pod that has claims. */
static int read_all(struct command_run *run, const char *word, struct sight *sight, struct err *err)
{
	unsigned kinds = CLUSTER_DEVICES | CLUSTER_CARDS | CLUSTER_SET(CLUSTER_NODE);
	struct lists_want want = { 0 };
	struct lists_missing *missing = &sight->missing;
	bool claiming;
	int r = read_pod(run, word, &sight->pod, err);

	if (r < 0)
		return r;
	claiming = json_array_size(json_object_get(json_object_get(sight->pod, "spec"),
						   "resourceClaims")) > 0;
	want.kinds = want.optional = kinds | (claiming ? CLUSTER_SET(CLUSTER_SLICE) : 0);
	r = lists_read(run->session, &want, sight->cluster, missing, err);
	if (r == 0 && claiming)
		r = lists_read_dra(run->session, CLUSTER_SET(CLUSTER_RESOURCECLAIM), sight->cluster,
				   missing, err);
	if (r == 0)
		r = why_claims_read(run->session, sight->pod, sight->cluster, missing,
				    &sight->claims, err);
	return r;
}

int why_pod(struct command_run *run, const char *word)
{
	struct sight sight = { 0 };
	struct requests requests = { 0 };
	struct err err = { 0 };
	const json_t *spec;
	unsigned hidden;

	if (!strchr(word, '/'))
		return command_misused(run, "name the pod as NAMESPACE/NAME, not '%s'", word);
	if (!command_session(run))
		return COMMAND_FAILED;
	sight.cluster = cluster_new();
	if (read_all(run, word, &sight, &err) < 0) {
		sight_done(&sight);
		return command_fail(run, &err);
	}
	command_tell_missing(&sight.missing, ~0U);
	hidden = sight.missing.forbidden & CLUSTER_CLAIMS;
	cluster_hide_claims(sight.cluster, hidden, hidden);
	spec = json_object_get(sight.pod, "spec");
	add_requests(json_object_get(spec, "containers"), true, &requests);
	add_requests(json_object_get(spec, "initContainers"), false, &requests);
	if (out_is_json(&run->out))
		print_json(sight.pod, word, sight.cluster, &requests, &sight.claims, &run->out);
	else
		print_text(sight.pod, word, sight.cluster, &requests, &sight.claims, &run->out);
	array_done(&requests);
	sight_done(&sight);
	return out_flush(&run->out) ? COMMAND_OK : COMMAND_FAILED;
}
