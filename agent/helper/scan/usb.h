/*
 * usb: what the kernel knows of every USB device and its interfaces.
 *
 * Root hubs ("usb1") are part of their controller and left out; other hubs are listed as such.
 * Reading the text attributes (manufacturer, product, serial) takes the device's lock
 * (drivers/usb/core/sysfs.c), so a device in trouble can hold up a scan; the classes of the
 * interfaces come from their uevents, which take none.
 */
#pragma once

#include <stddef.h>

struct report;

/* Append a line for each device below @sysfs_fd to @report; returns how many. No /sys/bus/usb is an
 * empty list. */
size_t usb_scan(int sysfs_fd, struct report *report);
