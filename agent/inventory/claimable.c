#include "agent/inventory/claimable.h"

#include <stdlib.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

/* clang-format off */
/*
 * Functions that are part of the machine: by a prefix of the six digits of the class. Where
 * claimable devices have the same class (NVIDIA's cards have a 0c80, modems are 0780), also by
 * vendor or driver. The first match counts.
 */
static const struct {
	const char *prefix;
	const char *vendor; /* NULL: any */
	const char *device; /* NULL: any */
	const char *driver; /* NULL: any, or none */
	const char *reason;
	const char *message;
} host_classes[] = {
	/* Without it the hypervisor takes back the memory that the kernel uses. */
	{ "00ff", "1af4", "1058", NULL,      "HostFunction", "memory of the machine (virtio-mem)" },
	{ "0300", "1a03", NULL,   NULL,      "HostFunction",
	  "the screen of the machine's management controller (BMC)" },
	{ "0502", NULL,   NULL,   NULL,      "HostFunction", "memory of the machine (CXL)" },
	{ "0604", NULL,   NULL,   NULL,      "HostBridge",
	  "a PCI bridge: other devices are behind it" },
	{ "06",   NULL,   NULL,   NULL,      "HostFunction",
	  "a bridge of the machine itself (host, ISA, ...)" },
	{ "0780", "8086", NULL,   "mei_me",  "HostFunction", "the machine's management engine" },
	{ "0780", "8086", NULL,   "mei_txe", "HostFunction", "the machine's management engine" },
	{ "08",   NULL,   NULL,   NULL,      "HostFunction",
	  "a system peripheral of the machine (timer, IOMMU, ...)" },
	/* PCI devices are tunnelled through it, and are not below it in the tree. */
	{ "0c0340", NULL, NULL,   NULL,      "HostFunction",
	  "a USB4 or Thunderbolt controller: other devices are behind it" },
	{ "0c05", NULL,   NULL,   NULL,      "HostFunction", "the machine's SMBus" },
	/* Its holder controls the BMC without a password: accounts, power, virtual media. */
	{ "0c07", NULL,   NULL,   NULL,      "HostFunction",
	  "the way to the machine's management controller (IPMI)" },
	{ "0c80", "8086", NULL,   NULL,      "HostFunction",
	  "a bus of the chipset (I2C, SPI, flash of the firmware)" },
	/* Nothing in /sys leads from SEV or the TPM to it. */
	{ "1080", "1022", NULL,   NULL,      "HostFunction",
	  "the machine's security processor (AMD PSP)" },
};
/* clang-format on */

/* What a use of a device means for offering it. */
static const struct {
	const char *use;
	const char *reason;
} use_reasons[] = {
	{ "HostFilesystem", "HostFilesystem" },
	{ "HostSwap", "HostSwap" },
	{ "HostNetwork", "HostNetwork" },
	{ "Console", "Console" },
	{ "Mounted", "InUse" },
	{ "BlockHolder", "InUse" },
	{ "InterfaceUp", "InUse" },
	{ "InterfaceMoved", "InUse" },
	{ "Unknown", "UseUnknown" }, /* the last: also for a use that this agent does not know */
};

static bool refuse(struct verdict *v, const char *reason, char *message)
{
	v->claimable = false;
	v->reason = reason;
	v->message = message;
	return true;
}

static bool is_match(const char *wanted, const char *found)
{
	return !wanted || (found && strcmp(wanted, found) == 0);
}

static bool check_class(const struct pci_facts *pci, struct verdict *v)
{
	for (size_t i = 0; pci->class_code && i < ARRAY_LEN(host_classes); i++) {
		const char *prefix = host_classes[i].prefix;

		if (strncmp(pci->class_code, prefix, strlen(prefix)) == 0 &&
		    is_match(host_classes[i].vendor, pci->vendor) &&
		    is_match(host_classes[i].device, pci->device) &&
		    is_match(host_classes[i].driver, pci->driver))
			return refuse(v, host_classes[i].reason, xstrdup(host_classes[i].message));
	}
	return false;
}

/* The rank of the use among the reasons. */
static size_t seriousness(const struct use_facts *use)
{
	size_t i = 0;

	while (i < ARRAY_LEN(use_reasons) - 1 && strcmp(use_reasons[i].use, use->reason) != 0)
		i++;
	return i;
}

enum bus { BUS_PCI, BUS_USB };

/* The most serious use of each device: address or port -> struct use_facts. */
static struct map *index_uses(const struct facts *facts, enum bus bus)
{
	struct map *uses = map_new();

	for (size_t i = 0; i < facts->uses.len; i++) {
		struct use_facts *use = &facts->uses.items[i];
		const char *device = bus == BUS_PCI ? use->pci : use->usb;
		const struct use_facts *before = device ? map_get(uses, device) : NULL;

		if (!device)
			continue;
		if (!before || seriousness(use) < seriousness(before))
			map_set(uses, device, use);
	}
	return uses;
}

static bool check_use(const struct use_facts *use, struct verdict *v)
{
	if (!use)
		return false;
	return refuse(v, use_reasons[seriousness(use)].reason,
		      xstrdup(use->detail ? use->detail : use->reason));
}

static bool has_prefix(const struct json_strs *prefixes, const char *text)
{
	for (size_t i = 0; i < prefixes->len; i++) {
		if (strncmp(text, prefixes->items[i], strlen(prefixes->items[i])) == 0)
			return true;
	}
	return false;
}

static bool refuse_unknown(const char *why, struct verdict *v)
{
	return refuse(v, "UseUnknown",
		      xasprintf("the agent cannot see whether the host uses it: %s", why));
}

static bool is_on_passthrough_driver(const struct pci_facts *pci, const struct map *records)
{
	const struct record_facts *record = map_get(records, pci->address);

	if (!pci->driver)
		return false;
	if (strcmp(pci->driver, "vfio-pci") == 0 || strcmp(pci->driver, "pci-stub") == 0)
		return true;
	return record && record->driver && strcmp(record->driver, pci->driver) == 0;
}

/* Not even whether it is a bridge is known, so its driver does not matter. */
static bool check_unread_class(const struct pci_facts *pci, const struct map *records,
			       struct verdict *v)
{
	return !pci->class_code && !is_on_passthrough_driver(pci, records) &&
	       refuse_unknown("its class cannot be read", v);
}

/* A class that could not be read may be any. */
static bool concerns(const struct unknown_facts *unknown, const struct pci_facts *pci)
{
	return !pci->class_code || has_prefix(&unknown->pci_classes, pci->class_code);
}

static bool check_unknown(const struct facts *facts, const struct pci_facts *pci,
			  const struct map *records, struct verdict *v)
{
	/* The host uses what one of its drivers has. */
	if (!pci->class_code || !pci->driver || is_on_passthrough_driver(pci, records))
		return false;
	for (size_t i = 0; i < facts->unknowns.len; i++) {
		const struct unknown_facts *unknown = &facts->unknowns.items[i];

		if (concerns(unknown, pci))
			return refuse_unknown(unknown->detail, v);
	}
	return false;
}

const char *claimable_unread(const struct facts *facts, const struct pci_facts *pci)
{
	for (size_t i = 0; i < facts->unknowns.len; i++) {
		const struct unknown_facts *unknown = &facts->unknowns.items[i];

		if (unknown->unread && concerns(unknown, pci))
			return unknown->detail;
	}
	return NULL;
}

static bool check_unknown_usb(const struct facts *facts, const struct usb_facts *usb,
			      struct verdict *v)
{
	for (size_t i = 0; i < facts->unknowns.len; i++) {
		const struct unknown_facts *unknown = &facts->unknowns.items[i];

		for (size_t k = 0; k < usb->interfaces.len; k++) {
			const struct usb_interface_facts *interface = &usb->interfaces.items[k];

			/* A pod, or a program of the host, has it by usbfs: no disk, no network. */
			if (!interface->driver || strcmp(interface->driver, "usbfs") == 0)
				continue;
			if (!interface->class_code ||
			    has_prefix(&unknown->usb_classes, interface->class_code))
				return refuse_unknown(unknown->detail, v);
		}
	}
	return false;
}

static bool check_virtual_functions(const struct pci_facts *pci, struct verdict *v)
{
	/* Such a card has an SRIOVNetworkDevice, which would make them again. */
	bool is_network =
		pci->class_code && strncmp(pci->class_code, "02", 2) == 0 && pci->interface;

	if (pci->num_vfs <= 0)
		return false;
	return refuse(
		v, "VirtualFunctionsActive",
		is_network ? xasprintf("%d virtual functions exist: set spec.numVFs: 0 in the "
				       "SRIOVNetworkDevice with spec.address %s, or claim one of "
				       "them",
				       (int)pci->num_vfs, pci->address)
			   : xasprintf("%d virtual functions exist: write 0 to its sriov_numvfs, "
				       "or claim one of them",
				       (int)pci->num_vfs));
}

/* The unbind takes them from the pods that have them. */
static bool check_mediated(const struct facts *facts, const struct pci_facts *pci,
			   struct verdict *v)
{
	size_t len = 0;

	for (size_t i = 0; i < facts->mdevs.len; i++) {
		const char *address = facts->mdevs.items[i].pci_address;

		len += address && strcmp(address, pci->address) == 0;
	}
	if (len == 0)
		return false;
	return refuse(v, "InUse",
		      xasprintf("%zu mediated device%s on it: remove %s first (the types in the "
				"HostDeviceConfig, or write 1 to 'remove')",
				len, len == 1 ? " is" : "s are", len == 1 ? "it" : "them"));
}

/* What each function is refused for on its own account, its group left aside; reason NULL:
 * nothing. */
static struct verdict *check_alone(const struct facts *facts, const struct map *records)
{
	struct verdict *alone = xcalloc(facts->pci.len, sizeof(*alone));
	struct map *uses = index_uses(facts, BUS_PCI);

	for (size_t i = 0; i < facts->pci.len; i++) {
		const struct pci_facts *pci = &facts->pci.items[i];

		(void)(check_class(pci, &alone[i]) ||
		       check_use(map_get(uses, pci->address), &alone[i]) ||
		       check_unread_class(pci, records, &alone[i]) ||
		       check_unknown(facts, pci, records, &alone[i]) ||
		       check_mediated(facts, pci, &alone[i]) ||
		       check_virtual_functions(pci, &alone[i]));
	}
	map_free(uses);
	return alone;
}

/* PCIe ports and functions without a driver do not hinder a group (vfio_dev_viable() of the
 * kernel's drivers/vfio/vfio_main.c lets both pass). */
static bool counts_in_group(const struct pci_facts *pci)
{
	return pci->driver && !(pci->class_code && strncmp(pci->class_code, "0604", 4) == 0);
}

enum { OTHERS_SHOWN = 32 }; /* the object's iommuGroupMembers has them all */

/* The functions of one group that count. Positions are those of facts->pci. */
struct group {
	size_t len;
	size_t first[OTHERS_SHOWN + 1]; /* enough to leave one out */
	bool critical;
	size_t critical_at; /* the first that is refused on its own account */
};

static void group_add(struct group *group, size_t at, const struct verdict *alone)
{
	if (group->len < ARRAY_LEN(group->first))
		group->first[group->len] = at;
	group->len++;
	if (group->critical || !alone->reason || strcmp(alone->reason, "InUse") == 0)
		return;
	group->critical = true;
	group->critical_at = at;
}

/* Group number -> struct group, of every group that has a function which counts. */
static struct map *index_groups(const struct facts *facts, const struct verdict *alone)
{
	struct map *groups = map_new();

	for (size_t i = 0; i < facts->pci.len; i++) {
		const struct pci_facts *pci = &facts->pci.items[i];
		struct group *group;

		if (!pci->iommu_group || !counts_in_group(pci))
			continue;
		group = map_get(groups, pci->iommu_group);
		if (!group) {
			group = xcalloc(1, sizeof(*group));
			map_set(groups, pci->iommu_group, group);
		}
		group_add(group, i, &alone[i]);
	}
	return groups;
}

/* "0000:01:00.0, 0000:01:00.1 and 7 more": what counts in the group beside the function @at. */
static void add_others(struct str *out, const struct facts *facts, const struct group *group,
		       size_t at)
{
	size_t others = group->len - counts_in_group(&facts->pci.items[at]);
	size_t shown = 0;

	for (size_t i = 0; i < group->len && shown < OTHERS_SHOWN; i++) {
		if (group->first[i] == at)
			continue;
		if (out->len > 0)
			str_add(out, ", ");
		str_add(out, facts->pci.items[group->first[i]].address);
		shown++;
	}
	if (others > shown)
		str_addf(out, " and %zu more", others - shown);
}

/* Says which other functions of the group count, and refuses if one of them is refused. @group is
 * NULL if none counts. */
static void check_group(const struct facts *facts, size_t at, const struct group *group,
			const struct verdict *alone, struct verdict *v)
{
	const struct pci_facts *self = &facts->pci.items[at];
	auto_str struct str others = STR_INIT;

	if (group && group->critical) {
		refuse(v, "GroupHostCritical",
		       xasprintf("IOMMU group %s also holds %s: %s", self->iommu_group,
				 facts->pci.items[group->critical_at].address,
				 alone[group->critical_at].message));
		return;
	}
	if (group)
		add_others(&others, facts, group, at);
	v->claimable = true;
	v->reason = others.len ? "GroupShared" : "Available";
	v->message = others.len ? xasprintf("shares IOMMU group %s with %s: claim them all, or set "
					    "includeIOMMUGroup in the claim",
					    self->iommu_group, others.buf)
				: xasprintf("may be claimed (IOMMU group %s)", self->iommu_group);
}

static void refuse_without_group(const struct facts *facts, struct verdict *v)
{
	refuse(v, "NoIOMMU",
	       xstrdup(facts->iommu ? "the kernel put it in no IOMMU group"
				    : "the kernel runs without an IOMMU: switch it on in the "
				      "firmware and on the kernel command line (intel_iommu=on)"));
}

/*
 * virt-launcher takes an address "dddd:bb:dd.f" and no other (PCI_ADDRESS_PATTERN of KubeVirt's
 * pkg/util/hardware), so a machine with such a device would not start. VMD has domains of five
 * digits.
 */
static void refuse_wide_domain(const struct pci_facts *pci, struct verdict *v)
{
	int digits = (int)strcspn(pci->address, ":");

	if (!v->claimable || digits <= 4)
		return;
	free(v->message);
	refuse(v, "WideDomain",
	       xasprintf("its PCI domain %.*s has more than four digits, which KubeVirt cannot "
			 "parse; if no virtual machine is to have it, claim it with the annotation "
			 "hostdev.io/allow-host-critical",
			 digits, pci->address));
}

/* Address -> struct record_facts. */
static struct map *index_records(const struct facts *facts)
{
	struct map *records = map_new();

	for (size_t i = 0; i < facts->records.len; i++)
		map_set(records, facts->records.items[i].address, &facts->records.items[i]);
	return records;
}

/* Who bound it to vfio-pci without us is not asked: it stays so. */
static void note_bound_already(const struct pci_facts *pci, const struct map *records,
			       struct verdict *v)
{
	char *message;

	if (!v->claimable || !pci->driver || strcmp(pci->driver, "vfio-pci") != 0 ||
	    map_get(records, pci->address))
		return;
	message = xasprintf("%s: bound to vfio-pci already; hostdev leaves it alone until it is "
			    "claimed",
			    v->message);
	free(v->message);
	v->message = message;
}

struct verdict *claimable_check_pci(const struct facts *facts)
{
	struct verdict *verdicts = xcalloc(facts->pci.len, sizeof(*verdicts));
	struct map *records = index_records(facts);
	struct verdict *alone = check_alone(facts, records);
	struct map *groups = index_groups(facts, alone);

	for (size_t i = 0; i < facts->pci.len; i++) {
		const char *group = facts->pci.items[i].iommu_group;

		if (alone[i].reason)
			refuse(&verdicts[i], alone[i].reason, xstrdup(alone[i].message));
		else if (!group)
			refuse_without_group(facts, &verdicts[i]);
		else
			check_group(facts, i, map_get(groups, group), alone, &verdicts[i]);
		refuse_wide_domain(&facts->pci.items[i], &verdicts[i]);
		note_bound_already(&facts->pci.items[i], records, &verdicts[i]);
	}
	map_free_with(groups, free);
	map_free(records);
	verdicts_free(alone, facts->pci.len);
	return verdicts;
}

struct verdict *claimable_check_usb(const struct facts *facts)
{
	struct verdict *verdicts = xcalloc(facts->usb.len, sizeof(*verdicts));
	struct map *uses = index_uses(facts, BUS_USB);

	for (size_t i = 0; i < facts->usb.len; i++) {
		const struct usb_facts *usb = &facts->usb.items[i];
		struct verdict *v = &verdicts[i];

		if (usb->hub)
			refuse(v, "Hub", xstrdup("a hub: other devices are behind it"));
		else if (!check_use(map_get(uses, usb->port), v) &&
			 !check_unknown_usb(facts, usb, v))
			*v = (struct verdict){ .claimable = true,
					       .reason = "Available",
					       .message = xstrdup("may be claimed") };
	}
	map_free(uses);
	return verdicts;
}

void verdicts_free(struct verdict *verdicts, size_t len)
{
	for (size_t i = 0; i < len; i++)
		free(verdicts[i].message);
	free(verdicts);
}
