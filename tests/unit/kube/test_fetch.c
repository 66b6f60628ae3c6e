#include "kube/fetch.h"

#include <errno.h>
#include <string.h>

#include "api/lease.h"
#include "api/meta.h"
#include "api/object.h"
#include "api/pcideviceclaim.h"
#include "base/err.h"
#include "fake/fake_client.h"
#include "unit/suite.h"

struct outcome {
	int ended;
	int result;
	char body[64];
};

static void on_done(void *arg, int result, const struct kube_response *response,
		    const struct err *err)
{
	struct outcome *outcome = arg;

	assert_int_equal(err->code, result);
	outcome->ended++;
	outcome->result = result;
	assert_true(response->body_len < sizeof(outcome->body));
	memcpy(outcome->body, response->body, response->body_len + 1);
}

static struct fetch_case {
	const char *name;
	const struct api_kind *kind;
	const char *object;
	int status; /* of the answer; 0: none comes */
	int result;
	const char *path;
} fetches[] = {
	/* Each path is a whole one: a resourceVersion would allow an answer from a cache. */
	{ "an object of the cluster", &pcideviceclaim_kind, "n-000004000", 200, 0,
	  "/apis/devices.harvesterhci.io/v1beta1/pcideviceclaims/n-000004000" },
	{ "an object in a namespace", &lease_kind, "n", 200, 0,
	  "/apis/coordination.k8s.io/v1/namespaces/hostdev-system/leases/n" },
	{ "a name that must be escaped", &pcideviceclaim_kind, "a/b?c", 200, 0,
	  "/apis/devices.harvesterhci.io/v1beta1/pcideviceclaims/a%2Fb%3Fc" },
	{ "an object that there is not", &pcideviceclaim_kind, "n", 404, -ENOENT,
	  "/apis/devices.harvesterhci.io/v1beta1/pcideviceclaims/n" },
	{ "an object that may not be read", &pcideviceclaim_kind, "n", 403, -EACCES,
	  "/apis/devices.harvesterhci.io/v1beta1/pcideviceclaims/n" },
	{ "a server that does not answer", &pcideviceclaim_kind, "n", 0, -ETIMEDOUT,
	  "/apis/devices.harvesterhci.io/v1beta1/pcideviceclaims/n" },
};

SUITE_OBJECT(kube_client, fake_client_new(), kube_client_free);

static void object_is_fetched(void **state)
{
	const struct fetch_case *c = suite_row(state);
	struct kube_client *client = *state;
	const struct fake_request *request;
	struct outcome outcome = { 0 };

	assert_non_null(fetch_object(client, c->kind, c->object, on_done, &outcome));
	assert_int_equal(outcome.ended, 0);
	request = fake_client_request(client);
	assert_string_equal(request->verb, "get");
	assert_string_equal(request->method, "GET");
	assert_string_equal(request->path, c->path);
	assert_string_equal(request->body, "");
	assert_null(request->content_type);
	assert_false(request->stream);
	if (c->status)
		fake_client_answer(client, c->status, "{\"kind\":\"Any\"}");
	else
		fake_client_fail(client, c->result);
	assert_int_equal(outcome.ended, 1);
	assert_int_equal(outcome.result, c->result);
	assert_string_equal(outcome.body, c->status ? "{\"kind\":\"Any\"}" : "");
	assert_int_equal(fake_client_sent(client), 1);
}

static void a_cancelled_fetch_tells_nothing(void **state)
{
	struct kube_client *client = *state;
	struct outcome outcome = { 0 };

	kube_call_cancel(fetch_object(client, &pcideviceclaim_kind, "n", on_done, &outcome));
	assert_int_equal(fake_client_open(client), 0);
	assert_int_equal(outcome.ended, 0);
}

static struct word_case {
	const char *name;
	const char *body;
	bool gone;
} words[] = {
	{ "a status that names the object says that it is gone",
	  "{\"kind\":\"Status\",\"details\":{\"name\":\"n\"}}", true },
	{ "one that names another says nothing", "{\"details\":{\"name\":\"n2\"}}", false },
	{ "one that names none says nothing", "{\"kind\":\"Status\"}", false },
	{ "a path that is not served says nothing", "404 page not found", false },
	{ "an empty answer says nothing", "", false },
};

static void a_404_is_read(void **state)
{
	const struct word_case *row = *state;
	struct kube_response response = { .status = 404,
					  .body = row->body,
					  .body_len = strlen(row->body) };

	assert_int_equal(fetch_says_gone(&response, "n"), row->gone);
}

static struct object_case {
	const char *name;
	const char *body;
	int result;
} objects[] = {
	{ "an object of the kind", "{\"kind\":\"PCIDeviceClaim\",\"metadata\":{\"name\":\"n\"}}",
	  0 },
	{ "an object of another kind", "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"n\"}}",
	  -EINVAL },
	{ "a page of a proxy", "<html>", -EINVAL },
};

static void an_object_is_decoded(void **state)
{
	const struct object_case *row = *state;
	struct kube_response response = { .status = 200,
					  .body = row->body,
					  .body_len = strlen(row->body) };
	const struct api_meta *meta;
	void *object = NULL;
	struct err err = { 0 };

	assert_int_equal(fetch_decode(&pcideviceclaim_kind, &response, &object, &err), row->result);
	assert_int_equal(err.code, row->result);
	meta = object;
	if (row->result == 0)
		assert_string_equal(meta->name, "n");
	else
		assert_null(object);
	api_object_free(&pcideviceclaim_kind, object);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, words, a_404_is_read);
	suite_rows(&suite, objects, an_object_is_decoded);
	suite_fixture(&suite, &kube_client_fixture);
	suite_rows(&suite, fetches, object_is_fetched);
	suite_add(&suite, "a fetch that is given up tells nothing", a_cancelled_fetch_tells_nothing,
		  NULL);
	return suite_run(&suite, "fetch");
}
