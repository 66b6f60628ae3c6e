/*
 * reflector: decides what to ask the API server next, to hold a faithful copy of a collection.
 *
 * Pure: outcomes and the time go in, the next act comes out. The owner (informer.h) does the
 * requests, holds the copy and keeps the timers.
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
	REFLECTOR_PAGE = 500,             /* objects asked for at a time                      */
	REFLECTOR_STALL_MS = 30 * 1000,   /* a watch silent this long past its timeout is dead */
	REFLECTOR_TIMEOUT_MIN_S = 5 * 60, /* timeoutSeconds is random between these two        */
	REFLECTOR_TIMEOUT_MAX_S = 10 * 60,
};

enum reflector_state {
	REFLECTOR_IDLE,
	REFLECTOR_LISTING,
	REFLECTOR_STREAMING,
	REFLECTOR_LIST_WAIT,   /* then list                                        */
	REFLECTOR_STREAM_WAIT, /* then watch on from the same resourceVersion      */
	REFLECTOR_NSTATES,
};

/* What happened; also the name in logs and the metric's label (reflector_event_text). */
enum reflector_event {
	REFLECTOR_STARTED,
	REFLECTOR_TIMER,     /* the wait is over                                          */
	REFLECTOR_MORE,      /* a page came, and it was not the last                      */
	REFLECTOR_LISTED,    /* the last page came                                        */
	REFLECTOR_ENDED,     /* the watch ran its time                                    */
	REFLECTOR_FAILED,    /* refused, reset, 429, 5xx, no answer, over within a second */
	REFLECTOR_STALLED,   /* the watch was silent past its timeout                     */
	REFLECTOR_DENIED,    /* 401, 403                                                  */
	REFLECTOR_GONE,      /* 410: that resourceVersion or continue token is too old    */
	REFLECTOR_TOO_LARGE, /* the server has not seen that resourceVersion yet          */
	REFLECTOR_ABSENT,    /* 404: the kind is not installed (yet)                      */
	REFLECTOR_BROKEN,    /* an answer that makes no sense                             */
	REFLECTOR_NEVENTS,
};

enum reflector_act {
	REFLECTOR_DO_LIST = 1,   /* send reflector_query()'s list                               */
	REFLECTOR_DO_LIST_ANEW,  /* the same, after dropping the pages that came so far         */
	REFLECTOR_DO_STREAM,     /* send reflector_query()'s watch                              */
	REFLECTOR_DO_SWAP,       /* the list is whole: make it the copy, then watch             */
	REFLECTOR_DO_WAIT,       /* call reflector_tell(TIMER) in wait_ms                       */
	REFLECTOR_DO_EMPTY_WAIT, /* the collection does not exist: the copy is empty and synced */
};

struct reflector_step {
	enum reflector_act act;
	uint64_t wait_ms;  /* of the two WAIT acts                                           */
	uint64_t stall_ms; /* STREAM, SWAP: cancel the watch after this long without a byte  */
	bool news;         /* this trouble is not the one before it: worth a line in the log */
};

struct reflector {
	enum reflector_state state;
	struct backoff backoff;       /* of failures                          */
	struct backoff slow;          /* of 401 and 403                       */
	struct backoff absent;        /* of a kind that is not installed      */
	char *version;                /* NULL: nothing listed yet             */
	char *next_page;              /* the continue token, NULL between lists */
	bool quorum;                  /* the next list reads the newest state */
	bool whole;                   /* the next list is asked for in one piece */
	unsigned page;                /* objects to ask for at a time         */
	unsigned timeout_s;           /* of the current watch                 */
	uint64_t since_ms;            /* when the current watch began         */
	bool alive;                   /* it has brought an object or bookmark */
	enum reflector_event trouble; /* the last one, STARTED for none  */
};

void reflector_init(struct reflector *r);
void reflector_done(struct reflector *r);

/* What was under way is no more; the next event is STARTED. */
void reflector_stop(struct reflector *r);

/*
 * Tell what happened and get the next act. What an event carries with it comes first:
 * reflector_listed() before MORE and LISTED, reflector_seen() as a watch goes.
 * @retry_after_ms: what the server asked for, else 0. Asserts that the event can happen now.
 */
struct reflector_step reflector_tell(struct reflector *r, enum reflector_event event,
				     uint64_t retry_after_ms, uint64_t now_ms, uint64_t random);

/* A page came, of a list at @version, with a continue token or NULL. Copies both. */
void reflector_listed(struct reflector *r, const char *version, const char *next_page);

/* The watch brought an object or bookmark of @version. Copies it. From then on an early end of the
 * watch is no trouble, and the next trouble is news. */
void reflector_seen(struct reflector *r, const char *version);

/* Which event a call's end is (kube_done_fn's arguments); for a 2xx watch, ENDED. */
enum reflector_event reflector_classify(int result, const struct kube_response *response,
					const struct err *err);

/* Which event a watch's ERROR line is: its Status by code, reason and message. */
enum reflector_event reflector_classify_status(int code, const char *reason, const char *message);

/* The query's parameters for the act just returned; values are valid until the next tell. */
struct reflector_query {
	const char *resource_version;       /* NULL: leave it out */
	const char *resource_version_match; /* NULL: leave it out */
	const char *continue_;              /* NULL: leave it out */
	unsigned limit;                     /* 0: leave it out    */
	unsigned timeout_s;                 /* watch only         */
};
struct reflector_query reflector_query(const struct reflector *r);

const char *reflector_state_text(enum reflector_state state); /* "listing"  */
const char *reflector_event_text(enum reflector_event event); /* "gone"     */
