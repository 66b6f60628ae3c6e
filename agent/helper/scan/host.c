#include "agent/helper/scan/host.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "base/json_write.h"
#include "base/mem.h"

enum { IRQS_TRIED = 64 };

/* A group made by VFIO's no-IOMMU mode carries this name and isolates nothing. */
static bool has_iommu(int sysfs_fd)
{
	/* Nearly always there is a group 0, and the long list of them need not be read. */
	bool first = faccessat(sysfs_fd, "kernel/iommu_groups/0", F_OK, 0) == 0;
	auto_free char *group =
		first ? xstrdup("0") : sysfs_any_entry(sysfs_fd, "kernel/iommu_groups");
	auto_free char *path = NULL;
	struct sysfs_attr name;

	if (!group)
		return false;
	path = xasprintf("kernel/iommu_groups/%s/name", group);
	return sysfs_read(sysfs_fd, path, &name, NULL) != 0 ||
	       strcmp(name.text, "vfio-noiommu") != 0;
}

static int count_numa_nodes(int sysfs_fd)
{
	auto_names struct sysfs_names names = { 0 };
	int nodes = 0;

	if (sysfs_list(sysfs_fd, "devices/system/node", &names, NULL) != 0)
		return 1;
	for (size_t i = 0; i < names.len; i++) {
		const char *name = names.items[i];

		nodes += strncmp(name, "node", 4) == 0 && name[4] >= '0' && name[4] <= '9';
	}
	return nodes > 0 ? nodes : 1;
}

/*
 * The kernel tells it in the names of interrupt chips, on x86 only: "IR-PCI-MSI" and "IR-IO-APIC"
 * with remapping, "PCI-MSI" and "IO-APIC" without. Elsewhere the answer is left out.
 */
static void write_interrupt_remapping(int sysfs_fd, struct str *lines)
{
	auto_close int fd = sysfs_open_dir(sysfs_fd, "kernel/irq");
	struct sysfs_attr chip;
	bool known = false;
	bool remapped = false;

	for (int i = 0; fd >= 0 && i < IRQS_TRIED && !remapped; i++) {
		auto_free char *path = xasprintf("%d/chip_name", i);

		if (sysfs_read(fd, path, &chip, NULL) != 0)
			continue;
		known = known || strstr(chip.text, "IO-APIC") || strstr(chip.text, "PCI-MSI");
		remapped = strncmp(chip.text, "IR-", 3) == 0;
	}
	if (known)
		json_write_bool(lines, "interruptRemapping", remapped);
}

void host_scan(int sysfs_fd, struct report *report)
{
	report_open(&report->lines, "host");
	json_write_bool(&report->lines, "iommu", has_iommu(sysfs_fd));
	json_write_int(&report->lines, "numaNodes", count_numa_nodes(sysfs_fd));
	write_interrupt_remapping(sysfs_fd, &report->lines);
	report_close(&report->lines);
}
