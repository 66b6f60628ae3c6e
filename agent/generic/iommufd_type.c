#include "agent/generic/iommufd_type.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/config/config.h"
#include "agent/generic/handover.h"
#include "agent/generic/pre_open.h"
#include "agent/generic/shared.h"
#include "agent/plugin/device_type.h"
#include "base/err.h"
#include "base/mem.h"

static const char node[] = "/dev/iommu";

struct iommufd_type {
	const char *dev_root;
	struct pre_open *opens;
	struct handovers *handovers;
	struct shared shared;
};

static char *host_path(const struct iommufd_type *type)
{
	return xasprintf("%s/iommu", type->dev_root ? type->dev_root : "/dev");
}

/* NULL: it can be offered. The caller frees. */
static char *trouble_of(const struct iommufd_type *type)
{
	auto_free char *path = host_path(type);
	struct stat st;

	if (stat(path, &st) < 0)
		return xasprintf("%s is not there: load the module iommufd, if the kernel has it "
				 "(CONFIG_IOMMUFD)",
				 node);
	return xstrdup_or_null(pre_open_trouble(type->opens, node));
}

static int allocate(void *arg, const char *resource, const struct json_strs *ids,
		    struct allocation *allocation, struct err *err)
{
	const struct iommufd_type *type = arg;
	auto_free char *trouble = trouble_of(type);
	auto_free char *socket = NULL;

	(void)ids;
	if (shared_find(&type->shared, resource) == type->shared.len)
		return err_set(err, ERR_INVALID, -ENODEV, "the resource is not configured");
	if (trouble)
		return err_set(err, ERR_INVALID, -EHOSTDOWN, "%s", trouble);
	if (handovers_add(type->handovers, &socket, err) < 0)
		return err->code;
	allocation_add_device(allocation, node, "mrw");
	allocation_add_mount(allocation, IOMMUFD_SOCKET, socket, false);
	return 0;
}

const struct device_type iommufd_device_type = { .name = "iommufd", .allocate = allocate };

/* The node's own trouble, unless it is being opened for the first time. */
static void look(struct iommufd_type *type, struct shared_item *item)
{
	auto_free char *path = host_path(type);
	char *trouble = trouble_of(type);
	bool missing = access(path, F_OK) < 0;
	bool told = trouble && (missing || !pre_open_untried(type->opens, node));

	shared_report(item, missing ? CONFIG_NODE_MISSING : CONFIG_NODE_UNUSABLE,
		      told ? xstrdup(trouble) : NULL);
	shared_set(&type->shared, item, trouble);
}

void iommufd_type_offer(struct iommufd_type *type, struct plugins *plugins,
			struct config_troubles *troubles)
{
	for (size_t i = 0; i < type->shared.len; i++)
		look(type, &type->shared.items[i]);
	shared_offer(&type->shared, plugins, &iommufd_device_type, type, troubles);
}

void iommufd_type_paths(const struct iommufd_type *type, struct json_strs *paths)
{
	auto_free char *path = host_path(type);

	if (type->shared.len > 0)
		(void)json_strs_add_new(paths, path);
}

void iommufd_type_set(struct iommufd_type *type, const struct config *config)
{
	const struct config_iommufd *iommufd = &config->iommufd;
	const struct shared_item item = { .list = CONFIG_LIST_IOMMUFD,
					  .index = -1,
					  .resource = iommufd->resource };

	shared_clear(&type->shared);
	if (iommufd->enabled)
		(void)shared_add(&type->shared, &item, iommufd->count);
}

struct iommufd_type *iommufd_type_new(const char *dev_root, struct pre_open *opens,
				      struct handovers *handovers)
{
	struct iommufd_type *type = xcalloc(1, sizeof(*type));

	type->dev_root = dev_root;
	type->opens = opens;
	type->handovers = handovers;
	return type;
}

struct iommufd_type *iommufd_type_free(struct iommufd_type *type)
{
	if (!type)
		return NULL;
	shared_done(&type->shared);
	free(type);
	return NULL;
}
