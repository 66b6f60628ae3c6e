#include "agent/nvidia/nvidia_ctk.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/nvidia/cdi_files.h"
#include "agent/process/helper_run.h"
#include "api/json_values.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/clock.h"

struct nvidia_ctk {
	struct nvidia_ctk_deps deps;
	char *output;             /* "--output=/var/run/cdi/nvidia.yaml" */
	struct helper_run *run;   /* NULL: none */
	struct helper_run *stuck; /* was killed and has not ended yet */
	struct json_strs asked;   /* the devices that were missing before the last run */
	bool wrote;               /* the file, once */
	uint64_t from_ms;         /* no run before */
	char *trouble;
};

struct nvidia_ctk *nvidia_ctk_new(const struct nvidia_ctk_deps *deps)
{
	struct nvidia_ctk *ctk = xcalloc(1, sizeof(*ctk));

	ctk->deps = *deps;
	ctk->output = xasprintf("--output=%s/var/run/cdi/nvidia.yaml",
				deps->host_root ? deps->host_root : "");
	return ctk;
}

struct nvidia_ctk *nvidia_ctk_free(struct nvidia_ctk *ctk)
{
	if (!ctk)
		return NULL;
	if (ctk->run)
		helper_run_kill(ctk->run);
	helper_run_abandon(ctk->run);
	helper_run_abandon(ctk->stuck);
	json_strs_done(&ctk->asked);
	free(ctk->output);
	free(ctk->trouble);
	free(ctk);
	return NULL;
}

static int on_line(void *arg, const char *line, size_t len, struct err *err)
{
	(void)arg;
	(void)line;
	(void)len;
	(void)err;
	return 0;
}

static void on_gone(void *arg, struct helper_run *run)
{
	struct nvidia_ctk *ctk = arg;

	(void)run;
	ctk->stuck = NULL;
}

static void set_trouble(struct nvidia_ctk *ctk, char *trouble)
{
	free(ctk->trouble);
	ctk->trouble = trouble;
}

static void on_end(void *arg, int result, const struct err *err)
{
	struct nvidia_ctk *ctk = arg;
	bool late = result < 0 && err->kind == ERR_STUCK;

	if (late) {
		ctk->stuck = ctk->run;
		helper_run_kill(ctk->run);
	}
	ctk->run = NULL;
	ctk->wrote = ctk->wrote || result == 0;
	set_trouble(ctk, NULL);
	if (result == 0) {
		log_info("CDI file of the GPUs written", log_str("option", ctk->output));
	} else {
		json_strs_done(&ctk->asked); /* try again */
		set_trouble(ctk, xasprintf("no CDI file describes it, and %s cdi generate failed: "
					   "%s; its messages are in the agent's log",
					   ctk->deps.path,
					   late ? "it did not end within a minute" : err->msg));
		log_error("CDI file of the GPUs not written", log_str("reason", ctk->trouble));
	}
	ctk->deps.ended(ctk->deps.arg);
}

static void start(struct nvidia_ctk *ctk)
{
	const char *const words[] = { "cdi", "generate", "--device-name-strategy=uuid", ctk->output,
				      NULL };
	const struct helper_spec spec = { .path = ctk->deps.path,
					  .args = words,
					  .deadline_ms = NVIDIA_CTK_DEADLINE_MS,
					  .on_line = on_line,
					  .on_end = on_end,
					  .on_gone = on_gone,
					  .arg = ctk };
	struct err err = { 0 };

	ctk->from_ms = clock_now_ms(ctk->deps.clock) + NVIDIA_CTK_PAUSE_MS;
	if (helper_run_start(ctk->deps.loop, &spec, &ctk->run, &err) == 0) {
		set_trouble(ctk, xstrdup("nvidia-ctk is writing its CDI file"));
		return;
	}
	json_strs_done(&ctk->asked);
	set_trouble(ctk, xasprintf("no CDI file describes it: %s", err.msg));
}

bool nvidia_ctk_look(struct nvidia_ctk *ctk, const struct cdi_files *files,
		     const struct json_strs *wanted)
{
	bool is_first = files->devices.len == 0;
	struct json_strs missing = { 0 };
	bool begins;

	for (size_t i = 0; i < wanted->len; i++) {
		if (!json_strs_has(&files->devices, wanted->items[i]))
			json_strs_add(&missing, wanted->items[i]);
	}
	begins = missing.len > 0 && (is_first || ctk->wrote) && !ctk->run && !ctk->stuck &&
		 clock_now_ms(ctk->deps.clock) >= ctk->from_ms &&
		 (is_first || !json_strs_equal(&missing, &ctk->asked));
	if (begins) {
		json_strs_done(&ctk->asked);
		ctk->asked = missing;
		start(ctk);
		return true;
	}
	json_strs_done(&missing);
	return false;
}

const char *nvidia_ctk_trouble(const struct nvidia_ctk *ctk)
{
	return ctk->trouble;
}
