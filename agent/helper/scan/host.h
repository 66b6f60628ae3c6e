/* host: what holds for the whole machine: IOMMU, interrupt remapping, NUMA nodes. */
#pragma once

struct report;

void host_scan(int sysfs_fd, struct report *report);
