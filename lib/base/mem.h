/*
 * mem: allocation that aborts, and cleanup attributes.
 *
 * Out of memory is not an error value here: the programs are crash-only and look again after a
 * restart. In exchange every size that comes from outside is bounded before it is used.
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

/* strdup that takes NULL for NULL. */
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

/* Give a pointer (or descriptor) away: the variable is emptied, so its cleanup does nothing. */
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
