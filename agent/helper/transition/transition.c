#include "agent/helper/transition/transition.h"

#include <poll.h>
#include <stdlib.h>

#include "agent/helper/sys/kernel.h"
#include "agent/helper/sys/kernel_module.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/transition/transition_state.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/str.h"

/* --- bind --------------------------------------------------------------------------------- */

/* Is anything to be moved at all? What is bound already may well be in use. */
static bool is_moving(const struct transition *t)
{
	for (size_t i = 0; i < t->job->len; i++) {
		if (t->parts[i].moving)
			return true;
	}
	return false;
}

static int load_driver(struct transition *t, const struct transition_part *part)
{
	const struct kernel *kernel = t->options->kernel;
	const char *driver = part->target.driver;
	struct err err = { 0 };

	if (kernel_module_has_driver(t->options->sysfs_fd, driver))
		return 0;
	run_step(&t->run, part->target.address, STEP_LOAD_MODULE);
	if (t->run.dry)
		return 0;
	(void)kernel->load(kernel->arg, driver, &err);
	if (kernel_module_has_driver(t->options->sysfs_fd, driver))
		return 0;
	return run_stop(&t->run, REASON_DRIVER_MISSING, err.code, "the driver '%s' is missing: %s",
			driver, err.msg[0] ? err.msg : "its module is named otherwise");
}

static int load_backend(struct transition *t)
{
	static const char module[] = "vfio_iommu_type1";
	const struct kernel *kernel = t->options->kernel;
	struct err err = { 0 };

	if (kernel_module_has_backend(t->options->sysfs_fd, t->options->dev_fd))
		return 0;
	run_step(&t->run, t->parts[0].target.address, STEP_LOAD_MODULE);
	if (t->run.dry)
		return 0;
	(void)kernel->load(kernel->arg, module, &err);
	if (kernel_module_has_backend(t->options->sysfs_fd, t->options->dev_fd))
		return 0;
	return run_stop(&t->run, REASON_NO_IOMMU_BACKEND, err.code,
			"VFIO has no IOMMU backend in this kernel: %s",
			err.msg[0] ? err.msg : "it does not show");
}

static int load_modules(struct transition *t)
{
	for (size_t i = 0; i < t->job->len; i++) {
		if (t->parts[i].moving && load_driver(t, &t->parts[i]) < 0)
			return RUN_STOPPED;
	}
	return load_backend(t);
}

static int verify(struct transition *t)
{
	if (t->run.dry)
		return 0;
	t->run.step = STEP_NONE;
	if (transition_check_members(t, true) < 0)
		return RUN_STOPPED;
	for (size_t i = 0; i < t->job->len; i++) {
		const struct transition_part *part = &t->parts[i];

		t->run.about = part->target.address;
		if (!bind_look_node(t->options->sysfs_fd, t->options->dev_fd, part->first.group,
				    t->run.about))
			return run_stop(&t->run, REASON_NODE_MISSING, 0,
					"%s is bound to %s, but /dev/vfio/%d is not there",
					t->run.about, part->target.driver, part->first.group);
	}
	return 0;
}

static int roll_back_part(struct transition *t, struct transition_part *part)
{
	struct err err = { 0 };

	if (bind_look(t->options->sysfs_fd, part->target.address, &part->seen, &err) < 0)
		return run_stop(&t->run, REASON_DRIVER_CHANGED, err.code, "%s", err.msg);
	if (bind_step_driver(&part->target, &part->first) != DRIVER_VFIO) {
		part->target.want = bind_step_back(&part->target);
		return transition_move(t, part);
	}
	/* It was on the driver before: only the override is ours to take off. */
	if (bind_step_override(&part->target, &part->seen) != OVERRIDE_OURS)
		return 0;
	return bind_step_run(&t->run, ACT_CLEAR_OVERRIDE, &part->target, &part->seen, &err);
}

/* What was bound before this run and is known by its record stays as it is. */
static bool is_to_go_back(const struct transition_part *part)
{
	bool bound = bind_step_driver(&part->target, &part->first) == DRIVER_VFIO;

	return part->moving && !(bound && part->recorded);
}

/* Keep the record of a function that is not fully rolled back. The reported cause stays the first. */
static void roll_back(struct transition *t)
{
	t->rolling_back = true;
	for (size_t i = t->job->len; i-- > 0;) {
		struct transition_part *part = &t->parts[i];

		if (!is_to_go_back(part))
			continue;
		run_step(&t->run, part->target.address, STEP_ROLLBACK);
		if (roll_back_part(t, part) == 0)
			(void)transition_remove_record(t, part);
	}
}

/* The agent hangs up when it is not to be done any more, and when it ends: the next agent would
 * know of no record, and take the claim of what is bound then for done with. */
static int check_cancelled(struct transition *t)
{
	struct pollfd fd = { .fd = t->cancel_fd };

	if (t->run.dry || fd.fd < 0 || poll(&fd, 1, 0) <= 0)
		return 0;
	return run_stop(&t->run, REASON_CLAIM_DELETED, 0,
			"the claim was deleted, or its agent ended, before anything was changed");
}

/* From here on things change, and are changed back when it does not come off. */
static int move_all(struct transition *t)
{
	for (size_t i = 0; i < t->job->len; i++) {
		if (transition_write_record(t, &t->parts[i]) < 0)
			return RUN_STOPPED;
	}
	for (size_t i = 0; i < t->job->len; i++) {
		if (t->parts[i].moving && transition_move(t, &t->parts[i]) < 0)
			return RUN_STOPPED;
	}
	return verify(t);
}

static int bind_all(struct transition *t)
{
	if (transition_look(t, true) < 0)
		return RUN_STOPPED;
	if (is_moving(t) && (transition_check_members(t, false) < 0 || load_modules(t) < 0 ||
			     transition_check_holders(t, true) < 0))
		return RUN_STOPPED;
	if (transition_check_lent(t) < 0)
		return RUN_STOPPED;
	if (check_cancelled(t) < 0)
		return RUN_STOPPED;
	if (move_all(t) == 0)
		return 0;
	if (!t->run.dry)
		roll_back(t);
	return RUN_STOPPED;
}

/* --- release ------------------------------------------------------------------------------- */

/* A function that does not come back keeps its record; the others come back all the same. */
static void release_part(struct transition *t, struct transition_part *part)
{
	if (!part->stranger && part->moving && transition_move(t, part) < 0)
		return;
	if (part->has_file)
		(void)transition_remove_record(t, part);
}

static int release_all(struct transition *t)
{
	if (transition_look(t, false) < 0 || transition_check_holders(t, false) < 0)
		return RUN_STOPPED;
	for (size_t i = 0; i < t->job->len; i++)
		release_part(t, &t->parts[i]);
	return t->run.end.reason == REASON_NONE ? 0 : RUN_STOPPED;
}

/* --- the run ------------------------------------------------------------------------------ */

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
		(void)(binding ? bind_all(&t) : release_all(&t));
		tell_functions(&t);
	}
	release_parts(&t);
	return run_finish(&t.run, err);
}
