/*
 * reflector: decides which list or watch to send next to keep a copy of a collection up to date.
 *
 * Pure: it takes events and the time and returns the next act. The owner (informer.h) sends the
 * requests, holds the copy and runs the timers.
 *
 *	          start             last page              ended
 *	  IDLE ---------> LISTING ------------> STREAMING --------.
 *	                   | ^  ^ next page, gone  | | ^ ^--------'
 *	    failed, absent | |  '------------------' | |
 *	                   v | timer       gone      | | timer
 *	                LIST_WAIT <----------------- | |
 *	                            broken    failed v |
 *	                                         STREAM_WAIT
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/backoff.h"

struct err;
struct kube_response;
struct str;

enum {
	REFLECTOR_PAGE = 500, /* objects per page */
	REFLECTOR_STALL_MS =
		30 * 1000, /* a watch is dead if silent for this long after its timeout */
	REFLECTOR_TIMEOUT_MIN_S = 5 * 60, /* timeoutSeconds is random between this and the next */
	REFLECTOR_TIMEOUT_MAX_S = 10 * 60,
};

enum reflector_state {
	REFLECTOR_IDLE,
	REFLECTOR_LISTING,
	REFLECTOR_STREAMING,
	REFLECTOR_LIST_WAIT,   /* then list */
	REFLECTOR_STREAM_WAIT, /* then watch from the same resourceVersion */
	REFLECTOR_NSTATES,
};

/* What happened; also its name in logs and the metric's label (reflector_event_text). */
enum reflector_event {
	REFLECTOR_STARTED,
	REFLECTOR_TIMER,     /* the wait is over */
	REFLECTOR_MORE,      /* a page arrived, with more to follow */
	REFLECTOR_LISTED,    /* the last page arrived */
	REFLECTOR_ENDED,     /* the watch ended at its timeout */
	REFLECTOR_FAILED,    /* refused, reset, 429, 5xx, no response, ended within 1 s */
	REFLECTOR_STALLED,   /* the watch was silent beyond its timeout */
	REFLECTOR_DENIED,    /* 401, 403 */
	REFLECTOR_GONE,      /* 410: the resourceVersion or continue token is too old */
	REFLECTOR_TOO_LARGE, /* the server has not seen the resourceVersion yet */
	REFLECTOR_ABSENT,    /* 404: the kind is not installed (yet) */
	REFLECTOR_BROKEN,    /* a malformed response */
	REFLECTOR_NEVENTS,
};

enum reflector_act {
	REFLECTOR_DO_LIST = 1,   /* send the list of reflector_query() */
	REFLECTOR_DO_LIST_ANEW,  /* the same, after dropping the pages received so far */
	REFLECTOR_DO_STREAM,     /* send the watch of reflector_query() */
	REFLECTOR_DO_SWAP,       /* the list is complete: make it the store's content, then watch */
	REFLECTOR_DO_WAIT,       /* send REFLECTOR_TIMER after wait_ms */
	REFLECTOR_DO_EMPTY_WAIT, /* kind not installed: the store is empty and synced; wait */
};

struct reflector_step {
	enum reflector_act act;
	uint64_t wait_ms;  /* for the two WAIT acts */
	uint64_t stall_ms; /* for STREAM and SWAP: cancel the watch if silent for this long */
	bool news;         /* this failure differs from the last one and should be logged */
};

struct reflector {
	enum reflector_state state;
	struct backoff backoff;       /* for failures */
	struct backoff slow;          /* for 401 and 403 */
	struct backoff absent;        /* for a kind that is not installed */
	char *version;                /* NULL: no list yet */
	char *next_page;              /* the continue token; NULL between lists */
	bool quorum;                  /* the next list reads the newest state */
	bool whole;                   /* the next list is requested without pages */
	unsigned page;                /* objects per page */
	unsigned timeout_s;           /* of the current watch */
	uint64_t since_ms;            /* start of the current watch */
	bool alive;                   /* it has received an object or bookmark */
	enum reflector_event trouble; /* the last failure; STARTED: none */
};

void reflector_init(struct reflector *r);
void reflector_done(struct reflector *r);

/* The request in flight was cancelled; the next event is STARTED. */
void reflector_stop(struct reflector *r);

/*
 * Report an event and get the next act. Data that belongs to the event is reported first:
 * reflector_listed() before MORE and LISTED, reflector_seen() during a watch. @retry_after_ms: the
 * server's Retry-After, else 0. Asserts that the event can happen in the current state.
 */
struct reflector_step reflector_handle(struct reflector *r, enum reflector_event event,
				       uint64_t retry_after_ms, uint64_t now_ms, uint64_t random);

/* A page of a list at @version arrived, with a continue token or NULL. Both are copied. */
void reflector_listed(struct reflector *r, const char *version, const char *next_page);

/* The watch received an object or bookmark with @version, which is copied. From then on an early
 * end of the watch is not a failure, and the next failure is logged again. */
void reflector_seen(struct reflector *r, const char *version);

/* The event for a call's result (the arguments of kube_done_fn); ENDED for a 2xx watch. */
enum reflector_event reflector_classify(int result, const struct kube_response *response,
					const struct err *err);

/* The event for a watch's ERROR line, by its Status' code, reason and message. */
enum reflector_event reflector_classify_status(int code, const char *reason, const char *message);

/* The query parameters of the act just returned; valid until the next event. */
struct reflector_query {
	const char *resource_version;       /* NULL: omitted */
	const char *resource_version_match; /* NULL: omitted */
	const char *continue_;              /* NULL: omitted */
	unsigned limit;                     /* 0: omitted */
	unsigned timeout_s;                 /* only for a watch */
};
struct reflector_query reflector_query(const struct reflector *r);

const char *reflector_state_text(enum reflector_state state); /* "listing" */
const char *reflector_event_text(enum reflector_event event); /* "gone" */
