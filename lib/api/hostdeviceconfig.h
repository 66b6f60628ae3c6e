/*
 * hostdeviceconfig: HostDeviceConfig of hostdev.io/v1alpha1: resources offered without claims.
 *
 * There is a single object, HOSTDEVICECONFIG_NAME. The fields of the first three lists have the
 * names of KubeVirt's permittedHostDevices.
 */
#pragma once

#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"

#define HOSTDEVICECONFIG_NAME "default"

/* Whether Dynamic Resource Allocation offers the devices of an entry. */
struct hostdeviceconfig_dra {
	char *mode; /* "Off", "Claimed"; NULL: "Off" */
};

struct hostdeviceconfig_pci {
	char *resource_name;
	char *pci_vendor_selector; /* "8086:10d3" */
	bool external_resource_provider;
	struct hostdeviceconfig_dra dra;
};

struct hostdeviceconfig_usb_selector {
	char *vendor; /* four hex digits */
	char *product;
	char *serial;
	char *port_path;
};

struct hostdeviceconfig_usb {
	char *resource_name;
	struct {
		struct hostdeviceconfig_usb_selector *items;
		size_t len, cap;
	} selectors;
	bool external_resource_provider;
	struct hostdeviceconfig_dra dra;
};

struct hostdeviceconfig_mdev {
	char *resource_name;
	char *mdev_name_selector;
	bool external_resource_provider;
	struct hostdeviceconfig_dra dra;
};

struct hostdeviceconfig_node_types {
	struct json_pairs node_selector;
	struct json_strs types;
	struct json_strs old_types; /* KubeVirt's deprecated name; used if there are no others */
};

struct hostdeviceconfig_mdev_types {
	bool enabled;
	struct json_strs types;
	struct json_strs old_types; /* likewise */
	struct {
		struct hostdeviceconfig_node_types *items;
		size_t len, cap;
	} nodes;
};

struct hostdeviceconfig_generic {
	char *resource_name;
	char *path;
	char *container_path;
	int64_t count;
	char *permissions;
	bool pre_open;
	bool allow_host_critical;
	struct json_pairs node_selector;
};

/* -1 means absent; set both or neither. */
struct hostdeviceconfig_owner {
	int64_t uid;
	int64_t gid;
};

struct hostdeviceconfig_socket {
	char *resource_name;
	char *socket_path;
	int64_t count;
	char *count_from_misc;
	bool optional;
	struct hostdeviceconfig_owner owner;
	char *selinux_label;
	struct json_pairs node_selector;
};

struct hostdeviceconfig_iommufd {
	bool enabled;
	char *resource_name;
	int64_t count;
};

/* The content of a configuration file of NVIDIA's device plugin, for the nodes that match. */
struct hostdeviceconfig_nvidia {
	char *config;
	struct json_pairs node_selector;
};

struct hostdeviceconfig_spec {
	struct {
		struct hostdeviceconfig_pci *items;
		size_t len, cap;
	} pci_host_devices;
	struct {
		struct hostdeviceconfig_usb *items;
		size_t len, cap;
	} usb;
	struct {
		struct hostdeviceconfig_mdev *items;
		size_t len, cap;
	} mediated_devices;
	struct hostdeviceconfig_mdev_types mediated_devices_configuration;
	struct {
		struct hostdeviceconfig_generic *items;
		size_t len, cap;
	} generic_devices;
	struct {
		struct hostdeviceconfig_socket *items;
		size_t len, cap;
	} socket_devices;
	struct hostdeviceconfig_iommufd iommufd;
	struct {
		struct hostdeviceconfig_nvidia *items;
		size_t len, cap;
	} nvidia;
};

/* An entry that is ignored on all nodes or on one. */
struct hostdeviceconfig_entry {
	char *list;
	int64_t index; /* -1: the list has a single entry */
	char *resource_name;
	char *reason; /* one CamelCase word */
	char *message;
};

struct hostdeviceconfig_entries {
	struct hostdeviceconfig_entry *items;
	size_t len, cap;
};

/* The status of a node that differs from the others. */
struct hostdeviceconfig_node {
	char *node;
	int64_t observed_generation;
	struct hostdeviceconfig_entries entries;
};

struct hostdeviceconfig_nodes {
	struct hostdeviceconfig_node *items;
	size_t len, cap;
};

struct hostdeviceconfig_status {
	int64_t observed_generation;
	struct hostdeviceconfig_entries entries;
	struct hostdeviceconfig_nodes nodes;
	struct api_conditions conditions;
};

struct hostdeviceconfig {
	struct api_meta meta;
	struct hostdeviceconfig_spec spec;
	struct hostdeviceconfig_status status;
};

/* The resource name: its own, or the one that KubeVirt's launchers request. */
const char *hostdeviceconfig_iommufd_resource(const struct hostdeviceconfig_iommufd *iommufd);

extern const struct json_row hostdeviceconfig_status_map[];
extern const struct json_row hostdeviceconfig_node_map[];
extern const struct api_kind hostdeviceconfig_kind;
