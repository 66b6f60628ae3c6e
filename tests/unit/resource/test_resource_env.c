/* resource_env: the names that KubeVirt's launcher looks for. */
#include "agent/resource/resource_env.h"

#include "base/mem.h"
#include "unit/suite.h"

static struct env_case {
	const char *name, *prefix, *resource, *env;
} cases[] = {
	/* clang-format off */
	{ "a name in lower case becomes upper case", "PCI_RESOURCE", "intel.com/x710", "PCI_RESOURCE_INTEL_COM_X710" },
	{ "hyphens stay", "USB_RESOURCE", "kubevirt.io/node1-0951-1666-001002",
	  "USB_RESOURCE_KUBEVIRT_IO_NODE1-0951-1666-001002" },
	{ "underscores and digits stay", "MDEV_PCI_RESOURCE", "nvidia.com/GRID_T4-1Q",
	  "MDEV_PCI_RESOURCE_NVIDIA_COM_GRID_T4-1Q" },
	{ "every dot is an underscore", "PCI_RESOURCE", "a.b/c.d", "PCI_RESOURCE_A_B_C_D" },
	/* clang-format on */
};

static void is_named(void **state)
{
	const struct env_case *row = *state;
	auto_free char *env = resource_env(row->prefix, row->resource);

	assert_string_equal(env, row->env);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, is_named);
	return suite_run(&suite, "resource_env");
}
