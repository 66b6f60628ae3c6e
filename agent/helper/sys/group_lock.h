/* group_lock: one helper at a time for an IOMMU group, or for another thing with a name, whichever agent
 * started it. */
#pragma once

struct err;

/* Outcome of group_lock_take(): another process has it. */
enum { GROUP_LOCK_BUSY = 1 };

/*
 * Lock group-<@group>.lock (created if need be) below @state_fd, without waiting, and write this
 * process's pid into it. The lock lasts until *@ret_fd is closed, which no program that is started
 * inherits. GROUP_LOCK_BUSY: *@ret_pid is the other's pid, 0 if it cannot be told; *@ret_fd is
 * left alone.
 */
int group_lock_take(int state_fd, const char *group, int *ret_fd, int *ret_pid, struct err *err);

/* The same for <@thing>.lock: @thing is a name for a file, not of the form "group-...". */
int thing_lock_take(int state_fd, const char *thing, int *ret_fd, int *ret_pid, struct err *err);
