/*
 * vf_state: what a physical function has: its virtual functions and its network interface. Opens
 * nothing that waits for the device's lock, as `sriov_numvfs` does.
 */
#pragma once

#include "agent/helper/sys/sysfs.h"

enum {
	VF_INTERFACE_SIZE = 16, /* the kernel's IFNAMSIZ              */
	VF_LISTED_MAX = 4096,   /* more are not listed                */
};

struct vf_state {
	struct sysfs_names functions;      /* addresses, by index */
	char interface[VF_INTERFACE_SIZE]; /* "" : none           */
	int device; /* the device id that they have or would have; 0: not known, or none */
};

/* Read the physical function whose folder is open as @dir_fd. The caller calls vf_state_done(). */
void vf_state_read(int dir_fd, struct vf_state *ret_seen);
void vf_state_done(struct vf_state *seen);
