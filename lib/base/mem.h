/*
 * mem: allocation that aborts on failure, and cleanup attributes.
 *
 * Out of memory is not an error value: the programs are crash-only and start over after a restart.
 * Therefore every size from outside is checked against a limit before it is used.
 */
#pragma once

#include <dirent.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xreallocarray(void *old, size_t n, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t max);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* strdup() that returns NULL for NULL. */
char *xstrdup_or_null(const char *s);

static inline void auto_free_(void *p)
{
	free(*(void **)p);
}

static inline void auto_close_(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void auto_dir_(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

#define auto_free  __attribute__((cleanup(auto_free_)))
#define auto_close __attribute__((cleanup(auto_close_)))
#define auto_dir   __attribute__((cleanup(auto_dir_)))

/* Move a pointer (or descriptor) out of its variable, so that the variable's cleanup does
 * nothing. */
#define take_ptr(p)                                 \
	({                                          \
		__typeof__(p) *take_from_ = &(p);   \
		__typeof__(p) taken_ = *take_from_; \
		*take_from_ = NULL;                 \
		taken_;                             \
	})
#define take_fd(fd)                   \
	({                            \
		int taken_fd_ = (fd); \
		(fd) = -1;            \
		taken_fd_;            \
	})

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
