#include "agent/inventory/lookalike.h"

#include <stdlib.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

static bool is_model(const struct pci_facts *a, const struct pci_facts *b)
{
	return str_equal(a->vendor, b->vendor) && str_equal(a->device, b->device) &&
	       str_equal(a->subsystem_vendor, b->subsystem_vendor) &&
	       str_equal(a->subsystem_device, b->subsystem_device);
}

/* The functions of one device, and the virtual ones of one function, keep their order. */
static bool may_change_places(const struct pci_facts *a, const struct pci_facts *b)
{
	if (a->physical_function || b->physical_function)
		return a->physical_function && b->physical_function &&
		       strcmp(a->physical_function, b->physical_function) != 0;
	return a->address[strlen(a->address) - 1] == b->address[strlen(b->address) - 1];
}

bool lookalike_may_swap(const struct pci_facts *a, const struct pci_facts *b)
{
	return a != b && is_model(a, b) && may_change_places(a, b);
}

enum device_identity_match lookalike_compare(const char *serial, const char *identity,
					     const char *other_serial, const char *other_identity)
{
	if (serial && *serial && other_serial && *other_serial)
		return strcmp(serial, other_serial) == 0 ? DEVICE_IDENTITY_SAME
							 : DEVICE_IDENTITY_OTHER;
	return device_identity_compare(identity, other_identity);
}

/* What is known of a function: now, and of one that is bound, from before. */
struct known {
	const struct pci_facts *pci;
	const char *serial;
	struct str identity;
	struct known *next; /* an earlier one of its model */
	const struct pci_facts *lookalike;
};

static void know(struct known *known, const struct pci_facts *pci,
		 const struct record_facts *record)
{
	known->pci = pci;
	known->serial = pci->serial ? pci->serial : record ? record->serial : NULL;
	device_identity_merge(&known->identity, pci->identity, record ? record->identity : NULL);
}

/* The virtual functions are left out: each is known by its physical one. */
static struct known *chain_models(const struct facts *facts)
{
	struct known *known = xcalloc(facts->pci.len + 1, sizeof(*known));
	struct map *records = map_new();
	struct map *last = map_new();

	for (size_t i = 0; i < facts->records.len; i++)
		map_set(records, facts->records.items[i].address, &facts->records.items[i]);
	for (size_t i = 0; i < facts->pci.len; i++) {
		const struct pci_facts *pci = &facts->pci.items[i];
		auto_free char *model = NULL;

		know(&known[i], pci, map_get(records, pci->address));
		if (pci->physical_function || !pci->vendor || !pci->device)
			continue;
		model = xasprintf("%s:%s", pci->vendor, pci->device);
		known[i].next = map_set(last, model, &known[i]);
	}
	map_free(records);
	map_free(last);
	return known;
}

static void find_lookalike(struct known *self)
{
	for (struct known *other = self->next; other; other = other->next) {
		if ((self->lookalike && other->lookalike) ||
		    !lookalike_may_swap(self->pci, other->pci) ||
		    lookalike_compare(self->serial, str_cstr(&self->identity), other->serial,
				      str_cstr(&other->identity)) != DEVICE_IDENTITY_UNKNOWN)
			continue;
		if (!self->lookalike)
			self->lookalike = other->pci;
		if (!other->lookalike)
			other->lookalike = self->pci;
	}
}

struct lookalike *lookalikes_find(const struct facts *facts)
{
	struct lookalike *lookalikes = xcalloc(facts->pci.len + 1, sizeof(*lookalikes));
	struct known *known = chain_models(facts);
	struct map *by_address = map_new();

	for (size_t i = 0; i < facts->pci.len; i++) {
		find_lookalike(&known[i]);
		map_set(by_address, facts->pci.items[i].address, &known[i]);
	}
	for (size_t i = 0; i < facts->pci.len; i++) {
		const char *pf = facts->pci.items[i].physical_function;
		const struct known *self = pf ? map_get(by_address, pf) : &known[i];

		lookalikes[i].pci = self ? self->lookalike : NULL;
	}
	for (size_t i = 0; i < facts->pci.len; i++)
		str_done(&known[i].identity);
	map_free(by_address);
	free(known);
	return lookalikes;
}
