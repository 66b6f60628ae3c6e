/*
 * kernel: every effect that a transition has on the machine, behind two functions, so that a test can
 * be the kernel.
 */
#pragma once

struct err;

struct kernel {
	/* Write @text to the attribute @path below @sysfs_fd; 0, or the negative errno. May last. */
	int (*write)(void *arg, int sysfs_fd, const char *path, const char *text);
	/* Have @module in the kernel; 0, or < 0 with @err set. May last. */
	int (*load)(void *arg, const char *module, struct err *err);
	void *arg;
};

/* The one that is running. */
struct kernel kernel_running(void);
