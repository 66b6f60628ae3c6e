#include "agent/claim/claim_group.h"

#include <stdbool.h>
#include <string.h>

#include "agent/claim/claim_plan.h"
#include "agent/inventory/claimable.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/inventory/lookalike.h"
#include "agent/inventory/vendor_vfio.h"
#include "api/meta.h"
#include "api/names.h"
#include "api/pcideviceclaim.h"
#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/store.h"

/* Compare the serial numbers, else what else is known of both. */
static enum device_identity_match claim_twin_compare(const struct pci_facts *pci,
						     const struct record_facts *record)
{
	return lookalike_compare(pci->serial, pci->identity, record->serial, record->identity);
}

/* Another function of the same model to which the record of @f may belong; NULL: there is none, or
 * @f is identified. */
static const struct pci_facts *claim_twin_find(const struct claim_case *c,
					       const struct claim_function *f)
{
	const struct facts *facts = c->inventory->facts;

	if (!f->pci || !f->record ||
	    claim_twin_compare(f->pci, f->record) != DEVICE_IDENTITY_UNKNOWN)
		return NULL;
	for (size_t i = 0; i < facts->pci.len; i++) {
		const struct pci_facts *other = &facts->pci.items[i];

		if (lookalike_may_swap(other, f->pci) &&
		    claim_twin_compare(other, f->record) != DEVICE_IDENTITY_OTHER)
			return other;
	}
	return NULL;
}

/* The address identifies the device if the claim's annotation says so, or if the claim was created
 * after the boot. */
static bool is_asked(const struct claim_function *f)
{
	const struct pcideviceclaim *claim = f->claim ? f->claim : f->cover;
	const char *value =
		claim ? api_meta_annotation(&claim->meta, NAMES_ANNOTATION_BY_ADDRESS) : NULL;

	if (value && strcmp(value, "true") == 0)
		return true;
	return f->claim && !claim_function_recorded_for(f, f->claim);
}

/* Records of earlier versions may be older than the upgrade; they have only the boot in which they
 * were written first. */
static bool has_booted(const struct claim_function *f)
{
	return f->record->bound || (f->record->boot && !claim_function_is_bound(f));
}

const struct pci_facts *claim_twin_hinders(const struct claim_case *c,
					   const struct claim_function *f)
{
	if (!f->recorded || f->rewritten || !f->record || f->record->this_boot || !has_booted(f) ||
	    is_asked(f))
		return NULL;
	return claim_twin_find(c, f);
}

bool claim_is_ours(const char *node_name, const char *name, const struct pcideviceclaim *claim)
{
	const char *node = claim ? claim->spec.node_name : NULL;
	char address[NAMES_ADDRESS_SIZE];

	if (node && strcmp(node, node_name) == 0)
		return true;
	return names_pcidevice_address(node_name, name, address) == 0;
}

/* A claim that contradicts itself may concern two agents. Both report it with the same words, and
 * neither takes it for a claim of one of its functions. */
static bool is_for_another(const struct claim_case *c)
{
	const char *node = c->claim ? c->claim->spec.node_name : NULL;

	return node && *node && strcmp(node, c->node_name) != 0;
}

static const struct record_facts *find_record(const struct facts *facts, const char *address)
{
	for (size_t i = 0; i < facts->records.len; i++) {
		if (str_match(facts->records.items[i].address, address))
			return &facts->records.items[i];
	}
	return NULL;
}

static const struct binder_seen *find_seen(const struct claim_attempt *last, const char *address)
{
	for (size_t i = 0; i < last->seen->len; i++) {
		if (str_match(last->seen->items[i].address, address))
			return &last->seen->items[i];
	}
	return NULL;
}

/* NULL is no driver. */
static bool is_driver(const char *a, const char *b)
{
	return str_match(a, b) || (!a && !b);
}

/* A value that one side cannot read is not compared. */
static bool is_different(const struct pci_facts *pci, const struct record_facts *record)
{
	auto_free char *id = NULL;

	if (!pci || !record)
		return false;
	if (claim_twin_compare(pci, record) == DEVICE_IDENTITY_OTHER)
		return true;
	if (!pci->vendor || !pci->device || !record->id)
		return false;
	id = xasprintf("%s:%s", pci->vendor, pci->device);
	return strcmp(id, record->id) != 0;
}

static void take_release(struct claim_function *f)
{
	f->recorded = false;
	f->released = true;
	f->record = NULL;
}

/* What the last transition read back after the scan. A transition that failed may have left a
 * record. */
static void take_last(struct claim_function *f, const struct claim_attempt *last)
{
	const struct binder_seen *seen;
	bool done;

	if (!last->newer || !last->outcome)
		return;
	seen = find_seen(last, f->address);
	done = last->outcome->result == TASK_DONE;
	/* Nothing can be read back from a function that is gone. */
	if (!seen && !f->pci && last->verb == BINDER_RELEASE && done)
		take_release(f);
	if (!seen)
		return;
	f->told = true;
	f->driver = seen->driver;
	if (last->verb == BINDER_BIND && done) {
		f->recorded = true;
		f->rewritten = true;
	} else if (last->verb == BINDER_BIND && last->outcome->result == TASK_FAILED) {
		f->recorded |= !is_driver(seen->driver, f->pci ? f->pci->driver : NULL);
	} else if (last->verb == BINDER_RELEASE && done) {
		take_release(f);
	}
}

static const struct pcideviceclaim *find_claim(const struct claim_case *c, const char *name)
{
	const struct pcideviceclaim *claim = store_object(c->claims, name);

	return claim && claim_is_ours(c->node_name, name, claim) ? claim : NULL;
}

static void add(const struct claim_case *c, struct claim_group *group, const char *address,
		const struct pci_facts *pci)
{
	const struct facts *facts = c->inventory->facts;
	struct claim_function *f = array_add(group);
	bool self = group->len == 1;

	f->name = self ? xstrdup(c->name) : names_pcidevice(c->node_name, address);
	f->address = address;
	f->claim = self ? c->claim : find_claim(c, f->name);
	f->record = find_record(facts, address);
	f->recorded = f->record != NULL;
	if (pci) {
		f->pci = pci;
		f->verdict = &c->inventory->pci_verdicts[pci - facts->pci.items];
		f->group = pci->iommu_group;
		f->driver = pci->driver;
	}
	f->vendor = pci && f->claim && pcideviceclaim_is_skipped(f->claim) &&
		    vendor_vfio_serves(facts, pci);
	take_last(f, &c->last);
	f->different = !f->rewritten && is_different(f->pci, f->record);
}

static const struct record_facts *find_record_of(const struct facts *facts, const char *claim)
{
	for (size_t i = 0; i < facts->records.len; i++) {
		if (str_match(facts->records.items[i].claim, claim))
			return &facts->records.items[i];
	}
	return NULL;
}

char *claim_group_address(const char *node_name, const struct inventory *inventory,
			  const char *name)
{
	const struct record_facts *record;
	char address[NAMES_ADDRESS_SIZE];

	if (names_pcidevice_address(node_name, name, address) == 0)
		return xstrdup(address);
	record = find_record_of(inventory->facts, name);
	return record ? xstrdup(record->address) : NULL;
}

void claim_group_add_members(const struct inventory *inventory, const char *address,
			     struct json_strs *ret_members)
{
	const struct facts *facts = inventory->facts;
	const struct pci_facts *self = facts_find_pci(facts, address);

	json_strs_add_new(ret_members, address);
	for (size_t i = 0; self && i < facts->pci.len; i++) {
		const struct pci_facts *pci = &facts->pci.items[i];

		if (str_match(pci->iommu_group, self->iommu_group))
			json_strs_add_new(ret_members, pci->address);
	}
}

void claim_group_add_claims(const char *node_name, const struct inventory *inventory,
			    const char *address, struct json_strs *ret_names)
{
	const struct facts *facts = inventory->facts;
	auto_free char *name = names_pcidevice(node_name, address);

	json_strs_add_new(ret_names, name);
	for (size_t i = 0; i < facts->records.len; i++) {
		const struct record_facts *record = &facts->records.items[i];

		if (record->claim && strcmp(record->address, address) == 0)
			json_strs_add_new(ret_names, record->claim);
	}
}

bool claim_group_is_recorded(const struct inventory *inventory, const char *name)
{
	return find_record_of(inventory->facts, name) != NULL;
}

static bool has(const struct claim_group *group, const char *address)
{
	for (size_t i = 0; i < group->len; i++) {
		if (strcmp(group->items[i].address, address) == 0)
			return true;
	}
	return false;
}

void claim_group_look(const struct claim_case *c, struct claim_group *ret_group)
{
	const struct facts *facts = c->inventory->facts;
	char address[NAMES_ADDRESS_SIZE] = "";
	const struct pci_facts *self;

	if (!is_for_another(c))
		names_pcidevice_address(c->node_name, c->name, address);
	*ret_group = (struct claim_group){ .address = xstrdup(address) };
	self = facts_find_pci(facts, address);
	add(c, ret_group, ret_group->address, self);
	for (size_t i = 0; i < facts->pci.len; i++) {
		const struct pci_facts *pci = &facts->pci.items[i];

		if (pci != self && self && str_match(pci->iommu_group, self->iommu_group))
			add(c, ret_group, pci->address, pci);
	}
	for (size_t i = 0; i < facts->records.len; i++) {
		const struct record_facts *record = &facts->records.items[i];

		if (str_match(record->claim, c->name) && !has(ret_group, record->address))
			add(c, ret_group, record->address, facts_find_pci(facts, record->address));
	}
}

void claim_group_done(struct claim_group *group)
{
	for (size_t i = 0; i < group->len; i++)
		free(group->items[i].name);
	array_done(group);
	free(group->address);
	group->address = NULL;
}

const struct claim_function *claim_group_self(const struct claim_group *group)
{
	return &group->items[0];
}

bool claim_group_member(const struct claim_group *group, const struct claim_function *f)
{
	const struct claim_function *self = claim_group_self(group);

	return f == self || str_match(f->group, self->group);
}

bool claim_function_is_port(const struct claim_function *f)
{
	return f->pci && f->pci->class_code && strncmp(f->pci->class_code, "0604", 4) == 0;
}

const char *claim_driver(const struct pcideviceclaim *claim)
{
	const char *driver = claim ? claim->spec.driver : NULL;

	return driver && *driver ? driver : "vfio-pci";
}

bool claim_function_on_driver(const struct claim_function *f, const struct pcideviceclaim *claim)
{
	return f->pci && !f->different && str_match(f->driver, claim_driver(claim));
}

bool claim_function_recorded_for(const struct claim_function *f, const struct pcideviceclaim *claim)
{
	if (!f->recorded || !claim)
		return false;
	if (f->rewritten || !f->record)
		return true;
	return str_match(f->record->claim, claim->meta.name) &&
	       str_match(f->record->uid, claim->meta.uid);
}

bool claim_function_is_bound(const struct claim_function *f)
{
	return claim_function_recorded_for(f, f->claim) && claim_function_on_driver(f, f->claim);
}
