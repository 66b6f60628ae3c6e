#include "agent/binder/binder_line.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inventory/limits.h"
#include "api/json_map.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	WORD_MAX = 64,      /* a reason, a step                              */
	TEXT_MAX = 256,     /* a driver, a process, a pod                    */
	MESSAGE_MAX = 1024, /* a condition takes more, a person does not     */
	HOLDERS_MAX = 256,  /* told apart; more are not counted              */
	LINES_MAX = 8192,   /* of a plan that are kept: some for each function */
};

/* Every kind of line has some of these. */
struct helper_line {
	char *kind;
	char *address;
	char *step;
	char *command;
	char *pod;
	char *detail;
	char *driver;
	char *override;
	char *result;
	char *reason;
	char *error_name;
	char *message;
	int pid;
	int64_t kernel_us;
	int64_t helper_us;
};

static const struct json_row line_map[] = {
	JSON_STR(struct helper_line, kind, "kind", JSON_REQUIRED),
	JSON_STR(struct helper_line, address, "address", JSON_OPTIONAL),
	JSON_STR(struct helper_line, step, "step", JSON_OPTIONAL),
	JSON_STR(struct helper_line, command, "command", JSON_OPTIONAL),
	JSON_STR(struct helper_line, pod, "pod", JSON_OPTIONAL),
	JSON_STR(struct helper_line, detail, "detail", JSON_OPTIONAL),
	JSON_STR(struct helper_line, driver, "driver", JSON_OPTIONAL),
	JSON_STR(struct helper_line, override, "override", JSON_OPTIONAL),
	JSON_STR(struct helper_line, result, "result", JSON_OPTIONAL),
	JSON_STR(struct helper_line, reason, "reason", JSON_OPTIONAL),
	JSON_STR(struct helper_line, error_name, "errno", JSON_OPTIONAL),
	JSON_STR(struct helper_line, message, "message", JSON_OPTIONAL),
	JSON_INT(struct helper_line, pid, "pid", JSON_OPTIONAL),
	JSON_INT(struct helper_line, kernel_us, "kernelMicros", JSON_OPTIONAL),
	JSON_INT(struct helper_line, helper_us, "micros", JSON_OPTIONAL),
	JSON_END,
};

void binder_lines_init(struct binder_lines *lines, enum binder_verb verb)
{
	*lines = (struct binder_lines){ .verb = verb };
}

void binder_lines_done(struct binder_lines *lines)
{
	binder_outcome_done(&lines->outcome);
	json_strs_done(&lines->holders);
	free(lines->step);
	free(lines->address);
	free(lines->garbage);
	*lines = (struct binder_lines){ .verb = lines->verb };
}

static void set_text(char **text, char *value)
{
	free(*text);
	*text = value;
}

/* A copy of @text if it is a word like "UnbindFailed", else NULL. */
static char *camel_word(const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (len == 0 || len > WORD_MAX || !isupper((unsigned char)text[0]))
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)text[i]))
			return NULL;
	}
	return xstrdup(text);
}

static char *address_or_null(const char *text)
{
	return text && limit_is_address(text, WORD_MAX) ? xstrdup(text) : NULL;
}

static void note_garbage(struct binder_lines *lines, char *what)
{
	if (lines->garbage)
		free(what);
	else
		lines->garbage = what;
}

static void take_step(struct binder_lines *lines, const struct helper_line *line)
{
	set_text(&lines->step, camel_word(line->step));
	set_text(&lines->address, address_or_null(line->address));
}

/* "process 123 (qemu-system-x86) of pod default/vm-1" */
static char *holder_text(const struct helper_line *line)
{
	auto_free char *command = str_clean(line->command, TEXT_MAX);
	auto_free char *pod = str_clean(line->pod, TEXT_MAX);
	struct str out = STR_INIT;

	if (line->pid <= 0)
		return line->detail ? str_clean(line->detail, MESSAGE_MAX)
				    : xstrdup("a process that cannot be seen");
	str_addf(&out, "process %d", line->pid);
	if (command)
		str_addf(&out, " (%s)", command);
	if (pod)
		str_addf(&out, " of pod %s", pod);
	return str_detach(&out);
}

/* The helper reports a process once for each function that it holds; the process counts once. */
static void take_holder(struct binder_lines *lines, const struct helper_line *line)
{
	auto_free char *text = holder_text(line);

	if (lines->holders.len >= HOLDERS_MAX || !json_strs_add_new(&lines->holders, text))
		return;
	if (lines->holders.len > 1)
		return;
	lines->outcome.holder_pid = line->pid > 0 ? line->pid : 0;
	lines->outcome.address = address_or_null(line->address);
}

static void take_function(struct binder_lines *lines, const struct helper_line *line)
{
	struct binder_seen_list *seen = &lines->outcome.seen;
	char *address = address_or_null(line->address);

	if (!address || seen->len >= BINDER_FUNCTIONS_MAX) {
		free(address);
		return;
	}
	*array_add(seen) = (struct binder_seen){
		.address = address,
		.driver = str_clean(line->driver, TEXT_MAX),
		.override = str_clean(line->override, TEXT_MAX),
	};
}

/* The result that the helper names; BINDER_STUCK, which none can tell of itself, if there is no
 * such. */
static enum binder_result result_of(const char *text)
{
	for (enum binder_result r = BINDER_DONE; text && r < BINDER_STUCK; r++) {
		if (strcmp(binder_result_text(r), text) == 0)
			return r;
	}
	return BINDER_STUCK;
}

/* What did not go well has a place: the end line's own. Where that says nothing at all, the step that
 * was under way. */
static void take_trouble(struct binder_lines *lines, const struct helper_line *line)
{
	struct binder_outcome *outcome = &lines->outcome;
	char *address = address_or_null(line->address);

	outcome->reason = camel_word(line->reason);
	outcome->step = camel_word(line->step);
	if (!line->reason && !line->step) {
		outcome->step = xstrdup_or_null(lines->step);
		if (!address && !outcome->address)
			address = xstrdup_or_null(lines->address);
	}
	if (address)
		set_text(&outcome->address, address);
	if (!outcome->reason)
		outcome->reason = xstrdup(outcome->result == BINDER_FAILED
						  ? "HelperFailed"
						  : binder_result_text(outcome->result));
	if (line->error_name && limit_is_word(line->error_name, WORD_MAX))
		outcome->error_name = xstrdup(line->error_name);
	if (outcome->result == BINDER_BUSY)
		outcome->holder_pid = line->pid > 0 ? line->pid : 0;
}

static void take_end(struct binder_lines *lines, const struct helper_line *line)
{
	struct binder_outcome *outcome = &lines->outcome;
	enum binder_result result = result_of(line->result);

	if (result == BINDER_STUCK) {
		auto_free char *text = str_clean(line->result, WORD_MAX);

		note_garbage(lines,
			     xasprintf("the result '%s', which is not known", text ? text : ""));
		return;
	}
	lines->ended = true;
	outcome->result = result;
	outcome->message = str_clean(line->message, MESSAGE_MAX);
	outcome->kernel_us = line->kernel_us > 0 ? (uint64_t)line->kernel_us : 0;
	outcome->helper_us = line->helper_us > 0 ? (uint64_t)line->helper_us : 0;
	if (result != BINDER_DONE)
		take_trouble(lines, line);
}

/* clang-format off */
static const struct {
	const char *kind;
	void (*take)(struct binder_lines *lines, const struct helper_line *line);
} kinds[] = {
	{ "step",     take_step     },
	{ "holder",   take_holder   },
	{ "function", take_function },
	{ "end",      take_end      },
};
/* clang-format on */

static bool is_plan(enum binder_verb verb)
{
	return verb == BINDER_PLAN_BIND || verb == BINDER_PLAN_RELEASE;
}

/* A kind that is not known is no error: a newer helper may say more. */
void binder_lines_take(struct binder_lines *lines, const char *line, size_t len)
{
	struct helper_line fields;
	struct err err = { 0 };

	if (lines->ended || len == 0)
		return;
	if (json_map_parse(line_map, line, len, &fields, &err) < 0) {
		note_garbage(lines, xasprintf("a line that cannot be read (%s)", err.msg));
		return;
	}
	if (is_plan(lines->verb) && lines->outcome.lines.len < LINES_MAX)
		*array_add(&lines->outcome.lines) = xstrndup(line, len);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i].kind, fields.kind) == 0)
			kinds[i].take(lines, &fields);
	}
	json_map_done(line_map, &fields);
}

/* " in step Unbind of 0000:01:00.0", as far as it is known. */
static void add_place(struct str *out, const struct binder_lines *lines)
{
	if (!lines->step)
		return;
	str_addf(out, " in step %s", lines->step);
	if (lines->address)
		str_addf(out, " of %s", lines->address);
}

static void tell_stuck(struct binder_lines *lines, int pid, uint64_t took_ms)
{
	struct str message = STR_INIT;

	str_addf(&message, "hostdev-helper (pid %d) waits", pid);
	add_place(&message, lines);
	str_addf(&message,
		 " for %llu s; nothing else is started for its IOMMU group until it ends: free the "
		 "device from what uses it, or see the kernel's log for its driver",
		 (unsigned long long)(took_ms / 1000));
	lines->outcome.result = BINDER_STUCK;
	set_text(&lines->outcome.reason, xstrdup("Stuck"));
	set_text(&lines->outcome.message, str_detach(&message));
	lines->outcome.holder_pid = pid;
}

static void tell_dead(struct binder_lines *lines, int pid, int result, const struct err *err)
{
	struct str message = STR_INIT;

	str_addf(&message, "hostdev-helper %s", binder_verb_text(lines->verb));
	add_place(&message, lines);
	str_addf(&message, ": %s", result < 0 ? err->msg : "helper ended without a result");
	if (lines->garbage)
		str_addf(&message, "; it printed %s", lines->garbage);
	if (pid)
		str_add(&message, "; what it said on standard error is in the log of the agent");
	lines->outcome.result = BINDER_FAILED;
	set_text(&lines->outcome.reason, xstrdup("HelperFailed"));
	set_text(&lines->outcome.message, str_clean(str_cstr(&message), MESSAGE_MAX));
	lines->outcome.holder_pid = 0;
	str_done(&message);
}

/* "process 123 (qemu) of pod default/vm and 2 more" */
static void tell_holders(struct binder_lines *lines)
{
	struct binder_outcome *outcome = &lines->outcome;

	if (lines->holders.len == 1)
		outcome->holder = xstrdup(lines->holders.items[0]);
	else if (lines->holders.len > 1)
		outcome->holder = xasprintf("%s and %zu more", lines->holders.items[0],
					    lines->holders.len - 1);
	if (!outcome->message && outcome->holder)
		outcome->message =
			xasprintf("%s is held by %s",
				  outcome->address ? outcome->address : "a function of the group",
				  outcome->holder);
}

static void tell_ended(struct binder_lines *lines)
{
	struct binder_outcome *outcome = &lines->outcome;

	if (outcome->result == BINDER_DONE) {
		set_text(&outcome->address, NULL);
		outcome->holder_pid = 0;
	} else if (outcome->result != BINDER_BUSY) {
		tell_holders(lines);
	}
	if (outcome->result == BINDER_BUSY && outcome->holder_pid)
		set_text(&outcome->message,
			 xasprintf("another hostdev-helper (pid %d) moves the IOMMU group",
				   outcome->holder_pid));
	if (!outcome->message)
		outcome->message = xstrdup("");
}

void binder_lines_busy(struct binder_lines *lines, int pid)
{
	lines->ended = true;
	lines->outcome.result = BINDER_BUSY;
	lines->outcome.reason = xstrdup("Busy");
	lines->outcome.holder_pid = pid;
}

void binder_lines_end(struct binder_lines *lines, int pid, uint64_t took_ms, int result,
		      const struct err *err, struct binder_outcome *ret_outcome)
{
	struct binder_outcome *outcome = &lines->outcome;

	if (lines->ended) {
		tell_ended(lines);
	} else {
		set_text(&outcome->step, xstrdup_or_null(lines->step));
		set_text(&outcome->address, xstrdup_or_null(lines->address));
		if (result < 0 && err->kind == ERR_STUCK)
			tell_stuck(lines, pid, took_ms);
		else
			tell_dead(lines, pid, result, err);
	}
	outcome->took_ms = took_ms;
	*ret_outcome = *outcome;
	*outcome = (struct binder_outcome){ 0 };
}
