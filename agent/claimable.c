#include "agent/claimable.h"

#include <stdlib.h>
#include <string.h>

#include "agent/facts.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

/* Classes that are the machine itself. A prefix of the six digits; the longest match counts. */
static const struct {
	const char *prefix;
	const char *reason;
	const char *message;
} host_classes[] = {
	{ "0604", "HostBridge", "a PCI bridge: other devices are reached through it" },
	{ "06", "HostFunction", "a bridge of the machine itself (host, ISA, ...)" },
	{ "0c05", "HostFunction", "the machine's SMBus" },
	{ "08", "HostFunction", "a system peripheral of the machine (timer, IOMMU, ...)" },
};

/* What a use of a device means for lending it. */
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
};

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static bool refuse(struct verdict *v, const char *reason, char *message)
{
	v->claimable = false;
	v->reason = reason;
	v->message = message;
	return true;
}

static bool judge_class(const struct pci_facts *pci, struct verdict *v)
{
	for (size_t i = 0; pci->class_code && i < ARRAY_LEN(host_classes); i++) {
		const char *prefix = host_classes[i].prefix;

		if (strncmp(pci->class_code, prefix, strlen(prefix)) == 0)
			return refuse(v, host_classes[i].reason, xstrdup(host_classes[i].message));
	}
	return false;
}

/* The most serious use of a device decides; the table is in that order. Give either address. */
static bool judge_uses(const struct facts *facts, const char *pci, const char *usb,
		       struct verdict *v)
{
	for (size_t r = 0; r < ARRAY_LEN(use_reasons); r++) {
		for (size_t i = 0; i < facts->uses.len; i++) {
			const struct use_facts *use = &facts->uses.items[i];

			if (!same(use->reason, use_reasons[r].use))
				continue;
			if (same(use->pci, pci) || same(use->usb, usb))
				return refuse(v, use_reasons[r].reason,
					      xstrdup(use->detail ? use->detail : use->reason));
		}
	}
	return false;
}

static bool judge_virtual_functions(const struct pci_facts *pci, struct verdict *v)
{
	if (pci->num_vfs <= 0)
		return false;
	return refuse(v, "VirtualFunctionsActive",
		      xasprintf("%d virtual functions exist; remove them first (sriov_numvfs 0)",
				(int)pci->num_vfs));
}

/* What a function is refused for on its own account, its group left aside. */
static bool judge_alone(const struct facts *facts, const struct pci_facts *pci, struct verdict *v)
{
	return judge_class(pci, v) || judge_uses(facts, pci->address, NULL, v) ||
	       judge_virtual_functions(pci, v);
}

/* PCIe ports and functions without a driver do not hinder a group (vfio_dev_viable() of the
 * kernel's drivers/vfio/vfio_main.c lets both pass). */
static bool counts_in_group(const struct pci_facts *pci)
{
	return pci->driver && !(pci->class_code && strncmp(pci->class_code, "0604", 4) == 0);
}

/* Says which other functions of the group count, and refuses if one of them is refused. @alone are
 * the verdicts of judge_alone, reason NULL where there was nothing to refuse. */
static void judge_group(const struct facts *facts, size_t at, const struct verdict *alone,
			struct verdict *v)
{
	const struct pci_facts *self = &facts->pci.items[at];
	auto_str struct str others = STR_INIT;

	for (size_t i = 0; i < facts->pci.len; i++) {
		const struct pci_facts *pci = &facts->pci.items[i];

		if (i == at || !same(pci->iommu_group, self->iommu_group) || !counts_in_group(pci))
			continue;
		if (alone[i].reason && strcmp(alone[i].reason, "InUse") != 0) {
			refuse(v, "GroupHostCritical",
			       xasprintf("IOMMU group %s also holds %s: %s", self->iommu_group,
					 pci->address, alone[i].message));
			return;
		}
		str_addf(&others, "%s%s", others.len ? ", " : "", pci->address);
	}
	v->claimable = true;
	v->reason = others.len ? "GroupShared" : "Available";
	v->message = others.len ? xasprintf("shares IOMMU group %s with %s: claim them all, or set "
					    "includeIOMMUGroup in the claim",
					    self->iommu_group, others.buf)
				: xasprintf("may be claimed (IOMMU group %s)", self->iommu_group);
}

struct verdict *claimable_judge_pci(const struct facts *facts)
{
	struct verdict *alone = xcalloc(facts->pci.len, sizeof(*alone));
	struct verdict *verdicts = xcalloc(facts->pci.len, sizeof(*verdicts));

	for (size_t i = 0; i < facts->pci.len; i++)
		judge_alone(facts, &facts->pci.items[i], &alone[i]);

	for (size_t i = 0; i < facts->pci.len; i++) {
		const struct pci_facts *pci = &facts->pci.items[i];
		struct verdict *v = &verdicts[i];

		if (alone[i].reason)
			refuse(v, alone[i].reason, xstrdup(alone[i].message));
		else if (!pci->iommu_group)
			refuse(v, "NoIOMMU",
			       xstrdup(facts->iommu
					       ? "the kernel put it in no IOMMU group"
					       : "the kernel runs without an IOMMU: switch it on in "
						 "the firmware and on the kernel command line "
						 "(intel_iommu=on)"));
		else
			judge_group(facts, i, alone, v);
	}
	verdicts_free(alone, facts->pci.len);
	return verdicts;
}

struct verdict *claimable_judge_usb(const struct facts *facts)
{
	struct verdict *verdicts = xcalloc(facts->usb.len, sizeof(*verdicts));

	for (size_t i = 0; i < facts->usb.len; i++) {
		const struct usb_facts *usb = &facts->usb.items[i];
		struct verdict *v = &verdicts[i];

		if (usb->hub)
			refuse(v, "Hub", xstrdup("a hub: other devices are reached through it"));
		else if (!judge_uses(facts, NULL, usb->port, v))
			*v = (struct verdict){ .claimable = true,
					       .reason = "Available",
					       .message = xstrdup("may be claimed") };
	}
	return verdicts;
}

void verdicts_free(struct verdict *verdicts, size_t len)
{
	for (size_t i = 0; i < len; i++)
		free(verdicts[i].message);
	free(verdicts);
}
