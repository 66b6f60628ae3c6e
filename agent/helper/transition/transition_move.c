#include <assert.h>
#include <string.h>

#include "agent/helper/sys/kernel.h"
#include "agent/helper/sys/kernel_module.h"
#include "agent/helper/sys/sysfs.h"
#include "agent/helper/transition/transition_state.h"
#include "base/device_identity.h"
#include "base/err.h"
#include "base/failpoint.h"
#include "base/mem.h"
#include "base/str.h"

/* clang-format off */
static const struct {
	enum run_step step;
	enum run_reason reason;
	const char *failure;
} act_rows[BIND_NACTS] = {
	[ACT_SET_OVERRIDE]   = { STEP_SET_OVERRIDE,   REASON_OVERRIDE_FAILED,    "set driver_override" },
	[ACT_UNBIND]         = { STEP_UNBIND,         REASON_UNBIND_FAILED,      "unbind" },
	[ACT_PROBE]          = { STEP_PROBE,          REASON_PROBE_FAILED,       "probe" },
	[ACT_CLEAR_OVERRIDE] = { STEP_CLEAR_OVERRIDE, REASON_OVERRIDE_FAILED,    "clear driver_override" },
	[ACT_BIND]           = { STEP_BIND,           REASON_NATIVE_BIND_FAILED, "bind" },
	[ACT_SET_NATIVE]     = { STEP_SET_OVERRIDE,   REASON_OVERRIDE_FAILED,    "set driver_override" },
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
	if (bind_look(t->options->sysfs_fd, target->address, &move->part->seen, &err) < 0)
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

/* 1: it has arrived; 0: look again; or RUN_STOPPED. */
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

/* A driver that has just been loaded takes the functions whose driver_override names it. */
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
static int look_again(struct move *move)
{
	struct transition *t = move->t;
	struct transition_part *part = move->part;
	struct bind_seen now;
	struct err err = { 0 };

	if (t->run.dry || t->rolling_back)
		return 0;
	t->run.about = part->target.address;
	t->run.step = STEP_NONE;
	if (bind_look(t->options->sysfs_fd, t->run.about, &now, &err) < 0)
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

int transition_move(struct transition *t, struct transition_part *part)
{
	struct move move = { .t = t, .part = part };
	int r = look_again(&move);

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

static bool same(const char *left, const char *right)
{
	return left && right ? strcmp(left, right) == 0 : left == right;
}

/* Does the record say so already? */
static bool says_so(const struct transition_part *part, const struct device_record *record)
{
	const struct device_record *old = &part->record;

	return part->recorded && same(old->claim, record->claim) && same(old->uid, record->uid) &&
	       same(old->driver, record->driver) && same(old->serial, record->serial) &&
	       same(old->native, record->native) && same(old->override, record->override) &&
	       same(old->release, record->release) && same(old->identity, record->identity) &&
	       same(old->boot, record->boot) && same(old->bound, record->bound);
}

/* What is known already stays; a serial may be learned later, when the device is awake. The boot is that
 * under which it was bound last: until then the numbers are the same. */
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

int transition_write_record(struct transition *t, const struct transition_part *part)
{
	auto_device_record struct device_record record = { 0 };
	struct err err = { 0 };
	int r;

	fill_record(t, part, &record);
	if (says_so(part, &record))
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

int transition_remove_record(struct transition *t, struct transition_part *part)
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
