/* misc_capacity: how many of something the kernel's misc cgroup controller has, such as "tdx". */
#pragma once

/* The number behind @resource in @text, which is misc.capacity: a line "tdx 31" for each; 0 if there
 * is none, at most @max. */
unsigned misc_capacity_find(const char *text, const char *resource, unsigned max);

/* The text of misc.capacity below @sysfs_root (NULL: /sys); "" if there is none. The caller frees. */
char *misc_capacity_read(const char *sysfs_root);
