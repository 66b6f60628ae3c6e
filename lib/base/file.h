/* file: small files below a directory descriptor. */
#pragma once

#include <stddef.h>

struct err;

/*
 * Read the whole of @path below @dir_fd (AT_FDCWD works too), at most @max bytes, into *@ret_text,
 * terminated, without one trailing newline; the caller frees. NUL bytes inside are kept, @ret_len
 * (may be NULL) says how long it is.
 * Errors: -ENOENT and the other errnos of open and read; -EFBIG when the file holds more than @max.
 */
int file_read(int dir_fd, const char *path, size_t max, char **ret_text, size_t *ret_len,
	      struct err *err);

/* Write @text to @path by way of a temporary file beside it and a rename, so that a reader sees the
 * old content or the new one. @mode is the new file's. */
int file_replace(const char *path, const char *text, size_t len, unsigned mode, struct err *err);
