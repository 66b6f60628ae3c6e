#include "kube/fetch.h"

#include <jansson.h>
#include <string.h>

#include "api/json_map.h"
#include "api/kind.h"
#include "api/object.h"
#include "base/err.h"
#include "base/str.h"
#include "kube/url.h"

struct kube_call *fetch_object(struct kube_client *client, const struct api_kind *kind,
			       const char *name, kube_done_fn *done, void *arg)
{
	auto_str struct str path = STR_INIT;

	url_object(&path, kind, NULL, name, NULL);
	return kube_client_send(client,
				&(struct kube_request){
					.verb = "get",
					.resource = kind->plural,
					.method = "GET",
					.path = str_cstr(&path),
				},
				done, arg);
}

int fetch_decode(const struct api_kind *kind, const struct kube_response *response,
		 void **ret_object, struct err *err)
{
	auto_json json_t *json = NULL;
	int r = json_map_load(response->body, response->body_len, &json, err);

	return r < 0 ? r : api_object_decode(kind, json, ret_object, err);
}

bool fetch_says_gone(const struct kube_response *response, const char *name)
{
	auto_json json_t *status = NULL;
	const char *gone;

	if (json_map_load(response->body, response->body_len, &status, NULL) < 0)
		return false;
	gone = json_string_value(json_object_get(json_object_get(status, "details"), "name"));
	return gone && strcmp(gone, name) == 0;
}
