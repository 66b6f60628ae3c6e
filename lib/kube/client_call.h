/* client_call: one request of a client, from its start to its end. A part of client.c, for nobody else. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/str.h"
#include "kube/client.h"

struct transfer;

struct kube_call {
	struct kube_client *client;
	struct kube_call *next;
	struct kube_call **link; /* what points to us */
	char *verb;
	char *resource;
	char *method;
	char *path;
	char *content_type;
	char *body;
	size_t body_len;
	uint64_t timeout_ms;
	line_fn *on_line; /* NULL: not a stream */
	kube_done_fn *done;
	void *arg;

	struct transfer *transfer; /* NULL: could not be started, or is over */
	struct lines lines;        /* of a stream that goes well     */
	struct str text;           /* the body, or that of an error  */
	struct err err;            /* why we stopped it ourselves    */
	const char *warnings;      /* what came with the answer, while it ends */
	uint64_t start_ms;
	uint64_t proof; /* which of the provider's it went with                  */
	bool waiting;   /* for the provider                                      */
	bool retried;   /* after a 401                                             */
	bool feeding;   /* on_line may be on the stack: the memory must stay        */
	bool cancelled;
	bool ended; /* done is on the stack: too late to cancel                */
};

/* A copy of @request, first in @list. */
struct kube_call *call_new(struct kube_client *client, const struct kube_request *request,
			   struct kube_call **list, uint64_t now_ms);
/* Out of its list. */
void call_unlink(struct kube_call *call);
/* It is out of its list, and nothing of it is on the stack. */
void call_free(struct kube_call *call);
