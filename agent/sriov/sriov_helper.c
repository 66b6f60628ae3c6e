#include "agent/sriov/sriov_helper.h"

#include <stdlib.h>
#include <uv.h>

#include "agent/process/helper_run.h"
#include "agent/sriov/sriov.h"
#include "agent/sriov/sriov_job.h"
#include "agent/sriov/sriov_outcome.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

struct sriov_helper {
	void (*on_end)(void *arg, struct sriov_outcome *outcome);
	void (*on_gone)(void *arg);
	void *arg;
	char *address; /* "address=0000:03:00.0" */
	struct helper_run *run;
	struct sriov_lines lines;
	char *text;
};

static void release(struct sriov_helper *helper)
{
	sriov_lines_done(&helper->lines);
	free(helper->address);
	free(helper->text);
	free(helper);
}

static int on_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct sriov_helper *helper = arg;

	(void)err;
	sriov_lines_take(&helper->lines, line, len);
	return 0;
}

static void log_end(const struct sriov_helper *helper, const struct sriov_outcome *outcome)
{
	if (outcome->done)
		log_debug("virtual functions are as requested", log_str("card", helper->address));
	else
		log_info("virtual functions are not as requested", log_str("card", helper->address),
			 log_str("reason", outcome->reason), log_str("message", outcome->message));
}

static void on_end(void *arg, int result, const struct err *err)
{
	struct sriov_helper *helper = arg;
	struct sriov_outcome outcome = { 0 };

	/* One that has told its end and only does not exit keeps nobody waiting. */
	if (result < 0 && err->kind == ERR_STUCK && !helper->lines.ended) {
		log_warn("virtual functions: the helper is stuck", log_str("card", helper->address),
			 log_int("pid", helper_run_pid(helper->run)),
			 log_str("step", helper->lines.step));
		helper->on_end(helper->arg, NULL);
		return;
	}
	if (result < 0 && err->kind == ERR_STUCK)
		helper_run_abandon(helper->run);
	sriov_lines_end(&helper->lines, result, err, &outcome);
	log_end(helper, &outcome);
	helper->on_end(helper->arg, &outcome);
	sriov_outcome_done(&outcome);
	release(helper);
}

static void on_gone(void *arg, struct helper_run *run)
{
	struct sriov_helper *helper = arg;

	(void)run;
	helper->on_gone(helper->arg);
	release(helper);
}

struct sriov_helper *sriov_helper_start(const struct sriov_helper_spec *spec, struct err *err)
{
	struct sriov_helper *helper = xcalloc(1, sizeof(*helper));
	struct json_strs words = { 0 };
	auto_free const char **args = NULL;
	struct helper_spec run = {
		.path = spec->options->helper.path,
		.deadline_ms = spec->options->deadline_ms,
		.patience = HELPER_PATIENCE,
		.metrics = spec->options->helper.metrics,
		.on_line = on_line,
		.on_end = on_end,
		.on_gone = on_gone,
		.arg = helper,
	};
	int r;

	*helper = (struct sriov_helper){
		.on_end = spec->on_end,
		.on_gone = spec->on_gone,
		.arg = spec->arg,
		.address = xstrdup(spec->job->words.items[0]),
	};
	sriov_job_line(&spec->options->helper, spec->node_address, spec->job, &words);
	args = xcalloc(words.len + 1, sizeof(*args));
	for (size_t i = 0; i < words.len; i++)
		args[i] = words.items[i];
	run.args = args;
	r = helper_run_start(spec->loop, &run, &helper->run, err);
	json_strs_done(&words);
	if (r == 0)
		return helper;
	release(helper);
	return NULL;
}

struct sriov_helper *sriov_helper_abandon(struct sriov_helper *helper)
{
	if (!helper)
		return NULL;
	helper_run_abandon(helper->run);
	release(helper);
	return NULL;
}

/* Without its age, so that the same is said at each look. */
const char *sriov_helper_text(struct sriov_helper *helper)
{
	free(helper->text);
	helper->text = xasprintf(
		"hostdev-helper (pid %d) is blocked in step %s; the agent waits until it ends: "
		"end what uses the virtual "
		"functions, or see the node's kernel log",
		helper_run_pid(helper->run), helper->lines.step ? helper->lines.step : "(none)");
	return helper->text;
}
