#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"

static enum log_level minimum = LOG_INFO;

static const char *const level_names[] = {
	[LOG_DEBUG] = "debug",
	[LOG_INFO] = "info",
	[LOG_WARN] = "warn",
	[LOG_ERROR] = "error",
};

void log_set_level(enum log_level level)
{
	minimum = level;
}

int log_level_from_text(const char *text, enum log_level *ret_level)
{
	for (size_t i = 0; i < ARRAY_LEN(level_names); i++) {
		if (strcmp(text, level_names[i]) == 0) {
			*ret_level = (enum log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

/* Unquoted if every character is safe in logfmt, else quoted with \ escapes. Escaping comes
 * before sanitizing, so that "\x0a" is a newline and "\\x0a" the literal text. */
static void add_value(struct str *out, const char *text)
{
	auto_str struct str escaped = STR_INIT;
	auto_str struct str clean = STR_INIT;
	bool bare;

	for (const char *s = text; *s; s++) {
		if (*s == '"' || *s == '\\')
			str_add_char(&escaped, '\\');
		str_add_char(&escaped, *s);
	}
	str_add_clean(&clean, str_cstr(&escaped), escaped.len);
	bare = clean.len > 0 && !strpbrk(clean.buf, " \"=\\");
	str_addf(out, bare ? "%s" : "\"%s\"", str_cstr(&clean));
}

void log_format(struct str *out, enum log_level level, const char *msg,
		const struct log_field *fields)
{
	str_addf(out, "level=%s msg=", level_names[level]);
	add_value(out, msg);
	for (; fields->key; fields++) {
		str_addf(out, " %s=", fields->key);
		if (fields->text)
			add_value(out, fields->text);
		else
			str_addf(out, "%" PRId64, fields->number);
	}
}

void log_always(enum log_level level, const char *msg, const struct log_field *fields)
{
	auto_str struct str line = STR_INIT;
	char stamp[TIMEFMT_MAX];

	str_addf(&line, "time=%s ", timefmt_rfc3339_ms(timefmt_wall_ms(), stamp));
	log_format(&line, level, msg, fields);
	str_add_char(&line, '\n');
	/* One write per line, so that lines of two processes do not mix. An error cannot be
	 * reported anywhere. */
	if (write(STDERR_FILENO, line.buf, line.len) < 0)
		return;
}

void log_write(enum log_level level, const char *msg, const struct log_field *fields)
{
	if (level >= minimum)
		log_always(level, msg, fields);
}
