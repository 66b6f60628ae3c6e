/*
 * session: one API server, and one request after the other, for commands that run and end.
 *
 * Owns the loop, the client and its configuration. The loop runs only inside session_ask() and
 * session_wait(). Code with handles of its own on the loop uses session_loop() and
 * session_client().
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
	uint64_t timeout_ms; /* of one request; 0: no limit */
	/* Time limit of a credential plugin of the kubeconfig, which then cannot ask the user;
	 * 0: no limit, and it may ask. */
	uint64_t login_ms;
};

/* Load the configuration. No request is sent yet. */
int session_new(const struct session_settings *settings, struct session **ret_session,
		struct err *err);
/* Takes NULL, returns NULL. Requests in flight are cancelled. */
struct session *session_free(struct session *session);

struct uv_loop_s *session_loop(struct session *session);
struct kube_client *session_client(struct session *session);

/* "https://127.0.0.1:6443", for messages. */
const char *session_server(const struct session *session);

/* From now on all requests together must end within @ms; later ones fail with -ETIMEDOUT. 0: no
 * such limit. */
void session_set_end(struct session *session, uint64_t ms);
/* Is there such a limit? */
bool session_has_end(const struct session *session);
/* Is that time over? */
bool session_late(const struct session *session);

/* From now on SIGINT and SIGTERM end the current wait with -EINTR, instead of the process. */
void session_catch_signals(struct session *session);
/* From now on the first signal ends no request and no wait, but prints @notice; a second one ends
 * them. For requests that belong together. NULL: the first one ends them again. Signals must be
 * caught. */
void session_hold_signals(struct session *session, const char *notice);
/* Has a signal arrived? */
bool session_interrupted(const struct session *session);

/* The answer to a request. The caller releases it with session_answer_done(). */
struct session_answer {
	int status; /* of HTTP; 0: there was no answer */
	char *body;
	size_t len;
	char *warnings; /* one a line; "" if there are none */
};
void session_answer_done(struct session_answer *answer);
#define auto_answer __attribute__((cleanup(session_answer_done)))

/* Send a request and wait for the answer. Repeats it a few times if the API server asks for
 * that. Results are those of a kube_done_fn, and -EINTR. @ret_answer is empty before, and filled
 * in either case. */
int session_ask(struct session *session, const struct kube_request *request,
		struct session_answer *ret_answer, struct err *err);

/* The result of a request, which failed with @err if it is < 0. -EPERM: the caller may not
 * impersonate the user of --as, so every request fails; @err then says that. */
int session_judge(int result, struct err *err);

/* Has the API server asked to repeat the request (429, 503) after a time that is not too long?
 * Then wait for that time and increment *@tries. @err is that of a kube_done_fn. */
bool session_again(struct session *session, int result, const struct err *err, unsigned *tries);

/* The whole message of the API server about an error (err.msg is short); NULL if the answer is
 * no Status. The caller frees. */
char *session_answer_message(const struct session_answer *answer);

/* Have the API server answer a question about the caller: create @body, an object of @resource
 * ("selfsubjectreviews") in version v1 of @group, which is not stored. As session_ask(). */
int session_review(struct session *session, const char *group, const char *resource,
		   const char *body, struct session_answer *ret_answer, struct err *err);

/* The user name of the caller, as the API server says; NULL: not known. The caller of this function
 * frees it. */
char *session_caller(struct session *session);

/* Run the loop until *@pending is 0: 0, or -EINTR. */
int session_run(struct session *session, const size_t *pending);

/* Sleep on the loop: 0, or -EINTR. */
int session_wait(struct session *session, uint64_t ms);

/* The time limit of one request, within what is left of session_set_end(); never 0. */
uint64_t session_timeout_ms(const struct session *session);
