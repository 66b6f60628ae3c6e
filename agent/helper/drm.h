/*
 * drm: the GPUs of AMD's and Intel's drivers, as they are in sysfs: the numbers of their device
 * nodes, how a GPU of AMD is divided, and the devices that the parts are.
 *
 * A read may wait inside a driver that is ill, so that no scan does it.
 */
#pragma once

struct report;

/* Append a line for each PCI function of the drivers amdgpu, i915 and xe, and for each part of a
 * divided GPU that the driver uses. */
void drm_write_lines(int sysfs_fd, struct report *report);
