/*
 * session: one API server, asked one thing after the other: for commands that run and end.
 *
 * Owns the loop, the client and its configuration. The loop turns inside session_ask() and session_wait()
 * only; who lives on the loop himself takes session_loop() and session_client().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/client.h"
#include "kube/config.h"

struct err;
struct session;
struct uv_loop_s;

struct session_settings {
	const char *kubeconfig; /* NULL: where kubectl looks           */
	const char *context;    /* NULL: the kubeconfig's current one  */
	struct kube_config_flags flags;
	uint64_t timeout_ms; /* of one request; 0: as long as it likes */
	/* How long a program may take that the kubeconfig names for credentials, which asks nobody then; 0: as
	 * long as it likes, and it may ask. */
	uint64_t login_ms;
};

/* Finds the configuration; the API server is not asked yet. */
int session_new(const struct session_settings *settings, struct session **ret_session,
		struct err *err);
/* Takes NULL, returns NULL. Calls in flight are given up. */
struct session *session_free(struct session *session);

struct uv_loop_s *session_loop(struct session *session);
struct kube_client *session_client(struct session *session);

/* "https://127.0.0.1:6443", for messages. */
const char *session_server(const struct session *session);

/* From now on everything that is asked has to end within @ms, all of it together, and fails with -ETIMEDOUT
 * after that; 0: no such end. */
void session_set_end(struct session *session, uint64_t ms);
/* Is that time over? */
bool session_late(const struct session *session);

/* From now on SIGINT and SIGTERM end whatever the session waits for, with -EINTR, instead of the
 * process. */
void session_catch_signals(struct session *session);
/* Has one come? */
bool session_interrupted(const struct session *session);

/* What came back; text and all, the caller's to release with session_answer_done(). */
struct session_answer {
	int status; /* HTTP's; 0 when none came */
	char *body;
	size_t len;
	char *warnings; /* one a line; "" if there are none */
};
void session_answer_done(struct session_answer *answer);
#define auto_answer __attribute__((cleanup(session_answer_done)))

/* Ask, and wait for the answer; when the API server asks for it, again a few times. Results as of a kube_done_fn, and -EINTR; @ret_answer is filled in either
 * case and holds nothing before. */
int session_ask(struct session *session, const struct kube_request *request,
		struct session_answer *ret_answer, struct err *err);

/* Has the API server asked to come again (429, 503), and not in too long? Then that time has passed, and
 * *@tries is one more. @err as of a kube_done_fn. */
bool session_again(struct session *session, int result, const struct err *err, unsigned *tries);

/* What the API server said about an error, in full (err.msg is short); NULL if it is no Status. The
 * caller frees. */
char *session_answer_message(const struct session_answer *answer);

/* Turn the loop until *@pending is 0: 0, or -EINTR. */
int session_run(struct session *session, const size_t *pending);

/* Let time pass: 0, or -EINTR. */
int session_wait(struct session *session, uint64_t ms);

/* The time that one request may take, within what is left of session_set_end(); never 0. */
uint64_t session_timeout_ms(const struct session *session);
