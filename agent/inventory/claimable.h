/*
 * claimable: may this device be claimed, and if not, why not?
 *
 * Pure: facts in, one verdict per device out. What the host cannot spare is refused
 * before anyone asks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct facts;
struct pci_facts;

/*
 * Reasons of the condition Claimable. True:
 *   Available              it may be claimed
 *   GroupShared            it may be claimed together with the others of its IOMMU group
 * False:
 *   HostBridge             a bridge or port: other devices are reached through it
 *   HostFunction           part of the machine itself (SMBus, interrupt controller, BMC, ...)
 *   HostFilesystem         it backs /, /boot or a directory that the node needs
 *   HostSwap               the node swaps to it
 *   HostNetwork            it carries the default route or the node's address
 *   Console                the machine's console is on it
 *   VirtualFunctionsActive it is an SR-IOV PF with VFs: vfio-pci refuses it while they exist
 *   InUse                  a mounted filesystem, an interface with an address or in another network
 *                          namespace, mediated devices: free it first
 *   UseUnknown             it may be in use, and what would tell cannot be seen: not free
 *   GroupHostCritical      another function of its IOMMU group is one of the above
 *   NoIOMMU                it is in no IOMMU group
 *   WideDomain             the domain of its address has more than four digits, which KubeVirt
 *                          cannot parse
 *   Hub                    a USB hub: other devices are reached through it
 *   DeviceGone             it is not on the node; the object is kept for its claim
 */
struct verdict {
	bool claimable;
	const char *reason;
	char *message; /* for a person; never NULL */
};

/* One verdict per facts->pci, in the same order. The caller frees with verdicts_free. A device that
 * is bound to vfio-pci has the same verdict; only its message says that something else bound it. */
struct verdict *claimable_check_pci(const struct facts *facts);

/* One verdict per facts->usb. */
struct verdict *claimable_check_usb(const struct facts *facts);

/* What the scan could not read about functions such as @pci on the node, so that it is unknown
 * whether the host uses them; NULL: it could read everything. */
const char *claimable_unread(const struct facts *facts, const struct pci_facts *pci);

void verdicts_free(struct verdict *verdicts, size_t len);
