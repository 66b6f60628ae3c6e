/*
 * vf_look: what a physical function has: its virtual functions and its network interface. Opens
 * nothing that waits for the device's lock, as `sriov_numvfs` does.
 */
#pragma once

#include "agent/helper/sys/sysfs.h"

enum {
	VF_INTERFACE_SIZE = 16, /* the kernel's IFNAMSIZ              */
	VF_LOOK_MAX = 4096,     /* more are not listed                */
};

struct vf_seen {
	struct sysfs_names functions;      /* addresses, by index */
	char interface[VF_INTERFACE_SIZE]; /* "" : none           */
	int device; /* the device id that they have or would have; 0: not known, or none */
};

/* Look at the physical function whose folder is open as @dir_fd. The caller calls
 * vf_seen_done(). */
void vf_look(int dir_fd, struct vf_seen *ret_seen);
void vf_seen_done(struct vf_seen *seen);

#define auto_vf_seen __attribute__((cleanup(vf_seen_done)))
