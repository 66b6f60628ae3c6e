#include "agent/process/helper_run.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "kube/metrics.h"

/* --- metrics ---------------------------------------------------------------------------------- */

/* A helper does hardly anything but ask the kernel and wait for it: its time is the kernel's. */

/* Of one run; all zero: it is not counted. */
struct helper_meter {
	struct metric *seconds;
	struct metric *running;
	struct metric *stuck;
	const char *verb;
	bool is_stuck;
};

static const struct metric_desc seconds_desc = {
	.name = "hostdev_helper_seconds",
	.help = "Duration of helper runs by verb.",
	.type = METRIC_SECONDS,
	.labels = { "verb" },
	.buckets_ms = { 10, 50, 250, 1000, 5000, 15000, 60000 },
};

static const struct metric_desc running_desc = {
	.name = "hostdev_helpers_running",
	.help = "Running helpers by verb, including stuck ones.",
	.type = METRIC_GAUGE,
	.labels = { "verb" },
};

static const struct metric_desc stuck_desc = {
	.name = "hostdev_helpers_stuck",
	.help = "Helpers that the kernel blocks past their deadline, by verb.",
	.type = METRIC_GAUGE,
	.labels = { "verb" },
};

/* The last: names of devices, programs of vendors. */
static const char *const verbs[] = { "scan",         "bind",     "release",     "plan-bind",
				     "plan-release", "vfs",      "mdev-create", "mdev-remove",
				     "vgpu-look",    "drm-look", "vgpu-set",    "usb-rebind",
				     "open",         "other" };

/* A run of what the first word on its command line says has begun. @metrics may be NULL. */
static void helper_meter_start(struct helper_meter *meter, struct metrics *metrics,
			       const char *word)
{
	size_t i = 0;

	while (i + 1 < ARRAY_LEN(verbs) && strcmp(verbs[i], word) != 0)
		i++;
	*meter = (struct helper_meter){
		.seconds = metrics_family(metrics, &seconds_desc),
		.running = metrics_family(metrics, &running_desc),
		.stuck = metrics_family(metrics, &stuck_desc),
		.verb = verbs[i],
	};
	metric_add(meter->running, 1, &meter->verb);
}

/* It has missed its deadline. */
static void helper_meter_stick(struct helper_meter *meter)
{
	if (!meter->is_stuck)
		metric_add(meter->stuck, 1, &meter->verb);
	meter->is_stuck = true;
}

/* The end of the run will not be seen: it is counted no more. */
static void helper_meter_drop(struct helper_meter *meter)
{
	metric_add(meter->running, -1, &meter->verb);
	if (meter->is_stuck)
		metric_add(meter->stuck, -1, &meter->verb);
	*meter = (struct helper_meter){ 0 };
}

/* It has ended after @took_ms, late or not; it is counted no more. */
static void helper_meter_end(struct helper_meter *meter, uint64_t took_ms)
{
	metric_observe(meter->seconds, took_ms, &meter->verb);
	helper_meter_drop(meter);
}

void helper_meter_show(struct metrics *metrics)
{
	struct helper_meter meter;

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		helper_meter_start(&meter, metrics, verbs[i]);
		metric_show(meter.seconds, &verbs[i]);
		metric_show(meter.stuck, &verbs[i]);
		helper_meter_drop(&meter);
	}
}

/* --- the run ---------------------------------------------------------------------------------- */

enum {
	CHUNK = 16 << 10,
	PROC_MAX = 4096, /* bytes of a file of /proc */
};

/*
 * The run is freed by the close callback of its last handle. The owner has been told (on_end NULL)
 * at the latest when both the child has exited and its output has ended.
 */
struct helper_run {
	uv_process_t process;
	uv_pipe_t input; /* nothing is written to it; what counts is that it is open */
	uv_pipe_t output;
	uv_timer_t deadline;
	int open; /* handles that are not closed yet */
	bool exited, drained;
	int64_t exit_status;
	int signal;

	struct lines lines;
	size_t bytes;
	char chunk[CHUNK];
	struct err failure; /* the first refusal of the output */

	line_fn *on_line;
	helper_end_fn *on_end; /* NULL once the owner has been told or has gone */
	helper_gone_fn *on_gone;
	void (*on_late)(void *arg);
	uint64_t deadline_ms;
	unsigned patience;
	bool endless;
	const char *proc;
	unsigned looks; /* since the deadline began, two in each */
	char *times;    /* of its processor, at the last look    */
	bool overdue;   /* the deadline has passed, and what it said before is being read */
	bool stuck;     /* the deadline was reported to the owner */
	struct helper_meter meter;
	uint64_t began_ms; /* on the loop's clock */
	void *arg;
};

static void on_closed(uv_handle_t *handle)
{
	struct helper_run *run = handle->data;

	if (--run->open > 0)
		return;
	lines_done(&run->lines);
	free(run->times);
	free(run);
}

static void close_handle(struct helper_run *run, uv_handle_t *handle)
{
	handle->data = run;
	if (!uv_is_closing(handle))
		uv_close(handle, on_closed);
}

static void close_all(struct helper_run *run)
{
	close_handle(run, (uv_handle_t *)&run->process);
	close_handle(run, (uv_handle_t *)&run->input);
	close_handle(run, (uv_handle_t *)&run->output);
	close_handle(run, (uv_handle_t *)&run->deadline);
}

static void tell(struct helper_run *run, int result, const struct err *err)
{
	helper_end_fn *on_end = run->on_end;

	run->on_end = NULL;
	run->on_line = NULL;
	uv_timer_stop(&run->deadline);
	if (on_end)
		on_end(run->arg, result, err);
}

/* The owner hears of the end when there is nothing more to come. */
static void finish_if_over(struct helper_run *run)
{
	struct err err = run->failure;
	int r = err.code;

	if (!run->exited || !run->drained)
		return;
	helper_meter_end(&run->meter, uv_now(run->process.loop) - run->began_ms);
	if (r == 0 && run->signal)
		r = err_set(&err, ERR_RETRY, -EPIPE, "helper was ended by signal %d (%s)",
			    run->signal, strsignal(run->signal));
	else if (r == 0 && run->exit_status)
		r = err_set(&err, ERR_RETRY, -EPIPE, "helper exited with status %d",
			    (int)run->exit_status);
	if (run->stuck && run->on_gone)
		run->on_gone(run->arg, run);
	tell(run, r, &err);
	close_all(run);
}

static void on_exit_status(uv_process_t *process, int64_t status, int signal)
{
	struct helper_run *run = process->data;

	run->exited = true;
	run->exit_status = status;
	run->signal = signal;
	finish_if_over(run);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct helper_run *run = handle->data;

	(void)size;
	*buf = uv_buf_init(run->chunk, sizeof(run->chunk));
}

static void on_deadline(uv_timer_t *timer);

/* The owner may have gone in the middle of a chunk. */
static int on_whole_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct helper_run *run = arg;

	return run->on_line ? run->on_line(run->arg, line, len, err) : 0;
}

static int take_chunk(struct helper_run *run, size_t len, struct err *err)
{
	run->bytes += len;
	if (run->bytes > HELPER_OUTPUT_MAX && !run->endless)
		return err_set(err, ERR_INVALID, -EMSGSIZE, "helper printed more than %d bytes",
			       HELPER_OUTPUT_MAX);
	return lines_feed(&run->lines, run->chunk, len, on_whole_line, run, err);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct helper_run *run = stream->data;

	(void)buf;
	if (n < 0) {
		run->drained = true;
		uv_read_stop(stream);
		finish_if_over(run);
		return;
	}
	/* After a refused line or without an owner, the rest is still read so that the child can
	 * end. */
	if (n == 0 || run->failure.code || !run->on_line)
		return;
	take_chunk(run, (size_t)n, &run->failure);
}

/* The caller frees; NULL: it cannot be read. */
static char *read_proc(const struct helper_run *run, const char *name)
{
	auto_free char *path = xasprintf("%s/%s", run->proc, name);
	char *text = NULL;

	return file_read(AT_FDCWD, path, PROC_MAX, &text, NULL, NULL) == 0 ? text : NULL;
}

/* Has it run, or waited for a processor, since the last look? */
static bool child_moves(struct helper_run *run)
{
	auto_free char *times_name = xasprintf("%d/schedstat", run->process.pid);
	auto_free char *stat_name = xasprintf("%d/stat", run->process.pid);
	auto_free char *before = run->times;
	auto_free char *stat = read_proc(run, stat_name);
	const char *state = stat ? strrchr(stat, ')') : NULL;

	run->times = read_proc(run, times_name);
	if (state && strncmp(state, ") R", 3) == 0)
		return true;
	return run->times && before && strcmp(run->times, before) != 0;
}

/* Does anything but ourselves wait for a processor? "0.20 0.18 0.12 3/427 11206": 3 run or
 * could. */
static bool is_machine_busy(const struct helper_run *run)
{
	auto_free char *load = read_proc(run, "loadavg");
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	char *slash = load ? strchr(load, '/') : NULL;
	uint64_t running;
	const char *number;

	if (!slash)
		return false;
	*slash = '\0';
	number = strrchr(load, ' ');
	return number && str_to_u64(number + 1, &running) && (int64_t)running - 1 > processors;
}

static void start_deadline(struct helper_run *run)
{
	uint64_t ms = run->patience > 0 ? run->deadline_ms / 2 : run->deadline_ms;

	run->overdue = false;
	uv_timer_start(&run->deadline, on_deadline, ms, 0);
}

/* Looks at it halfway through each deadline and at its end. */
static bool is_given_time(struct helper_run *run)
{
	bool moves;

	if (run->patience == 0)
		return false;
	moves = child_moves(run);
	run->looks++;
	if (run->looks == 1)
		return true;
	if (run->looks >= 2 * run->patience || !(moves || is_machine_busy(run)))
		return false;
	if (run->looks == 2)
		log_info("helper takes long, waiting for it", log_int("pid", run->process.pid),
			 log_str("reason", moves ? "it runs" : "the machine is busy"));
	return true;
}

static void on_deadline(uv_timer_t *timer)
{
	struct helper_run *run = timer->data;
	struct err err = { 0 };
	int r;

	/* A loop that was held up runs its timers before it reads: the helper may have ended long
	 * ago. */
	if (!run->overdue) {
		run->overdue = true;
		uv_timer_start(timer, on_deadline, 1, 0);
		return;
	}
	if (is_given_time(run)) {
		start_deadline(run);
		if (run->looks == 2 && run->on_late)
			run->on_late(run->arg);
		return;
	}
	r = err_set(&err, ERR_STUCK, -ETIMEDOUT,
		    "helper (pid %d) is still waiting for the kernel; it is left to end by itself",
		    run->process.pid);
	run->stuck = true;
	helper_meter_stick(&run->meter);
	tell(run, r, &err);
}

static int spawn(struct uv_loop_s *loop, struct helper_run *run, const struct helper_spec *spec)
{
	uv_stdio_container_t stdio[] = {
		{ .flags = UV_IGNORE },
		{ .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
		  .data.stream = (uv_stream_t *)&run->output },
		{ .flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO },
	};
	size_t n = 0;
	auto_free char **argv = NULL;
	uv_process_options_t options = { .exit_cb = on_exit_status,
					 .file = spec->path,
					 .stdio = stdio,
					 .stdio_count = ARRAY_LEN(stdio) };

	if (spec->cancellable || spec->input)
		stdio[0] = (uv_stdio_container_t){ .flags = UV_CREATE_PIPE | UV_READABLE_PIPE,
						   .data.stream = (uv_stream_t *)&run->input };
	while (spec->args[n])
		n++;
	argv = xcalloc(n + 2, sizeof(char *));
	/* libuv takes char *, and does not write to them. */
	/* NOLINTBEGIN(performance-no-int-to-ptr): the only cast that drops const without a
	 * warning */
	argv[0] = (char *)(uintptr_t)spec->path;
	for (size_t i = 0; i < n; i++)
		argv[i + 1] = (char *)(uintptr_t)spec->args[i];
	/* NOLINTEND(performance-no-int-to-ptr) */
	options.args = argv;
	return uv_spawn(loop, &run->process, &options);
}

/* A child that does not read any more has ended, which is reported as such. */
static void write_input(struct helper_run *run, const struct helper_spec *spec)
{
	/* libuv takes char *, and does not write to it. */
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): no other cast drops const without a warning */
	uv_buf_t buf = { .base = (char *)(uintptr_t)spec->input, .len = strlen(spec->input) };

	assert(buf.len <= HELPER_INPUT_MAX);
	(void)uv_try_write((uv_stream_t *)&run->input, &buf, 1);
	if (!spec->cancellable)
		helper_run_cancel(run);
}

int helper_run_start(struct uv_loop_s *loop, const struct helper_spec *spec,
		     struct helper_run **ret_run, struct err *err)
{
	struct helper_run *run = xcalloc(1, sizeof(*run));
	int r;

	run->lines.max = HELPER_LINE_MAX;
	run->on_line = spec->on_line;
	run->on_end = spec->on_end;
	run->on_gone = spec->on_gone;
	run->on_late = spec->on_late;
	run->arg = spec->arg;
	uv_pipe_init(loop, &run->input, 0);
	uv_pipe_init(loop, &run->output, 0);
	uv_timer_init(loop, &run->deadline);
	run->input.data = run->output.data = run->deadline.data = run->process.data = run;
	run->open = 4;

	r = spawn(loop, run, spec);
	if (r < 0) {
		close_all(run);
		return err_set(err, ERR_RETRY, r, "start '%s': %s", spec->path, uv_strerror(r));
	}
	uv_read_start((uv_stream_t *)&run->output, on_alloc, on_read);
	if (spec->input)
		write_input(run, spec);
	/* To start a program holds the loop up, several of them for seconds on a busy machine; its
	 * clock stood still meanwhile. */
	uv_update_time(loop);
	run->deadline_ms = spec->deadline_ms;
	run->patience = spec->patience;
	run->endless = spec->endless;
	run->proc = spec->proc ? spec->proc : "/proc";
	start_deadline(run);
	run->began_ms = uv_now(loop);
	helper_meter_start(&run->meter, spec->metrics, spec->args[0] ? spec->args[0] : "");
	*ret_run = run;
	return 0;
}

int helper_run_pid(const struct helper_run *run)
{
	return run->process.pid;
}

void helper_run_cancel(struct helper_run *run)
{
	close_handle(run, (uv_handle_t *)&run->input);
}

void helper_run_kill(struct helper_run *run)
{
	if (!run->exited)
		(void)uv_process_kill(&run->process, SIGKILL);
}

void helper_run_extend(struct helper_run *run, uint64_t deadline_ms)
{
	if (!uv_is_active((uv_handle_t *)&run->deadline))
		return;
	run->deadline_ms = deadline_ms;
	run->looks = 0;
	start_deadline(run);
}

struct helper_run *helper_run_abandon(struct helper_run *run)
{
	if (run) {
		helper_run_cancel(run);
		run->on_end = NULL;
		run->on_line = NULL;
		run->on_gone = NULL;
		run->on_late = NULL;
		helper_meter_drop(&run->meter);
		uv_timer_stop(&run->deadline);
		/* A child that never ends must not keep the loop, and so the program, alive. */
		uv_unref((uv_handle_t *)&run->process);
		uv_unref((uv_handle_t *)&run->output);
	}
	return NULL;
}

/* The program @name in the folder of @path; without one, where the system has its programs. */
static char *beside(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return slash ? xasprintf("%.*s/%s", (int)(slash - path), path, name) : xstrdup(name);
}

char *helper_run_default_path(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n < 0 ? 0 : n] = '\0';
	return beside(path, "hostdev-helper");
}

char *helper_run_names_path(const char *helper)
{
	return beside(helper, "hostdev-names");
}

char *helper_run_nvml_path(const char *helper)
{
	return beside(helper, "hostdev-nvml");
}
