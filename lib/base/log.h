/*
 * log: structured log lines on standard error, in logfmt:
 *
 *	time=2026-01-02T03:04:05.678Z level=info msg="claim ready" claim=node1-000004000 took_ms=41
 *
 * Values are quoted if necessary and control characters are escaped, so that outside input cannot
 * forge a line.
 */
#pragma once

#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log_field {
	const char *key;  /* NULL ends the list */
	const char *text; /* NULL: log the number */
	int64_t number;
};

/* A NULL @text is logged as "". */
static inline struct log_field log_str(const char *key, const char *text)
{
	return (struct log_field){ .key = key, .text = text ? text : "" };
}

#define log_int(k, v) ((struct log_field){ .key = (k), .number = (int64_t)(v) })

/* Lines below @level are dropped (default LOG_INFO). The library's only global state. */
void log_set_level(enum log_level level);
int log_level_from_text(const char *text, enum log_level *ret_level); /* 0, or -EINVAL */

void log_write(enum log_level level, const char *msg, const struct log_field *fields);

/* Log at every log level, for lines that other programs rely on. */
void log_always(enum log_level level, const char *msg, const struct log_field *fields);

#define log_at_(level, msg, ...) \
	log_write(level, msg, (const struct log_field[]){ __VA_ARGS__ __VA_OPT__(, ){ 0 } })
#define log_debug(msg, ...) log_at_(LOG_DEBUG, msg, __VA_ARGS__)
#define log_info(msg, ...)  log_at_(LOG_INFO, msg, __VA_ARGS__)
#define log_warn(msg, ...)  log_at_(LOG_WARN, msg, __VA_ARGS__)
#define log_error(msg, ...) log_at_(LOG_ERROR, msg, __VA_ARGS__)

struct str;

/* The line without time and newline, for tests and other outputs. */
void log_format(struct str *out, enum log_level level, const char *msg,
		const struct log_field *fields);
