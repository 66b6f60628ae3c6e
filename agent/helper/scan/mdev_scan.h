/*
 * mdev_scan: the mediated devices of this machine, and the devices that can be divided into them.
 *
 * The parent's driver answers reads of a type's attributes, without the device's lock.
 */
#pragma once

struct report;

/*
 * Append a line for each parent (with its types) and for each instance below @sysfs_fd to @report,
 * and with @state_fd (-1: none) one for each record of an instance that hostdev has made. No mdev
 * bus is an empty list.
 */
void mdev_scan(int sysfs_fd, int proc_fd, int state_fd, struct report *report);
