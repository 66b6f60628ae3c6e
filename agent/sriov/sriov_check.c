#include "agent/sriov/sriov_check.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inventory/claimable.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/inventory/native_driver.h"
#include "agent/sriov/sriov_card.h"
#include "agent/sriov/sriov_plan.h"
#include "api/sriovnetworkdevice.h"
#include "base/map.h"
#include "base/mem.h"

void sriov_verdict_done(struct sriov_verdict *verdict)
{
	free(verdict->message);
	*verdict = (struct sriov_verdict){ 0 };
}

/* True, so that a row of checks ends with the first that refuses. */
static bool refuse(struct sriov_verdict *v, const char *reason, char *message)
{
	v->ok = false;
	v->reason = reason;
	v->message = message;
	return true;
}

char *sriov_other_device(const struct sriov_case *c)
{
	return xasprintf("%s:%s", c->pf->vendor, c->pf->device);
}

/* Where the card is now, if one with the same ids and serial is elsewhere: adding a card to a
 * machine may renumber others. */
static const struct pci_facts *find_moved(const struct sriov_case *c)
{
	const struct sriovnetworkdevice_status *was = &c->object->status;
	const struct facts *facts = c->inventory->facts;
	const char *function = was->address ? was->address + strlen(was->address) - 1 : "";

	for (size_t i = 0; was->serial_number && was->device && i < facts->pci.len; i++) {
		const struct pci_facts *pci = &facts->pci.items[i];
		auto_free char *id = NULL;

		if (!sriov_card_is_physical(pci) || !pci->serial || !pci->vendor || !pci->device ||
		    strcmp(pci->serial, was->serial_number) != 0 ||
		    strcmp(pci->address + strlen(pci->address) - 1, function) != 0)
			continue; /* the ports of a card share its serial */
		id = xasprintf("%s:%s", pci->vendor, pci->device);
		if (strcmp(id, was->device) == 0)
			return pci;
	}
	return NULL;
}

static bool check_gone(const struct sriov_case *c, struct sriov_verdict *v)
{
	const char *address = c->object->spec.address;
	const struct pci_facts *moved;

	if (c->pf)
		return false;
	if (!c->object->status.address)
		return refuse(
			v, "DeviceNotFound",
			address ? xasprintf("there is no PCI function %s on the node", address)
				: xstrdup("no network card of the node has this name; set "
					  "spec.address"));
	moved = find_moved(c);
	if (moved)
		return refuse(
			v, "DeviceGone",
			xasprintf("the card is not at %s any more: one with its serial number "
				  "is at %s; set spec.address to that",
				  address ? address : "its address", moved->address));
	return refuse(v, "DeviceGone",
		      xstrdup("the card is not on the node any more; the object is kept for its "
			      "spec: delete it, or put the card back"));
}

static bool check_duplicate(const struct sriov_case *c, struct sriov_verdict *v)
{
	const char *first = sriov_card_object(c->objects, c->pf->address);

	if (!first || strcmp(first, c->name) == 0)
		return false;
	return refuse(
		v, "Duplicate",
		xasprintf("%s is about the same card and older: delete one of the two", first));
}

static bool check_identity(const struct sriov_case *c, struct sriov_verdict *v)
{
	const struct sriovnetworkdevice_status *was = &c->object->status;
	auto_free char *device = sriov_other_device(c);
	const char *is = NULL;

	if (!was->address || strcmp(was->address, c->pf->address) != 0)
		return false;
	if (was->device && strcmp(was->device, device) != 0)
		is = device;
	else if (was->serial_number && c->pf->serial &&
		 strcmp(was->serial_number, c->pf->serial) != 0)
		is = c->pf->serial;
	if (!is)
		return false;
	return refuse(v, "DifferentDevice",
		      xasprintf("another card (%s) is at %s now; it is not touched: delete the "
				"object to have a new one",
				is, c->pf->address));
}

static bool check_kind(const struct sriov_case *c, struct sriov_verdict *v)
{
	int want = c->object->spec.num_vfs;

	if (!sriov_card_is_physical(c->pf))
		return refuse(v, "NotPhysicalFunction",
			      xasprintf("%s does not support virtual functions", c->pf->address));
	if (want > c->pf->total_vfs)
		return refuse(
			v, "TooManyVFs",
			xasprintf("%s supports %d virtual functions, not %d: set spec.numVFs to "
				  "%d or less",
				  c->pf->address, c->pf->total_vfs, want, c->pf->total_vfs));
	return false;
}

/* The node needs the card itself: what is done to its virtual functions, its driver does to the
 * card. */
static bool check_critical(const struct sriov_case *c, struct sriov_verdict *v)
{
	const struct verdict *verdict = sriov_card_verdict(c->inventory, c->pf->address);
	const char *critical = verdict ? sriov_card_critical(verdict) : NULL;

	if (!critical)
		return false;
	if (v->change)
		return refuse(
			v, critical,
			xasprintf("the number of its virtual functions stays %zu, because the "
				  "node needs the card: %s",
				  c->pf->virtual_functions.len, verdict->message));
	return refuse(v, critical,
		      xasprintf("the settings of its virtual functions stay as they are, because "
				"the node needs the card: %s",
				verdict->message));
}

/* The node may need the card itself, and that cannot be read. */
static bool check_unread(const struct sriov_case *c, struct sriov_verdict *v)
{
	const char *unread = sriov_card_unread(c->inventory, c->pf);

	if (!unread)
		return false;
	return refuse(v, "UseUnknown",
		      xasprintf("number and settings of its virtual functions stay as they are, "
				"because the agent cannot see whether the node needs the card: %s",
				unread));
}

/* Their number is to change. */
static bool check_change(const struct sriov_case *c, struct sriov_verdict *v)
{
	int want = c->object->spec.num_vfs;
	bool passed = native_driver_is_passthrough(c->pf->driver);

	if (want > 0 && (c->claimed || passed))
		return refuse(v, "PassedThrough",
			      c->claimed
				      ? xasprintf("the card itself is claimed by %s", c->claimed)
				      : xasprintf("the card itself is bound to %s", c->pf->driver));
	if (c->user)
		return refuse(v, "VFsInUse",
			      xasprintf("cannot change from %zu to %d virtual functions: %s",
					c->pf->virtual_functions.len, want, c->user));
	return false;
}

static char *lower_case(const char *text)
{
	char *copy = xstrdup(text);

	for (char *s = copy; *s; s++)
		*s = (char)tolower((unsigned char)*s);
	return copy;
}

/* One address twice on a card: the frames of both would go to one of them. */
static bool check_addresses(const struct sriov_case *c, int count, struct sriov_verdict *v)
{
	const struct sriovnetworkdevice_vfs *vfs = &c->object->spec.virtual_functions;
	struct map *seen = map_new();
	bool refused = false;

	for (size_t i = 0; i < vfs->len && !refused; i++) {
		struct sriovnetworkdevice_vf *vf = &vfs->items[i];
		auto_free char *mac = vf->mac_address ? lower_case(vf->mac_address) : NULL;
		const struct sriovnetworkdevice_vf *first;

		if (!mac || vf->index >= count)
			continue;
		first = map_set(seen, mac, vf);
		if (first)
			refused = refuse(v, "DuplicateMAC",
					 xasprintf("the virtual functions %d and %d have the same "
						   "MAC address %s: give each its own",
						   first->index, vf->index, mac));
	}
	map_free(seen);
	return refused;
}

/* The node itself needs one of those that are to be set, or may need it. */
static bool check_own(const struct sriov_case *c, struct sriov_verdict *v)
{
	const struct json_strs *functions = &c->pf->virtual_functions;

	for (size_t i = 0; i < functions->len; i++) {
		const struct verdict *verdict =
			sriov_card_verdict(c->inventory, functions->items[i]);
		const char *critical = verdict ? sriov_card_critical(verdict) : NULL;
		bool unknown = verdict && strcmp(verdict->reason, "UseUnknown") == 0;

		if ((critical || unknown) && sriov_job_sets(c->object, (int)i))
			return refuse(
				v, critical ? critical : "UseUnknown",
				xasprintf("the settings of its virtual functions stay as they are, "
					  "because the node %s %s: %s; remove index %zu from "
					  "spec.virtualFunctions",
					  critical ? "needs" : "may need", functions->items[i],
					  verdict->message, i));
	}
	return false;
}

static bool check_settings(const struct sriov_case *c, int count, struct sriov_verdict *v)
{
	if (check_own(c, v) || check_addresses(c, count, v))
		return true;
	if (c->pf->interface)
		return false;
	return refuse(
		v, "NoInterface",
		xasprintf("%s has no network interface, which spec.virtualFunctions needs: is "
			  "its driver loaded?",
			  c->pf->address));
}

void sriov_check(const struct sriov_case *c, struct sriov_verdict *ret_verdict)
{
	struct sriov_verdict v = { 0 };
	int have = c->pf ? (int)c->pf->virtual_functions.len : 0;
	int count = have;

	if (!sriov_is_as_found(c->object))
		count = c->object->spec.num_vfs;
	v.change = count != have;
	v.settings = sriov_job_has_settings(c->object, count);
	if (!(check_gone(c, &v) || check_duplicate(c, &v) || check_identity(c, &v) ||
	      check_kind(c, &v) ||
	      ((v.change || v.settings) && (check_critical(c, &v) || check_unread(c, &v))) ||
	      (v.change && check_change(c, &v)) || (v.settings && check_settings(c, count, &v)))) {
		v.ok = true;
		v.reason = "Accepted";
		v.message = xstrdup("may be carried out");
	}
	*ret_verdict = v;
}
