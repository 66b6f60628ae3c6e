#include "kube/apply.h"

#include <errno.h>
#include <string.h>

#include "api/lease.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "base/err.h"
#include "fake/fake_client.h"
#include "unit/suite.h"

static void on_done(void *arg, int result, const struct kube_response *response,
		    const struct err *err)
{
	(void)response;
	(void)err;
	*(int *)arg = result;
}

static struct apply_case {
	const char *name;
	const struct api_kind *kind;
	const char *subresource;
	bool force;
	const char *object;
	const char *path;
	const char *body;
} applies[] = {
	{ "an object", &pcidevice_kind, NULL, false, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}",
	  "/apis/devices.harvesterhci.io/v1beta1/pcidevices/n-1?fieldManager=me",
	  "{\"metadata\":{\"labels\":{\"a\":\"b\"},\"name\":\"n-1\"},"
	  "\"apiVersion\":\"devices.harvesterhci.io/v1beta1\",\"kind\":\"PCIDevice\"}" },
	{ "a status, taken over", &pcidevice_kind, "status", true,
	  "{\"status\":{\"address\":\"x\"}}",
	  "/apis/devices.harvesterhci.io/v1beta1/pcidevices/n-1/status?fieldManager=me&force=true",
	  "{\"status\":{\"address\":\"x\"},\"metadata\":{\"name\":\"n-1\"},"
	  "\"apiVersion\":\"devices.harvesterhci.io/v1beta1\",\"kind\":\"PCIDevice\"}" },
	{ "a kind in a namespace", &lease_kind, NULL, false, "{}",
	  "/apis/coordination.k8s.io/v1/namespaces/hostdev-system/leases/n-1?fieldManager=me",
	  "{\"metadata\":{\"name\":\"n-1\",\"namespace\":\"hostdev-system\"},"
	  "\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\"}" },
	{ "another's name in the object does not count", &pcidevice_kind, NULL, false,
	  "{\"metadata\":{\"name\":\"other\"},\"kind\":\"Pod\"}",
	  "/apis/devices.harvesterhci.io/v1beta1/pcidevices/n-1?fieldManager=me",
	  "{\"metadata\":{\"name\":\"n-1\"},\"kind\":\"PCIDevice\","
	  "\"apiVersion\":\"devices.harvesterhci.io/v1beta1\"}" },
};

static void assert_same_json(const char *text, const char *expected)
{
	auto_json json_t *a = json_loads(text, 0, NULL);
	auto_json json_t *b = json_loads(expected, 0, NULL);

	assert_non_null(a);
	assert_non_null(b);
	if (!json_equal(a, b))
		fail_msg("%s is not %s", text, expected);
}

SUITE_OBJECT(kube_client, fake_client_new(), kube_client_free);

static void apply_is_sent(void **state)
{
	const struct apply_case *row = suite_row(state);
	struct kube_client *client = *state;
	auto_json json_t *object = json_loads(row->object, 0, NULL);
	auto_json json_t *before = json_deep_copy(object);
	const struct fake_request *request;
	int result = 1;

	apply_send(client,
		   &(struct apply_request){ .kind = row->kind,
					    .name = "n-1",
					    .subresource = row->subresource,
					    .field_manager = "me",
					    .force = row->force,
					    .object = object },
		   on_done, &result);
	request = fake_client_request(client);
	assert_string_equal(request->method, "PATCH");
	assert_string_equal(request->verb, "apply");
	assert_string_equal(request->content_type, "application/apply-patch+yaml");
	assert_string_equal(request->path, row->path);
	assert_same_json(request->body, row->body);
	assert_true(json_equal(object, before));
	assert_int_equal(result, 1);
	fake_client_answer(client, 201, "{}");
	assert_int_equal(result, 0);
}

#define CLAIM      "/apis/devices.harvesterhci.io/v1beta1/pcideviceclaims/n-1"
#define META(rest) "\"metadata\":{\"name\":\"n-1\"" rest "}"
#define KIND       "\"apiVersion\":\"devices.harvesterhci.io/v1beta1\",\"kind\":\"PCIDeviceClaim\""

/* What our own kinds do not have is refused, not dropped. */
#define STRICT "&fieldValidation=Strict"

static struct merge_case {
	const char *name;
	const char *subresource;
	bool force;
	const char *object;
	const char *path;
	const char *body;
	int status; /* of the answer */
	int result;
	enum err_kind kind;
} merges[] = {
	{ "a field that goes", NULL, false, "{\"spec\":{\"address\":null}}",
	  CLAIM "?fieldManager=me" STRICT, "{\"spec\":{\"address\":null}," META("") "," KIND "}",
	  200, 0, ERR_NONE },
	{ "a merge is never forced", NULL, true, "{}", CLAIM "?fieldManager=me" STRICT,
	  "{" META("") "," KIND "}", 200, 0, ERR_NONE },
	{ "finalizers are sent as they are", NULL, false,
	  "{\"metadata\":{\"finalizers\":[\"a/b\"]}}", CLAIM "?fieldManager=me" STRICT,
	  "{" META(",\"finalizers\":[\"a/b\"]") "," KIND "}", 200, 0, ERR_NONE },
	{ "the last finalizer goes", NULL, false, "{\"metadata\":{\"finalizers\":null}}",
	  CLAIM "?fieldManager=me" STRICT, "{" META(",\"finalizers\":null") "," KIND "}", 200, 0,
	  ERR_NONE },
	{ "uid and version are kept as preconditions, and another state is a conflict", NULL, false,
	  "{\"metadata\":{\"uid\":\"u-1\",\"resourceVersion\":\"7\",\"finalizers\":[]}}",
	  CLAIM "?fieldManager=me" STRICT,
	  "{" META(",\"uid\":\"u-1\",\"resourceVersion\":\"7\",\"finalizers\":[]") "," KIND "}",
	  409, -ESTALE, ERR_CONFLICT },
	{ "a status with preconditions", "status", false,
	  "{\"metadata\":{\"uid\":\"u-1\",\"resourceVersion\":\"7\"},\"status\":{\"step\":\"Bind\"}}",
	  CLAIM "/status?fieldManager=me" STRICT,
	  "{" META(",\"uid\":\"u-1\",\"resourceVersion\":\"7\"") "," KIND
								 ",\"status\":{\"step\":\"Bind\"}}",
	  409, -ESTALE, ERR_CONFLICT },
	{ "an object that is gone", NULL, false, "{\"metadata\":{\"uid\":\"u-1\"}}",
	  CLAIM "?fieldManager=me" STRICT, "{" META(",\"uid\":\"u-1\"") "," KIND "}", 404, -ENOENT,
	  ERR_INVALID },
};

struct outcome {
	int result;
	enum err_kind kind;
};

static void on_merged(void *arg, int result, const struct kube_response *response,
		      const struct err *err)
{
	(void)response;
	*(struct outcome *)arg = (struct outcome){ .result = result, .kind = err->kind };
}

static void merge_is_sent(void **state)
{
	const struct merge_case *row = suite_row(state);
	struct kube_client *client = *state;
	auto_json json_t *object = json_loads(row->object, 0, NULL);
	auto_json json_t *before = json_deep_copy(object);
	const struct fake_request *request;
	struct outcome outcome = { .result = 1 };

	apply_merge(client,
		    &(struct apply_request){ .kind = &pcideviceclaim_kind,
					     .name = "n-1",
					     .subresource = row->subresource,
					     .field_manager = "me",
					     .force = row->force,
					     .object = object },
		    on_merged, &outcome);
	request = fake_client_request(client);
	assert_string_equal(request->method, "PATCH");
	assert_string_equal(request->verb, "patch");
	assert_string_equal(request->content_type, "application/merge-patch+json");
	assert_string_equal(request->path, row->path);
	assert_same_json(request->body, row->body);
	assert_true(json_equal(object, before));
	assert_int_equal(outcome.result, 1);
	fake_client_answer(client, row->status, "{}");
	assert_int_equal(outcome.result, row->result);
	assert_int_equal(outcome.kind, row->kind);
}

static void create_is_sent(void **state)
{
	struct kube_client *client = *state;
	auto_json json_t *object = json_pack("{s:{s:i}}", "spec", "numVFs", 2);
	const struct fake_request *request;
	int result = 1;

	apply_create(client,
		     &(struct apply_request){ .kind = &pcidevice_kind,
					      .name = "n-1",
					      .field_manager = "me",
					      .object = object },
		     on_done, &result);
	request = fake_client_request(client);
	assert_string_equal(request->method, "POST");
	assert_string_equal(request->verb, "create");
	assert_string_equal(request->content_type, "application/json");
	assert_string_equal(request->path, "/apis/devices.harvesterhci.io/v1beta1/pcidevices"
					   "?fieldManager=me" STRICT);
	assert_same_json(request->body, "{\"spec\":{\"numVFs\":2},\"metadata\":{\"name\":\"n-1\"},"
					"\"apiVersion\":\"devices.harvesterhci.io/v1beta1\","
					"\"kind\":\"PCIDevice\"}");
	fake_client_answer(client, 409, "{\"reason\":\"AlreadyExists\"}");
	assert_int_equal(result, -EEXIST);
}

static struct delete_case {
	const char *name;
	const char *uid;
	const char *version;
	const char *preconditions;
} deletes[] = {
	{ "whatever it is", NULL, NULL, "{}" },
	{ "one incarnation", "u-1", NULL, "{\"uid\":\"u-1\"}" },
	{ "one state of one incarnation", "u-1", "7",
	  "{\"uid\":\"u-1\",\"resourceVersion\":\"7\"}" },
};

static void delete_is_sent(void **state)
{
	const struct delete_case *row = suite_row(state);
	struct kube_client *client = *state;
	auto_free char *body = xasprintf("{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\","
					 "\"preconditions\":%s}",
					 row->preconditions);
	const struct fake_request *request;
	int result = 1;

	apply_delete(client,
		     &(struct delete_request){ .kind = &pcidevice_kind,
					       .name = "n-1",
					       .uid = row->uid,
					       .version = row->version },
		     on_done, &result);
	request = fake_client_request(client);
	assert_string_equal(request->method, "DELETE");
	assert_string_equal(request->path, "/apis/devices.harvesterhci.io/v1beta1/pcidevices/n-1");
	assert_same_json(request->body, body);
	fake_client_answer(client, 404, "{}");
	assert_true(result < 0);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &kube_client_fixture);
	suite_rows(&suite, applies, apply_is_sent);
	suite_rows(&suite, merges, merge_is_sent);
	suite_add(&suite, "a new object is posted", create_is_sent, NULL);
	suite_rows(&suite, deletes, delete_is_sent);
	return suite_run(&suite, "apply");
}
