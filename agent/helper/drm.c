#include "agent/helper/drm.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "agent/helper/sys/devpath.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "base/array.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/num.h"

#define KFD_NODES "class/kfd/kfd/topology/nodes"

/* What AMD's compute driver says of a GPU, or of a part of one
 * (drivers/gpu/drm/amd/amdkfd/kfd_topology.c). */
struct kfd_node {
	uint64_t render; /* the number of its render node */
	char pci[PCI_ADDRESS_SIZE];
	uint64_t hive; /* GPUs of one hive have XGMI links to each other; 0: none */
};

struct kfd_nodes {
	ARRAY(struct kfd_node) list;
};

/* The number behind @key at the begin of a line of @text. */
static bool find_number(const char *text, const char *key, uint64_t *ret_number)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && line[len] == ' ') {
			const char *number = line + len + 1;
			auto_free char *word = xstrndup(number, strcspn(number, " \n"));

			return str_to_u64(word, ret_number);
		}
	}
	return false;
}

/* The kernel's processors are nodes too, with the render node 0. A location is as pci_dev_id() has
 * it; its upper half has the number of the part. */
static void add_kfd_node(const char *text, struct kfd_nodes *nodes)
{
	struct kfd_node node = { 0 };
	uint64_t location = 0;
	uint64_t domain = 0;

	if (!find_number(text, "drm_render_minor", &node.render) || node.render == 0 ||
	    !find_number(text, "location_id", &location))
		return;
	(void)find_number(text, "domain", &domain);
	(void)find_number(text, "hive_id", &node.hive);
	(void)snprintf(node.pci, sizeof(node.pci), "%04x:%02x:%02x.%x", (unsigned)(domain & 0xffff),
		       (unsigned)(location >> 8 & 0xff), (unsigned)(location >> 3 & 0x1f),
		       (unsigned)(location & 7));
	*array_add(&nodes->list) = node;
}

/* The kernel hides a GPU from a process that may not open its render node
 * (kfd_devcgroup_check_permission()). */
static void read_kfd(int sysfs_fd, struct report *report, struct kfd_nodes *nodes)
{
	auto_names struct sysfs_names names = { 0 };
	auto_close int fd = -1;

	if (sysfs_open_list(sysfs_fd, KFD_NODES, &fd, &names, NULL) != 0)
		return;
	for (size_t i = 0; i < names.len; i++) {
		auto_free char *path = xasprintf("%s/properties", names.items[i]);
		struct sysfs_attr text;
		struct err err = { 0 };
		int r = sysfs_read(fd, path, &text, &err);

		if (r < 0)
			report_problem(report, KFD_NODES, names.items[i], "%s", err.msg);
		if (r == 0)
			add_kfd_node(text.text, nodes);
	}
}

static const struct kfd_node *find_kfd_node(const struct kfd_nodes *nodes, uint64_t render)
{
	for (size_t i = 0; i < nodes->list.len; i++) {
		if (nodes->list.items[i].render == render)
			return &nodes->list.items[i];
	}
	return NULL;
}

/* The number of "card0" or "renderD128". */
static bool take_number(const char *name, const char *prefix, uint64_t *ret_number)
{
	size_t len = strlen(prefix);

	return strncmp(name, prefix, len) == 0 && str_to_u64(name + len, ret_number) &&
	       *ret_number <= INT32_MAX;
}

static void write_partition(int sysfs_fd, const char *pci, const char *attr, const char *key,
			    struct str *lines)
{
	auto_free char *path = xasprintf("bus/pci/devices/%s/%s", pci, attr);
	struct sysfs_attr text;

	if (sysfs_read(sysfs_fd, path, &text, NULL) == 0 && text.len > 0)
		json_write_str(lines, key, text.text);
}

/* Print the device @name with the folder @folder. @driver: NULL for a part of a GPU, which is
 * printed only if its GPU is known. */
static void write_device(int sysfs_fd, const char *folder, const char *name, const char *driver,
			 const struct kfd_nodes *nodes, struct report *report)
{
	auto_free char *path = xasprintf("%s/%s/drm", folder, name);
	auto_names struct sysfs_names names = { 0 };
	const struct kfd_node *node = NULL;
	struct str *lines = &report->lines;
	uint64_t card = UINT64_MAX;
	uint64_t render = UINT64_MAX;
	struct err err = { 0 };

	if (sysfs_list(sysfs_fd, path, &names, &err) < 0)
		report_problem(report, name, "drm", "%s", err.msg);
	for (size_t i = 0; i < names.len; i++) {
		(void)take_number(names.items[i], "card", &card);
		(void)take_number(names.items[i], "renderD", &render);
	}
	if (render != UINT64_MAX)
		node = find_kfd_node(nodes, render);
	if ((card == UINT64_MAX && render == UINT64_MAX) || (!driver && !node))
		return;
	report_open(lines, "drm");
	json_write_str(lines, "name", name);
	json_write_str(lines, "pciAddress", driver ? name : node->pci);
	json_write_str(lines, "driver", driver ? driver : "amdgpu");
	if (card != UINT64_MAX)
		json_write_int(lines, "card", (int64_t)card);
	if (render != UINT64_MAX)
		json_write_int(lines, "render", (int64_t)render);
	write_partition(sysfs_fd, driver ? name : node->pci, "current_compute_partition", "compute",
			lines);
	write_partition(sysfs_fd, driver ? name : node->pci, "current_memory_partition", "memory",
			lines);
	if (node && node->hive != 0) {
		auto_free char *hive = xasprintf("%" PRIx64, node->hive);

		json_write_str(lines, "hive", hive);
	}
	report_close(lines);
}

static void write_driver(int sysfs_fd, const char *driver, const struct kfd_nodes *nodes,
			 struct report *report)
{
	auto_free char *path = xasprintf("bus/pci/drivers/%s", driver);
	auto_names struct sysfs_names names = { 0 };
	struct err err = { 0 };

	if (sysfs_list(sysfs_fd, path, &names, &err) < 0)
		report_fail(report, &err);
	for (size_t i = 0; i < names.len; i++) {
		if (pci_address_valid(names.items[i], strlen(names.items[i])))
			write_device(sysfs_fd, "bus/pci/devices", names.items[i], driver, nodes,
				     report);
	}
}

/* amdgpu makes as many as the GPU could have at most, and uses those that KFD knows. */
static void write_parts(int sysfs_fd, const struct kfd_nodes *nodes, struct report *report)
{
	auto_names struct sysfs_names names = { 0 };

	(void)sysfs_list_prefix(sysfs_fd, "devices/platform", "amdgpu_xcp_", &names, NULL);
	for (size_t i = 0; i < names.len; i++)
		write_device(sysfs_fd, "devices/platform", names.items[i], NULL, nodes, report);
}

void drm_write_lines(int sysfs_fd, struct report *report)
{
	static const char *const drivers[] = { "amdgpu", "i915", "xe" };
	struct kfd_nodes nodes = { 0 };

	read_kfd(sysfs_fd, report, &nodes);
	for (size_t i = 0; i < ARRAY_LEN(drivers); i++)
		write_driver(sysfs_fd, drivers[i], &nodes, report);
	if (nodes.list.len > 0)
		write_parts(sysfs_fd, &nodes, report);
	array_done(&nodes.list);
}
