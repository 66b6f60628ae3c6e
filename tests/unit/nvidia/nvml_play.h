/*
 * nvml_play: the program hostdev-nvml itself, on a machine whose NVML is the stand-in
 * (tests/fake/nvml). Its lines are read as the agent reads them: one that the agent would refuse
 * fails the test.
 */
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "agent/nvidia/nvml_line.h"
#include "base/err.h"
#include "base/file.h"
#include "base/timefmt.h"
#include "unit/folder.h"
#include "unit/suite.h"

#define UUID(n)    "GPU-00000000-0000-0000-0000-00000000000" #n
#define ADDRESS(n) "0000:3" #n ":00.0"

/* Three GPUs. */
#define THREE                                                                                   \
	"gpu " ADDRESS(0) " " UUID(0) "\n"                                                      \
				      "gpu " ADDRESS(1) " " UUID(1) "\n"                        \
								    "gpu " ADDRESS(2) " " UUID( \
									    2) "\n"

enum { PLAY_WAIT_MS = 60000, PLAY_LINES_MAX = 64 };

struct play {
	struct folder folder;
	char *program;
	char *library;
	pid_t pid;
	int in;
	int out;
	char *text; /* read and not taken yet */
	size_t len;
	struct nvml_line lines[PLAY_LINES_MAX]; /* of the last answer, without "at" */
	size_t lines_len;
	char at[32]; /* the address or index of the last "at" */
	unsigned ats;
};

/* A file of the same build. */
static inline char *play_built(const char *path)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(n > 0);
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	return xasprintf("%s/../%s", self, path);
}

static inline void play_open(struct play *play)
{
	play->pid = -1;
	play->in = play->out = -1;
	folder_init(&play->folder);
	play->program = play_built("bin/hostdev-nvml");
	play->library = play_built("fake/libnvidia-ml.so.1");
	play->text = xmalloc(1 << 20);
}

static inline void play_forget_lines(struct play *play)
{
	for (size_t i = 0; i < play->lines_len; i++)
		nvml_line_done(&play->lines[i]);
	play->lines_len = 0;
}

/* Wait for the end of the child, and return its status as waitpid does. */
static inline int play_wait(struct play *play)
{
	int status = -1;

	assert_int_equal(waitpid(play->pid, &status, 0), play->pid);
	play->pid = -1;
	return status;
}

/* Kill the child as the agent does with one that hangs. */
static inline void play_kill(struct play *play)
{
	assert_int_equal(kill(play->pid, SIGKILL), 0);
	assert_int_equal(play_wait(play), SIGKILL);
	close(play->in);
	close(play->out);
	play->in = play->out = -1;
	play->len = 0;
	play->ats = 0;
}

static inline void play_close(struct play *play)
{
	if (play->pid > 0)
		play_kill(play);
	if (play->in >= 0)
		close(play->in);
	if (play->out >= 0)
		close(play->out);
	play_forget_lines(play);
	free(play->program);
	free(play->library);
	free(play->text);
	folder_done(&play->folder);
}

SUITE_FIXTURE(play, struct play, play_open, play_close);

/* A library that reads it at this moment sees the scene of before or all of this one. */
static inline void play_scene(struct play *play, const char *scene)
{
	auto_free char *path = folder_path(&play->folder, "scene");
	auto_free char *next = folder_path(&play->folder, "scene.new");

	folder_put(&play->folder, "scene.new", scene);
	assert_int_equal(rename(next, path), 0);
}

/* Start the program in @role, with up to three more words; NULL for none. */
static inline void play_start(struct play *play, const char *role, const char *a, const char *b,
			      const char *c)
{
	int in[2];
	int out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	play->pid = fork();
	assert_true(play->pid >= 0);
	if (play->pid == 0) {
		(void)setenv("HOSTDEV_FAKE_NVML", play->folder.path, 1);
		if (dup2(in[0], STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0)
			_exit(126);
		execl(play->program, "hostdev-nvml", role, "--library", play->library, a, b, c,
		      (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	play->in = in[1];
	play->out = out[0];
}

/* Commands for the stand-in in the child, which has initialized it. False if there is no child. */
static inline bool play_try_tell(struct play *play, const char *commands)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%d.socket",
		       play->folder.path, (int)play->pid);
	return sendto(fd, commands, strlen(commands), 0, (const struct sockaddr *)&address,
		      sizeof(address)) == (ssize_t)strlen(commands);
}

static inline void play_tell(struct play *play, const char *commands)
{
	assert_true(play_try_tell(play, commands));
}

/* Read more of what the child writes. False at its end, or when nothing comes in time. */
static inline bool play_read(struct play *play, int ms)
{
	struct pollfd output = { .fd = play->out, .events = POLLIN };
	ssize_t n;

	if (poll(&output, 1, ms) <= 0)
		return false;
	assert_true(play->len < 1 << 20);
	n = read(play->out, play->text + play->len, (1 << 20) - play->len);
	if (n <= 0)
		return false;
	play->len += (size_t)n;
	return true;
}

/* The next line, the caller's to release. False at the end, or when nothing comes within @ms. */
static inline bool play_line(struct play *play, int ms, struct nvml_line *ret_line)
{
	struct err err = { 0 };
	char *end;

	while (!(end = memchr(play->text, '\n', play->len))) {
		if (!play_read(play, ms))
			return false;
	}
	if (nvml_line_parse(play->text, (size_t)(end - play->text), ret_line, &err) < 0)
		fail_msg("%s: %.*s", err.msg, (int)(end - play->text), play->text);
	assert_int_not_equal(ret_line->kind, NVML_LINE_OTHER);
	play->len -= (size_t)(end + 1 - play->text);
	memmove(play->text, end + 1, play->len);
	if (ret_line->kind != NVML_LINE_AT)
		return true;
	play->ats++;
	if (ret_line->address)
		(void)snprintf(play->at, sizeof(play->at), "%s", ret_line->address);
	else
		(void)snprintf(play->at, sizeof(play->at), "%d", ret_line->index);
	nvml_line_done(ret_line);
	return play_line(play, ms, ret_line);
}

/* Keep the lines until one of @kind or a failure, which is returned. */
static inline const struct nvml_line *play_until(struct play *play, enum nvml_line_kind kind)
{
	struct nvml_line *line;

	play_forget_lines(play);
	do {
		assert_true(play->lines_len < PLAY_LINES_MAX);
		line = &play->lines[play->lines_len];
		if (!play_line(play, PLAY_WAIT_MS, line))
			fail_msg("the program says no more");
		play->lines_len++;
	} while (line->kind != kind && line->kind != NVML_LINE_FAILED);
	return line;
}

/* Pass lines until so many "at" have come, and check that the child then says nothing: it hangs. */
static inline void play_until_it_hangs(struct play *play, unsigned ats)
{
	uint64_t until_ms = timefmt_now_ms() + PLAY_WAIT_MS;
	struct nvml_line line;

	while (play->ats < ats) {
		if (timefmt_now_ms() > until_ms)
			fail_msg("%u GPUs were told of, not %u", play->ats, ats);
		/* An "at" is no line of its own here, so a short wait for the one behind it. */
		if (play_line(play, play->ats + 1 < ats ? 1000 : 50, &line))
			nvml_line_done(&line);
	}
	if (play_line(play, 200, &line))
		fail_msg("the program does not hang: line %d", (int)line.kind);
	assert_int_equal(play->ats, ats);
}

static inline void play_write(struct play *play, const char *question)
{
	assert_int_equal(file_write_all(play->in, question, strlen(question)), 0);
	assert_int_equal(file_write_all(play->in, "\n", 1), 0);
}

/* Ask, and keep the lines of the answer. The last one is returned. */
static inline const struct nvml_line *play_ask(struct play *play, const char *question)
{
	play_write(play, question);
	return play_until(play, NVML_LINE_END);
}

/* The only kept line of @kind about the GPU (or MIG device) with @uuid, or (no uuid) at @address;
 * NULL. */
static inline const struct nvml_line *play_find(const struct play *play, enum nvml_line_kind kind,
						const char *who)
{
	const struct nvml_line *found = NULL;

	for (size_t i = 0; i < play->lines_len; i++) {
		const struct nvml_line *line = &play->lines[i];

		if (line->kind != kind || (who && (!line->uuid || strcmp(line->uuid, who) != 0) &&
					   (!line->address || strcmp(line->address, who) != 0)))
			continue;
		assert_null(found);
		found = line;
	}
	return found;
}

static inline size_t play_count(const struct play *play, enum nvml_line_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < play->lines_len; i++)
		n += play->lines[i].kind == kind;
	return n;
}
