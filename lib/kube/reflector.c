#include "kube/reflector.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map_read.h"
#include "api/status.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/client.h"

enum {
	SHORT_WATCH_MS = 1000,
	PAGE_MIN = 10,
	RETRY_AFTER_MAX_MS = 5 * 60 * 1000,
	STATUS_MAX = 64 * 1024, /* larger error bodies are not parsed */
};

/* Act 0: the event cannot happen in that state. */
struct cell {
	enum reflector_act act;
	enum reflector_state next;
};

/* clang-format off */
static const struct cell table[REFLECTOR_NSTATES][REFLECTOR_NEVENTS] = {
	[REFLECTOR_IDLE] = {
		[REFLECTOR_STARTED]   = { REFLECTOR_DO_LIST,       REFLECTOR_LISTING     },
	},
	[REFLECTOR_LISTING] = {
		[REFLECTOR_MORE]      = { REFLECTOR_DO_LIST,       REFLECTOR_LISTING     },
		[REFLECTOR_LISTED]    = { REFLECTOR_DO_SWAP,       REFLECTOR_STREAMING   },
		/* see list_relax() */
		[REFLECTOR_GONE]      = { REFLECTOR_DO_LIST_ANEW,  REFLECTOR_LISTING     },
		[REFLECTOR_TOO_LARGE] = { REFLECTOR_DO_LIST_ANEW,  REFLECTOR_LISTING     },
		[REFLECTOR_FAILED]    = { REFLECTOR_DO_WAIT,       REFLECTOR_LIST_WAIT   },
		[REFLECTOR_DENIED]    = { REFLECTOR_DO_WAIT,       REFLECTOR_LIST_WAIT   },
		/* see list_relax() */
		[REFLECTOR_BROKEN]    = { REFLECTOR_DO_WAIT,       REFLECTOR_LIST_WAIT   },
		[REFLECTOR_ABSENT]    = { REFLECTOR_DO_EMPTY_WAIT, REFLECTOR_LIST_WAIT   },
	},
	[REFLECTOR_STREAMING] = {
		/* ended at its timeout */
		[REFLECTOR_ENDED]     = { REFLECTOR_DO_STREAM,     REFLECTOR_STREAMING   },
		/* version expired */
		[REFLECTOR_GONE]      = { REFLECTOR_DO_LIST_ANEW,  REFLECTOR_LISTING     },
		/* see list_relax() */
		[REFLECTOR_TOO_LARGE] = { REFLECTOR_DO_LIST_ANEW,  REFLECTOR_LISTING     },
		[REFLECTOR_FAILED]    = { REFLECTOR_DO_WAIT,       REFLECTOR_STREAM_WAIT },
		[REFLECTOR_STALLED]   = { REFLECTOR_DO_WAIT,       REFLECTOR_STREAM_WAIT },
		[REFLECTOR_DENIED]    = { REFLECTOR_DO_WAIT,       REFLECTOR_STREAM_WAIT },
		/* a list will tell why */
		[REFLECTOR_ABSENT]    = { REFLECTOR_DO_WAIT,       REFLECTOR_LIST_WAIT   },
		/* an event may be lost */
		[REFLECTOR_BROKEN]    = { REFLECTOR_DO_WAIT,       REFLECTOR_LIST_WAIT   },
	},
	[REFLECTOR_LIST_WAIT] = {
		[REFLECTOR_TIMER]     = { REFLECTOR_DO_LIST_ANEW,  REFLECTOR_LISTING     },
	},
	[REFLECTOR_STREAM_WAIT] = {
		[REFLECTOR_TIMER]     = { REFLECTOR_DO_STREAM,     REFLECTOR_STREAMING   },
	},
};

static const char *const state_texts[REFLECTOR_NSTATES] = {
	[REFLECTOR_IDLE]        = "idle",
	[REFLECTOR_LISTING]     = "listing",
	[REFLECTOR_STREAMING]   = "watching",
	[REFLECTOR_LIST_WAIT]   = "waiting to list",
	[REFLECTOR_STREAM_WAIT] = "waiting to watch",
};

static const char *const event_texts[REFLECTOR_NEVENTS] = {
	[REFLECTOR_STARTED]   = "started",
	[REFLECTOR_TIMER]     = "timer",
	[REFLECTOR_MORE]      = "more",
	[REFLECTOR_LISTED]    = "listed",
	[REFLECTOR_ENDED]     = "ended",
	[REFLECTOR_FAILED]    = "failed",
	[REFLECTOR_STALLED]   = "stalled",
	[REFLECTOR_DENIED]    = "denied",
	[REFLECTOR_GONE]      = "gone",
	[REFLECTOR_TOO_LARGE] = "too large resource version",
	[REFLECTOR_ABSENT]    = "not installed",
	[REFLECTOR_BROKEN]    = "broken answer",
};
/* clang-format on */

const char *reflector_state_text(enum reflector_state state)
{
	return state_texts[state];
}

const char *reflector_event_text(enum reflector_event event)
{
	return event_texts[event];
}

void reflector_init(struct reflector *r)
{
	*r = (struct reflector){
		.backoff = { .first_ms = 800,
			     .max_ms = 30000,
			     .reset_after_ms = 120000,
			     .jitter_percent = 100 },
		.slow = { .first_ms = 5000,
			  .max_ms = 60000,
			  .reset_after_ms = 300000,
			  .jitter_percent = 50 },
		/* An installer of the CRDs waits until this notices them, so retry often. */
		.absent = { .first_ms = 1000,
			    .max_ms = 4000,
			    .reset_after_ms = 60000,
			    .jitter_percent = 50 },
		.page = REFLECTOR_PAGE,
	};
}

static void forget_pages(struct reflector *r)
{
	free(r->next_page);
	r->next_page = NULL;
}

void reflector_done(struct reflector *r)
{
	forget_pages(r);
	free(r->version);
	r->version = NULL;
}

void reflector_stop(struct reflector *r)
{
	forget_pages(r);
	r->state = REFLECTOR_IDLE;
}

/* A watch that ended at once without an event. Restarting it without a delay would loop. */
static bool was_short(const struct reflector *r, uint64_t now_ms)
{
	return r->state == REFLECTOR_STREAMING && !r->alive &&
	       now_ms - r->since_ms < SHORT_WATCH_MS;
}

/* The newest state has already been requested, so requesting it again at once would not help. */
static bool is_list_relaxed(const struct reflector *r)
{
	return r->state == REFLECTOR_LISTING && r->quorum && (r->whole || !r->next_page);
}

/* The row of the table to use. If the event's row would send a request without a delay, and the
 * last such request did not help, use a row with a delay. */
static enum reflector_event delayed_event(const struct reflector *r, enum reflector_event event,
					  uint64_t now_ms)
{
	if (event == REFLECTOR_ENDED)
		return was_short(r, now_ms) ? REFLECTOR_FAILED : event;
	if (event == REFLECTOR_GONE || event == REFLECTOR_TOO_LARGE) {
		if (was_short(r, now_ms) || is_list_relaxed(r))
			return REFLECTOR_BROKEN;
	}
	return event;
}

/*
 * How the next list must differ. A list at our version is served from the API server's cache and is
 * never older than what we know. Only if that fails, the newest state is requested, which costs a
 * quorum read. If a page token has expired, the list is requested in one piece, because the token
 * would expire again.
 */
static void list_relax(struct reflector *r, enum reflector_event event, enum reflector_event row)
{
	bool listing = r->state == REFLECTOR_LISTING;

	if (event == REFLECTOR_TOO_LARGE)
		r->quorum = true;
	if (event == REFLECTOR_GONE && (listing || row == REFLECTOR_BROKEN))
		r->quorum = true;
	if (event == REFLECTOR_GONE && listing && r->next_page)
		r->whole = true;
	if (event == REFLECTOR_BROKEN && listing) {
		r->quorum = true;
		r->whole = false;
		r->page = r->page / 2 > PAGE_MIN ? r->page / 2 : PAGE_MIN;
	}
}

static struct backoff *backoff_of(struct reflector *r, enum reflector_event event)
{
	if (event == REFLECTOR_DENIED)
		return &r->slow;
	return event == REFLECTOR_ABSENT ? &r->absent : &r->backoff;
}

static uint64_t wait_ms(struct reflector *r, enum reflector_event event, uint64_t retry_after_ms,
			uint64_t now_ms, uint64_t random)
{
	uint64_t own = backoff_next(backoff_of(r, event), now_ms, random);
	uint64_t asked = retry_after_ms;

	if (asked == 0)
		return own;
	if (asked > RETRY_AFTER_MAX_MS)
		asked = RETRY_AFTER_MAX_MS;
	asked +=
		random % (1000 + asked / 2); /* all clients got the same Retry-After: spread them */
	return asked > own ? asked : own;
}

static bool is_trouble(enum reflector_event event)
{
	return event >= REFLECTOR_FAILED;
}

static void begin_watch(struct reflector *r, struct reflector_step *step, uint64_t now_ms,
			uint64_t random)
{
	unsigned range = REFLECTOR_TIMEOUT_MAX_S - REFLECTOR_TIMEOUT_MIN_S;

	r->timeout_s = REFLECTOR_TIMEOUT_MIN_S + (unsigned)((random >> 32) % (range + 1));
	r->since_ms = now_ms;
	r->alive = false;
	step->stall_ms = (uint64_t)r->timeout_s * 1000 + REFLECTOR_STALL_MS;
}

static void end_list(struct reflector *r)
{
	r->quorum = false;
	r->whole = false;
	r->page = REFLECTOR_PAGE;
	r->trouble = REFLECTOR_STARTED;
}

struct reflector_step reflector_handle(struct reflector *r, enum reflector_event event,
				       uint64_t retry_after_ms, uint64_t now_ms, uint64_t random)
{
	enum reflector_event row = delayed_event(r, event, now_ms);
	enum reflector_event cause = event == REFLECTOR_ENDED ? row : event;
	const struct cell *cell = &table[r->state][row];
	struct reflector_step step = { .act = cell->act };

	assert(cell->act != 0);
	list_relax(r, event, row);
	if (is_trouble(cause)) {
		step.news = cause != r->trouble;
		r->trouble = cause;
	}
	if (cell->act == REFLECTOR_DO_WAIT || cell->act == REFLECTOR_DO_EMPTY_WAIT)
		step.wait_ms = wait_ms(r, cause, retry_after_ms, now_ms, random);
	if (event != REFLECTOR_MORE)
		forget_pages(r);
	if (event == REFLECTOR_LISTED)
		end_list(r);
	r->state = cell->next;
	if (r->state == REFLECTOR_STREAMING)
		begin_watch(r, &step, now_ms, random);
	return step;
}

void reflector_listed(struct reflector *r, const char *version, const char *next_page)
{
	char *page = xstrdup_or_null(next_page);

	forget_pages(r);
	r->next_page = page;
	str_set(&r->version, version);
}

void reflector_seen(struct reflector *r, const char *version)
{
	r->alive = true;
	r->trouble = REFLECTOR_STARTED;
	if (r->version && strcmp(r->version, version) == 0)
		return;
	str_set(&r->version, version);
}

static bool says_too_large(const char *message)
{
	return message && strstr(message, "Too large resource version");
}

enum reflector_event reflector_classify_status(int code, const char *reason, const char *message)
{
	if (code == 410 || (reason && strcmp(reason, "Expired") == 0))
		return REFLECTOR_GONE;
	if (says_too_large(message))
		return REFLECTOR_TOO_LARGE;
	if (code == 401 || code == 403)
		return REFLECTOR_DENIED;
	if (code == 404)
		return REFLECTOR_ABSENT;
	if (code == 429 || code >= 500)
		return REFLECTOR_FAILED;
	return REFLECTOR_BROKEN;
}

/* client.h maps 504 to -EREMOTEIO like every other 5xx; the Status tells them apart. */
static bool is_too_large(const struct kube_response *response)
{
	struct api_status status;
	bool found;

	if (response->status != 504 || response->body_len > STATUS_MAX)
		return false;
	if (json_map_read(api_status_map, response->body, response->body_len, &status, NULL) < 0)
		return false;
	found = says_too_large(status.message);
	json_map_done(api_status_map, &status);
	return found;
}

enum reflector_event reflector_classify(int result, const struct kube_response *response,
					const struct err *err)
{
	if (result == 0)
		return REFLECTOR_ENDED;
	switch (err->code) {
	case -ESTALE:
		return REFLECTOR_GONE;
	case -ENOENT:
		return REFLECTOR_ABSENT;
	case -EACCES:
		return REFLECTOR_DENIED;
	case -EREMOTEIO:
		return is_too_large(response) ? REFLECTOR_TOO_LARGE : REFLECTOR_FAILED;
	case -EAGAIN:
	case -EIO:
	case -ETIMEDOUT:
		return REFLECTOR_FAILED;
	default:
		return REFLECTOR_BROKEN;
	}
}

struct reflector_query reflector_query(const struct reflector *r)
{
	struct reflector_query query = { 0 };

	if (r->state == REFLECTOR_STREAMING) {
		query.resource_version = r->version;
		query.timeout_s = r->timeout_s;
	} else if (r->next_page) {
		query.continue_ = r->next_page;
		query.limit = r->page;
	} else if (r->quorum) {
		query.limit = r->whole ? 0 : r->page;
	} else if (r->version) {
		/* With a limit, the API server would read from etcd instead of its cache. */
		query.resource_version = r->version;
		query.resource_version_match = "NotOlderThan";
	} else {
		query.resource_version = "0";
		query.limit = r->page;
	}
	return query;
}
