#include "kube/apply.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/kind.h"
#include "api/names.h"
#include "api/object.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/url.h"

static const char apply_type[] = "application/apply-patch+yaml";

/* The object as JSON text with apiVersion, kind and name filled in. */
static char *body_of(const struct apply_request *request)
{
	auto_free char *api_version = api_kind_api_version(request->kind);
	auto_json json_t *object = json_deep_copy(request->object);
	json_t *meta;

	if (!object)
		abort();
	json_put_text(object, "apiVersion", api_version);
	json_put_text(object, "kind", request->kind->kind);
	meta = json_object_get(object, "metadata");
	if (!meta) {
		meta = json_object();
		json_put(object, "metadata", meta);
	}
	json_put_text(meta, "name", request->name);
	if (request->kind->ns)
		json_put_text(meta, "namespace", request->kind->ns);
	return json_map_text(object);
}

/* If the installed CRD is older than this program, a field that it does not define must not be
 * dropped silently, or the reconciler would write it again and again. An apply is refused in any
 * case. CRDs of other projects are not checked. */
static bool is_strict(const struct api_kind *kind)
{
	return strcmp(kind->group, NAMES_GROUP) == 0 || strcmp(kind->group, NAMES_OWN_GROUP) == 0;
}

static struct kube_call *patch(struct kube_client *client, const struct apply_request *request,
			       const char *content_type, kube_done_fn *done, void *arg)
{
	bool apply = strcmp(content_type, apply_type) == 0;
	auto_str struct str path = STR_INIT;
	auto_free char *body = body_of(request);
	struct url_query query = {
		.field_manager = request->field_manager,
		.force = apply && request->force,
		.strict = !apply && is_strict(request->kind),
	};

	url_object(&path, request->kind, NULL, request->name, request->subresource);
	url_add_query(&path, &query);
	return kube_client_send(client,
				&(struct kube_request){
					.verb = apply ? "apply" : "patch",
					.resource = request->kind->plural,
					.method = "PATCH",
					.path = str_cstr(&path),
					.content_type = content_type,
					.body = body,
					.body_len = strlen(body),
				},
				done, arg);
}

struct kube_call *apply_send(struct kube_client *client, const struct apply_request *request,
			     kube_done_fn *done, void *arg)
{
	return patch(client, request, apply_type, done, arg);
}

struct kube_call *apply_merge(struct kube_client *client, const struct apply_request *request,
			      kube_done_fn *done, void *arg)
{
	return patch(client, request, "application/merge-patch+json", done, arg);
}

struct kube_call *apply_create(struct kube_client *client, const struct apply_request *request,
			       kube_done_fn *done, void *arg)
{
	auto_str struct str path = STR_INIT;
	auto_free char *body = body_of(request);
	struct url_query query = {
		.field_manager = request->field_manager,
		.strict = is_strict(request->kind),
	};

	url_object(&path, request->kind, NULL, NULL, NULL);
	url_add_query(&path, &query);
	return kube_client_send(client,
				&(struct kube_request){
					.verb = "create",
					.resource = request->kind->plural,
					.method = "POST",
					.path = str_cstr(&path),
					.content_type = "application/json",
					.body = body,
					.body_len = strlen(body),
				},
				done, arg);
}

static char *delete_options(const struct delete_request *request)
{
	auto_json json_t *options = json_object();
	json_t *preconditions = json_object();

	json_put_text(options, "apiVersion", "v1");
	json_put_text(options, "kind", "DeleteOptions");
	json_put(options, "preconditions", preconditions);
	if (request->uid)
		json_put_text(preconditions, "uid", request->uid);
	if (request->version)
		json_put_text(preconditions, "resourceVersion", request->version);
	return json_map_text(options);
}

struct kube_call *apply_delete(struct kube_client *client, const struct delete_request *request,
			       kube_done_fn *done, void *arg)
{
	auto_str struct str path = STR_INIT;
	auto_free char *body = delete_options(request);

	url_object(&path, request->kind, NULL, request->name, NULL);
	return kube_client_send(client,
				&(struct kube_request){
					.verb = "delete",
					.resource = request->kind->plural,
					.method = "DELETE",
					.path = str_cstr(&path),
					.content_type = "application/json",
					.body = body,
					.body_len = strlen(body),
				},
				done, arg);
}
