/*
 * config: what the HostDeviceConfig asks for, as plain values that have been checked.
 *
 * An entry that cannot be carried out anywhere is left out and reported in `troubles`; the others
 * go on. Nothing here depends on the node: nodeSelectors are for config_selects().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "api/json_values.h"

struct hostdeviceconfig;

enum {
	CONFIG_ENTRIES_MAX = 128,    /* of one list                   */
	CONFIG_SELECTORS_MAX = 16,   /* USB devices of one bundle     */
	CONFIG_LABELS_MAX = 16,      /* of one nodeSelector           */
	CONFIG_TYPES_MAX = 64,       /* mdev types of one list        */
	CONFIG_COUNT_MAX = 10000,    /* of one resource               */
	CONFIG_COUNT_DEFAULT = 1000, /* if the entry names none      */
	CONFIG_TEXT_MAX = 255,       /* a type, a serial, a label     */
	CONFIG_PATH_MAX = 255,       /* of a node or socket           */
	CONFIG_NVIDIA_MAX = 32768,   /* bytes of a configuration file */
	CONFIG_TROUBLES_MAX = 64,    /* further ones are only counted */
};

/* The lists of the spec, as reports name them. */
#define CONFIG_LIST_PCI     "pciHostDevices"
#define CONFIG_LIST_USB     "usb"
#define CONFIG_LIST_MDEV    "mediatedDevices"
#define CONFIG_LIST_TYPES   "mediatedDevicesConfiguration"
#define CONFIG_LIST_GENERIC "genericDevices"
#define CONFIG_LIST_SOCKET  "socketDevices"
#define CONFIG_LIST_IOMMUFD "iommufd"
#define CONFIG_LIST_NVIDIA  "nvidia"

/* Each entry's index is its place in its list of the spec, for reports. */

/* What Dynamic Resource Allocation offers of an entry's devices. */
enum config_dra {
	CONFIG_DRA_OFF,     /* nothing: the device plugin does                          */
	CONFIG_DRA_CLAIMED, /* those that a claim has, or that need none; others nobody */
	/* Also those that are free, which are bound when a pod starts. Of PCI functions only */
	CONFIG_DRA_ON_DEMAND,
};

/* Functions that are bound to a vfio driver. Entries may share a resource: it is their pool. */
struct config_pci {
	size_t index;
	char *resource;
	uint16_t vendor, device;
	bool external; /* another plugin serves it: never offered by us */
	enum config_dra dra;
};

struct config_usb_selector {
	uint16_t vendor, product;
	char *serial;    /* NULL: any */
	char *port_path; /* "1-2.3"; NULL: any */
};

/* With more than one selector, a bundle has one device for each. */
struct config_usb {
	size_t index;
	char *resource;
	struct {
		struct config_usb_selector *items;
		size_t len, cap;
	} selectors;
	bool external;
	enum config_dra dra;
};

/* Entries may share a resource. */
struct config_mdev {
	size_t index;
	char *resource;
	char *type;    /* a type's name with '_' for blanks, or its id */
	bool external; /* protects the type from removal, too */
	enum config_dra dra;
};

/* The types wanted on the nodes that have all of these labels. */
struct config_node_types {
	size_t index;
	struct json_pairs selector;
	struct json_strs types; /* in the user's order, '_' for blanks */
};

struct config_mdev_types {
	bool enabled;           /* false: nothing is created and nothing removed */
	struct json_strs types; /* on nodes without an entry of their own */
	struct {
		struct config_node_types *items;
		size_t len, cap;
	} nodes;
};

/* A device node that several containers may share. */
struct config_generic {
	size_t index;
	char *resource;
	char *path;           /* on the host, below /dev */
	char *container_path; /* never NULL */
	char *permissions;    /* of "rwm" */
	unsigned count;
	bool pre_open;
	bool allow_critical;        /* also a disk or the machine's memory */
	struct json_pairs selector; /* nodes that have all of these labels */
};

/* A socket of a daemon of the host, whose folder containers get. */
struct config_socket {
	size_t index;
	char *resource;
	char *folder; /* "/var/run/tdx-qgs", without '/' at the end */
	char *file;   /* "qgs.socket" */
	unsigned count;
	char *misc;    /* misc controller resource with the capacity; NULL: @count */
	bool optional; /* healthy whether it is there or not */
	bool has_owner;
	uid_t uid;
	gid_t gid;
	char *selinux_label; /* NULL: left as it is */
	struct json_pairs selector;
};

struct config_iommufd {
	bool enabled;
	char *resource;
	unsigned count;
};

/* A configuration of NVIDIA's GPUs; a node uses the first that selects it. */
struct config_nvidia {
	size_t index;
	char *text; /* of a file of NVIDIA's device plugin, not checked */
	struct json_pairs selector;
};

/* Why an entry has no effect, as one word for programs. */
#define CONFIG_INVALID           "Invalid"          /* wrong in itself: on no node               */
#define CONFIG_SAME_NAME         "SameName"         /* another entry has its name on this node   */
#define CONFIG_NAME_TAKEN        "NameTaken"        /* devices of another kind have it           */
#define CONFIG_NODE_MISSING      "NodeMissing"      /* the device node is not there              */
#define CONFIG_NODE_UNUSABLE     "NodeUnusable"     /* it is, and cannot be used, or is VFIO's   */
#define CONFIG_NODE_CRITICAL     "NodeHostCritical" /* it is a disk or the machine's memory      */
#define CONFIG_NODE_NOT_WRITABLE "NodeNotWritable"  /* the agent cannot make QEMU its owner */
#define CONFIG_NO_CAPACITY       "NoCapacity"       /* the kernel has no such capacity           */
#define CONFIG_SOCKET_MISSING    "SocketMissing"    /* the socket is not there                   */
#define CONFIG_SOCKET_UNUSABLE \
	"SocketUnusable"                      /* what is there is none, or is not to be followed */
#define CONFIG_OWNER_NOT_SET   "OwnerNotSet"  /* the agent cannot set a socket's owner */
#define CONFIG_NO_DEVICE       "NoDevice"     /* nothing that there is is what is selected */
#define CONFIG_DEVICES_TAKEN   "DevicesTaken" /* offered by another entry or claim         */
#define CONFIG_DEVICES_REFUSED "DevicesRefused" /* no selected device is claimable */
#define CONFIG_NO_CDI          "NoCDI" /* DRA: the container runtime would leave the devices out */
#define CONFIG_FILE_USED       "FileUsed" /* a file on the agent's command line overrides it */

/* One entry that is left out. */
struct config_trouble {
	const char *list;   /* static: "genericDevices"                     */
	int64_t index;      /* -1: there is only one                        */
	const char *reason; /* static, one of the above                     */
	char *resource;     /* NULL: it has none; cleaned, not always valid */
	char *message;
};

/* The same, all borrowed but for the static ones. */
struct config_trouble_value {
	const char *list;
	int64_t index;
	const char *reason; /* NULL: CONFIG_INVALID */
	const char *resource;
	const char *message;
};

/* Zero at first. */
struct config_troubles {
	struct config_trouble *items;
	size_t len, cap;
	size_t more; /* that did not fit */
};

/* Append a copy, its texts cleaned and cut; beyond CONFIG_TROUBLES_MAX they are only counted. */
void config_troubles_add(struct config_troubles *troubles,
			 const struct config_trouble_value *trouble);
/* Append copies of all of @more. */
void config_troubles_join(struct config_troubles *troubles, const struct config_troubles *more);
/* Release; there are none again. */
void config_troubles_done(struct config_troubles *troubles);

struct config {
	struct {
		struct config_pci *items;
		size_t len, cap;
	} pci;
	struct {
		struct config_usb *items;
		size_t len, cap;
	} usb;
	struct {
		struct config_mdev *items;
		size_t len, cap;
	} mdevs;
	struct config_mdev_types mdev_types;
	struct {
		struct config_generic *items;
		size_t len, cap;
	} generics;
	struct {
		struct config_socket *items;
		size_t len, cap;
	} sockets;
	struct config_iommufd iommufd;
	struct {
		struct config_nvidia *items;
		size_t len, cap;
	} nvidia;
	struct config_troubles troubles;
};

/* Of @object, which may be NULL: nothing is asked for then, as by an empty one. Copies all. */
struct config *config_new(const struct hostdeviceconfig *object);
/* Takes NULL, returns NULL. */
struct config *config_free(struct config *config);

/* Has a node with @labels all of @selector? An empty selector takes every node. */
bool config_selects(const struct json_pairs *selector, const struct json_pairs *labels);
