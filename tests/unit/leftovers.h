/*
 * leftovers: what a test that fails leaves behind, its folders and its children, goes all the same.
 *
 * A failure leaves the test at once, with whatever it had still to remove; the suite's teardown
 * runs then, too. After a test that passed there is nothing left to do.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

enum { LEFTOVERS_MAX = 8 };

/* The folders made last; a test has fewer of them at a time. */
struct leftovers {
	char folders[LEFTOVERS_MAX][256];
	size_t made;
};

static inline struct leftovers *leftovers_all(void)
{
	static struct leftovers all;

	return &all;
}

/* @folder is to go when the test has ended. */
static inline void leftovers_folder(const char *folder)
{
	struct leftovers *all = leftovers_all();
	char *path = all->folders[all->made++ % LEFTOVERS_MAX];

	(void)snprintf(path, sizeof(all->folders[0]), "%s", folder);
}

static inline int leftovers_remove_one(const char *path, const struct stat *st, int type,
				       struct FTW *place)
{
	return remove(path);
}

/* Kill the children that this process still has, and wait for them. */
static inline void leftovers_end_children(void)
{
	auto_free char *path = xasprintf("/proc/self/task/%d/children", (int)getpid());
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[4096] = "";
	char *at = text;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return;
	for (long pid = strtol(at, &at, 10); pid > 0; pid = strtol(at, &at, 10)) {
		kill((pid_t)pid, SIGKILL);
		waitpid((pid_t)pid, NULL, 0);
	}
}

/* A teardown of cmocka. SIGCHLD waits and is dropped: the loop that it is for went with the
 * test. */
static inline int leftovers_remove(void **state)
{
	static const struct timespec now = { 0 };
	struct leftovers *all = leftovers_all();
	sigset_t child;
	sigset_t before;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	leftovers_end_children();
	(void)sigtimedwait(&child, NULL, &now);
	sigprocmask(SIG_SETMASK, &before, NULL);
	for (size_t i = 0; i < LEFTOVERS_MAX; i++) {
		if (all->folders[i][0])
			(void)nftw(all->folders[i], leftovers_remove_one, 16, FTW_DEPTH | FTW_PHYS);
		all->folders[i][0] = '\0';
	}
	return 0;
}
