#include "agent/helper/transition/transition.h"

#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "agent/helper/sys/kernel.h"
#include "agent/helper/sys/kernel_module.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "agent/helper/transition/transition_state.h"
#include "base/device_identity.h"
#include "base/err.h"
#include "base/failpoint.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/str.h"

/* --- one function, step by step --------------------------------------------------------------- */

/* clang-format off */
static const struct {
	enum run_step step;
	enum run_reason reason;
	const char *failure;
} act_rows[BIND_NACTS] = {
	[ACT_SET_OVERRIDE]   = { STEP_SET_OVERRIDE, REASON_OVERRIDE_FAILED, "set driver_override" },
	[ACT_UNBIND]         = { STEP_UNBIND, REASON_UNBIND_FAILED, "unbind" },
	[ACT_PROBE]          = { STEP_PROBE, REASON_PROBE_FAILED, "probe" },
	[ACT_CLEAR_OVERRIDE] = { STEP_CLEAR_OVERRIDE, REASON_OVERRIDE_FAILED,
				 "clear driver_override" },
	[ACT_BIND]           = { STEP_BIND, REASON_NATIVE_BIND_FAILED, "bind" },
	[ACT_SET_NATIVE]     = { STEP_SET_OVERRIDE, REASON_OVERRIDE_FAILED, "set driver_override" },
};
/* clang-format on */

/* How far one function has come. */
struct move {
	struct transition *t;
	struct transition_part *part;
	bool probed; /* WANT_ANY: the kernel has had its choice */
	bool asked;  /* the native driver has been asked for    */
};

/* Inside a rollback there is one step for all that it takes. */
static void begin_step(struct transition *t, const char *address, enum run_step step)
{
	if (!t->rolling_back)
		run_step(&t->run, address, step);
}

/* The native driver, by its name or as the one for this device. */
static int load_native(struct move *move)
{
	const struct bind_target *target = &move->part->target;
	struct transition *t = move->t;
	const struct kernel *kernel = t->options->kernel;
	auto_free char *path = xasprintf("bus/pci/devices/%s/modalias", target->address);
	struct err err = { 0 };
	struct sysfs_attr alias;

	move->asked = true;
	begin_step(t, target->address, STEP_LOAD_MODULE);
	if (t->run.dry)
		return 0;
	(void)kernel->load(kernel->arg, target->native, &err);
	if (!kernel_module_has_driver(t->options->sysfs_fd, target->native) &&
	    sysfs_read(t->options->sysfs_fd, path, &alias, NULL) == 0)
		(void)kernel->load(kernel->arg, alias.text, NULL);
	if (!kernel_module_has_driver(t->options->sysfs_fd, target->native))
		return run_stop(&t->run, REASON_NATIVE_DRIVER_MISSING, err.code,
				"the native driver '%s' of %s is not in the kernel (%s); "
				"the device has no driver until it is loaded",
				target->native, target->address,
				err.msg[0] ? err.msg : "its module is named otherwise");
	/* A driver that comes takes the driverless functions it knows. */
	if (bind_state_read(t->options->sysfs_fd, target->address, &move->part->seen, &err) < 0)
		return run_stop(&t->run, REASON_NATIVE_BIND_FAILED, err.code, "%s", err.msg);
	return 0;
}

static int fail_act(struct move *move, enum bind_act act, int r, const struct err *err)
{
	const struct bind_target *target = &move->part->target;
	const char *advice = "";

	if (r == BIND_NO_EFFECT && act == ACT_PROBE)
		advice = "; the kernel's log says why";
	return run_stop(&move->t->run,
			act == ACT_PROBE && target->want == WANT_NATIVE ? REASON_NATIVE_BIND_FAILED
									: act_rows[act].reason,
			r < 0 ? err->code : 0, "%s %s: %s%s", act_rows[act].failure,
			target->address, err->msg, advice);
}

static int do_act(struct move *move, enum bind_act act)
{
	struct transition *t = move->t;
	struct transition_part *part = move->part;
	struct err err = { 0 };
	int r;

	begin_step(t, part->target.address, act_rows[act].step);
	move->probed |= act == ACT_PROBE;
	if (t->run.dry) {
		bind_step_pretend(act, &part->target, &part->seen);
		return 0;
	}
	t->run.changed = true;
	r = bind_step_run(&t->run, act, &part->target, &part->seen, &err);
	/* A descriptor of a disk that has gone keeps its name and number from the next one. */
	if (act == ACT_UNBIND)
		transition_drop_disks(part);
	return r == 0 ? 0 : fail_act(move, act, r, &err);
}

/* Is @act of no use without the native driver? */
static bool is_for_native(const struct bind_target *target, enum bind_act act)
{
	return act == ACT_BIND || act == ACT_SET_NATIVE ||
	       (act == ACT_PROBE && target->want == WANT_NATIVE);
}

/* 1: it has arrived; 0: continue; or RUN_STOPPED. */
static int move_on(struct move *move)
{
	const struct bind_target *target = &move->part->target;
	struct transition *t = move->t;
	enum bind_act act = bind_step_next(target, &move->part->seen);

	if (act == ACT_DONE || (act == ACT_PROBE && move->probed && target->want == WANT_ANY))
		return 1;
	if (act == ACT_REFUSE)
		return run_stop(&t->run, REASON_OVERRIDE_OWNED, 0,
				"the driver_override of %s changed to '%s' in between",
				target->address, move->part->seen.override);
	if (act == ACT_UNBIND && move->probed)
		return run_stop(
			&t->run, REASON_NATIVE_BIND_FAILED, 0,
			"%s binds %s at every probe, because '%s' was written to its new_id; "
			"write that to its remove_id",
			target->driver, target->address, move->part->seen.id);
	if (is_for_native(target, act) && !move->asked &&
	    !kernel_module_has_driver(t->options->sysfs_fd, target->native))
		return load_native(move);
	return do_act(move, act);
}

/* A driver that has just been loaded binds the functions whose driver_override names it. */
static bool has_arrived(const struct transition_part *part)
{
	return part->target.want == WANT_VFIO &&
	       bind_step_driver(&part->target, &part->seen) == DRIVER_VFIO;
}

/* Were functions moved before this one, and is this one taken from a driver? */
static bool is_late_unbind(const struct transition *t, const struct transition_part *part)
{
	return t->run.changed && part->seen.driver[0] &&
	       transition_may_be_held(part, part->target.want == WANT_VFIO);
}

/* What has been checked was checked for the state that was seen first, before others were moved. */
static int check_unmoved(struct move *move)
{
	struct transition *t = move->t;
	struct transition_part *part = move->part;
	struct bind_state now;
	struct err err = { 0 };

	if (t->run.dry || t->rolling_back)
		return 0;
	t->run.about = part->target.address;
	t->run.step = STEP_NONE;
	if (bind_state_read(t->options->sysfs_fd, t->run.about, &now, &err) < 0)
		return run_stop(&t->run, REASON_USE_UNKNOWN, err.code, "%s", err.msg);
	part->seen = now;
	if (!now.present || has_arrived(part))
		return 0;
	if (strcmp(now.driver, part->first.driver) == 0)
		return is_late_unbind(t, part) ? transition_check_again(t, part) : 0;
	return run_stop(
		&t->run, REASON_DRIVER_CHANGED, 0,
		"%s had the driver '%s' and now has '%s'; something else changes its driver",
		t->run.about, part->first.driver, now.driver);
}

static int transition_move(struct transition *t, struct transition_part *part)
{
	struct move move = { .t = t, .part = part };
	int r = check_unmoved(&move);

	for (int i = 0; i < BIND_STEPS_MAX && r == 0 && part->seen.present; i++)
		r = move_on(&move);
	if (r < 0 && part->seen.present)
		return RUN_STOPPED;
	if (part->seen.present && r == 0)
		return run_stop(&t->run, REASON_DRIVER_CHANGED, 0,
				"the driver of %s keeps changing; something else changes it",
				part->target.address);
	if (part->seen.present || part->target.want != WANT_VFIO)
		return 0;
	return run_stop(&t->run, REASON_DEVICE_GONE, 0, "%s was removed in between",
			part->target.address);
}

/* Is the record up to date? */
static bool is_up_to_date(const struct transition_part *part, const struct device_record *record)
{
	const struct device_record *old = &part->record;

	return part->recorded && str_equal(old->claim, record->claim) &&
	       str_equal(old->uid, record->uid) && str_equal(old->driver, record->driver) &&
	       str_equal(old->serial, record->serial) && str_equal(old->native, record->native) &&
	       str_equal(old->override, record->override) &&
	       str_equal(old->release, record->release) &&
	       str_equal(old->identity, record->identity) && str_equal(old->boot, record->boot) &&
	       str_equal(old->bound, record->bound);
}

/* What is known already stays; a serial may be learned later, when the device is awake. The boot is
 * that under which it was bound last: until then the numbers are the same. */
static void fill_record(const struct transition *t, const struct transition_part *part,
			struct device_record *record)
{
	char boot[RECORD_BOOT_SIZE];
	const char *serial = part->serial[0] ? part->serial : part->word->serial;
	const char *known = part->recorded ? part->record.identity : part->word->identity;
	bool stays = part->recorded && !part->moving;
	struct str identity = STR_INIT;

	if (part->recorded && part->record.serial)
		serial = part->record.serial;
	device_identity_merge(&identity, known, part->identity.buf);
	record_boot(t->options->proc_fd, boot);
	*record = (struct device_record){
		.address = xstrdup(part->word->address),
		.claim = xstrdup(part->word->claim),
		.uid = xstrdup(part->word->uid),
		.driver = xstrdup(part->word->driver),
		.native = xstrdup_or_null(part->target.native),
		.override = part->target.overridden ? xstrdup(part->target.driver) : NULL,
		.id = xstrdup(part->first.id),
		.serial = serial && serial[0] ? xstrdup(serial) : NULL,
		.release = part->word->release || (part->recorded && part->record.release)
				   ? xstrdup("none")
				   : NULL,
		.identity = identity.len > 0 ? str_detach(&identity) : NULL,
		.boot = stays ? xstrdup_or_null(part->record.boot) : NULL,
		.bound = stays     ? xstrdup_or_null(part->record.bound)
			 : boot[0] ? xstrdup(boot)
				   : NULL,
	};
}

static int transition_write_record(struct transition *t, const struct transition_part *part)
{
	auto_device_record struct device_record record = { 0 };
	struct err err = { 0 };
	int r;

	fill_record(t, part, &record);
	if (is_up_to_date(part, &record))
		return 0;
	run_step(&t->run, part->word->address, STEP_WRITE_RECORD);
	if (t->run.dry)
		return 0;
	failpoint("helper-record-before");
	r = record_write(&device_records, t->run.state_fd, &record, &err);
	failpoint("helper-record-after");
	if (r < 0)
		return run_stop_state(&t->run, &err);
	return 0;
}

static int transition_remove_record(struct transition *t, struct transition_part *part)
{
	struct err err = { 0 };
	int r;

	begin_step(t, part->word->address, STEP_REMOVE_RECORD);
	if (t->run.dry)
		return 0;
	failpoint("helper-record-remove-before");
	r = record_remove(&device_records, t->run.state_fd, part->word->address, &err);
	failpoint("helper-record-remove-after");
	if (r < 0)
		return run_stop_state(&t->run, &err);
	part->has_file = false;
	return 0;
}

/* --- bind ------------------------------------------------------------------------------------- */

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
		if (!bind_has_node(t->options->sysfs_fd, t->options->dev_fd, part->first.group,
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

	if (bind_state_read(t->options->sysfs_fd, part->target.address, &part->seen, &err) < 0)
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

/* Keep the record of a function that is not fully rolled back. The reported cause stays the
 * first. */
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
	if (transition_check(t, true) < 0)
		return RUN_STOPPED;
	if (is_moving(t) && (transition_check_members(t, false) < 0 || load_modules(t) < 0 ||
			     transition_check_holders(t, true) < 0))
		return RUN_STOPPED;
	if (transition_check_foreign(t) < 0)
		return RUN_STOPPED;
	if (check_cancelled(t) < 0)
		return RUN_STOPPED;
	if (move_all(t) == 0)
		return 0;
	if (!t->run.dry)
		roll_back(t);
	return RUN_STOPPED;
}

/* --- release ---------------------------------------------------------------------------------- */

/* A function that does not come back keeps its record; the others come back all the same. */
static void release_part(struct transition *t, struct transition_part *part)
{
	if (!part->replaced && part->moving && transition_move(t, part) < 0)
		return;
	if (part->has_file)
		(void)transition_remove_record(t, part);
}

static int release_all(struct transition *t)
{
	if (transition_check(t, false) < 0 || transition_check_holders(t, false) < 0)
		return RUN_STOPPED;
	for (size_t i = 0; i < t->job->len; i++)
		release_part(t, &t->parts[i]);
	return t->run.end.reason == REASON_NONE ? 0 : RUN_STOPPED;
}

/* --- the run ---------------------------------------------------------------------------------- */

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

static void report_function(struct transition *t, const char *address,
			    const struct bind_state *seen)
{
	auto_str struct str line = STR_INIT;

	report_open(&line, "function");
	json_write_str(&line, "address", address);
	if (seen->driver[0])
		json_write_str(&line, "driver", seen->driver);
	if (seen->override[0])
		json_write_str(&line, "override", seen->override);
	report_close(&line);
	run_report(&t->run, &line);
}

/* What the functions are now; for a plan that is what they were. */
static void report_functions(struct transition *t)
{
	for (size_t i = 0; i < t->job->len; i++) {
		struct bind_state seen;

		if (bind_state_read(t->options->sysfs_fd, t->job->items[i].address, &seen, NULL) ==
			    0 &&
		    seen.present)
			report_function(t, t->job->items[i].address, &seen);
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
		report_functions(&t);
	}
	release_parts(&t);
	return run_finish(&t.run, err);
}
