/* captured: what a test's code writes to standard error, such as the lines of its log, or to
 * standard output. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit/suite.h"

struct captured {
	FILE *file;
	int fd;
	int saved;
};

/* From now on what is written to @fd is kept. */
static inline void captured_begin_fd(struct captured *captured, int fd)
{
	captured->file = tmpfile();
	captured->fd = fd;
	captured->saved = dup(fd);
	assert_non_null(captured->file);
	assert_true(captured->saved >= 0);
	assert_true(dup2(fileno(captured->file), fd) >= 0);
}

static inline void captured_begin(struct captured *captured)
{
	captured_begin_fd(captured, STDERR_FILENO);
}

/* All of it; the caller frees. The descriptor is what it was. */
static inline char *captured_end(struct captured *captured)
{
	enum { SIZE = 512 * 1024 };
	char *text = calloc(1, SIZE);

	assert_non_null(text);
	assert_true(dup2(captured->saved, captured->fd) >= 0);
	(void)close(captured->saved);
	rewind(captured->file);
	(void)fread(text, 1, SIZE - 1, captured->file);
	(void)fclose(captured->file);
	return text;
}
