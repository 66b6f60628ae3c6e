/* offered_resource: under which of its names a device is offered. */
#include "api/offered_resource.h"

#include <string.h>

#include "api/names.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "unit/suite.h"

#define LONG "node-1234567890123456789012345678901234567890123456789012345678-000001000"

static struct name_case {
	const char *name;
	const char *device; /* name of the PCIDevice                  */
	const char *seen;   /* its annotation; NULL: none             */
	bool claimed;
	const char *claim; /* the claim's annotation; NULL: none     */
	bool alone;        /* the claim switches pooling off         */
	const char *offered;
} cases[] = {
	{ "the model's name, claimed or not", "n-1", NULL, false, NULL, false, "intel.com/NIC" },
	{ "a claim alone changes nothing", "n-1", NULL, true, NULL, false, "intel.com/NIC" },
	{ "without pooling, a name of its own", "n-1", NULL, true, NULL, true, "intel.com/n-1" },
	{ "the device's annotation", "n-1", "a.io/b", false, NULL, false, "a.io/b" },
	{ "the claim's annotation", "n-1", NULL, true, "c.io/d", false, "c.io/d" },
	{ "the claim's annotation before its own name", "n-1", NULL, true, "c.io/d", true,
	  "c.io/d" },
	{ "the device's before the claim's", "n-1", "a.io/b", true, "c.io/d", true, "a.io/b" },
	{ "no name is no override", "n-1", "a b", true, "", true, "intel.com/n-1" },
	{ "nor is one of Kubernetes' own", "n-1", "kubernetes.io/x", true, "a.kubernetes.io/x",
	  false, "intel.com/NIC" },
	{ "nor is one of KubeVirt's own", "n-1", "devices.kubevirt.io/kvm", true,
	  "devices.kubevirt.io/x", false, "intel.com/NIC" },
	{ "but for its other domains", "n-1", "gpu.devices.kubevirt.io/x", false, NULL, false,
	  "gpu.devices.kubevirt.io/x" },
	{ "nor one that a quota would take for another", "n-1", "requests.a.io/x", false, NULL,
	  false, "intel.com/NIC" },
};

static void is_offered_as(void **state)
{
	const struct name_case *row = *state;
	struct pcidevice *device = api_object_new(&pcidevice_kind);
	struct pcidevice *seen = api_object_new(&pcidevice_kind);
	struct pcideviceclaim *claim = api_object_new(&pcideviceclaim_kind);
	auto_free char *name = NULL;
	const char *overridden;
	const char *refused;

	device->meta.name = xstrdup(row->device);
	device->status.resource_name = xstrdup("intel.com/NIC");
	if (row->seen)
		json_pairs_set(&seen->meta.annotations, NAMES_ANNOTATION_RESOURCE_NAME, row->seen);
	if (row->claim)
		json_pairs_set(&claim->meta.annotations, NAMES_ANNOTATION_RESOURCE_NAME,
			       row->claim);
	claim->spec.disable_resource_pooling = row->alone;
	name = offered_resource(device, &seen->meta, row->claimed ? claim : NULL);
	assert_string_equal(name, row->offered);
	refused = offered_resource_refused(&seen->meta, row->claimed ? claim : NULL);
	overridden = row->seen ? row->seen : row->claimed ? row->claim : NULL;
	if (overridden && strcmp(overridden, name) != 0)
		assert_string_equal(refused, overridden);
	else
		assert_null(refused);
	api_object_free(&pcidevice_kind, device);
	api_object_free(&pcidevice_kind, seen);
	api_object_free(&pcideviceclaim_kind, claim);
}

static void a_long_name_of_its_own_is_valid(void **state)
{
	struct pcidevice *device = api_object_new(&pcidevice_kind);
	struct pcideviceclaim *claim = api_object_new(&pcideviceclaim_kind);
	auto_free char *name = NULL;

	device->meta.name = xstrdup(LONG);
	device->status.resource_name = xstrdup("intel.com/NIC");
	claim->spec.disable_resource_pooling = true;
	name = offered_resource(device, NULL, claim);
	assert_true(names_valid_resource(name));
	assert_int_equal(strncmp(name, "intel.com/node-", 15), 0);
	api_object_free(&pcidevice_kind, device);
	api_object_free(&pcideviceclaim_kind, claim);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, is_offered_as);
	suite_add(&suite, "a long name of its own is cut to a valid one",
		  a_long_name_of_its_own_is_valid, NULL);
	return suite_run(&suite, "offered_resource");
}
