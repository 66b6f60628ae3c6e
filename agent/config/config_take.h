/* config_take: one entry of each list of the HostDeviceConfig, checked and copied. Private to the
 * folder. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct config;
struct config_claim;
struct config_generic;
struct config_node_types;
struct config_socket;
struct config_usb;
struct err;
struct hostdeviceconfig_spec;

/* The resource names that entries have taken so far. Zero at first. */
struct config_names {
	struct config_claim *items;
	size_t len, cap;
};

/* A config in the making. */
struct config_maker {
	struct config *config;
	const struct hostdeviceconfig_spec *spec;
	struct config_names names;
	const char *list;     /* of the entry that is taken        */
	const char *resource; /* its name, right or not; NULL: none */
};

/* Each adds entry @i of its list to the config, or fails and adds nothing. */
int config_take_pci(struct config_maker *maker, size_t i, struct err *err);
int config_take_usb(struct config_maker *maker, size_t i, struct err *err);
int config_take_mdev(struct config_maker *maker, size_t i, struct err *err);
int config_take_types(struct config_maker *maker, size_t i, struct err *err);
int config_take_node_types(struct config_maker *maker, size_t i, struct err *err);
int config_take_generic(struct config_maker *maker, size_t i, struct err *err);
int config_take_socket(struct config_maker *maker, size_t i, struct err *err);
int config_take_iommufd(struct config_maker *maker, size_t i, struct err *err);
int config_take_nvidia(struct config_maker *maker, size_t i, struct err *err);

/* Release what an entry owns. */
void config_usb_done(struct config_usb *usb);
void config_node_types_done(struct config_node_types *types);
void config_generic_done(struct config_generic *generic);
void config_socket_done(struct config_socket *socket);

void config_names_done(struct config_names *names);
