#include "agent/config/config_take.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config/config.h"
#include "agent/config/config_check.h"
#include "api/hostdeviceconfig.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"

/* --- names ------------------------------------------------------------------------------------ */

/* Who wants a name. Texts are borrowed until the names are released. */
struct config_claim {
	const char *name;
	const char *list;
	bool external;   /* another plugin serves it                             */
	bool pools;      /* entries of its list share names, if they are alike   */
	const char *env; /* prefix of the variable made of the name; NULL: none */
};

/* As in the name of a variable: '/' and '.' are one, and so is 'a' and 'A'. */
static char fold(char c)
{
	return c == '/' || c == '.' ? '_' : (char)toupper((unsigned char)c);
}

static bool same_variable(const char *a, const char *b)
{
	while (*a && fold(*a) == fold(*b)) {
		a++;
		b++;
	}
	return fold(*a) == fold(*b);
}

static int compare(const struct config_claim *has, const struct config_claim *wants,
		   struct err *err)
{
	bool same = strcmp(has->name, wants->name) == 0;

	if (!same && has->env && wants->env && strcmp(has->env, wants->env) == 0 &&
	    same_variable(has->name, wants->name))
		return err_set(err, ERR_INVALID, -EEXIST,
			       "containers would get the devices of '%s' and of this in one "
			       "variable: names that differ only in case, '/' and '.' cannot both "
			       "be used",
			       has->name);
	if (!same)
		return 0;
	if (strcmp(has->list, wants->list) != 0)
		return err_set(err, ERR_INVALID, -EEXIST,
			       "the name is that of an entry of %s already: give it another",
			       has->list);
	if (has->external != wants->external)
		return err_set(
			err, ERR_INVALID, -EEXIST,
			"another entry with the same name has another externalResourceProvider");
	if (!has->pools || !wants->pools)
		return err_set(err, ERR_INVALID, -EEXIST,
			       "another entry of this list has the name already: give it another");
	return 0;
}

/* 0, or -EEXIST with @err: the name is taken, or its variable is another's. */
static int config_names_take(struct config_names *names, const struct config_claim *claim,
			     struct err *err)
{
	for (size_t i = 0; i < names->len; i++) {
		int r = compare(&names->items[i], claim, err);

		if (r < 0)
			return r;
	}
	*array_add(names) = *claim;
	return 0;
}

void config_names_done(struct config_names *names)
{
	array_done(names);
}

/* --- entries ---------------------------------------------------------------------------------- */

/* Variables that list a container's devices. */
static const char pci_env[] = "PCI_RESOURCE";
static const char mdev_env[] = "MDEV_PCI_RESOURCE";
static const char usb_env[] = "USB_RESOURCE";

static int take_name(struct config_maker *maker, const char *name, struct config_claim claim,
		     struct err *err)
{
	maker->resource = name;
	if (config_check_resource(name, err) < 0)
		return err->code;
	claim.name = name;
	claim.list = maker->list;
	return config_names_take(&maker->names, &claim, err);
}

/* --- devices ---------------------------------------------------------------------------------- */

int config_take_pci(struct config_maker *maker, size_t i, struct err *err)
{
	const struct hostdeviceconfig_pci *from = &maker->spec->pci_host_devices.items[i];
	struct config *config = maker->config;
	struct config_pci pci = { .index = i, .external = from->external_resource_provider };
	struct config_claim claim = { .external = pci.external, .pools = true, .env = pci_env };

	maker->resource = from->resource_name;
	if (config_check_pci_ids(from->pci_vendor_selector, &pci.vendor, &pci.device, err) < 0 ||
	    config_check_dra(from->dra.mode, pci.external, true, &pci.dra, err) < 0)
		return err->code;
	for (size_t k = 0; k < config->pci.len; k++) {
		const struct config_pci *other = &config->pci.items[k];

		if (other->vendor == pci.vendor && other->device == pci.device)
			return err_set(
				err, ERR_INVALID, -EEXIST,
				"pciVendorSelector '%s': an entry with resource '%s' already "
				"selects these devices",
				from->pci_vendor_selector, other->resource);
	}
	if (take_name(maker, from->resource_name, claim, err) < 0)
		return err->code;
	pci.resource = xstrdup(from->resource_name);
	*array_add(&config->pci) = pci;
	return 0;
}

static int take_selector(const struct hostdeviceconfig_usb_selector *from, struct config_usb *usb,
			 struct err *err)
{
	struct config_usb_selector selector = { 0 };

	if (config_check_usb_id("vendor", from->vendor, &selector.vendor, err) < 0 ||
	    config_check_usb_id("product", from->product, &selector.product, err) < 0 ||
	    config_check_port_path(from->port_path, err) < 0 ||
	    (from->serial && config_check_text("serial", from->serial, err) < 0))
		return err->code;
	selector.serial = xstrdup_or_null(from->serial);
	selector.port_path = xstrdup_or_null(from->port_path);
	*array_add(&usb->selectors) = selector;
	return 0;
}

static int take_selectors(const struct hostdeviceconfig_usb *from, struct config_usb *usb,
			  struct err *err)
{
	if (from->selectors.len == 0 || from->selectors.len > CONFIG_SELECTORS_MAX)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "selectors has %zu items: must be 1 to %d", from->selectors.len,
			       CONFIG_SELECTORS_MAX);
	for (size_t i = 0; i < from->selectors.len; i++) {
		if (take_selector(&from->selectors.items[i], usb, err) < 0)
			return err_wrap(err, "selectors[%zu]", i);
	}
	return 0;
}

void config_usb_done(struct config_usb *usb)
{
	free(usb->resource);
	for (size_t i = 0; i < usb->selectors.len; i++) {
		free(usb->selectors.items[i].serial);
		free(usb->selectors.items[i].port_path);
	}
	array_done(&usb->selectors);
}

int config_take_usb(struct config_maker *maker, size_t i, struct err *err)
{
	const struct hostdeviceconfig_usb *from = &maker->spec->usb.items[i];
	struct config_usb usb = { .index = i, .external = from->external_resource_provider };
	struct config_claim claim = { .external = usb.external, .env = usb_env };

	maker->resource = from->resource_name;
	if (take_selectors(from, &usb, err) < 0 ||
	    config_check_dra(from->dra.mode, usb.external, false, &usb.dra, err) < 0 ||
	    take_name(maker, from->resource_name, claim, err) < 0) {
		config_usb_done(&usb);
		return err->code;
	}
	usb.resource = xstrdup(from->resource_name);
	*array_add(&maker->config->usb) = usb;
	return 0;
}

/* --- mediated devices ------------------------------------------------------------------------- */

int config_take_mdev(struct config_maker *maker, size_t i, struct err *err)
{
	const struct hostdeviceconfig_mdev *from = &maker->spec->mediated_devices.items[i];
	struct config *config = maker->config;
	bool external = from->external_resource_provider;
	struct config_claim claim = { .external = external, .pools = true, .env = mdev_env };
	enum config_dra dra = CONFIG_DRA_OFF;
	auto_free char *type = NULL;

	maker->resource = from->resource_name;
	if (config_check_type(from->mdev_name_selector, &type, err) < 0)
		return err_wrap(err, "mdevNameSelector");
	if (config_check_dra(from->dra.mode, external, false, &dra, err) < 0)
		return err->code;
	for (size_t k = 0; k < config->mdevs.len; k++) {
		if (strcmp(config->mdevs.items[k].type, type) == 0)
			return err_set(
				err, ERR_INVALID, -EEXIST,
				"mdevNameSelector '%.64s': an entry with resource '%s' already "
				"selects these devices",
				type, config->mdevs.items[k].resource);
	}
	if (take_name(maker, from->resource_name, claim, err) < 0)
		return err->code;
	*array_add(&config->mdevs) = (struct config_mdev){ .index = i,
							   .resource = xstrdup(from->resource_name),
							   .type = take_ptr(type),
							   .external = external,
							   .dra = dra };
	return 0;
}

/* Invalid entries are skipped, and @err reports the first. @old counts if there are none. */
static int take_type_list(const struct json_strs *now, const struct json_strs *old,
			  struct json_strs *types, struct err *err)
{
	const struct json_strs *from = now->len > 0 ? now : old;
	const char *name = now->len > 0 ? "mediatedDeviceTypes" : "mediatedDevicesTypes";
	int result = 0;

	if (from->len > CONFIG_TYPES_MAX)
		return err_set(err, ERR_INVALID, -E2BIG,
			       "%s has %zu items, more than %d: none is used", name, from->len,
			       CONFIG_TYPES_MAX);
	for (size_t i = 0; i < from->len; i++) {
		auto_free char *type = NULL;
		struct err wrong = { 0 };

		if (config_check_type(from->items[i], &type, &wrong) == 0)
			(void)json_strs_add_new(types, type);
		else if (result == 0)
			result = err_set(err, wrong.kind, wrong.code, "%s[%zu]: %s", name, i,
					 wrong.msg);
	}
	return result;
}

int config_take_types(struct config_maker *maker, size_t i, struct err *err)
{
	const struct hostdeviceconfig_mdev_types *from =
		&maker->spec->mediated_devices_configuration;
	struct config_mdev_types *to = &maker->config->mdev_types;

	(void)i;
	to->enabled = from->enabled;
	return take_type_list(&from->types, &from->old_types, &to->types, err);
}

void config_node_types_done(struct config_node_types *types)
{
	json_pairs_done(&types->selector);
	json_strs_done(&types->types);
}

static void copy_pairs(const struct json_pairs *from, struct json_pairs *to)
{
	for (size_t i = 0; i < from->len; i++)
		(void)json_pairs_set(to, from->items[i].key, from->items[i].value);
}

int config_take_node_types(struct config_maker *maker, size_t i, struct err *err)
{
	const struct hostdeviceconfig_node_types *from =
		&maker->spec->mediated_devices_configuration.nodes.items[i];
	struct config_node_types types = { .index = i };

	if (config_check_labels(&from->node_selector, err) < 0)
		return err->code;
	if (take_type_list(&from->types, &from->old_types, &types.types, err) < 0) {
		config_node_types_done(&types);
		return err->code;
	}
	copy_pairs(&from->node_selector, &types.selector);
	*array_add(&maker->config->mdev_types.nodes) = types;
	return 0;
}

/* --- nodes and sockets ------------------------------------------------------------------------ */

void config_generic_done(struct config_generic *generic)
{
	free(generic->resource);
	free(generic->path);
	free(generic->container_path);
	free(generic->permissions);
	json_pairs_done(&generic->selector);
}

int config_take_generic(struct config_maker *maker, size_t i, struct err *err)
{
	static const char dev[] = "/dev/";
	const struct hostdeviceconfig_generic *from = &maker->spec->generic_devices.items[i];
	const char *inside = from->container_path ? from->container_path : from->path;
	const char *permissions = from->permissions ? from->permissions : "rw";
	struct config_claim claim = { .pools = from->node_selector.len > 0 };
	struct config_generic generic = { .index = i,
					  .pre_open = from->pre_open,
					  .allow_critical = from->allow_host_critical };

	maker->resource = from->resource_name;
	if (config_check_path("path", from->path, err) < 0 ||
	    config_check_path("containerPath", inside, err) < 0 ||
	    config_check_permissions(permissions, err) < 0 ||
	    config_check_count(from->count, &generic.count, err) < 0 ||
	    config_check_labels(&from->node_selector, err) < 0)
		return err->code;
	if (strncmp(from->path, dev, strlen(dev)) != 0)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "path '%s': must be a device node below /dev", from->path);
	if (take_name(maker, from->resource_name, claim, err) < 0)
		return err->code;
	generic.resource = xstrdup(from->resource_name);
	generic.path = xstrdup(from->path);
	generic.container_path = xstrdup(inside);
	generic.permissions = xstrdup(permissions);
	copy_pairs(&from->node_selector, &generic.selector);
	*array_add(&maker->config->generics) = generic;
	return 0;
}

void config_socket_done(struct config_socket *socket)
{
	free(socket->resource);
	free(socket->folder);
	free(socket->file);
	free(socket->misc);
	free(socket->selinux_label);
	json_pairs_done(&socket->selector);
}

/* A folder that the sockets of a whole system are in is no container's. */
static int check_socket_path(const char *path, struct err *err)
{
	static const char *const shared[] = { "/var/run", "/var/lib", "/var/tmp" };
	const char *slash;
	size_t len;
	bool bad;

	if (config_check_path("socketPath", path, err) < 0)
		return err->code;
	slash = strrchr(path, '/');
	len = (size_t)(slash - path);
	bad = !memchr(path + 1, '/', len > 0 ? len - 1 : 0);
	for (size_t i = 0; i < ARRAY_LEN(shared); i++)
		bad |= strlen(shared[i]) == len && strncmp(path, shared[i], len) == 0;
	if (bad)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "socketPath '%s': the socket must be in a folder of its own, since "
			       "containers get the whole folder",
			       path);
	return 0;
}

/* As the kernel's misc controller names its resources. */
static int check_misc(const char *misc, struct err *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

	if (!misc || (strlen(misc) < 32 && strspn(misc, allowed) == strlen(misc)))
		return 0;
	return err_set(
		err, ERR_INVALID, -EINVAL,
		"countFromMisc '%.64s': must be a resource of the misc controller, such as tdx",
		misc);
}

static int check_owner(const struct hostdeviceconfig_owner *owner, struct err *err)
{
	bool none = owner->uid == -1 && owner->gid == -1;
	/* The last number means "as it is" to chown(2). */
	bool fits = owner->uid >= 0 && owner->uid < UINT32_MAX && owner->gid >= 0 &&
		    owner->gid < UINT32_MAX;

	if (none || fits)
		return 0;
	return err_set(err, ERR_INVALID, -EINVAL,
		       "owner: must have both uid and gid, each from 0 to 4294967294");
}

static int check_socket(const struct hostdeviceconfig_socket *from, struct config_socket *socket,
			struct err *err)
{
	if (check_socket_path(from->socket_path, err) < 0 ||
	    config_check_count(from->count, &socket->count, err) < 0 ||
	    check_misc(from->count_from_misc, err) < 0 || check_owner(&from->owner, err) < 0 ||
	    config_check_labels(&from->node_selector, err) < 0 ||
	    (from->selinux_label &&
	     config_check_text("seLinuxLabel", from->selinux_label, err) < 0))
		return err->code;
	return 0;
}

int config_take_socket(struct config_maker *maker, size_t i, struct err *err)
{
	const struct hostdeviceconfig_socket *from = &maker->spec->socket_devices.items[i];
	struct config_claim claim = { .pools = from->node_selector.len > 0 };
	struct config_socket socket = { .index = i, .optional = from->optional };
	const char *slash;

	maker->resource = from->resource_name;
	if (check_socket(from, &socket, err) < 0 ||
	    take_name(maker, from->resource_name, claim, err) < 0)
		return err->code;
	slash = strrchr(from->socket_path, '/');
	socket.resource = xstrdup(from->resource_name);
	socket.folder = xstrndup(from->socket_path, (size_t)(slash - from->socket_path));
	socket.file = xstrdup(slash + 1);
	socket.misc = xstrdup_or_null(from->count_from_misc);
	socket.has_owner = from->owner.uid >= 0;
	socket.uid = socket.has_owner ? (uid_t)from->owner.uid : 0;
	socket.gid = socket.has_owner ? (gid_t)from->owner.gid : 0;
	socket.selinux_label = xstrdup_or_null(from->selinux_label);
	copy_pairs(&from->node_selector, &socket.selector);
	*array_add(&maker->config->sockets) = socket;
	return 0;
}

int config_take_iommufd(struct config_maker *maker, size_t i, struct err *err)
{
	const struct hostdeviceconfig_iommufd *from = &maker->spec->iommufd;
	struct config_iommufd *to = &maker->config->iommufd;
	const char *name = hostdeviceconfig_iommufd_resource(from);

	(void)i;
	if (!from->enabled)
		return 0;
	if (config_check_count(from->count, &to->count, err) < 0 ||
	    take_name(maker, name, (struct config_claim){ 0 }, err) < 0)
		return err->code;
	to->enabled = true;
	to->resource = xstrdup(name);
	return 0;
}

/* --- NVIDIA's GPUs ---------------------------------------------------------------------------- */

int config_take_nvidia(struct config_maker *maker, size_t i, struct err *err)
{
	const struct hostdeviceconfig_nvidia *from = &maker->spec->nvidia.items[i];
	struct config_nvidia *to;

	if (!from->config || !*from->config)
		return err_set(err, ERR_INVALID, -EINVAL, "config: is missing or empty");
	if (strlen(from->config) > CONFIG_NVIDIA_MAX)
		return err_set(err, ERR_INVALID, -EFBIG, "config: has more than %d bytes",
			       CONFIG_NVIDIA_MAX);
	if (config_check_labels(&from->node_selector, err) < 0)
		return err->code;
	to = array_add(&maker->config->nvidia);
	*to = (struct config_nvidia){ .index = i, .text = xstrdup(from->config) };
	copy_pairs(&from->node_selector, &to->selector);
	return 0;
}
