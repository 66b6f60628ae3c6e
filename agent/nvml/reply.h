/*
 * reply: the lines that hostdev-nvml writes, one JSON object each. All of an answer have the number
 * of its question.
 *
 *	{"kind":"at","n":7,"address":"0000:3b:00.0"}                the next calls are on this GPU
 *	{"kind":"problem","n":7,"address":...,"function":"nvmlDeviceGetUUID","code":15,
 *	 "message":...}
 *	{"kind":"failed","n":7,"function":"nvmlInit","code":9,"message":...}    instead of an end
 *	{"kind":"end","n":7}
 *
 * An "at" is written before the calls, so the parent that kills a hanging child knows the GPU.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct reply {
	int fd;
	int64_t number; /* 0: lines of the watch, which answer nothing */
	struct str out; /* not written yet                             */
	bool broken;    /* the reader is gone                          */
};

/* Begin a line in @line (reply->out or the caller's), end it. */
void reply_open(const struct reply *reply, struct str *line, const char *kind);
void reply_close(struct str *line);

/* @function, without "nvml", said @code about the GPU at @address, or (@address NULL) about the one
 * with @index; -1: about no GPU. */
void reply_problem(struct reply *reply, const char *address, int index, const char *function,
		   int code);

/* Instead of an answer; @message NULL: what @code means. @function may be NULL. */
void reply_failed(struct reply *reply, const char *function, int code, const char *message);

/* Calls on the GPU at @address follow, or (@address NULL) on the one with @index. */
void reply_at(struct reply *reply, const char *address, int index);

void reply_end(struct reply *reply);

/* Write the lines so far. When that fails reply->broken is set. */
void reply_flush(struct reply *reply);
