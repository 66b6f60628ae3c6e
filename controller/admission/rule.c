#include "controller/admission/rule.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/webhook/admission_review.h"

enum {
	QUOTE_MAX = 80,
	WORDS_MAX = 320,
	LOOKED_AT_MAX = 320
}; /* bytes; sanitizing may turn a byte into four */

static char *text_of(const char *fmt, va_list args) __attribute__((format(printf, 1, 0)));

static char *text_of(const char *fmt, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, fmt, args) < 0)
		abort(); /* out of memory */
	return text;
}

bool rule_refuse(const struct rule_case *c, enum rule_code code, const char *fmt, ...)
{
	auto_free char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = text_of(fmt, args);
	va_end(args);
	admission_answer_refuse(c->answer, (int)code, "%s: %s", c->subject, text);
	return true;
}

void rule_warn(const struct rule_case *c, const char *fmt, ...)
{
	auto_free char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = text_of(fmt, args);
	va_end(args);
	admission_answer_warn(c->answer, "%s: %s", c->subject, text);
}

static char *quote(const char *text, size_t max)
{
	struct str out = STR_INIT;

	if (text)
		str_add_clean(&out, text, strnlen(text, LOOKED_AT_MAX));
	str_cut(&out, max);
	return str_detach(&out);
}

char *rule_quote(const char *text)
{
	return quote(text, QUOTE_MAX);
}

char *rule_quote_words(const char *text)
{
	return quote(text, WORDS_MAX);
}
