/* resourceclaim: what a driver reads of a claim. */
#include "api/resourceclaim.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "unit/suite.h"

/* As an API server 1.34 sends it. */
static const char text[] =
	"{\"kind\":\"ResourceClaim\",\"apiVersion\":\"resource.k8s.io/v1\",\"metadata\":{"
	"\"name\":\"vm-card-x2\",\"generateName\":\"vm-card-\",\"namespace\":\"default\","
	"\"uid\":\"1-a\",\"annotations\":{\"resource.kubernetes.io/pod-claim-name\":\"card\"}},"
	"\"spec\":{\"devices\":{\"requests\":[{\"name\":\"a\",\"exactly\":{\"deviceClassName\":"
	"\"pci\",\"allocationMode\":\"ExactCount\",\"count\":2}}]}},\"status\":{\"allocation\":{"
	"\"devices\":{\"results\":[{\"request\":\"a\",\"driver\":\"hostdev.io\",\"pool\":\"node1\","
	"\"device\":\"pci-0000-3b-00-0\",\"adminAccess\":null},{\"request\":\"b/x\","
	"\"driver\":\"x.io\",\"pool\":\"p\",\"device\":\"d\",\"adminAccess\":true}],"
	"\"config\":[{\"source\":\"FromClass\",\"requests\":[\"a\"],\"opaque\":{\"driver\":"
	"\"hostdev.io\",\"parameters\":{\"b\":{\"c\":[1]},\"d\":\"\\u0000\"}}},"
	"{\"source\":\"FromClaim\",\"opaque\":{\"driver\":\"x.io\",\"parameters\":null}}]},"
	"\"nodeSelector\":{\"nodeSelectorTerms\":[]}},\"reservedFor\":[{\"resource\":\"pods\","
	"\"name\":\"vm\",\"uid\":\"2-b\"}]}}";

static void claim_is_read(void **state)
{
	struct resourceclaim *claim = NULL;
	const struct resourceclaim_devices *devices;

	assert_int_equal(resourceclaim_parse(text, strlen(text), &claim, NULL), 0);
	devices = &claim->status.allocation.devices;
	assert_string_equal(claim->meta.uid, "1-a");
	assert_string_equal(api_meta_annotation(&claim->meta, RESOURCECLAIM_ANNOTATION_POD_CLAIM),
			    "card");
	assert_int_equal(devices->results.len, 2);
	assert_string_equal(devices->results.items[0].request, "a");
	assert_string_equal(devices->results.items[0].driver, "hostdev.io");
	assert_string_equal(devices->results.items[0].pool, "node1");
	assert_string_equal(devices->results.items[0].device, "pci-0000-3b-00-0");
	assert_false(devices->results.items[0].admin_access);
	assert_true(devices->results.items[1].admin_access);
	assert_int_equal(devices->config.len, 2);
	assert_string_equal(devices->config.items[0].source, RESOURCECLAIM_FROM_CLASS);
	assert_string_equal(devices->config.items[0].requests.items[0], "a");
	assert_string_equal(devices->config.items[0].opaque.driver, "hostdev.io");
	assert_string_equal(devices->config.items[0].opaque.parameters,
			    "{\"b\":{\"c\":[1]},\"d\":\"\\u0000\"}");
	assert_null(devices->config.items[1].opaque.parameters);
	resourceclaim_free(claim);
}

static struct bad_case {
	const char *name;
	const char *text;
	const char *message; /* NULL: it is read, and not allocated */
} cases[] = {
	{ "without a status", "{\"metadata\":{\"name\":\"n\"}}", NULL },
	{ "not allocated", "{\"metadata\":{\"name\":\"n\"},\"status\":{}}", NULL },
	{ "of another kind", "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"n\"}}", "Pod" },
	{ "of another version",
	  "{\"kind\":\"ResourceClaim\",\"apiVersion\":\"resource.k8s.io/v1beta1\","
	  "\"metadata\":{\"name\":\"n\"}}",
	  "v1beta1" },
	{ "no object", "[]", "object" },
	{ "with a status of the wrong type", "{\"metadata\":{\"name\":\"n\"},\"status\":[]}",
	  "status" },
	{ "with a configuration of the wrong type",
	  "{\"metadata\":{\"name\":\"n\"},\"status\":{\"allocation\":{\"devices\":{\"config\":"
	  "[7]}}}}",
	  "config" },
	{ "with an opaque of the wrong type",
	  "{\"metadata\":{\"name\":\"n\"},\"status\":{\"allocation\":{\"devices\":{\"config\":"
	  "[{\"opaque\":[]}]}}}}",
	  "opaque" },
};

static void case_matches_table(void **state)
{
	const struct bad_case *c = *state;
	struct resourceclaim *claim = NULL;
	struct err err = { 0 };
	int r = resourceclaim_parse(c->text, strlen(c->text), &claim, &err);

	if (c->message) {
		assert_int_equal(r, -EINVAL);
		assert_non_null(strstr(err.msg, c->message));
		assert_null(claim);
		return;
	}
	assert_int_equal(r, 0);
	assert_int_equal(claim->status.allocation.devices.results.len, 0);
	resourceclaim_free(claim);
}

static void base_of_a_request(void **state)
{
	auto_free char *plain = resourceclaim_base_request("gpu");
	auto_free char *base = resourceclaim_base_request("gpu/large");

	assert_string_equal(plain, "gpu");
	assert_string_equal(base, "gpu");
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_add(&suite, "a claim is read", claim_is_read, NULL);
	suite_rows(&suite, cases, case_matches_table);
	suite_add(&suite, "a sub-request is no part of the request's name", base_of_a_request,
		  NULL);
	return suite_run(&suite, "resourceclaim");
}
