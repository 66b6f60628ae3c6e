#include "controller/admission/rule.h"

#include <string.h>

#include "api/names.h"
#include "api/sriovnetworkdevice.h"
#include "base/mem.h"
#include "controller/admission/known.h"
#include "controller/cache/view.h"

/* Reasons of Claimable for which a card's functions must not be changed. */
static const char *const critical[] = { "HostFilesystem", "HostSwap", "HostNetwork", "Console" };

static const struct view *device_of(const struct rule_case *c,
				    const struct sriovnetworkdevice *card)
{
	return known_pci_at(c->known, card->spec.node_name, card->spec.address);
}

static bool refuse_count(const struct rule_case *c, const struct sriovnetworkdevice *card)
{
	const struct view *device = device_of(c, card);
	int want = card->spec.num_vfs;

	if (!device || want <= 0)
		return false;
	if (device->vfs == 0)
		return rule_refuse(
			c, RULE_INVALID,
			"%s does not support virtual functions: set spec.address to a device "
			"whose PCIDevice has status.totalVFs",
			view_text(device, VIEW_TEXT_ADDRESS));
	if (want > device->vfs)
		return rule_refuse(
			c, RULE_INVALID,
			"spec.numVFs is %d, but %s supports %d virtual functions: set it to "
			"that or less",
			want, view_text(device, VIEW_TEXT_ADDRESS), device->vfs);
	return false;
}

static bool refuse_passed_through(const struct rule_case *c, const struct sriovnetworkdevice *card)
{
	const char *name;
	const struct view *claim =
		known_pciclaim_at(c->known, card->spec.node_name, card->spec.address, &name);

	if (!claim || card->spec.num_vfs <= 0)
		return false;
	return rule_refuse(
		c, RULE_CONFLICT,
		"PCIDeviceClaim '%s' passes the card itself through: delete that claim first",
		name);
}

static bool refuse_critical(const struct rule_case *c, const struct sriovnetworkdevice *card)
{
	const struct view *device = device_of(c, card);

	for (size_t i = 0; device && i < ARRAY_LEN(critical); i++) {
		if (known_same(view_text(device, VIEW_TEXT_REASON), critical[i]))
			return rule_refuse(c, RULE_FORBIDDEN,
					   "%s: %s: the number of its virtual functions and their "
					   "settings cannot be changed while that is so",
					   critical[i], view_text(device, VIEW_TEXT_MESSAGE));
	}
	return false;
}

static bool has_setting(const struct sriovnetworkdevice *card,
			const struct sriovnetworkdevice_vf *vf)
{
	for (size_t i = 0; i < card->spec.virtual_functions.len; i++) {
		const struct sriovnetworkdevice_vf *has = &card->spec.virtual_functions.items[i];

		if (has->index == vf->index && has->vlan == vf->vlan && has->qos == vf->qos &&
		    known_same(has->mac_address, vf->mac_address) &&
		    known_same(has->trust, vf->trust) &&
		    known_same(has->spoof_check, vf->spoof_check))
			return true;
	}
	return false;
}

/* An omitted setting is left unchanged. */
static bool sets_more(const struct sriovnetworkdevice *card, const struct sriovnetworkdevice *old)
{
	for (size_t i = 0; i < card->spec.virtual_functions.len; i++) {
		if (!has_setting(old, &card->spec.virtual_functions.items[i]))
			return true;
	}
	return false;
}

/* Any other number can only be set after setting 0. */
static bool refuse_claimed(const struct rule_case *c, const struct sriovnetworkdevice *old)
{
	const char *name;
	size_t cursor = 0;

	while (known_next(c->known, VIEW_PCICLAIM, &cursor, &name)) {
		const struct view *vf = known_pcidevice(c->known, name);
		bool listed = json_strs_has(&old->status.vf_pci_devices, name);
		bool child = vf && !known_empty(old->spec.address) &&
			     known_same(view_text(vf, VIEW_TEXT_NODE), old->spec.node_name) &&
			     known_same(view_text(vf, VIEW_TEXT_PARENT), old->spec.address);

		if (listed || child)
			return rule_refuse(
				c, RULE_CONFLICT,
				"PCIDeviceClaim '%s' has one of its virtual functions%s: delete "
				"that claim first",
				name, c->object ? ", and all of them would be removed" : "");
	}
	return false;
}

/* The agent uses the spec, and the label if the spec names no node. */
static const char *node_of(const struct sriovnetworkdevice *card)
{
	const char *label = api_meta_label(&card->meta, NAMES_LABEL_NODE);

	if (!known_empty(card->spec.node_name) || !label)
		return card->spec.node_name;
	return label;
}

static bool refuse_second(const struct rule_case *c, const struct sriovnetworkdevice *card)
{
	const struct view *other;
	const char *name;
	size_t cursor = 0;

	while ((other = known_next(c->known, VIEW_NIC, &cursor, &name))) {
		if (other->deleting || strcmp(name, card->meta.name) == 0 ||
		    known_empty(card->spec.address) || known_empty(node_of(card)) ||
		    !known_same(view_text(other, VIEW_TEXT_ADDRESS), card->spec.address) ||
		    !known_same(other->node, node_of(card)))
			continue;
		return rule_refuse(c, RULE_CONFLICT,
				   "SRIOVNetworkDevice '%s' is about the same card, %s of node %s: "
				   "change that one, or delete it first",
				   name, view_text(other, VIEW_TEXT_ADDRESS), other->node);
	}
	return false;
}

static bool is_same_card(const struct sriovnetworkdevice *a, const struct sriovnetworkdevice *b)
{
	return known_same(a->spec.address, b->spec.address) && known_same(node_of(a), node_of(b));
}

/* Nothing is done for a duplicate: its message says to delete one of the two. */
static bool is_duplicate(const struct sriovnetworkdevice *card)
{
	static const char *const types[] = { "Accepted", "Ready" };

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		const struct api_condition *condition =
			api_conditions_find(&card->status.conditions, types[i]);

		if (condition && known_same(condition->reason, "Duplicate"))
			return true;
	}
	return false;
}

static void warn_settings(const struct rule_case *c, const struct sriovnetworkdevice *card)
{
	for (size_t i = 0; i < card->spec.virtual_functions.len; i++) {
		int index = card->spec.virtual_functions.items[i].index;

		if (index < card->spec.num_vfs)
			continue;
		rule_warn(c,
			  "spec.virtualFunctions has index %d, which has no effect with numVFs %d",
			  index, card->spec.num_vfs);
		return;
	}
}

void network_card_create(const struct rule_case *c)
{
	const struct sriovnetworkdevice *card = c->object;

	if (!refuse_second(c, card) && !refuse_count(c, card) && !refuse_passed_through(c, card))
		warn_settings(c, card);
}

void network_card_update(const struct rule_case *c)
{
	const struct sriovnetworkdevice *card = c->object;
	const struct sriovnetworkdevice *old = c->old;

	if (card->meta.deletion_timestamp || (!is_same_card(card, old) && refuse_second(c, card)))
		return;
	if (card->spec.num_vfs != old->spec.num_vfs ||
	    !known_same(card->spec.address, old->spec.address)) {
		if (refuse_count(c, card) || refuse_critical(c, card) ||
		    refuse_passed_through(c, card) ||
		    (old->spec.num_vfs > 0 && refuse_claimed(c, old)))
			return;
	} else if (sets_more(card, old) && refuse_critical(c, card)) {
		return;
	}
	warn_settings(c, card);
}

void network_card_delete(const struct rule_case *c)
{
	const struct sriovnetworkdevice *old = c->old;

	if (old->meta.deletion_timestamp || known_node_gone(c->known, node_of(old)) ||
	    is_duplicate(old) || refuse_claimed(c, old))
		return;
	if (old->status.vf_addresses.len > 0)
		rule_warn(
			c,
			"its %zu virtual functions stay on the card: set spec.numVFs to 0 first if "
			"they are to go",
			old->status.vf_addresses.len);
}
