/*
 * node1: a node with PCI functions, their claims and their VFIO nodes, for tests of offers.
 *
 *	node1_open(&node, lines);            lines of facts, with ' for "
 *	node1_claim(&node, "{'metadata':...}");
 */
#pragma once

#include "agent/resource/pci_type.h"
#include "api/pcidevice.h"
#include "base/str.h"
#include "unit/agent/claim_store.h"
#include "unit/agent/world.h"
#include "unit/folder.h"
#include "unit/this_node.h"

#define NIC  "0000:01:00.0"
#define TWIN "0000:02:00.0"

/* clang-format off */
#define FUNCTION(address, driver, group, rest) \
	"{'kind':'pci','address':'" address "','vendor':'8086','device':'10d3','class':'020000'," \
	"'driver':'" driver "','iommuGroup':'" group "'" rest "}"
#define READY_OF(status) \
	"'passthroughEnabled':true,'conditions':[{'type':'Ready','status':'" status "','reason':'R','message':'so it is'}]"
#define CLAIMED(name, meta, spec, status) \
	"{'metadata':{'name':'" name "','uid':'u','resourceVersion':'1'" meta "}," \
	"'spec':{'nodeName':'node1'" spec "},'status':{" status "}}"
#define NIC_CLAIM(meta, spec, status)  CLAIMED("node1-000001000", meta, spec, status)
#define TWIN_CLAIM(meta, spec, status) CLAIMED("node1-000002000", meta, spec, status)
/* clang-format on */

enum { NODE1_LINES = 4 };

struct node1 {
	struct world world;
	struct folder folder;
	struct store *claims;
	struct store *devices;
	char *dev;
	char *sysfs;
	struct this_node this_node;
	struct pci_view view;
};

/* A link below the node's /sys to a thing whose last name counts; what it was is gone. NULL: no
 * link. */
static inline void node1_link(const struct node1 *node, const char *name, const char *target)
{
	auto_free char *path = xasprintf("%s/%s", node->sysfs, name);

	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
	}
	(void)unlink(path);
	if (target)
		assert_int_equal(symlink(target, path), 0);
}

/* The driver of a function as sysfs has it; NULL: none. */
static inline void node1_driver(const struct node1 *node, const char *address, const char *driver)
{
	auto_free char *name = xasprintf("bus/pci/devices/%s/driver", address);
	auto_free char *target = driver ? xasprintf("../../../drivers/%s", driver) : NULL;

	node1_link(node, name, target);
}

static inline void node1_function(const struct node1 *node, const struct pci_facts *pci)
{
	auto_free char *link = xasprintf("bus/pci/devices/%s/iommu_group", pci->address);
	auto_free char *member = NULL;
	auto_free char *back = NULL;
	auto_free char *group = NULL;

	node1_driver(node, pci->address, pci->driver);
	if (!pci->iommu_group)
		return;
	group = xasprintf("../../../../kernel/iommu_groups/%s", pci->iommu_group);
	member = xasprintf("kernel/iommu_groups/%s/devices/%s", pci->iommu_group, pci->address);
	back = xasprintf("../../../../bus/pci/devices/%s", pci->address);
	node1_link(node, link, group);
	if (!strchr(pci->iommu_group, '/'))
		node1_link(node, member, back);
}

static inline void node1_open(struct node1 *node, const char *const *lines)
{
	*node = (struct node1){ .claims = store_new(&pcideviceclaim_kind),
				.devices = store_new(&pcidevice_kind) };
	folder_init(&node->folder);
	node->dev = folder_path(&node->folder, "dev");
	node->sysfs = folder_path(&node->folder, "sys");
	(void)mkdir(node->dev, 0700);
	world_open(&node->world);
	for (size_t i = 0; i < NODE1_LINES && lines[i]; i++) {
		auto_json json_t *json = object_json(lines[i]);
		auto_free char *line = json_map_text(json);

		world_add(&node->world, line);
	}
	world_look(&node->world, &(struct inventory_options){ .node_name = "node1" });
	for (size_t i = 0; i < node->world.inventory->facts->pci.len; i++)
		node1_function(node, &node->world.inventory->facts->pci.items[i]);
	node->this_node = this_node_of(NULL, NULL, NULL);
	node->this_node.helper.dev_root = node->dev;
	node->this_node.helper.sysfs_root = node->sysfs;
	node->this_node.inventory = node->world.inventory;
	node->view = (struct pci_view){ .node = &node->this_node,
					.claims = node->claims,
					.devices = node->devices };
}

static inline void node1_close(struct node1 *node)
{
	world_close(&node->world);
	store_free(node->claims);
	store_free(node->devices);
	folder_done(&node->folder);
	free(node->dev);
	free(node->sysfs);
}

SUITE_CLOSING(node1, struct node1, node1_close);

static inline void node1_claim(struct node1 *node, const char *text)
{
	auto_json json_t *json = object_json(text);

	claim_store_put(node->claims, json);
}

/* The PCIDevice at the API server. */
static inline void node1_device(struct node1 *node, const char *text)
{
	auto_json json_t *json = object_json(text);
	auto_free char *object = json_map_text(json);
	struct json_text all = { object, strlen(object) };

	store_put(node->devices, entry_decode(&pcidevice_kind, &all, NULL), object_ignore_change,
		  NULL);
}

/* "vfio 12": nodes below /dev/vfio. */
static inline void node1_nodes(struct node1 *node, const char *names)
{
	auto_free char *copy = xstrdup(names);
	char *rest = copy;
	char *name;

	while ((name = strsep(&rest, " "))) {
		auto_free char *path = xasprintf("dev/vfio/%s", name);

		if (*name)
			folder_put(&node->folder, path, "");
	}
}
