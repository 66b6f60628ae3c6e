#include "agent/helper/transition/transition.h"

#include <stdlib.h>

#include "agent/helper/sys/report.h"
#include "agent/helper/transition/transition_state.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/str.h"

static int take_lock(struct transition *t)
{
	struct err err = { 0 };
	int pid = 0;
	int r;

	if (t->run.dry)
		return 0;
	run_step(&t->run, t->job->items[0].address, STEP_WAIT_LOCK);
	r = run_lock_group(&t->run, t->job->group, &pid, &err);
	if (r < 0)
		return run_stop_state(&t->run, &err);
	if (r == 0)
		return 0;
	return run_stop_busy(&t->run, pid, "another hostdev-helper moves IOMMU group %s",
			     t->job->group);
}

static void tell_function(struct transition *t, const char *address, const struct bind_seen *seen)
{
	auto_str struct str line = STR_INIT;

	report_open(&line, "function");
	json_write_str(&line, "address", address);
	if (seen->driver[0])
		json_write_str(&line, "driver", seen->driver);
	if (seen->override[0])
		json_write_str(&line, "override", seen->override);
	report_close(&line);
	run_tell(&t->run, &line);
}

/* What the functions are now; for a plan that is what they were. */
static void tell_functions(struct transition *t)
{
	for (size_t i = 0; i < t->job->len; i++) {
		struct bind_seen seen;

		if (bind_look(t->options->sysfs_fd, t->job->items[i].address, &seen, NULL) == 0 &&
		    seen.present)
			tell_function(t, t->job->items[i].address, &seen);
	}
}

static void release_parts(struct transition *t)
{
	for (size_t i = 0; i < t->job->len; i++) {
		transition_drop_disks(&t->parts[i]);
		str_done(&t->parts[i].identity);
		if (t->parts[i].recorded)
			device_record_done(&t->parts[i].record);
	}
	free(t->parts);
}

int transition_run(enum transition_verb verb, const struct run_options *options, int cancel_fd,
		   const struct job *job, struct err *err)
{
	bool binding = verb == TRANSITION_BIND || verb == TRANSITION_PLAN_BIND;
	struct transition t = {
		.options = options,
		.cancel_fd = cancel_fd,
		.job = job,
		.parts = xcalloc(job->len, sizeof(*t.parts)),
	};

	run_start(&t.run, options, "address");
	t.run.times = RUN_TIMES_KERNEL;
	t.run.dry = verb == TRANSITION_PLAN_BIND || verb == TRANSITION_PLAN_RELEASE;
	if (run_open_state(&t.run, "; nothing is changed without a record of it") == 0 &&
	    take_lock(&t) == 0) {
		(void)(binding ? transition_bind(&t) : transition_release(&t));
		tell_functions(&t);
	}
	release_parts(&t);
	return run_finish(&t.run, err);
}
