/*
 * kernel: every effect that a transition has on the machine, behind three functions, so that a test
 * can be the kernel.
 */
#pragma once

#include <sys/types.h>

struct err;

struct kernel {
	/* Write @text to the attribute @path below @sysfs_fd; 0, or the negative errno. May
	 * last. */
	int (*write)(void *arg, int sysfs_fd, const char *path, const char *text);
	/* Have @module in the kernel; 0, or < 0 with @err set. May last. */
	int (*load)(void *arg, const char *module, struct err *err);
	/* Open the disk whose node is @name below @dev_fd exclusively (O_EXCL). Returns a
	 * descriptor and sets *@ret_number to the device's number (0 if the node is no block
	 * device), or returns the negative errno. */
	int (*open_disk)(void *arg, int dev_fd, const char *name, dev_t *ret_number);
	void *arg;
};

/* The one that is running. */
struct kernel kernel_running(void);
