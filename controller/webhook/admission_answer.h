/* admission_answer: builds the response to an admission request. */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct admission_answer;

/* "allowed", without warnings or a patch. */
void admission_answer_init(struct admission_answer *answer);
void admission_answer_done(struct admission_answer *answer);

/* Refuse with HTTP status @code (422 for an invalid object, 403, 409) and a message that names
 * the object, the rule and the solution. Several refusals are joined into one message; the first
 * one's code is used. */
void admission_answer_refuse(struct admission_answer *answer, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Add a warning, which kubectl prints: one short sentence, cut at ADMISSION_WARNING_MAX.
 * Duplicates and warnings beyond ADMISSION_WARNINGS_MAX are dropped. */
void admission_answer_warn(struct admission_answer *answer, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Also record the first warning as an event of the object, unless the request is a dry run.
 * @reason is static. */
void admission_answer_event(struct admission_answer *answer, const char *reason);

/* The device and resource that a refusal is about (copied; NULL or "": none), for the audit
 * trail. The first call wins. */
void admission_answer_about(struct admission_answer *answer, const char *device,
			    const char *resource);

/* Add a step to the JSON patch. @path is a JSON pointer, see admission_pointer_add(). Takes
 * ownership of @value; NULL for "remove". */
void admission_answer_patch(struct admission_answer *answer, const char *op, const char *path,
			    json_t *value);

struct str;

/* Append "/" and @key to a JSON pointer, with '~' and '/' escaped. */
void admission_pointer_add(struct str *pointer, const char *key);
