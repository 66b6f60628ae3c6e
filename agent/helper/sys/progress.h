/*
 * progress: what a run that changes something says while it goes on, one JSON line at a time, each written at
 * once: when a step never ends, its line is what the reader has.
 *
 * Which steps there are, and for which reasons a run ends, say transition_out and mdev_out. A line names the
 * function ("address") or the instance ("uuid") that it is about as its caller's @key.
 */
#pragma once

struct err;
struct holder;
struct str;

struct progress {
	int fd;
	int code; /* negative errno of the first line that could not be written, 0: all were */
};

/* Write @line, which report_open() and report_close() have made. Nothing is written after a line that could not
 * be: nobody listens any more, and what was begun goes on all the same, since half of it helps nobody. */
void progress_send(struct progress *progress, struct str *line);

/* The member @key of @line, if there is a @text; NULL and "" are none. */
void progress_text(struct str *line, const char *key, const char *text);

/* A step begins, with @about (NULL: with the whole job). */
void progress_step(struct progress *progress, const char *key, const char *about, const char *step);

/* Somebody uses what is to be changed. */
void progress_holder(struct progress *progress, const char *key, const struct holder *holder);

/* Why a run did not come to its end. All is borrowed. */
struct progress_cause {
	const char *reason;
	const char *about; /* NULL: nothing in particular                  */
	const char *step;  /* NULL: before the first one                   */
	int code;          /* negative errno of the kernel's answer, 0: none */
	int pid;           /* of who is in the way, 0: nobody, or not known  */
	const char *message;
};

/* The members that say so, within the last line. */
void progress_cause(struct str *line, const char *key, const struct progress_cause *cause);

/* 0, or the code with @err filled, if not all lines could be written. */
int progress_result(const struct progress *progress, struct err *err);
