/* err: an error value, filled where the error occurs and wrapped on the way up. */
#pragma once

/* What to do next. The queue uses this and never the message. */
enum err_kind {
	ERR_NONE,
	ERR_RETRY,    /* temporary: retry with backoff */
	ERR_CONFLICT, /* our view is stale (409/410): read again, then retry */
	ERR_INVALID,  /* the input is wrong: report it and wait for a change */
	ERR_STUCK,    /* the kernel missed its deadline: quarantine the device */
};

/* Lives on the caller's stack; needs no init beyond `= { 0 }` and no release. */
struct err {
	enum err_kind kind;
	int code;         /* negative errno; callers branch on this */
	unsigned wait_ms; /* do not retry sooner; 0: no limit */
	char msg[240];    /* for people; outermost context first */
};

/* Fill @err and return @code, for use as `return err_set(...)`. A message that does not fit ends
 * in "...". wait_ms becomes 0. @err may be NULL. */
int err_set(struct err *err, enum err_kind kind, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Prepend "context: " to the message, keep the rest, return the code. */
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
