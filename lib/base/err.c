#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Replace whole characters with "...", so that the message stays valid UTF-8. */
static void mark_cut(char *msg, size_t size)
{
	char *at = msg + size - 4;

	for (int i = 0; i < 3 && ((unsigned char)*at & 0xc0) == 0x80; i++)
		at--;
	memcpy(at, "...", 4);
}

int err_set(struct err *err, enum err_kind kind, int code, const char *fmt, ...)
{
	va_list args;
	int n;

	if (!err)
		return code;

	err->kind = kind;
	err->code = code;
	err->wait_ms = 0;
	va_start(args, fmt);
	n = vsnprintf(err->msg, sizeof(err->msg), fmt, args);
	va_end(args);
	if (n >= (int)sizeof(err->msg))
		mark_cut(err->msg, sizeof(err->msg));
	return code;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	char msg[sizeof(err->msg)];
	va_list args;
	size_t used;
	int n;

	if (!err)
		return -1;

	va_start(args, fmt);
	n = vsnprintf(msg, sizeof(msg), fmt, args);
	va_end(args);

	used = n < 0 ? 0 : (size_t)n;
	if (used >= sizeof(msg))
		used = sizeof(msg) - 1;
	n = snprintf(msg + used, sizeof(msg) - used, ": %s", err->msg);
	if (used + (size_t)n >= sizeof(msg))
		mark_cut(msg, sizeof(msg));
	memcpy(err->msg, msg, sizeof(msg));
	return err->code;
}
