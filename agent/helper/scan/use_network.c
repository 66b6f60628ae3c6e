#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/helper/scan/netlinks.h"
#include "agent/helper/scan/pci_scan.h"
#include "agent/helper/scan/use_scan.h"
#include "agent/helper/sys/bind_state.h"
#include "agent/helper/sys/sysfs.h"
#include "base/mem.h"
#include "base/str.h"

enum { CLASS_NETWORK = 0x02, PROBE_TRIES = 60, PROBE_PAUSE_NS = 50000000 };

/* Add @reason to all hardware under the interface @name: "eth0[ under bond0] <tail>". */
static void add_under(struct use_scanner *scanner, const char *name, enum use_reason reason,
		      const char *tail)
{
	for (size_t i = 0; i < netlinks_len(scanner->links); i++) {
		const char *link = netlinks_name(scanner->links, i);
		char *detail;

		if (!netlinks_carries(scanner->links, i, name))
			continue;
		if (strcmp(link, name) == 0)
			detail = xasprintf("%s %s", link, tail);
		else
			detail = xasprintf("%s under %s %s", link, name, tail);
		uses_add(&scanner->uses, netlinks_device(scanner->links, i), reason, link, detail);
	}
}

void use_network_add_server(struct use_scanner *scanner, const char *address,
			    enum use_reason reason, const char *what)
{
	const struct route *route = routes_find(&scanner->routes, address);
	auto_free char *tail = NULL;

	if (!route) {
		uses_add_unknown(
			&scanner->uses, USE_ASK_SERVER,
			xasprintf("no route leads to '%.64s', from where %s", address, what));
		return;
	}
	tail = xasprintf("leads to %s, from where %s", address, what);
	add_under(scanner, route->interface, reason, tail);
}

static void add_node_address(struct use_scanner *scanner)
{
	const struct route *route = routes_find(&scanner->routes, scanner->node_address);
	auto_free char *tail = NULL;

	if (!route) {
		uses_add_unknown(&scanner->uses, USE_ASK_NODE_ADDRESS,
				 xasprintf("no interface has the node's address '%.64s'",
					   scanner->node_address));
		return;
	}
	tail = xasprintf("has the node's address %s", scanner->node_address);
	add_under(scanner, route->interface, USE_HOST_NETWORK, tail);
}

/*
 * Interfaces of the hardware with an address, members of bonds and bridges without one, and those
 * that may be an uplink by a route that is not visible (routes.h). Addresses, routes and bonds do
 * not need a carrier. But some network managers (systemd-networkd, for example) remove the
 * addresses with the carrier and restore them with it: then only the interface is visible.
 */
static void add_interface_up(struct use_scanner *scanner, size_t link)
{
	const char *name = netlinks_name(scanner->links, link);
	const struct devpath *device = netlinks_device(scanner->links, link);

	if (!netlinks_is_up(scanner->links, link) ||
	    uses_has(&scanner->uses, device, USE_HOST_NETWORK, name))
		return;
	if (routes_interface_has_address(&scanner->routes, name))
		uses_add(&scanner->uses, device, USE_INTERFACE_UP, name,
			 xasprintf("%s is up and has an address", name));
	else if (netlinks_upper(scanner->links, link))
		uses_add(
			&scanner->uses, device, USE_INTERFACE_UP, name,
			xasprintf("%s is up under %s", name, netlinks_upper(scanner->links, link)));
	else if (scanner->other_default)
		uses_add(&scanner->uses, device, USE_UNKNOWN, name,
			 xasprintf("%s is up, and the default route of table %s may go through it: "
				   "take it down (ip link set %s down) if it does not",
				   name, scanner->other_default, name));
	else if (netlinks_is_connected(scanner->links, link))
		uses_add(&scanner->uses, device, USE_UNKNOWN, name,
			 xasprintf("%s is up and connected, and may carry routes that cannot be "
				   "seen: take it down (ip link set %s down) if it does not",
				   name, name));
	else if (netlinks_was_connected(scanner->links, link))
		uses_add(&scanner->uses, device, USE_UNKNOWN, name,
			 xasprintf("%s is up and has been connected, and may be an uplink again: "
				   "take it down (ip link set %s down) if it is not",
				   name, name));
}

/*
 * Count the interfaces in @folder ("net") that belong to other network namespaces than that of
 * /sys. They are not listed, but each counts as a link of the folder (kernfs counts subfolders of
 * all namespaces, kernfs_link_sibling() of fs/kernfs/dir.c). A filesystem that does not count links
 * returns 1.
 */
static size_t count_moved(int sysfs_fd, const char *folder)
{
	auto_names struct sysfs_names names = { 0 };
	struct stat st;

	if (sysfs_stat(sysfs_fd, folder, &st, NULL) != 0 || !S_ISDIR(st.st_mode) ||
	    sysfs_list(sysfs_fd, folder, &names, NULL) != 0)
		return 0;
	if (st.st_nlink > 2 + names.len)
		return st.st_nlink - 2 - names.len;
	/* The kernel removes the folder with its last interface. */
	return names.len == 0 ? 1 : 0;
}

static void add_moved(struct use_scanner *scanner, const struct devpath *device, const char *parent)
{
	static const char *const folders[] = { "net", "infiniband" };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		auto_free char *folder = xasprintf("%s/%s", parent, folders[i]);
		size_t moved = count_moved(scanner->sysfs_fd, folder);

		if (moved == 1)
			uses_add(&scanner->uses, device, USE_INTERFACE_MOVED, folders[i],
				 xstrdup("its interface is in another network namespace, such as "
					 "a pod's"));
		else if (moved > 1)
			uses_add(&scanner->uses, device, USE_INTERFACE_MOVED, folders[i],
				 xasprintf("%zu of its interfaces are in other network namespaces, "
					   "such as pods'",
					   moved));
	}
}

/* A program drives it, such as a pod's DPDK. /sys does not show which process has the node open,
 * nor does /proc to an agent without capabilities. */
static void add_user_driven(struct use_scanner *scanner, const struct devpath *device,
			    const char *folder)
{
	auto_free char *path = xasprintf("%s/uio", folder);
	auto_free char *node = sysfs_any_entry(scanner->sysfs_fd, path);

	if (node)
		uses_add(
			&scanner->uses, device, USE_UNKNOWN, node,
			xasprintf("a program may use it through /dev/%s: unbind its driver if none "
				  "does",
				  node));
}

static void add_moved_of_function(struct use_scanner *scanner, const struct pci_function *function)
{
	auto_free char *folder = xasprintf("bus/pci/devices/%s", function->address);
	struct devpath device = { "", "" };

	memcpy(device.pci, function->address, sizeof(device.pci));
	add_moved(scanner, &device, folder);
	add_user_driven(scanner, &device, folder);
}

/* Interfaces that hang on a device which is itself below a function, or a USB device: of virtio its
 * child, of a subfunction its auxiliary device ("mlx5_core.sf.4"), of USB one of the USB interfaces
 * ("2-1:1.0"). */
static void add_moved_on_bus(struct use_scanner *scanner, const char *bus)
{
	auto_free char *folder = xasprintf("bus/%s/devices", bus);
	auto_names struct sysfs_names names = { 0 };

	if (sysfs_list(scanner->sysfs_fd, folder, &names, NULL) != 0)
		return;
	for (size_t i = 0; i < names.len; i++) {
		auto_free char *path = xasprintf("%s/%s", folder, names.items[i]);
		struct devpath device;

		if (devpath_of_link(scanner->sysfs_fd, path, &device))
			add_moved(scanner, &device, path);
	}
}

/* Its queues are in a virtual machine's memory, whatever its interface does, and the process that
 * has the node open is not visible. virtio_vdpa makes it an interface or a disk of the host, which
 * is checked like any other. */
static void add_vdpa(struct use_scanner *scanner)
{
	static const char folder[] = "bus/vdpa/devices";
	auto_names struct sysfs_names names = { 0 };

	if (sysfs_list(scanner->sysfs_fd, folder, &names, NULL) != 0)
		return;
	for (size_t i = 0; i < names.len; i++) {
		auto_free char *path = xasprintf("%s/%s", folder, names.items[i]);
		auto_free char *driver_path = xasprintf("%s/driver", path);
		char target[SYSFS_LINK_MAX + 1];
		struct devpath device;

		if (!devpath_of_link(scanner->sysfs_fd, path, &device) ||
		    sysfs_link(scanner->sysfs_fd, driver_path, target, NULL) != 0 ||
		    strcmp(str_base_name(target), "virtio_vdpa") == 0)
			continue;
		uses_add(&scanner->uses, &device, USE_UNKNOWN, names.items[i],
			 xasprintf("a program may have its vDPA device %s: delete that (vdpa dev "
				   "del %s) if none does",
				   names.items[i], names.items[i]));
	}
}

/* An interface in another network namespace leaves the folder. Of virtio it is the child's. */
static bool shows_interface(int sysfs_fd, const char *folder)
{
	auto_names struct sysfs_names children = { 0 };
	auto_free char *own = xasprintf("%s/net", folder);
	bool found = faccessat(sysfs_fd, own, F_OK, 0) == 0;

	if (!found && sysfs_list_prefix(sysfs_fd, folder, "virtio", &children, NULL) != 0)
		return false;
	for (size_t i = 0; i < children.len && !found; i++) {
		auto_free char *path = xasprintf("%s/%s/net", folder, children.items[i]);

		found = faccessat(sysfs_fd, path, F_OK, 0) == 0;
	}
	return found;
}

static bool is_unseen(int sysfs_fd, const struct pci_function *function)
{
	auto_free char *folder = xasprintf("bus/pci/devices/%s", function->address);

	return function->driver && function->class_id >> 16 == CLASS_NETWORK &&
	       !bind_driver_is_for_programs(sysfs_fd, function->address, function->driver) &&
	       !shows_interface(sysfs_fd, folder);
}

bool use_network_await(int sysfs_fd, const struct pci_function *function)
{
	const struct timespec pause = { 0, PROBE_PAUSE_NS };

	for (int i = 0; i < PROBE_TRIES && is_unseen(sysfs_fd, function); i++)
		(void)nanosleep(&pause, NULL);
	return !is_unseen(sysfs_fd, function);
}

char *use_network_unseen(int sysfs_fd, const struct pci_function *function)
{
	if (!is_unseen(sysfs_fd, function))
		return NULL;
	return xasprintf(
		"its driver %s shows no interface; take it off that driver if nothing uses it",
		function->driver);
}

/* A driver of a network card needs a kernel with networking; those that hand a card on do not. */
static void check_interfaces(struct use_scanner *scanner, const struct pci_functions *functions)
{
	const char *malformed = netlinks_malformed(scanner->links);

	if (malformed)
		uses_add_unknown(&scanner->uses, USE_ASK_INTERFACES,
				 xasprintf("in /sys: %s", malformed));
	for (size_t i = 0; i < functions->len && netlinks_is_empty(scanner->links); i++) {
		const struct pci_function *function = &functions->items[i];

		if (!function->driver || function->class_id >> 16 != CLASS_NETWORK ||
		    bind_driver_is_for_programs(scanner->sysfs_fd, function->address,
						function->driver))
			continue;
		uses_add_unknown(
			&scanner->uses, USE_ASK_INTERFACES,
			xasprintf(
				"in /sys: 'class/net' has no interface, not even lo, although the "
				"driver %s has %s: a part of /sys is missing",
				function->driver, function->address));
		return;
	}
}

void use_network_collect(struct use_scanner *scanner, const struct pci_functions *functions)
{
	static const char *const buses[] = { "auxiliary", "bcma", "ssb", "usb", "virtio" };

	check_interfaces(scanner, functions);
	for (size_t i = 0; i < scanner->routes.len; i++) {
		const struct route *route = &scanner->routes.items[i];

		if (route->prefix == 0)
			add_under(scanner, route->interface, USE_HOST_NETWORK,
				  "has the default route");
	}
	if (scanner->node_address && scanner->routes.len > 0)
		add_node_address(scanner);
	for (size_t i = 0; i < netlinks_len(scanner->links); i++)
		add_interface_up(scanner, i);
	for (size_t i = 0; i < functions->len; i++) {
		if (functions->items[i].driver || functions->items[i].driver_unread)
			add_moved_of_function(scanner, &functions->items[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(buses); i++)
		add_moved_on_bus(scanner, buses[i]);
	add_vdpa(scanner);
}
