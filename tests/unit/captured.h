/* captured: what a test's code writes to standard error, such as the lines of its log. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit/suite.h"

struct captured {
	FILE *file;
	int saved;
};

/* From now on standard error is kept. */
static inline void captured_begin(struct captured *captured)
{
	captured->file = tmpfile();
	captured->saved = dup(STDERR_FILENO);
	assert_non_null(captured->file);
	assert_true(captured->saved >= 0);
	assert_true(dup2(fileno(captured->file), STDERR_FILENO) >= 0);
}

/* All of it; the caller frees. Standard error is what it was. */
static inline char *captured_end(struct captured *captured)
{
	enum { SIZE = 512 * 1024 };
	char *text = calloc(1, SIZE);

	assert_non_null(text);
	assert_true(dup2(captured->saved, STDERR_FILENO) >= 0);
	(void)close(captured->saved);
	rewind(captured->file);
	(void)fread(text, 1, SIZE - 1, captured->file);
	(void)fclose(captured->file);
	return text;
}
