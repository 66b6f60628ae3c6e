/*
 * fake_client: kube/client.h without a network. Records requests; the test answers them, fails them
 * or streams lines to them, one by one, oldest first.
 *
 * A test that includes this gets it in place of the real client.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/client.h"

struct fake_request {
	char *verb;
	char *method;
	char *path;
	char *content_type; /* NULL without a body */
	char *body;         /* "" without one      */
	uint64_t timeout_ms;
	bool stream;
};

struct kube_client *fake_client_new(void);

/* Requests so far; those that wait for an answer. */
size_t fake_client_sent(const struct kube_client *client);
size_t fake_client_open(const struct kube_client *client);

/* The oldest open request; asserts that there is one. Valid until it ends. */
const struct fake_request *fake_client_request(const struct kube_client *client);

/* The oldest open request whose path contains @part comes next. */
void fake_client_choose(struct kube_client *client, const char *part);

/* The oldest that is no stream, or the oldest stream whose path contains @part, comes next. False:
 * there is none. */
bool fake_client_choose_call(struct kube_client *client);
bool fake_client_choose_stream(struct kube_client *client, const char *part);

/* End the oldest open request with an HTTP status, as client.h says it ends then. */
void fake_client_answer(struct kube_client *client, int status, const char *body);
void fake_client_answer_later(struct kube_client *client, int status, const char *body,
			      uint64_t retry_after_ms);

/* End it without an answer: -EIO, -ETIMEDOUT. */
void fake_client_fail(struct kube_client *client, int code);

/* The oldest open request is answered from now on, with nothing yet. */
void fake_client_begin(struct kube_client *client);

/* Give the oldest open request, a stream, one line. A result < 0 has ended it. */
int fake_client_line(struct kube_client *client, const char *line);
