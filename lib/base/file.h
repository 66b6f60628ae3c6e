/* file: small files below a directory descriptor. */
#pragma once

#include <stddef.h>

struct err;

/*
 * Read all of @path below @dir_fd (or AT_FDCWD), at most @max bytes, into *@ret_text,
 * NUL-terminated and without one trailing newline; the caller frees it. NUL bytes inside are kept;
 * @ret_len (may be NULL) is the length. Errors: -ENOENT and other errnos of open and read; -EFBIG
 * if the file has more than @max bytes.
 */
int file_read(int dir_fd, const char *path, size_t max, char **ret_text, size_t *ret_len,
	      struct err *err);

/* The last name of the path to which the link @path leads, such as the driver of a device in /sys.
 * The caller frees. NULL with errno set on error. */
char *file_link_name(const char *path);

/* Write all of @text to @fd, with as many writes as needed, so that a reader never gets only a
 * part. Returns 0 or the negative errno. */
int file_write_all(int fd, const char *text, size_t len);

/*
 * Replace the file @name in the folder @dir_fd (may be O_PATH) with @text: write a temporary file
 * "NAME.PID.new" and rename it. Readers see the old or the new content, also after a power failure.
 * When it returns 0, the new content is durable. @mode is the mode of the new file. After an error
 * the file has the old or the new content.
 */
int file_replace_at(int dir_fd, const char *name, const char *text, size_t len, unsigned mode,
		    struct err *err);

/*
 * Replace the file @name in the folder @dir_fd with @text, for a reader of this boot: as
 * file_replace_at(), but nothing is synced, so after a power failure the file may be missing or
 * empty. The temporary file is "NAME.new"; the next call replaces one that a crash has left.
 */
int file_swap_at(int dir_fd, const char *name, const char *text, size_t len, unsigned mode,
		 struct err *err);

/* Remove the file @name from the folder @dir_fd durably; it is not an error if it does not
 * exist. */
int file_remove_at(int dir_fd, const char *name, struct err *err);

/* Sync the folder @dir_fd, so that created, renamed and removed names survive a power failure. */
int file_sync_names(int dir_fd, struct err *err);
