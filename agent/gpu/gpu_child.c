#include "agent/gpu/gpu_child.h"

#include <stdlib.h>
#include <uv.h>

#include "base/err.h"
#include "base/mem.h"

struct gpu_child {
	struct uv_loop_s *loop;
	struct metrics *metrics;
	struct helper_run *run;
	uv_timer_t fail_timer;
	struct err failure;
	line_fn *on_line;
	helper_end_fn *on_end;
	gpu_child_gone_fn *on_gone;
	void *arg;
};

struct gpu_child *gpu_child_new(struct uv_loop_s *loop, struct metrics *metrics,
				gpu_child_gone_fn *on_gone, void *arg)
{
	struct gpu_child *child = xcalloc(1, sizeof(*child));

	child->loop = loop;
	child->metrics = metrics;
	child->on_gone = on_gone;
	child->arg = arg;
	uv_timer_init(loop, &child->fail_timer);
	child->fail_timer.data = child;
	return child;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

struct gpu_child *gpu_child_free(struct gpu_child *child)
{
	if (!child)
		return NULL;
	helper_run_abandon(take_ptr(child->run));
	uv_close((uv_handle_t *)&child->fail_timer, on_closed);
	return NULL;
}

static void on_fail_timer(uv_timer_t *timer)
{
	struct gpu_child *child = timer->data;

	child->on_end(child->arg, child->failure.code, &child->failure);
}

/* A stuck one stays known until it has gone. */
static void on_run_end(void *arg, int result, const struct err *err)
{
	struct gpu_child *child = arg;

	if (result == 0 || err->kind != ERR_STUCK)
		child->run = NULL;
	child->on_end(child->arg, result, err);
}

static void on_run_gone(void *arg, struct helper_run *run)
{
	struct gpu_child *child = arg;

	(void)run;
	child->run = NULL;
	child->on_gone(child->arg);
}

static int on_run_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct gpu_child *child = arg;

	return child->on_line(child->arg, line, len, err);
}

void gpu_child_run(struct gpu_child *child, const char *path, const char *const *args,
		   uint64_t deadline_ms, line_fn *on_line, helper_end_fn *on_end)
{
	struct helper_spec spec = {
		.path = path,
		.args = args,
		.deadline_ms = deadline_ms,
		.metrics = child->metrics,
		.on_line = on_run_line,
		.on_end = on_run_end,
		.on_gone = on_run_gone,
		.arg = child,
	};

	child->on_line = on_line;
	child->on_end = on_end;
	if (helper_run_start(child->loop, &spec, &child->run, &child->failure) < 0)
		uv_timer_start(&child->fail_timer, on_fail_timer, 0, 0);
}

int gpu_child_pid(const struct gpu_child *child)
{
	return child->run ? helper_run_pid(child->run) : 0;
}
