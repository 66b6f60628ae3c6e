#include "agent/generic/generics.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/config/config.h"
#include "agent/generic/generic_type.h"
#include "agent/generic/handover.h"
#include "agent/generic/iommufd_type.h"
#include "agent/generic/pre_open.h"
#include "agent/generic/socket_type.h"
#include "agent/node/this_node.h"
#include "agent/plugin/node_watch.h"
#include "api/json_values.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"

/* Of linux/iommufd.h, which is newer than the headers that this builds with. */
struct iommu_option {
	uint32_t size;
	uint32_t option_id;
	uint16_t op;
	uint16_t reserved;
	uint32_t object_id;
	uint64_t val64 __attribute__((aligned(8)));
};

enum {
	IOMMU_OPTION_IOCTL = 0x3b87,
	OPTION_RLIMIT_MODE = 0, /* its value 1: by process, as vfio does it, not by user */
	OPTION_OP_SET = 0,
};

_Static_assert(sizeof(struct iommu_option) == 24, "the kernel knows it by its size");

/* Open the node below @dev_root (NULL: /dev), which counts the memory that is pinned through it as
 * its process' own from then on, into *@ret_fd. */
static int iommu_open(const char *dev_root, int *ret_fd, struct err *err)
{
	auto_free char *path = xasprintf("%s/iommu", dev_root ? dev_root : "/dev");
	auto_close int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	struct iommu_option option = { .size = sizeof(option),
				       .option_id = OPTION_RLIMIT_MODE,
				       .op = OPTION_OP_SET,
				       .val64 = 1 };

	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open '%s': %s", path, strerror(errno));
	if (ioctl(fd, IOMMU_OPTION_IOCTL, &option) < 0)
		return err_set(err, ERR_RETRY, -errno, "set how '%s' counts pinned memory: %s",
			       path, strerror(errno));
	*ret_fd = take_fd(fd);
	return 0;
}

/* What a container of a node with SELinux may connect to. */
static const char socket_label[] = "system_u:object_r:container_file_t:s0";

struct generics {
	const struct this_node *node;
	void (*touch)(void *arg);
	void (*report)(void *arg, const struct config_troubles *troubles);
	void *arg;
	const struct config *config; /* NULL: not known yet */
	struct json_pairs labels;
	struct node_watch *watch;
	struct pre_open *opens;
	struct handovers *handovers;
	char *handover_dir;
	struct generic_type *nodes;
	struct socket_type *sockets;
	struct iommufd_type *iommufd;
};

static void on_changed(void *arg)
{
	struct generics *generics = arg;

	generics->touch(generics->arg);
}

static int open_iommu(void *arg, int *ret_fd, struct err *err)
{
	const struct generics *generics = arg;

	return iommu_open(generics->node->helper.dev_root, ret_fd, err);
}

static void watch_paths(struct generics *generics)
{
	struct json_strs paths = { 0 };

	generic_type_paths(generics->nodes, &paths);
	socket_type_paths(generics->sockets, &paths);
	iommufd_type_paths(generics->iommufd, &paths);
	node_watch_set(generics->watch, &paths);
	json_strs_done(&paths);
}

static void set(struct generics *generics)
{
	if (!generics->config)
		return;
	generic_type_set(generics->nodes, generics->config, &generics->labels);
	socket_type_set(generics->sockets, generics->config, &generics->labels);
	iommufd_type_set(generics->iommufd, generics->config);
	watch_paths(generics);
	generics->touch(generics->arg);
}

void generics_set_config(struct generics *generics, const struct config *config)
{
	generics->config = config;
	set(generics);
}

void generics_set_labels(struct generics *generics, const struct json_pairs *labels)
{
	if (json_pairs_equal(&generics->labels, labels))
		return;
	json_pairs_done(&generics->labels);
	for (size_t i = 0; i < labels->len; i++)
		(void)json_pairs_set(&generics->labels, labels->items[i].key,
				     labels->items[i].value);
	set(generics);
}

void generics_offer(void *arg, struct plugins *plugins)
{
	struct generics *generics = arg;
	struct config_troubles troubles = { 0 };

	if (!generics->config)
		return;
	generic_type_offer(generics->nodes, plugins, &troubles);
	socket_type_offer(generics->sockets, plugins, &troubles);
	iommufd_type_offer(generics->iommufd, plugins, &troubles);
	generics->report(generics->arg, &troubles);
	config_troubles_done(&troubles);
}

/* --- life ------------------------------------------------------------------------------------- */

static void make_handovers(struct generics *generics)
{
	const struct this_node *node = generics->node;
	const char *sysfs_root = node->helper.sysfs_root ? node->helper.sysfs_root : "/sys";
	/* Not there where the kernel could have SELinux and has not. */
	auto_free char *enforce = xasprintf("%s/fs/selinux/enforce", sysfs_root);

	generics->handover_dir = xasprintf("%s/plugins/hostdev/iommufd", node->kubelet_dir);
	generics->handovers = handovers_new(node, generics->handover_dir,
					    access(enforce, F_OK) == 0 ? socket_label : NULL,
					    open_iommu, generics);
}

struct generics *generics_new(const struct this_node *node, void (*touch)(void *arg),
			      void (*report)(void *arg, const struct config_troubles *troubles),
			      void *arg)
{
	struct generics *generics = xcalloc(1, sizeof(*generics));
	const char *dev_root = node->helper.dev_root;
	const char *sysfs_root = node->helper.sysfs_root;

	generics->node = node;
	generics->touch = touch;
	generics->report = report;
	generics->arg = arg;
	generics->watch = node_watch_new(node->loop, node->clock, on_changed, generics);
	generics->opens = pre_open_new(node, on_changed, generics);
	make_handovers(generics);
	generics->nodes = generic_type_new(dev_root, sysfs_root, generics->opens);
	generics->sockets = socket_type_new(
		&(struct socket_roots){ .host = node->host_root, .sysfs = sysfs_root });
	generics->iommufd = iommufd_type_new(dev_root, generics->opens, generics->handovers);
	return generics;
}

struct generics *generics_free(struct generics *generics)
{
	if (!generics)
		return NULL;
	generic_type_free(generics->nodes);
	socket_type_free(generics->sockets);
	iommufd_type_free(generics->iommufd);
	handovers_free(generics->handovers);
	pre_open_free(generics->opens);
	node_watch_free(generics->watch);
	json_pairs_done(&generics->labels);
	free(generics->handover_dir);
	free(generics);
	return NULL;
}
