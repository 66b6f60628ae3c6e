#include "controller/webhook/admission_answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/json_values.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/webhook/admission_review.h"

void admission_answer_init(struct admission_answer *answer)
{
	*answer = (struct admission_answer){ .allowed = true };
}

void admission_answer_done(struct admission_answer *answer)
{
	str_done(&answer->message);
	json_strs_done(&answer->warnings);
	json_decref(answer->patch);
	answer->patch = NULL;
	free(take_ptr(answer->device));
	free(take_ptr(answer->resource));
}

/* Names in it come from outside: control characters and invalid UTF-8 are escaped. */
static char *clean_text(const char *fmt, va_list args) __attribute__((format(printf, 1, 0)));

static char *clean_text(const char *fmt, va_list args)
{
	struct str clean = STR_INIT;
	auto_free char *text = NULL;

	if (vasprintf(&text, fmt, args) < 0)
		abort();
	str_add_clean(&clean, text, strlen(text));
	return str_detach(&clean);
}

void admission_answer_refuse(struct admission_answer *answer, int code, const char *fmt, ...)
{
	auto_free char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = clean_text(fmt, args);
	va_end(args);
	if (answer->allowed)
		answer->code = code;
	answer->allowed = false;
	if (answer->message.len > 0)
		str_add(&answer->message, "; ");
	str_add(&answer->message, text);
	str_cut(&answer->message, ADMISSION_MESSAGE_MAX);
}

void admission_answer_warn(struct admission_answer *answer, const char *fmt, ...)
{
	auto_str struct str warning = STR_INIT;
	auto_free char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = clean_text(fmt, args);
	va_end(args);
	str_add(&warning, text);
	str_cut(&warning, ADMISSION_WARNING_MAX);
	if (answer->warnings.len < ADMISSION_WARNINGS_MAX)
		json_strs_add_new(&answer->warnings, str_cstr(&warning));
}

static void set_new(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) < 0)
		abort(); /* out of memory, or a path that is not UTF-8 (our bug) */
}

void admission_answer_event(struct admission_answer *answer, const char *reason)
{
	answer->event = reason;
}

void admission_answer_about(struct admission_answer *answer, const char *device,
			    const char *resource)
{
	if (answer->device || answer->resource)
		return;
	answer->device = device && *device ? xstrdup(device) : NULL;
	answer->resource = resource && *resource ? xstrdup(resource) : NULL;
}

void admission_answer_patch(struct admission_answer *answer, const char *op, const char *path,
			    json_t *value)
{
	json_t *step = json_object();

	set_new(step, "op", json_string(op));
	set_new(step, "path", json_string(path));
	if (value)
		set_new(step, "value", value);
	if (!answer->patch)
		answer->patch = json_array();
	if (json_array_append_new(answer->patch, step) < 0)
		abort();
}

void admission_pointer_add(struct str *pointer, const char *key)
{
	str_add_char(pointer, '/');
	for (; *key; key++) {
		if (*key == '~')
			str_add(pointer, "~0");
		else if (*key == '/')
			str_add(pointer, "~1");
		else
			str_add_char(pointer, *key);
	}
}
