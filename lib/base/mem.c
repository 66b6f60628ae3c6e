#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void *must(void *p)
{
	if (!p) {
		(void)fputs("out of memory\n", stderr);
		abort();
	}
	return p;
}

void *xmalloc(size_t size)
{
	return must(malloc(size ? size : 1));
}

void *xcalloc(size_t n, size_t size)
{
	return must(calloc(n ? n : 1, size ? size : 1));
}

void *xreallocarray(void *old, size_t n, size_t size)
{
	return must(reallocarray(old, n ? n : 1, size ? size : 1));
}

char *xstrdup(const char *s)
{
	return must(strdup(s));
}

char *xstrndup(const char *s, size_t max)
{
	return must(strndup(s, max));
}

char *xstrdup_or_null(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

char *xasprintf(const char *fmt, ...)
{
	va_list args;
	char *s = NULL;
	int n;

	va_start(args, fmt);
	n = vasprintf(&s, fmt, args);
	va_end(args);
	return must(n < 0 ? NULL : s);
}
