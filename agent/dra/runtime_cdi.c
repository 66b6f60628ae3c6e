#include "agent/dra/runtime_cdi.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/config/config.h"
#include "api/node.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "kube/informer.h"
#include "kube/store.h"

/* Parse the number at the beginning of *@text, and move *@text behind it and a dot after it. */
static bool take_number(const char **text, uint64_t *ret_number)
{
	size_t len = strspn(*text, "0123456789");
	auto_free char *digits = xstrndup(*text, len);

	*text += len;
	*text += **text == '.';
	return str_to_u64(digits, ret_number);
}

/* Is @version "@name://" with a version of at least @major.@minor? */
static bool is_at_least(const char *version, const char *name, uint64_t major, uint64_t minor)
{
	size_t len = strlen(name);
	uint64_t x = 0;
	uint64_t y = 0;
	const char *rest;

	if (strncmp(version, name, len) != 0 || strncmp(version + len, "://", 3) != 0)
		return false;
	rest = version + len + 3;
	rest += *rest == 'v';
	if (!take_number(&rest, &x) || !take_number(&rest, &y))
		return false;
	return x > major || (x == major && y >= minor);
}

char *runtime_cdi_trouble(enum cdi_mode mode, const char *version)
{
	if (mode == CDI_ON)
		return NULL;
	if (mode == CDI_OFF)
		return xstrdup("the agent of this node has --cdi=off: nothing is offered by DRA");
	if (!version)
		return xstrdup("the Node does not say which container runtime it has: if that has "
			       "CDI, set --cdi=on for the agent");
	if (is_at_least(version, "containerd", 2, 0) || is_at_least(version, "cri-o", 1, 23))
		return NULL;
	if (is_at_least(version, "containerd", 1, 7))
		return xasprintf("the container runtime %.64s has CDI switched off unless its "
				 "configuration says enable_cdi = true, which the agent cannot "
				 "see: set that, and --cdi=on for the agent",
				 version);
	return xasprintf("the container runtime %.64s is not known to have CDI, and would start "
			 "containers without their devices: update it to containerd 2 or CRI-O "
			 "1.23, or remove dra from the entry",
			 version);
}

bool runtime_cdi_known(const struct this_node *node, char **ret_trouble)
{
	const struct node *self =
		node->self ? store_object(informer_store(node->self), node->name) : NULL;

	if (!self)
		return false;
	*ret_trouble = runtime_cdi_trouble(node->cdi, self->status.info.runtime);
	return true;
}

/* @value has the reason, the message and the list. */
static void report_entry(struct config_troubles *troubles, struct config_trouble_value value,
			 size_t index, const char *resource, enum config_dra dra)
{
	value.index = (int64_t)index;
	value.resource = resource;
	if (dra != CONFIG_DRA_OFF)
		config_troubles_add(troubles, &value);
}

void runtime_cdi_report(const struct this_node *node, const struct config *config,
			struct config_troubles *troubles)
{
	auto_free char *trouble = NULL;
	struct config_trouble_value value = { .reason = CONFIG_NO_CDI };

	if (!runtime_cdi_known(node, &trouble) || !trouble)
		return;
	value.message = trouble;
	value.list = CONFIG_LIST_PCI;
	for (size_t i = 0; i < config->pci.len; i++)
		report_entry(troubles, value, config->pci.items[i].index,
			     config->pci.items[i].resource, config->pci.items[i].dra);
	value.list = CONFIG_LIST_USB;
	for (size_t i = 0; i < config->usb.len; i++)
		report_entry(troubles, value, config->usb.items[i].index,
			     config->usb.items[i].resource, config->usb.items[i].dra);
	value.list = CONFIG_LIST_MDEV;
	for (size_t i = 0; i < config->mdevs.len; i++)
		report_entry(troubles, value, config->mdevs.items[i].index,
			     config->mdevs.items[i].resource, config->mdevs.items[i].dra);
}
