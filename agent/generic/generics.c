#include "agent/generic/generics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/config/config.h"
#include "agent/generic/generic_type.h"
#include "agent/generic/handover.h"
#include "agent/generic/iommu_open.h"
#include "agent/generic/iommufd_type.h"
#include "agent/generic/pre_open.h"
#include "agent/generic/socket_type.h"
#include "agent/plugin/node_watch.h"
#include "api/json_values.h"
#include "base/array.h"
#include "base/mem.h"

/* What a container of a node with SELinux may connect to. */
static const char socket_label[] = "system_u:object_r:container_file_t:s0";

struct generics {
	struct generics_deps deps;
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

	generics->deps.touch(generics->deps.arg);
}

static int open_iommu(void *arg, int *ret_fd, struct err *err)
{
	const struct generics *generics = arg;

	return iommu_open(generics->deps.dev_root, ret_fd, err);
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
	generics->deps.touch(generics->deps.arg);
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
	generics->deps.report(generics->deps.arg, &troubles);
	config_troubles_done(&troubles);
}

/* --- life ------------------------------------------------------------------------------------------ */

static void make_handovers(struct generics *generics)
{
	const struct generics_deps *deps = &generics->deps;
	/* Not there where the kernel could have SELinux and has not. */
	auto_free char *enforce =
		xasprintf("%s/fs/selinux/enforce", deps->sysfs_root ? deps->sysfs_root : "/sys");

	generics->handover_dir = xasprintf("%s/plugins/hostdev/iommufd", deps->kubelet_dir);
	generics->handovers = handovers_new(&(struct handovers_deps){
		.loop = deps->loop,
		.clock = deps->clock,
		.folder = generics->handover_dir,
		.label = access(enforce, F_OK) == 0 ? socket_label : NULL,
		.open = open_iommu,
		.arg = generics,
	});
}

struct generics *generics_new(const struct generics_deps *deps)
{
	struct generics *generics = xcalloc(1, sizeof(*generics));

	generics->deps = *deps;
	generics->watch = node_watch_new(deps->loop, deps->clock, on_changed, generics);
	generics->opens = pre_open_new(&(struct pre_open_deps){ .loop = deps->loop,
								.clock = deps->clock,
								.helper_path = deps->helper_path,
								.dev_root = deps->dev_root,
								.metrics = deps->metrics,
								.changed = on_changed,
								.arg = generics });
	make_handovers(generics);
	generics->nodes = generic_type_new(deps->dev_root, deps->sysfs_root, generics->opens);
	generics->sockets = socket_type_new(
		&(struct socket_roots){ .host = deps->host_root, .sysfs = deps->sysfs_root });
	generics->iommufd = iommufd_type_new(deps->dev_root, generics->opens, generics->handovers);
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
