/* admission_answer: the answer to an admission request, as the rules put it together. */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct admission_answer;

/* "allowed", with nothing else. */
void admission_answer_init(struct admission_answer *answer);
void admission_answer_done(struct admission_answer *answer);

/* Refuse with HTTP's @code (422 for a wrong object, 403, 409) and a message that names the object, the
 * rule and the way out. Several refusals become one message, the first one's code stays. */
void admission_answer_refuse(struct admission_answer *answer, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Warn, which kubectl shows: one short sentence, cut at ADMISSION_WARNING_MAX; what comes after
 * ADMISSION_WARNINGS_MAX is dropped, as is what was said already. */
void admission_answer_warn(struct admission_answer *answer, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* What the first warning says is to be an event of the object, too, unless the request is a dry run. @reason is static. */
void admission_answer_event(struct admission_answer *answer, const char *reason);

/* A refusal is about this device and resource (copied; NULL or "": about none), for the audit trail. The first counts. */
void admission_answer_about(struct admission_answer *answer, const char *device,
			    const char *resource);

/* Add one step to the JSON patch. @path is a JSON pointer, see admission_pointer_add(). @value is taken
 * over; NULL for "remove". */
void admission_answer_patch(struct admission_answer *answer, const char *op, const char *path,
			    json_t *value);

struct str;

/* Append "/" and @key to a JSON pointer, with '~' and '/' escaped. */
void admission_pointer_add(struct str *pointer, const char *key);
