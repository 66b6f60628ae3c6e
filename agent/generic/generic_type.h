/*
 * generic_type: device nodes of the host that many containers use at once, offered to pods through
 * the kubelet.
 *
 * A node's units are healthy while the node is there and, where that is asked for, has been opened
 * once. A container gets the node once, however many units it asks for. Nodes of disks and of the
 * machine's memory are offered only if the entry says so.
 */
#pragma once

struct config;
struct config_troubles;
struct device_type;
struct generic_type;
struct json_pairs;
struct json_strs;
struct plugins;
struct pre_open;

/* All borrowed; @dev_root NULL: /dev, @sysfs_root NULL: /sys. */
struct generic_type *generic_type_new(const char *dev_root, const char *sysfs_root,
				      struct pre_open *opens);
/* Takes NULL, returns NULL. */
struct generic_type *generic_type_free(struct generic_type *type);

/* What is asked for of a node with these labels; both borrowed until the next call or the end. */
void generic_type_set(struct generic_type *type, const struct config *config,
		      const struct json_pairs *labels);

/* Add the paths at which something may happen that concerns it. */
void generic_type_paths(const struct generic_type *type, struct json_strs *paths);

/* Make what @plugins offer what there is; what this node cannot have is added to @troubles. */
void generic_type_offer(struct generic_type *type, struct plugins *plugins,
			struct config_troubles *troubles);

/* Its `arg` is the struct generic_type. */
extern const struct device_type generic_device_type;
