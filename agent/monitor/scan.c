#include "agent/monitor/scan.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/id_names.h"
#include "agent/inventory/vendor_vfio.h"
#include "agent/process/helper_run.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"

enum {
	NAMES_A_RUN = 512, /* ids on one command line */
	VGPUS_A_RUN = 512, /* addresses on one command line */
	PROBLEMS_MAX = 4096,
	STUCK_MAX = 3, /* helpers left waiting for the kernel; then no more are started */
	PATIENCE = 4,  /* deadlines, on a busy machine */
};

struct scan {
	struct uv_loop_s *loop;
	struct scan_options options;
	char *names_path;
	char *node_address;
	scan_done_fn *done;
	void *arg;
	void (*read)(void *arg, const struct facts *facts); /* NULL: nobody listens */
	void *read_arg;

	struct helper_run *run;
	struct helper_run *stuck[STUCK_MAX];
	struct helper_run *vgpus_stuck; /* the one of these that reads vGPUs */
	struct helper_run *drm_stuck;   /* likewise, of GPUs */
	uv_timer_t fail_timer; /* tells a failure to start from the loop, not from scan_start() */
	helper_end_fn *fail_end;
	struct err failure;
	struct facts *facts;
	uint64_t began_ms;
	struct json_strs ids; /* names, or vGPUs, being asked for */
	size_t asked;         /* how many of them so far      */
	bool names_failed;    /* some of them got no answer   */
	bool vgpus_failed;
	struct id_names *names;
	struct map *problems; /* logged already */
};

struct scan *scan_new(struct uv_loop_s *loop, const struct scan_options *options,
		      scan_done_fn *done, void *arg)
{
	struct scan *scan = xcalloc(1, sizeof(*scan));

	*scan = (struct scan){ .loop = loop, .options = *options, .done = done, .arg = arg };
	scan->names_path = helper_run_names_path(options->helper_path);
	scan->names = id_names_new();
	scan->problems = map_new();
	uv_timer_init(loop, &scan->fail_timer);
	scan->fail_timer.data = scan;
	return scan;
}

static void on_closed(uv_handle_t *handle)
{
	struct scan *scan = handle->data;

	facts_free(scan->facts);
	json_strs_done(&scan->ids);
	id_names_free(scan->names);
	map_free(scan->problems);
	free(scan->names_path);
	free(scan->node_address);
	free(scan);
}

struct scan *scan_free(struct scan *scan)
{
	if (!scan)
		return NULL;
	scan->run = helper_run_abandon(scan->run);
	for (size_t i = 0; i < STUCK_MAX; i++)
		helper_run_abandon(scan->stuck[i]);
	uv_close((uv_handle_t *)&scan->fail_timer, on_closed);
	return NULL;
}

void scan_listen(struct scan *scan, void (*read)(void *arg, const struct facts *facts), void *arg)
{
	scan->read = read;
	scan->read_arg = arg;
}

void scan_set_node_address(struct scan *scan, const char *address)
{
	str_set(&scan->node_address, address);
}

static void finish(struct scan *scan, const struct err *err)
{
	struct inventory *inventory = NULL;

	if (err)
		facts_free(scan->facts);
	else
		inventory = inventory_new(&scan->options.inventory, scan->facts, scan->names,
					  timefmt_wall_ms());
	scan->facts = NULL;
	if (inventory)
		inventory->began_ms = scan->began_ms;
	json_strs_done(&scan->ids);
	scan->done(scan->arg, inventory, err);
}

static void on_fail_timer(uv_timer_t *timer)
{
	struct scan *scan = timer->data;

	scan->fail_end(scan, scan->failure.code, &scan->failure);
}

static void fail_from_loop(struct scan *scan, helper_end_fn *end)
{
	scan->fail_end = end;
	uv_timer_start(&scan->fail_timer, on_fail_timer, 0, 0);
}

/* The place of @run among the stuck helpers, or with NULL a free place; NULL if there is none. */
static struct helper_run **stuck_place(struct scan *scan, const struct helper_run *run)
{
	for (size_t i = 0; i < STUCK_MAX; i++) {
		if (scan->stuck[i] == run)
			return &scan->stuck[i];
	}
	return NULL;
}

static void on_stuck_gone(void *arg, struct helper_run *run)
{
	struct scan *scan = arg;
	struct helper_run **place = stuck_place(scan, run);

	log_info("a helper that waited for the kernel has ended");
	if (place)
		*place = NULL;
	if (scan->vgpus_stuck == run)
		scan->vgpus_stuck = NULL;
	if (scan->drm_stuck == run)
		scan->drm_stuck = NULL;
}

/* The current run has ended, or is stuck: then it is remembered until it ends. */
static void drop_run(struct scan *scan, int result, const struct err *err)
{
	struct helper_run **place = stuck_place(scan, NULL);

	if (result < 0 && err->kind == ERR_STUCK && scan->run && place)
		*place = scan->run;
	scan->run = NULL;
}

/* Add "--flag value" if there is a value. */
static void add_option(const char **args, size_t *n, const char *flag, const char *value)
{
	if (!value)
		return;
	args[(*n)++] = flag;
	args[(*n)++] = value;
}

/* A failure is reported from the loop like every other end. There is always a place for a helper
 * that gets stuck: without one, no helper is started. */
static void start_helper(struct scan *scan, const char *path, const char *const *args,
			 line_fn *on_line, helper_end_fn *on_end)
{
	struct helper_spec spec = {
		.path = path,
		.args = args,
		.deadline_ms = scan->options.deadline_ms,
		.patience = PATIENCE,
		.metrics = scan->options.metrics,
		.on_line = on_line,
		.on_end = on_end,
		.on_gone = on_stuck_gone,
		.arg = scan,
	};

	if (!stuck_place(scan, NULL)) {
		err_set(&scan->failure, ERR_RETRY, -EBUSY,
			"%d helpers wait for the kernel; no more are started until one ends",
			STUCK_MAX);
		fail_from_loop(scan, on_end);
		return;
	}
	if (helper_run_start(scan->loop, &spec, &scan->run, &scan->failure) < 0)
		fail_from_loop(scan, on_end);
}

/* A problem that stays is logged once, not at every scan. */
static bool is_new_problem(struct scan *scan, const char *about, const char *part,
			   const char *message)
{
	auto_free char *key = xasprintf("%s %s %s", about ? about : "", part ? part : "", message);

	return map_len(scan->problems) <= PROBLEMS_MAX && !map_set(scan->problems, key, scan);
}

static void tell_problems(struct scan *scan)
{
	for (size_t i = 0; i < scan->facts->unknowns.len; i++) {
		const struct unknown_facts *unknown = &scan->facts->unknowns.items[i];

		if (is_new_problem(scan, unknown->question, NULL, unknown->detail))
			log_warn("cannot read what the host uses",
				 log_str("question", unknown->question),
				 log_str("reason", unknown->detail));
	}
	for (size_t i = 0; i < scan->facts->problems.len; i++) {
		const struct problem_facts *problem = &scan->facts->problems.items[i];

		if (!is_new_problem(scan, problem->device, problem->attribute, problem->message))
			continue;
		log_warn("device attribute cannot be used", log_str("device", problem->device),
			 log_str("attribute", problem->attribute),
			 log_str("reason", problem->message));
	}
}

static void ask_names(struct scan *scan);

static int on_names_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct scan *scan = arg;

	return id_names_add_line(scan->names, line, len, err);
}

/* Devices without names are better than no devices: log a failure and go on. */
static void on_names_end(void *arg, int result, const struct err *err)
{
	struct scan *scan = arg;

	drop_run(scan, result, err);
	if (result < 0) {
		scan->names_failed = true;
		log_warn("names of devices could not be looked up", log_str("reason", err->msg));
	}
	ask_names(scan);
}

static void ask_names(struct scan *scan)
{
	const char *args[NAMES_A_RUN + 8] = { NULL };
	size_t n = 0;

	if (scan->asked >= scan->ids.len) {
		if (!scan->names_failed)
			id_names_resolve(scan->names, &scan->ids);
		finish(scan, NULL);
		return;
	}
	add_option(args, &n, "--pci-ids", scan->options.pci_ids);
	add_option(args, &n, "--usb-ids", scan->options.usb_ids);
	for (size_t i = 0; i < NAMES_A_RUN && scan->asked < scan->ids.len; i++)
		args[n++] = scan->ids.items[scan->asked++];
	start_helper(scan, scan->names_path, args, on_names_line, on_names_end);
}

static void look_up_names(struct scan *scan)
{
	tell_problems(scan);
	json_strs_done(&scan->ids);
	scan->asked = 0;
	scan->names_failed = false;
	id_names_missing(scan->names, scan->facts, &scan->ids);
	if (scan->read && scan->ids.len > 0)
		scan->read(scan->read_arg, scan->facts);
	ask_names(scan);
}

static int on_scan_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct scan *scan = arg;

	return facts_add_line(scan->facts, line, len, err);
}

static bool has_drm_driver(const struct facts *facts)
{
	static const char *const drivers[] = { "amdgpu", "i915", "xe" };

	for (size_t i = 0; i < facts->pci.len; i++) {
		for (size_t k = 0; k < ARRAY_LEN(drivers); k++) {
			if (str_equal(facts->pci.items[i].driver, drivers[k]))
				return true;
		}
	}
	return false;
}

/* As for vGPUs. */
static void on_drm_end(void *arg, int result, const struct err *err)
{
	struct scan *scan = arg;

	if (result < 0 && err->kind == ERR_STUCK)
		scan->drm_stuck = scan->run;
	drop_run(scan, result, err);
	if (result < 0)
		log_warn("GPUs could not be looked at", log_str("reason", err->msg));
	scan->facts->drms_known = result >= 0;
	look_up_names(scan);
}

static void ask_drm(struct scan *scan)
{
	const char *args[4] = { "drm-look" };
	size_t n = 1;

	if (!scan->options.drm || scan->drm_stuck || !has_drm_driver(scan->facts)) {
		scan->facts->drms_known = scan->options.drm && !scan->drm_stuck;
		look_up_names(scan);
		return;
	}
	add_option(args, &n, "--sysfs-root", scan->options.sysfs_root);
	start_helper(scan, scan->options.helper_path, args, on_scan_line, on_drm_end);
}

static void ask_vgpus(struct scan *scan);

/* The driver of the vGPUs may hang; the node's other devices are listed nevertheless. */
static void on_vgpus_end(void *arg, int result, const struct err *err)
{
	struct scan *scan = arg;

	if (result < 0 && err->kind == ERR_STUCK)
		scan->vgpus_stuck = scan->run;
	drop_run(scan, result, err);
	if (result < 0) {
		scan->vgpus_failed = true;
		scan->asked = scan->ids.len;
		log_warn("vGPUs could not be looked at", log_str("reason", err->msg));
	}
	ask_vgpus(scan);
}

/* No helper runs on a node without virtual functions of such cards. */
static void ask_vgpus(struct scan *scan)
{
	const char *args[VGPUS_A_RUN + 8] = { "vgpu-look" };
	size_t n = 1;

	if (scan->asked >= scan->ids.len || scan->vgpus_stuck) {
		scan->facts->vgpus_known =
			!scan->vgpus_failed && (!scan->vgpus_stuck || scan->ids.len == 0);
		ask_drm(scan);
		return;
	}
	add_option(args, &n, "--sysfs-root", scan->options.sysfs_root);
	for (size_t i = 0; i < VGPUS_A_RUN && scan->asked < scan->ids.len; i++)
		args[n++] = scan->ids.items[scan->asked++];
	start_helper(scan, scan->options.helper_path, args, on_scan_line, on_vgpus_end);
}

static void on_scan_end(void *arg, int result, const struct err *err)
{
	struct scan *scan = arg;
	struct err cut = { 0 };

	drop_run(scan, result, err);
	if (result == 0 && !scan->facts->complete) {
		err_set(&cut, ERR_RETRY, -EPIPE, "the helper's list of devices is cut");
		err = &cut;
		result = cut.code;
	}
	if (result < 0) {
		finish(scan, err);
		return;
	}
	scan->asked = 0;
	scan->vgpus_failed = false;
	vendor_vfio_candidates(scan->facts, &scan->ids);
	ask_vgpus(scan);
}

void scan_start(struct scan *scan)
{
	const char *args[12] = { "scan" };
	size_t n = 1;

	assert(!scan->facts);
	scan->began_ms = uv_now(scan->loop);
	scan->facts = facts_new();
	add_option(args, &n, "--sysfs-root", scan->options.sysfs_root);
	add_option(args, &n, "--proc-root", scan->options.proc_root);
	add_option(args, &n, "--dev-root", scan->options.dev_root);
	add_option(args, &n, "--state-dir", scan->options.state_dir);
	add_option(args, &n, "--node-address", scan->node_address);
	start_helper(scan, scan->options.helper_path, args, on_scan_line, on_scan_end);
}
