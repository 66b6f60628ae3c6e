#include "agent/nvidia/nvml_run.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/nvidia/nvml_line.h"
#include "agent/process/helper_run.h"
#include "api/json_values.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

enum { NUMBER = 1 }; /* of the only question of a child */

struct nvml_program {
	struct uv_loop_s *loop;
	char *path;
	char *driver_root;
	struct nvml_run *killed; /* that have not ended yet */
	unsigned nkilled;
};

struct nvml_run {
	struct nvml_program *program;
	struct nvml_run *next;     /* of the killed ones */
	struct nvml_run_spec spec; /* without the addresses */
	struct helper_run *helper;
	char *at;      /* the GPU that it calls; NULL: not said     */
	char *failure; /* what it said instead of an answer         */
	bool answered;
	uint64_t silence_ms; /* the deadline now */
};

static const char *const verbs[] = {
	[NVML_ASK_INVENTORY] = "inventory", [NVML_ASK_TOPOLOGY] = "topology",
	[NVML_ASK_PROBE] = "probe",         [NVML_ASK_RELEASE] = "release",
	[NVML_ASK_ATTACH] = "attach",
};

static void run_free(struct nvml_run *run)
{
	free(run->at);
	free(run->failure);
	free(run);
}

static void set_at(struct nvml_run *run, const char *address)
{
	str_set(&run->at, address);
}

/* True: it is for the owner. */
static bool take_line(struct nvml_run *run, const struct nvml_line *line)
{
	if (line->kind == NVML_LINE_AT) {
		set_at(run, line->address);
		return false;
	}
	if (line->kind == NVML_LINE_FAILED) {
		free(run->failure);
		run->failure = xasprintf("%s%s%s", line->function ? line->function : "",
					 line->function ? ": " : "",
					 line->message ? line->message : "no reason given");
		return false;
	}
	if (line->kind == NVML_LINE_END) {
		run->answered = true;
		return false;
	}
	if (line->kind == NVML_LINE_WATCHING) {
		run->silence_ms = NVML_WATCH_SILENT_MS;
		set_at(run, NULL);
	}
	return line->kind != NVML_LINE_OTHER;
}

static int on_line(void *arg, const char *text, size_t len, struct err *err)
{
	struct nvml_run *run = arg;
	struct nvml_line line;
	bool owners;
	int r = nvml_line_parse(text, len, &line, err);

	if (r < 0)
		return r;
	owners = take_line(run, &line);
	helper_run_extend(run->helper, run->silence_ms);
	/* The child may be gone after that. */
	if (owners)
		run->spec.on_line(run->spec.arg, &line);
	nvml_line_done(&line);
	return 0;
}

static void on_silent(struct nvml_run *run)
{
	auto_free char *message = xasprintf("hostdev-nvml (pid %d) gets no answer from the driver",
					    helper_run_pid(run->helper));

	helper_run_kill(run->helper);
	run->next = run->program->killed;
	run->program->killed = run;
	run->program->nkilled++;
	run->spec.on_end(
		run->spec.arg,
		&(struct nvml_end){ .kind = NVML_SILENT, .address = run->at, .message = message });
}

static void on_end(void *arg, int result, const struct err *err)
{
	struct nvml_run *run = arg;
	struct nvml_end end = { .kind = NVML_DIED };
	auto_free char *message = NULL;

	if (result < 0 && err->kind == ERR_STUCK) {
		on_silent(run);
		return;
	}
	message =
		xasprintf("hostdev-nvml: %s", result < 0 ? err->msg : "it ended without an answer");
	end.message = message;
	if (run->failure) {
		end.kind = NVML_FAILED;
		end.message = run->failure;
	} else if (run->answered && result == 0) {
		end = (struct nvml_end){ .kind = NVML_ANSWERED };
	}
	run->spec.on_end(run->spec.arg, &end);
	run_free(run);
}

static void on_gone(void *arg, struct helper_run *helper)
{
	struct nvml_run *run = arg;
	struct nvml_run **place = &run->program->killed;

	(void)helper;
	while (*place != run)
		place = &(*place)->next;
	*place = run->next;
	run->program->nkilled--;
	run_free(run);
}

/* {"n":1,"ask":"probe","gpus":["0000:3b:00.0"]} */
static void add_question(const struct nvml_run_spec *spec, struct str *out)
{
	const struct json_strs *addresses = spec->addresses;

	str_addf(out, "{\"n\":%d,\"ask\":\"%s\",\"gpus\":[", NUMBER, verbs[spec->verb]);
	for (size_t i = 0; i < addresses->len; i++)
		str_addf(out, "%s\"%s\"", i ? "," : "", addresses->items[i]);
	str_addf(out, "]%s}\n", spec->persistence ? ",\"persistence\":true" : "");
}

static void add_words(const struct nvml_program *program, const struct nvml_run_spec *spec,
		      const char **words)
{
	bool watches = spec->verb == NVML_WATCH;

	*words++ = watches ? "watch" : "ask";
	if (program->driver_root) {
		*words++ = "--driver-root";
		*words++ = program->driver_root;
	}
	for (size_t i = 0; watches && i < spec->addresses->len; i++)
		*words++ = spec->addresses->items[i];
	*words = NULL;
}

int nvml_run_start(struct nvml_program *program, const struct nvml_run_spec *spec,
		   struct nvml_run **ret_run, struct err *err)
{
	const char *words[NVML_ADDRESSES_MAX + 4];
	auto_str struct str question = STR_INIT;
	struct nvml_run *run;
	struct helper_spec spawn;
	int r;

	assert(spec->addresses->len > 0 && spec->addresses->len <= NVML_ADDRESSES_MAX);
	if (program->nkilled >= NVML_KILLED_MAX)
		return err_set(err, ERR_RETRY, -EBUSY,
			       "%d runs of hostdev-nvml hang in the kernel and do not end",
			       NVML_KILLED_MAX);
	add_words(program, spec, words);
	if (spec->verb != NVML_WATCH)
		add_question(spec, &question);
	run = xcalloc(1, sizeof(*run));
	run->program = program;
	run->spec = *spec;
	run->spec.addresses = NULL;
	run->silence_ms = spec->deadline_ms;
	spawn = (struct helper_spec){ .path = program->path,
				      .args = words,
				      .deadline_ms = spec->deadline_ms,
				      .on_line = on_line,
				      .on_end = on_end,
				      .on_gone = on_gone,
				      .cancellable = spec->verb == NVML_WATCH,
				      .endless = spec->verb == NVML_WATCH,
				      .input = question.len > 0 ? str_cstr(&question) : NULL,
				      .arg = run };
	r = helper_run_start(program->loop, &spawn, &run->helper, err);
	if (r < 0) {
		run_free(run);
		return r;
	}
	*ret_run = run;
	return 0;
}

struct nvml_run *nvml_run_stop(struct nvml_run *run)
{
	if (run) {
		helper_run_kill(run->helper);
		helper_run_abandon(run->helper);
		run_free(run);
	}
	return NULL;
}

int nvml_run_pid(const struct nvml_run *run)
{
	return helper_run_pid(run->helper);
}

struct nvml_program *nvml_program_new(struct uv_loop_s *loop, const char *path,
				      const char *driver_root)
{
	struct nvml_program *program = xcalloc(1, sizeof(*program));

	program->loop = loop;
	program->path = xstrdup(path);
	program->driver_root = xstrdup_or_null(driver_root);
	return program;
}

struct nvml_program *nvml_program_free(struct nvml_program *program)
{
	if (!program)
		return NULL;
	while (program->killed) {
		struct nvml_run *run = program->killed;

		program->killed = run->next;
		helper_run_abandon(run->helper);
		run_free(run);
	}
	free(program->path);
	free(program->driver_root);
	free(program);
	return NULL;
}
