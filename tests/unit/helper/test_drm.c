/* What hostdev-helper tells of the GPUs of AMD's and Intel's drivers. */
#include "agent/helper/drm.h"

#include "fake/tree/scan_tree.h"

#define AMD(driver_link, address) \
	"sys/bus/pci/drivers/" driver_link "/" address "->../../../../devices/" address
#define DEVICE(address) "sys/bus/pci/devices/" address "->../../../devices/" address
#define DRM(folder, card, render) \
	"sys/devices/" folder "/drm/card" card "/", "sys/devices/" folder "/drm/renderD" render "/"
#define GPU(driver, address, card, render) \
	AMD(driver, address), DEVICE(address), DRM(address, card, render)
#define DIVIDED(address, compute, memory)                                  \
	"sys/devices/" address "/current_compute_partition=" compute "\n", \
		"sys/devices/" address "/current_memory_partition=" memory "\n"
#define KFD(node, render, location, hive)                                                       \
	"sys/class/kfd/kfd/topology/nodes/" node "/properties=cpu_cores_count 0\nhive_id " hive \
	"\nlocation_id " location "\ndomain 0\ndrm_render_minor " render "\nunique_id 7\n"

#define LINE(name, pci, driver, rest) \
	"{'kind':'drm','name':'" name "','pciAddress':'" pci "','driver':'" driver "'," rest "}\n"

/* clang-format off */
static struct look_case {
	const char *name;
	const char *entries[24];
	const char *lines;
} looks[] = {
	{ "a machine without such drivers has none", { "sys/" }, "" },
	{ "a driver without devices", { "sys/bus/pci/drivers/amdgpu/bind=" }, "" },
	{ "a GPU of each driver",
	  { GPU("xe", "0000:05:00.0", "2", "130"), GPU("amdgpu", "0000:03:00.0", "0", "128"),
	    GPU("i915", "0000:00:02.0", "1", "129") },
	  LINE("0000:03:00.0", "0000:03:00.0", "amdgpu", "'card':0,'render':128")
	  LINE("0000:00:02.0", "0000:00:02.0", "i915", "'card':1,'render':129")
	  LINE("0000:05:00.0", "0000:05:00.0", "xe", "'card':2,'render':130") },
	{ "a GPU without a render node", { AMD("amdgpu", "0000:03:00.0"), DEVICE("0000:03:00.0"),
	  "sys/devices/0000:03:00.0/drm/card7/", "sys/devices/0000:03:00.0/drm/controlD71/" },
	  LINE("0000:03:00.0", "0000:03:00.0", "amdgpu", "'card':7") },
	{ "a GPU whose driver has not made its nodes yet", { AMD("amdgpu", "0000:03:00.0"), DEVICE("0000:03:00.0"),
	  "sys/devices/0000:03:00.0/" }, "" },
	{ "a divided GPU, with the part that KFD knows and without the one that it does not",
	  { GPU("amdgpu", "0000:c3:00.0", "1", "128"), DIVIDED("0000:c3:00.0", "DPX", "NPS1"),
	    DRM("platform/amdgpu_xcp_0", "2", "129"), DRM("platform/amdgpu_xcp_1", "3", "130"),
	    /* 0xc300 of the part 0, and of the part 1 */
	    KFD("0", "0", "0", "0"), KFD("1", "128", "49920", "0"), KFD("2", "129", "268485376", "0") },
	  LINE("0000:c3:00.0", "0000:c3:00.0", "amdgpu",
	       "'card':1,'render':128,'compute':'DPX','memory':'NPS1'")
	  LINE("amdgpu_xcp_0", "0000:c3:00.0", "amdgpu",
	       "'card':2,'render':129,'compute':'DPX','memory':'NPS1'") },
	{ "GPUs with XGMI links have their hive",
	  { GPU("amdgpu", "0000:03:00.0", "0", "128"), KFD("1", "128", "768", "255") },
	  LINE("0000:03:00.0", "0000:03:00.0", "amdgpu", "'card':0,'render':128,'hive':'ff'") },
	{ "of what KFD does not tell the rest is known",
	  { GPU("amdgpu", "0000:03:00.0", "0", "128"), DRM("platform/amdgpu_xcp_0", "2", "129"),
	    "sys/class/kfd/kfd/topology/nodes/1/" },
	  LINE("0000:03:00.0", "0000:03:00.0", "amdgpu", "'card':0,'render':128") },
};
/* clang-format on */

static void look_tells(void **state)
{
	const struct look_case *c = suite_row(state);
	struct report report = { 0 };
	auto_close int sysfs_fd = -1;
	struct tree *tree = *state;

	tree_make(tree, c->entries);
	sysfs_fd = tree_open(tree, "sys");
	drm_write_lines(sysfs_fd, &report);
	str_add(&report.lines, str_cstr(&report.problems));
	single_quotes(&report.lines);
	assert_string_equal(str_cstr(&report.lines), c->lines);
	report_done(&report);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &tree_fixture);
	suite_rows(&suite, looks, look_tells);
	return suite_run(&suite, "drm");
}
