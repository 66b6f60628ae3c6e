/* err: one error value, filled where it happens, wrapped on the way up. */
#pragma once

/* What to do next; the queue's policy reads this, never the message. */
enum err_kind {
	ERR_NONE,
	ERR_RETRY,    /* transient: try again with backoff                   */
	ERR_CONFLICT, /* our view is stale (409/410): read again, then redo  */
	ERR_INVALID,  /* the input is wrong: report it, await a change       */
	ERR_STUCK,    /* the kernel missed its deadline: quarantine device   */
};

/* Lives on the caller's stack; needs no init beyond `= { 0 }` and no release. */
struct err {
	enum err_kind kind;
	int code;         /* negative errno; what callers branch on        */
	unsigned wait_ms; /* do not try again sooner; 0: nobody asked for it */
	char msg[240];    /* what a human reads; outermost context first   */
};

/* Fill @err and return @code, so that `return err_set(...)` reads as one act. A message that does
 * not fit ends in "...". wait_ms becomes 0. @err may be NULL. */
int err_set(struct err *err, enum err_kind kind, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Put "context: " before the message, keep the rest, return the code. */
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
