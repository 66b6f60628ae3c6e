/*
 * stage: what a test with sockets stands on: a loop, a clock that the test turns, a folder as the
 * kubelet's, and a log of what happened.
 */
#pragma once

#include <signal.h>
#include <string.h>
#include <uv.h>

#include "base/log.h"
#include "base/str.h"
#include "fake/fake_clock.h"
#include "unit/folder.h"
#include "unit/suite.h"

enum { STAGE_TOO_LONG_MS = 30000, STAGE_QUIET_TURNS = 30 };

struct stage {
	uv_loop_t loop;
	uv_timer_t guard;
	struct fake_clock *fake;
	struct clock *clock;
	struct folder folder;
	struct str log;
};

static inline void stage_log(struct stage *stage, const char *text)
{
	str_add(&stage->log, text);
	str_add_char(&stage->log, '|');
}

static inline void stage_on_guard(uv_timer_t *timer)
{
	const struct stage *stage = timer->data;

	fail_msg("nothing more after '%s'", stage->log.buf ? stage->log.buf : "");
}

/* Each wait has its own time: a test of many steps may take long on a busy machine. */
static inline void stage_guard(struct stage *stage)
{
	uv_update_time(&stage->loop);
	uv_timer_start(&stage->guard, stage_on_guard, STAGE_TOO_LONG_MS, 0);
}

/* Random numbers are 0, so that a wait has no jitter. */
static inline void stage_init(struct stage *stage)
{
	(void)signal(SIGPIPE, SIG_IGN);
	log_set_level(LOG_ERROR);
	*stage = (struct stage){ .log = STR_INIT };
	stage->fake = fake_clock_new();
	stage->clock = fake_clock_as_clock(stage->fake);
	fake_clock_fix_random(stage->fake, 0);
	folder_init(&stage->folder);
	uv_loop_init(&stage->loop);
	uv_timer_init(&stage->loop, &stage->guard);
	stage->guard.data = stage;
	uv_unref((uv_handle_t *)&stage->guard);
	stage_guard(stage);
}

/* Nothing is left on the loop, no timer on the clock. */
static inline void stage_done(struct stage *stage)
{
	uv_close((uv_handle_t *)&stage->guard, NULL);
	uv_run(&stage->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&stage->loop), 0);
	fake_clock_free(stage->fake);
	folder_done(&stage->folder);
	str_done(&stage->log);
}

SUITE_FIXTURE(stage, struct stage, stage_init, stage_done);

static inline void stage_turn(struct stage *stage)
{
	uv_update_time(&stage->loop);
	uv_run(&stage->loop, UV_RUN_ONCE);
	fake_clock_settle(stage->fake);
}

/* Until the log is @text; no time goes by. The log is empty then. */
static inline void stage_await(struct stage *stage, const char *text)
{
	stage_guard(stage);
	fake_clock_settle(stage->fake);
	while (strcmp(str_cstr(&stage->log), text) != 0) {
		if (strncmp(str_cstr(&stage->log), text, stage->log.len) != 0)
			assert_string_equal(stage->log.buf, text);
		stage_turn(stage);
	}
	str_clear(&stage->log);
}

/* All that follows from what has happened, happens. */
static inline void stage_rest(struct stage *stage)
{
	stage_guard(stage);
	for (int i = 0; i < STAGE_QUIET_TURNS; i++) {
		fake_clock_settle(stage->fake);
		uv_run(&stage->loop, UV_RUN_NOWAIT);
	}
}

/* Whatever can happen without time going by has happened: the log is @text then, and emptied. */
static inline void stage_settle(struct stage *stage, const char *text)
{
	stage_rest(stage);
	assert_string_equal(str_cstr(&stage->log), text);
	str_clear(&stage->log);
}

/* Nothing happens while @ms go by. */
static inline void stage_pass(struct stage *stage, uint64_t ms)
{
	fake_clock_advance(stage->fake, ms);
	stage_settle(stage, "");
}

static inline size_t stage_count_fds(void)
{
	auto_dir DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(dir))
		n++;
	return n;
}
