/*
 * vf_link: reads and writes the settings of virtual functions through the network interface of
 * their physical function. Both may wait for the kernel's lock on all interfaces.
 */
#pragma once

#include <stdbool.h>

#include "agent/helper/vf/vf_setting.h"

struct err;

struct vf_link {
	const char *interface;
	int ifindex;
};

/* The machine's, or a test's. Both return 0, or < 0 with the errno and @err set. */
struct vf_links {
	/* The caller releases *@ret_settings. */
	int (*read)(void *arg, const struct vf_link *link, struct vf_settings *ret_settings,
		    struct err *err);
	int (*write)(void *arg, const struct vf_link *link, const struct vf_setting *want,
		     enum vf_field field, struct err *err);
	bool is_admin; /* has CAP_NET_ADMIN, so that -EPERM is the driver's answer */
	void *arg;
};

/* Those of the kernel that is running. */
struct vf_links vf_links_running(void);
