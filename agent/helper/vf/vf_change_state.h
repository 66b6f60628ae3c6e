/* vf_change_state: what the parts of vf_change (vf_change*.c, and nobody else) share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/helper/scan/vf_look.h"
#include "agent/helper/sys/progress.h"
#include "agent/helper/transition/transition_out.h"
#include "agent/helper/vf/vf_change.h"
#include "agent/helper/vf/vf_job.h"

struct vf_change {
	const struct vf_change_options *options;
	const struct vf_job *job;
	int state_fd;
	int dir_fd; /* of the physical function */
	struct vf_seen seen;
	struct {
		struct vf_lock {
			int group;
			int fd;
		} * items;
		size_t len;
		size_t cap;
	} locks;
	bool changed;  /* something may have been                     */
	bool recorded; /* this run has switched autoprobe as the first */
	enum transition_step step;
	uint64_t kernel_us;
	struct progress out;
	struct transition_end end;
};

/* What vf_change_stop() returns. */
enum { VF_CHANGE_STOPPED = -1 };

/* Say that @step begins. */
void vf_change_step(struct vf_change *c, enum transition_step step);

/* The change ends here, for @reason; @code is the kernel's answer, if that was it. The first cause
 * stays. Returns VF_CHANGE_STOPPED. */
int vf_change_stop(struct vf_change *c, enum transition_reason reason, int code, const char *fmt,
		   ...) __attribute__((format(printf, 4, 5)));

/* Write @text to the attribute @name of the physical function; 0, or the negative errno. */
int vf_change_write(struct vf_change *c, const char *name, const char *text);

/*
 * Each of these does its part and returns 0, or VF_CHANGE_STOPPED after vf_change_stop().
 */

/* vf_change_guard.c: may the virtual functions go? */
int vf_change_lock(struct vf_change *c, const char *address);
int vf_change_guard(struct vf_change *c);
/* Has somebody the virtual function at @address, or can it not be told? */
bool vf_change_is_open(const struct vf_change *c, const char *address);

/* vf_change_number.c */
int vf_change_number(struct vf_change *c);
/* Put autoprobe back if a change of the number, maybe of an earlier run, has switched it, and either
 * no virtual function is left or this run wanted others and is not @done. */
int vf_change_restore(struct vf_change *c, bool done);

/* vf_change_settings.c */
int vf_change_settings(struct vf_change *c);
