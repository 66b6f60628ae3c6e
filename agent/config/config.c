#include "agent/config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config/config_check.h"
#include "agent/config/config_take.h"
#include "api/hostdeviceconfig.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

/* As the schema has them. */
enum { RESOURCE_SHOWN_MAX = 317, MESSAGE_MAX = 1024 };

/* One list of the spec. */
struct list {
	const char *name;
	size_t (*len)(const struct hostdeviceconfig_spec *spec);
	int (*take)(struct config_maker *maker, size_t i, struct err *err);
	bool single; /* no list, but one entry */
};

#define LIST_LEN(member)                                                     \
	static size_t member##_len(const struct hostdeviceconfig_spec *spec) \
	{                                                                    \
		return spec->member.len;                                     \
	}

LIST_LEN(pci_host_devices)
LIST_LEN(usb)
LIST_LEN(mediated_devices)
LIST_LEN(generic_devices)
LIST_LEN(socket_devices)
LIST_LEN(nvidia)

static size_t types_len(const struct hostdeviceconfig_spec *spec)
{
	return spec->mediated_devices_configuration.nodes.len;
}

static size_t one(const struct hostdeviceconfig_spec *spec)
{
	(void)spec;
	return 1;
}

/* In the order in which they are named. */
static const struct list lists[] = {
	{ CONFIG_LIST_PCI, pci_host_devices_len, config_take_pci, false },
	{ CONFIG_LIST_USB, usb_len, config_take_usb, false },
	{ CONFIG_LIST_MDEV, mediated_devices_len, config_take_mdev, false },
	{ CONFIG_LIST_TYPES, one, config_take_types, true },
	{ CONFIG_LIST_TYPES ".nodeMediatedDeviceTypes", types_len, config_take_node_types, false },
	{ CONFIG_LIST_GENERIC, generic_devices_len, config_take_generic, false },
	{ CONFIG_LIST_SOCKET, socket_devices_len, config_take_socket, false },
	{ CONFIG_LIST_IOMMUFD, one, config_take_iommufd, true },
	{ CONFIG_LIST_NVIDIA, nvidia_len, config_take_nvidia, false },
};

static char *shown(const char *text, size_t max)
{
	auto_str struct str clean = STR_INIT;

	if (!text || !*text)
		return NULL;
	str_add_clean(&clean, text, strnlen(text, max + 1));
	str_cut(&clean, max);
	return str_detach(&clean);
}

void config_troubles_add(struct config_troubles *troubles,
			 const struct config_trouble_value *trouble)
{
	if (troubles->len == CONFIG_TROUBLES_MAX) {
		troubles->more++;
		return;
	}
	*array_add(troubles) = (struct config_trouble){
		.list = trouble->list,
		.index = trouble->index,
		.reason = trouble->reason ? trouble->reason : CONFIG_INVALID,
		.resource = shown(trouble->resource, RESOURCE_SHOWN_MAX),
		.message = shown(trouble->message, MESSAGE_MAX),
	};
}

void config_troubles_join(struct config_troubles *troubles, const struct config_troubles *more)
{
	for (size_t i = 0; i < more->len; i++) {
		const struct config_trouble *from = &more->items[i];

		config_troubles_add(troubles, &(struct config_trouble_value){
						      .list = from->list,
						      .index = from->index,
						      .reason = from->reason,
						      .resource = from->resource,
						      .message = from->message,
					      });
	}
	troubles->more += more->more;
}

void config_troubles_done(struct config_troubles *troubles)
{
	for (size_t i = 0; i < troubles->len; i++) {
		free(troubles->items[i].resource);
		free(troubles->items[i].message);
	}
	array_done(troubles);
	troubles->more = 0;
}

static void take_list(struct config_maker *maker, const struct list *list)
{
	size_t len = list->len(maker->spec);
	struct err err = { 0 };

	maker->list = list->name;
	for (size_t i = 0; i < len && i < CONFIG_ENTRIES_MAX; i++) {
		maker->resource = NULL;
		if (list->take(maker, i, &err) < 0)
			config_troubles_add(&maker->config->troubles,
					    &(struct config_trouble_value){
						    .list = list->name,
						    .index = list->single ? -1 : (int64_t)i,
						    .resource = maker->resource,
						    .message = err.msg,
					    });
	}
	if (len <= CONFIG_ENTRIES_MAX)
		return;
	(void)err_set(&err, ERR_INVALID, -E2BIG,
		      "the list has %zu entries: those behind %d are "
		      "left out",
		      len, CONFIG_ENTRIES_MAX);
	config_troubles_add(&maker->config->troubles,
			    &(struct config_trouble_value){ .list = list->name,
							    .index = CONFIG_ENTRIES_MAX,
							    .message = err.msg });
}

struct config *config_new(const struct hostdeviceconfig *object)
{
	static const struct hostdeviceconfig_spec nothing = {
		.mediated_devices_configuration = { .enabled = true },
	};
	struct config *config = xcalloc(1, sizeof(*config));
	struct config_maker maker = { .config = config, .spec = object ? &object->spec : &nothing };

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		take_list(&maker, &lists[i]);
	config_names_done(&maker.names);
	return config;
}

/* --- release ---------------------------------------------------------------------------------- */

static void usb_done(struct config *config)
{
	for (size_t i = 0; i < config->usb.len; i++)
		config_usb_done(&config->usb.items[i]);
	array_done(&config->usb);
}

static void mdevs_done(struct config *config)
{
	for (size_t i = 0; i < config->mdevs.len; i++) {
		free(config->mdevs.items[i].resource);
		free(config->mdevs.items[i].type);
	}
	array_done(&config->mdevs);
	for (size_t i = 0; i < config->mdev_types.nodes.len; i++)
		config_node_types_done(&config->mdev_types.nodes.items[i]);
	array_done(&config->mdev_types.nodes);
	json_strs_done(&config->mdev_types.types);
}

struct config *config_free(struct config *config)
{
	if (!config)
		return NULL;
	for (size_t i = 0; i < config->pci.len; i++)
		free(config->pci.items[i].resource);
	array_done(&config->pci);
	usb_done(config);
	mdevs_done(config);
	for (size_t i = 0; i < config->generics.len; i++)
		config_generic_done(&config->generics.items[i]);
	array_done(&config->generics);
	for (size_t i = 0; i < config->sockets.len; i++)
		config_socket_done(&config->sockets.items[i]);
	array_done(&config->sockets);
	free(config->iommufd.resource);
	for (size_t i = 0; i < config->nvidia.len; i++) {
		free(config->nvidia.items[i].text);
		json_pairs_done(&config->nvidia.items[i].selector);
	}
	array_done(&config->nvidia);
	config_troubles_done(&config->troubles);
	free(config);
	return NULL;
}

bool config_selects(const struct json_pairs *selector, const struct json_pairs *labels)
{
	return json_pairs_include(labels, selector);
}
