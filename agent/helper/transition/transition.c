#include "agent/helper/transition/transition.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/helper/sys/group_lock.h"
#include "agent/helper/sys/sysfs.h"
#include "agent/helper/transition/transition_state.h"
#include "base/err.h"
#include "base/mem.h"

enum { STATE_DIR_MODE = 0700 };

static uint64_t now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* A plan needs no state directory; a transition makes one if it can. */
static int open_state(struct transition *t)
{
	const char *path = t->options->state_dir;

	if (!t->dry)
		(void)mkdir(path, STATE_DIR_MODE);
	t->state_fd = sysfs_open_dir(AT_FDCWD, path);
	if (t->state_fd >= 0 || t->dry)
		return 0;
	return transition_stop(t, REASON_STATE_NOT_WRITABLE, -errno,
			       "open the state directory '%s': %s; nothing is changed without a "
			       "record of it",
			       path, strerror(errno));
}

static int take_lock(struct transition *t, int *ret_lock_fd)
{
	struct err err = { 0 };
	int pid = 0;
	int r;

	if (t->dry)
		return 0;
	transition_step(t, t->job->items[0].address, STEP_WAIT_LOCK);
	r = group_lock_take(t->state_fd, t->job->group, ret_lock_fd, &pid, &err);
	if (r < 0)
		return transition_stop_state(t, &err);
	if (r == 0)
		return 0;
	t->end.pid = pid;
	return transition_stop(t, REASON_BUSY, 0, "another hostdev-helper moves IOMMU group %s",
			       t->job->group);
}

/* What the functions are now; for a plan that is what they were. */
static void tell_functions(struct transition *t)
{
	for (size_t i = 0; i < t->job->len; i++) {
		struct bind_seen seen;

		if (bind_look(t->options->sysfs_fd, t->job->items[i].address, &seen, NULL) == 0 &&
		    seen.present)
			transition_out_function(&t->out, t->job->items[i].address, &seen);
	}
}

static void release_parts(struct transition *t)
{
	for (size_t i = 0; i < t->job->len; i++) {
		transition_drop_disks(&t->parts[i]);
		str_done(&t->parts[i].identity);
		if (t->parts[i].recorded)
			record_done(&t->parts[i].record);
	}
	free(t->parts);
}

int transition_run(enum transition_verb verb, const struct transition_options *options,
		   const struct job *job, struct err *err)
{
	bool binding = verb == TRANSITION_BIND || verb == TRANSITION_PLAN_BIND;
	uint64_t began_us = now_us();
	auto_close int lock_fd = -1;
	struct transition t = {
		.options = options,
		.job = job,
		.parts = xcalloc(job->len, sizeof(*t.parts)),
		.state_fd = -1,
		.dry = verb == TRANSITION_PLAN_BIND || verb == TRANSITION_PLAN_RELEASE,
		.hands = { .sysfs_fd = options->sysfs_fd, .kernel = options->kernel },
		.out = { .fd = options->out_fd },
	};

	if (open_state(&t) == 0 && take_lock(&t, &lock_fd) == 0) {
		(void)(binding ? transition_bind(&t) : transition_release(&t));
		tell_functions(&t);
	}
	t.end.kernel_us = t.hands.kernel_us;
	t.end.took_us = now_us() - began_us;
	transition_out_end(&t.out, &t.end);
	release_parts(&t);
	if (t.state_fd >= 0)
		close(t.state_fd);
	return progress_result(&t.out, err);
}
