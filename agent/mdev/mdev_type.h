/*
 * mdev_type: offers mediated devices to pods through the kubelet: those that the HostDeviceConfig's
 * selectors match, of every creator, and of the others those that `otherwise` names.
 *
 * An ID is the instance's UUID. An instance is healthy while it exists, is not being removed, and
 * the node of its IOMMU group exists. Each offer is computed from the view alone; nothing is
 * remembered. An instance whose entry has DRA offer it is marked so, and is in no list of the
 * kubelet.
 */
#pragma once

#include <stdbool.h>

struct config;
struct config_troubles;
struct device_type;
struct json_strs;
struct mdev_type;
struct mediateddevice;
struct plugins;
struct this_node;

/* What exists now. All borrowed, and read at every update and every Allocate. */
struct mdev_view {
	const struct this_node *node; /* without an inventory nothing is offered */
	const struct config *config;  /* NULL: not known yet, likewise           */
	/* Is the instance @uuid being removed? May be NULL. */
	bool (*removing)(void *arg, const char *uuid);
	/* The resource that offers the instance @uuid if the config does not name its type; NULL:
	 * none. The text is valid until the inventory changes. May be NULL. */
	const char *(*otherwise)(void *arg, const char *uuid);
	/* The resource under which a pod has the instance @uuid. See offers_resource(). May be
	 * NULL. */
	const char *(*held_as)(void *arg, const char *uuid, bool *ret_ours);
	/* As offers_number_trouble(). May be NULL. */
	char *(*number)(void *arg, const char *uuid);
	/* As offers_start_trouble(). May be NULL. */
	char *(*start)(void *arg, const char *uuid);
	/* As offers_is_busy(). May be NULL. */
	bool (*busy)(void *arg, const char *uuid);
	void *arg;
};

/* @view may be changed between two calls, and outlives the type. */
struct mdev_type *mdev_type_new(const struct mdev_view *view);
/* Takes NULL, returns NULL. */
struct mdev_type *mdev_type_free(struct mdev_type *type);

/* Update the resources of @plugins to what the view shows. Entries of the config whose instances
 * belong to another entry are added to @troubles. */
void mdev_type_offer(struct mdev_type *type, struct plugins *plugins,
		     struct config_troubles *troubles);

/* Add the nodes that what is offered now needs. */
void mdev_type_nodes(struct mdev_type *type, struct json_strs *nodes);

/* The resource that offers @device; NULL: none. Of several entries of the config the first
 * counts. */
const char *mdev_type_resource(const struct mdev_view *view, const struct mediateddevice *device);

/* Its `arg` is the struct mdev_type. */
extern const struct device_type mdev_device_type;
