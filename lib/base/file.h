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

/* Write all of @text to @fd, however many writes it takes: a reader must never take a part for the whole.
 * 0, or the negative errno. */
int file_write_all(int fd, const char *text, size_t len);

/*
 * Write @text to the file @name in the folder @dir_fd (O_PATH will do) by way of a temporary file
 * beside it, "NAME.PID.new", and a rename: a reader sees the old content or the new one, and so does
 * whoever looks after a power cut. When it returns 0, the new content lasts. @mode is the new file's.
 * After an error the file says the old or the new.
 */
int file_replace_at(int dir_fd, const char *name, const char *text, size_t len, unsigned mode,
		    struct err *err);

/* Remove the file @name from the folder @dir_fd, to last; that there is none is fine. */
int file_remove_at(int dir_fd, const char *name, struct err *err);

/* Make what names the folder @dir_fd holds, and which it does not, last through a power cut. */
int file_sync_names(int dir_fd, struct err *err);
