#include "unit/suite.h"

#include "cli/model/narrow.h"
#include "unit/cli/made.h"

static void a_namespace_has_what_its_pods_have(void **state)
{
	struct cluster *cluster = *state;
	const struct cluster_view *view;

	narrow_to_namespace(cluster, "default");
	view = cluster_view(cluster);
	assert_int_equal(view->len, 1);
	assert_string_equal(view->devices[0].name, "vm1-000003100");
	assert_string_equal(view->devices[0].user, "alice");
	narrow_to_namespace(cluster, "other");
	assert_int_equal(cluster_view(cluster)->len, 0);
}

static void a_claim_alone_is_no_listed_device(void **state)
{
	struct cluster *cluster = *state;
	size_t len = cluster_view(cluster)->len;

	assert_non_null(cluster_get(cluster, CLUSTER_PCICLAIM, "vm2-000009000"));
	narrow_to_listed(cluster);
	assert_null(cluster_get(cluster, CLUSTER_PCICLAIM, "vm2-000009000"));
	assert_non_null(cluster_get(cluster, CLUSTER_PCICLAIM, "vm1-000003100"));
	assert_non_null(cluster_get(cluster, CLUSTER_USBCLAIM, "vm1-0951-1666-001005"));
	assert_int_equal(cluster_view(cluster)->len, len - 1);
}

static void a_pod_is_of_its_namespace(void **state)
{
	struct cluster *cluster = *state;
	const struct cluster_device *device = cluster_device(cluster, DEVICE_PCI, "vm1-000003100");

	assert_true(narrow_has_pod(device, "default"));
	assert_true(narrow_has_pod(device, NULL));
	assert_false(narrow_has_pod(device, "defaults"));
	assert_false(narrow_has_pod(cluster_device(cluster, DEVICE_PCI, "vm1-000003000"), NULL));
}

static void a_resource_claim_is_of_its_namespace(void **state)
{
	struct cluster *cluster = *state;
	const struct cluster_device *device;

	made_put(cluster, CLUSTER_RESOURCECLAIM,
		 MADE_RESOURCE_CLAIM("team", "nic",
				     MADE_RESULT("hostdev.io", "vm1", "pci-0000-03-00-0"), ""));
	device = cluster_device(cluster, DEVICE_PCI, "vm1-000003000");
	assert_true(narrow_has_pod(device, "team"));
	assert_true(narrow_has_pod(device, NULL));
	assert_false(narrow_has_pod(device, "default"));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &cluster_fixture);
	suite_add(&suite, "a namespace has what its pods have", a_namespace_has_what_its_pods_have,
		  NULL);
	suite_add(&suite, "a claim alone is no listed device", a_claim_alone_is_no_listed_device,
		  NULL);
	suite_add(&suite, "a pod is of its namespace", a_pod_is_of_its_namespace, NULL);
	suite_add(&suite, "a ResourceClaim is of its namespace",
		  a_resource_claim_is_of_its_namespace, NULL);
	return suite_run(&suite, "narrow");
}
