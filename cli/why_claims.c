#include "cli/why_claims.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/json_map_read.h"
#include "api/json_values.h"
#include "api/object.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/client/lists.h"
#include "cli/client/session.h"
#include "cli/model/cluster.h"
#include "cli/model/dra.h"
#include "cli/model/dra_request.h"
#include "cli/print/device_json.h"
#include "cli/print/out_json.h"
#include "kube/url.h"
#include "text/table.h"

struct why_claim {
	char *in_pod; /* its name there                        */
	char *name;   /* of the object; NULL: it is not made yet */
	char *ns;
	struct json_strs lines; /* what is said of it */
	bool allocated;
	bool types[DRA_TYPES]; /* of the devices that it might get, by what its expressions name */
};

/* What is known while one pod's are read. Borrowed. */
struct reading {
	struct session *session;
	struct cluster *cluster;
	const struct lists_missing *missing;
	const json_t *pod;
	const char *ns;
	struct err *err;
};

/* --- objects ---------------------------------------------------------------------------------- */

/* -ENOENT, -EACCES, or the connection's. @ret_object: for api_object_free(). */
static int read_object(const struct reading *r, const struct api_kind *kind, const char *ns,
		       const char *name, void **ret_object)
{
	auto_str struct str path = STR_INIT;
	auto_answer struct session_answer answer = { 0 };
	void *object;
	int result;

	url_object(&path, kind, ns, name, NULL);
	result = session_ask(r->session,
			     &(struct kube_request){
				     .verb = "get",
				     .resource = kind->plural,
				     .method = "GET",
				     .path = str_cstr(&path),
			     },
			     &answer, r->err);
	if (result < 0)
		return result;
	object = xmalloc(kind->size);
	result = json_map_read(kind->map, answer.body, answer.len, object, r->err);
	if (result < 0) {
		free(object);
		return result;
	}
	*ret_object = object;
	return 0;
}

static void say(struct why_claim *claim, char *line)
{
	json_strs_add(&claim->lines, line);
	free(line);
}

/* --- a request -------------------------------------------------------------------------------- */

static int judge_request(const struct reading *r, const struct resourceclaim_request *request,
			 struct why_claim *claim)
{
	const struct resourceclaim_exactly *exactly = &request->exactly;
	auto_free char *number = dra_request_amount(exactly);
	auto_free char *lack = NULL;
	struct dra_request want;
	void *class = NULL;
	int result;

	if (!exactly->device_class) {
		say(claim,
		    xasprintf("request '%s' is a list of alternatives, which is not looked at",
			      request->name));
		return 0;
	}
	result = read_object(r, &dra_class_kind, NULL, exactly->device_class, &class);
	if (result < 0 && result != -ENOENT && result != -EACCES)
		return result;
	dra_request_read(exactly, class, &want);
	lack = result == -ENOENT ? xstrdup("there is no DeviceClass of that name: kubectl get "
					   "deviceclasses lists them")
				 : dra_request_lack(&want, exactly, r->cluster, r->missing->kinds);
	say(claim, xasprintf("request '%s' asks for %s of the DeviceClass %s: %s", request->name,
			     number, exactly->device_class, lack));
	for (int type = 0; type < DRA_TYPES; type++)
		claim->types[type] |= want.ours && result != -ENOENT && want.types[type];
	api_object_free(&dra_class_kind, class);
	dra_request_done(&want);
	return 0;
}

/* --- a claim ---------------------------------------------------------------------------------- */

/* Each request with access to devices that other claims have. Returns their number. */
static size_t say_admin(const struct resourceclaim *object, struct why_claim *claim)
{
	const struct resourceclaim_devices *devices = &object->status.allocation.devices;
	size_t len = 0;

	for (size_t i = 0; i < devices->results.len; i++) {
		const struct resourceclaim_result *result = &devices->results.items[i];

		if (!result->admin_access || strcmp(result->driver, DRA_DRIVER) != 0)
			continue;
		len++;
		say(claim, xasprintf("request '%s' has adminAccess, which " DRA_DRIVER
				     " does not support: it is never prepared",
				     result->request));
	}
	return len;
}

static void say_allocated(const struct reading *r, const struct resourceclaim *object,
			  struct why_claim *claim)
{
	const struct cluster_view *view = cluster_view(r->cluster);
	auto_free char *pods = dra_pods(object);
	size_t ours = say_admin(object, claim);

	for (size_t i = 0; i < view->len; i++) {
		const struct cluster_device *device = &view->devices[i];

		if (device->resource_claim != object)
			continue;
		ours++;
		say(claim, xasprintf("%s is allocated to it, %s", device->name,
				     dra_is_prepared(device, object)
					     ? "and prepared"
					     : "but not prepared yet: if that fails, events of the "
					       "pod say why (FailedPrepareDynamicResources)"));
	}
	if (ours == 0)
		say(claim, xstrdup("it is allocated, but to no device of hostdev that you may "
				   "read"));
	if (pods[0])
		say(claim, xasprintf("reserved for %s", pods));
}

static int judge_object(const struct reading *r, const struct resourceclaim *object,
			struct why_claim *claim)
{
	int result = 0;

	claim->allocated = object->status.allocation.devices.results.len > 0;
	if (claim->allocated) {
		say_allocated(r, object, claim);
		return 0;
	}
	for (size_t i = 0; result == 0 && i < object->spec.devices.requests.len; i++)
		result = judge_request(r, &object->spec.devices.requests.items[i], claim);
	return result;
}

/* "resource.k8s.io/v1" is there since Kubernetes 1.34. */
static bool is_served(const struct reading *r)
{
	return !(r->missing->kinds & ~r->missing->forbidden & CLUSTER_SET(CLUSTER_SLICE));
}

static int judge_claim(const struct reading *r, struct why_claim *claim)
{
	auto_free char *key = xasprintf("%s/%s", r->ns, claim->name);
	void *object = NULL;
	int result = read_object(r, &resourceclaim_kind, r->ns, claim->name, &object);

	if (result == -ENOENT && !is_served(r))
		say(claim, xstrdup("the API server does not have resource.k8s.io/v1, which hostdev "
				   "needs: update the cluster to Kubernetes 1.34"));
	else if (result == -ENOENT)
		say(claim, xstrdup("there is no such ResourceClaim: create it"));
	else if (result == -EACCES)
		say(claim, xstrdup("you may not read it (403 forbidden)"));
	if (result < 0)
		return result == -ENOENT || result == -EACCES ? 0 : result;
	cluster_put(r->cluster, CLUSTER_RESOURCECLAIM, object);
	return judge_object(r, cluster_get(r->cluster, CLUSTER_RESOURCECLAIM, key), claim);
}

/* kube-controller-manager makes a claim of a template. */
static int judge_template(const struct reading *r, const char *name, struct why_claim *claim)
{
	void *object = NULL;
	int result = read_object(r, &dra_template_kind, r->ns, name, &object);

	api_object_free(&dra_template_kind, object);
	if (result == -ENOENT)
		say(claim, xasprintf("there is no ResourceClaimTemplate '%s': create it", name));
	else if (result == 0 || result == -EACCES)
		say(claim,
		    xasprintf("it has not been made from the ResourceClaimTemplate '%s' yet: does "
			      "kube-controller-manager run?",
			      name));
	return result == -ENOENT || result == -EACCES ? 0 : result;
}

/* The name of the claim that was made for the pod; NULL: none has been. */
static const char *made_name(const json_t *pod, const char *in_pod)
{
	const json_t *statuses =
		json_object_get(json_object_get(pod, "status"), "resourceClaimStatuses");
	const json_t *one;
	size_t i;

	json_array_foreach (statuses, i, one) {
		if (strcmp(json_get_text(one, "name"), in_pod) == 0)
			return json_get_nonempty(one, "resourceClaimName");
	}
	return NULL;
}

static int judge(const struct reading *r, const json_t *entry, struct why_claim *claim)
{
	const char *template = json_get_nonempty(entry, "resourceClaimTemplateName");
	const char *name = json_get_nonempty(entry, "resourceClaimName");

	claim->in_pod = xstrdup(json_get_text(entry, "name"));
	claim->ns = xstrdup(r->ns);
	if (!name)
		name = made_name(r->pod, claim->in_pod);
	claim->name = xstrdup_or_null(name);
	if (name)
		return judge_claim(r, claim);
	return template ? judge_template(r, template, claim) : 0;
}

int why_claims_read(struct session *session, const json_t *pod, struct cluster *cluster,
		    const struct lists_missing *missing, struct why_claims *ret_claims,
		    struct err *err)
{
	const struct reading reading = {
		.session = session,
		.cluster = cluster,
		.missing = missing,
		.pod = pod,
		.ns = json_get_text(json_object_get(pod, "metadata"), "namespace"),
		.err = err,
	};
	const json_t *list = json_object_get(json_object_get(pod, "spec"), "resourceClaims");
	const json_t *entry;
	int result = 0;
	size_t i;

	*ret_claims = (struct why_claims){ 0 };
	json_array_foreach (list, i, entry) {
		if (result < 0)
			break;
		*array_add(ret_claims) = (struct why_claim){ 0 };
		result = judge(&reading, entry, &ret_claims->items[ret_claims->len - 1]);
	}
	return result;
}

void why_claims_done(struct why_claims *claims)
{
	for (size_t i = 0; i < claims->len; i++) {
		struct why_claim *claim = &claims->items[i];

		free(claim->in_pod);
		free(claim->name);
		free(claim->ns);
		json_strs_done(&claim->lines);
	}
	array_done(claims);
}

/* --- what is printed -------------------------------------------------------------------------- */

static const struct table_column columns[] = {
	{ .title = "DEVICE" },
	{ .title = "NODE", .least = TABLE_NAME_LEAST },
	{ .title = "STATE" },
	{ .title = "RESOURCECLAIM", .least = TABLE_NAME_LEAST },
	{ .title = "POD", .least = TABLE_NAME_LEAST },
};

/* Has it the device, or might it get it? */
static bool concerns(const struct why_claim *claim, const struct cluster_device *device)
{
	const struct resourceclaim *of = device->resource_claim;

	if (claim->allocated)
		return of && str_match(of->meta.name, claim->name) &&
		       str_match(of->meta.namespace_, claim->ns);
	return device->slice && claim->types[device->type];
}

static void add_row(struct table *table, const struct cluster_device *device)
{
	const struct state_look *look = state_look(device->verdict.state);
	const struct resourceclaim *of = device->resource_claim;
	auto_free char *name =
		of ? xasprintf("%s/%s", str_or_empty(of->meta.namespace_), of->meta.name) : NULL;
	auto_free char *pods = device_pods(device);

	table_add(table, device->name);
	table_add(table, device->node);
	table_add_coloured(table, look->word, look->colour);
	table_add(table, name ? name : "-");
	table_add(table, pods[0] ? pods : "-");
}

static void print_devices(const struct why_claim *claim, struct cluster *cluster, struct out *out)
{
	const struct cluster_view *view = cluster_view(cluster);
	struct table table;

	table_init(&table, columns, ARRAY_LEN(columns));
	for (size_t i = 0; i < view->len; i++) {
		if (concerns(claim, &view->devices[i]))
			add_row(&table, &view->devices[i]);
	}
	if (table.len > 0)
		table_print(&table, out, true, &out->text);
	table_done(&table);
}

static void print_line(struct out *out, const char *line)
{
	auto_str struct str clean = STR_INIT;

	out_text(&clean, line);
	str_add(&out->text, "  ");
	out_wrap(out, &out->text, str_cstr(&clean), 2, 4);
	str_add_char(&out->text, '\n');
}

/* "ResourceClaim default/a-nic-x7k2p, nic in the pod:" */
static void print_title(const struct why_claim *claim, struct out *out)
{
	str_add(&out->text, "\nResourceClaim ");
	if (claim->name) {
		out_text(&out->text, claim->ns);
		str_add_char(&out->text, '/');
		out_text(&out->text, claim->name);
		str_add(&out->text, ", ");
	}
	out_text(&out->text, claim->in_pod);
	str_add(&out->text, " in the pod:\n");
}

void why_claims_print(const struct why_claims *claims, struct cluster *cluster, struct out *out)
{
	for (size_t i = 0; i < claims->len; i++) {
		const struct why_claim *claim = &claims->items[i];

		print_title(claim, out);
		for (size_t k = 0; k < claim->lines.len; k++)
			print_line(out, claim->lines.items[k]);
		print_devices(claim, cluster, out);
	}
}

static json_t *claim_json(const struct why_claim *claim, struct cluster *cluster)
{
	const struct cluster_view *view = cluster_view(cluster);
	json_t *json = json_object();
	json_t *messages = json_array();
	json_t *devices = json_array();

	out_set_text(json, "nameInPod", claim->in_pod);
	out_set_text(json, "name", claim->name);
	json_object_set_new(json, "allocated", json_boolean(claim->allocated));
	for (size_t i = 0; i < claim->lines.len; i++)
		json_array_append_new(messages, json_string(claim->lines.items[i]));
	json_object_set_new(json, "messages", messages);
	for (size_t i = 0; i < view->len; i++) {
		if (concerns(claim, &view->devices[i]))
			json_array_append_new(devices, device_json(&view->devices[i]));
	}
	json_object_set_new(json, "devices", devices);
	return json;
}

json_t *why_claims_json(const struct why_claims *claims, struct cluster *cluster)
{
	json_t *list = json_array();

	for (size_t i = 0; i < claims->len; i++)
		json_array_append_new(list, claim_json(&claims->items[i], cluster));
	return list;
}
