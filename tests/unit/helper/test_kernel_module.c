/* kernel_module: what shows that the kernel has something, and modprobe's complaint. */
#include <stdbool.h>

#include "agent/helper/sys/kernel_module.h"
#include "base/err.h"
#include "fake/tree/tree.h"

/* clang-format off */
static struct backend_case {
	const char *name;
	const char *entries[3];
	bool there;
} backends[] = {
	{ "nothing", { "sys/", "dev/" }, false },
	{ "the type 1 backend", { "sys/module/vfio_iommu_type1/", "dev/" }, true },
	{ "the sPAPR backend", { "sys/module/vfio_iommu_spapr_tce/", "dev/" }, true },
	{ "iommufd, as sysfs has it", { "sys/class/misc/iommu/", "dev/" }, true },
	{ "iommufd, by its node", { "sys/", "dev/iommu=" }, true },
};
/* clang-format on */

static void backend_matches_table(void **state)
{
	const struct backend_case *c = suite_row(state);
	struct tree *tree = *state;
	auto_close int sysfs_fd = -1;
	auto_close int dev_fd = -1;

	tree_make(tree, c->entries);
	sysfs_fd = tree_open(tree, "sys");
	dev_fd = tree_open(tree, "dev");
	assert_int_equal(kernel_module_has_backend(sysfs_fd, dev_fd), c->there);
}

static void drivers_are_found(void **state)
{
	static const char *const entries[] = { "sys/bus/pci/drivers/vfio-pci/", NULL };
	struct tree *tree = *state;
	auto_close int sysfs_fd = -1;

	tree_make(tree, entries);
	sysfs_fd = tree_open(tree, "sys");
	assert_true(kernel_module_has_driver(sysfs_fd, "vfio-pci"));
	assert_false(kernel_module_has_driver(sysfs_fd, "mlx5-vfio-pci"));
}

/* Whether there is no modprobe or no such module. */
static void unknown_module(void **state)
{
	static const char head[] = "modprobe hostdev-no-such-module: ";
	struct err err = { 0 };

	assert_true(kernel_module_load("hostdev-no-such-module", &err) < 0);
	assert_memory_equal(err.msg, head, sizeof(head) - 1);
	assert_true(strlen(err.msg) > sizeof(head) - 1);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "a module that is not there is reported", unknown_module, NULL);
	suite_fixture(&suite, &tree_fixture);
	suite_rows(&suite, backends, backend_matches_table);
	suite_add(&suite, "drivers are found by name", drivers_are_found, NULL);
	return suite_run(&suite, "kernel_module");
}
