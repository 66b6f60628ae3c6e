/*
 * fake_helper: a shell script in place of hostdev-helper, and a loop to run it on. A script that
 * reads $gate hangs, as a helper in the kernel would, until the test opens the gate or has ended,
 * in whatever way: the gate's other end is the test's alone.
 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <uv.h>

#include "base/mem.h"
#include "unit/folder.h"
#include "unit/suite.h"

enum {
	AMPLE_MS = 60 * 1000,
	HELD_MS = 10 * AMPLE_MS,
	BRIEF_MS = 100, /* what is due as soon as that is no deadline */
};

struct fake_helper {
	struct folder folder;
	char *path;
	char *gate;
	int gate_fd;
	bool gate_open;
	uv_loop_t loop;
};

/* Make @body the script's; $here is the folder. A shell that reads the old one goes on with it. */
static inline void fake_helper_does(const struct fake_helper *fake, const char *body)
{
	auto_free char *script = xasprintf("#!/bin/sh\nhere='%s'\ngate='%s'\n%s\n",
					   fake->folder.path, fake->gate, body);

	(void)unlink(fake->path);
	folder_put(&fake->folder, "helper", script);
	assert_int_equal(chmod(fake->path, 0700), 0);
}

static inline void fake_helper_init(struct fake_helper *fake, const char *body)
{
	folder_init(&fake->folder);
	fake->path = folder_path(&fake->folder, "helper");
	fake->gate = folder_path(&fake->folder, "gate");
	assert_int_equal(mkfifo(fake->gate, 0600), 0);
	fake->gate_fd = open(fake->gate, O_RDWR | O_CLOEXEC);
	assert_true(fake->gate_fd >= 0);
	fake->gate_open = false;
	assert_int_equal(uv_loop_init(&fake->loop), 0);
	fake_helper_does(fake, body);
}

/* Release all helpers that wait at the gate, now or later. The test has the reading end open too,
 * so no helper has to be there yet. */
static inline void fake_helper_open_gate(struct fake_helper *fake)
{
	fake->gate_open = true;
	assert_int_equal(write(fake->gate_fd, "\n\n\n\n\n\n\n\n", 8), 8);
}

/* What is due already is left alone: it would come again if it repeated. */
static inline void fake_helper_expire_one(uv_handle_t *handle, void *arg)
{
	if (handle->type != UV_TIMER || handle == arg || !uv_is_active(handle) ||
	    uv_timer_get_due_in((uv_timer_t *)handle) == 0)
		return;
	/* It runs by itself. As a repeating timer it would run twice. */
	if (uv_timer_get_due_in((uv_timer_t *)handle) == 0)
		return;
	uv_timer_set_repeat((uv_timer_t *)handle, 1);
	assert_int_equal(uv_timer_again((uv_timer_t *)handle), 0);
}

/* All deadlines that run are over, but for the timer @spared (may be NULL): a test that is about a
 * missed one says when, and none is so short that a busy machine misses it by itself. */
static inline void fake_helper_expire(struct fake_helper *fake, uv_timer_t *spared)
{
	uv_walk(&fake->loop, fake_helper_expire_one, spared);
}

static inline void fake_helper_hold_one(uv_handle_t *handle, void *arg)
{
	uint64_t due_ms;

	(void)arg;
	if (handle->type != UV_TIMER || !uv_is_active(handle))
		return;
	due_ms = uv_timer_get_due_in((uv_timer_t *)handle);
	if (due_ms <= BRIEF_MS || due_ms > HELD_MS / 2)
		return;
	uv_timer_set_repeat((uv_timer_t *)handle, HELD_MS);
	assert_int_equal(uv_timer_again((uv_timer_t *)handle), 0);
}

/* Before each turn of the loop: no deadline passes in it, however slow the machine is, but for those
 * that fake_helper_expire() has let pass. */
static inline void fake_helper_hold(struct fake_helper *fake)
{
	uv_walk(&fake->loop, fake_helper_hold_one, NULL);
}

static inline void fake_helper_find_due(uv_handle_t *handle, void *arg)
{
	if (handle->type == UV_TIMER && uv_is_active(handle))
		*(uint64_t *)arg += uv_timer_get_due_in((uv_timer_t *)handle);
}

/* Let one look at the only deadline that runs come and go: a helper with patience is looked at
 * twice in each of its deadlines. It ends when @ended is set, or the next look is far. */
static inline void fake_helper_pass_look(struct fake_helper *fake, const int *ended)
{
	uint64_t due_ms;

	fake_helper_expire(fake, NULL);
	do {
		/* UV_RUN_ONCE waits on after a timer that was due when it began: for the next scan,
		 * half a minute. */
		uv_run(&fake->loop, UV_RUN_NOWAIT);
		(void)usleep(1000);
		due_ms = 0;
		uv_walk(&fake->loop, fake_helper_find_due, &due_ms);
	} while (!*ended && due_ms < AMPLE_MS / 4);
}

static inline void fake_helper_count(uv_handle_t *handle, void *arg)
{
	(void)handle;
	++*(size_t *)arg;
}

static inline void fake_helper_look(uv_timer_t *timer)
{
	size_t handles = 0;

	uv_walk(timer->loop, fake_helper_count, &handles);
	if (handles == 1)
		uv_close((uv_handle_t *)timer, NULL);
}

/* Run the loop until nothing at all is left on it, abandoned children too. */
static inline void fake_helper_done(struct fake_helper *fake)
{
	uv_timer_t timer;

	if (!fake->gate_open)
		fake_helper_open_gate(fake);
	uv_timer_init(&fake->loop, &timer);
	uv_timer_start(&timer, fake_helper_look, 0, 1);
	uv_run(&fake->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&fake->loop), 0);
	close(fake->gate_fd);
	free(fake->path);
	free(fake->gate);
	folder_done(&fake->folder);
}

/* The text of a file that the script wrote; "" if there is none. The caller frees. */
static inline char *fake_helper_wrote(const struct fake_helper *fake, const char *name)
{
	auto_free char *path = folder_path(&fake->folder, name);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = xcalloc(1, 65536);
	ssize_t n = fd < 0 ? 0 : read(fd, text, 65535);

	assert_true(n >= 0);
	return text;
}
