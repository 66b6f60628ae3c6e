/* fetch: reads of one object, past every cache. */
#pragma once

#include <stdbool.h>

#include "kube/client.h"

struct api_kind;

/*
 * Read @name as it is now: a quorum read, because no resourceVersion is asked for (with "0" the API
 * server may answer from a cache that is behind). @done as kube_client_send() calls it; the response's
 * body is the object. -ENOENT (404): there is none.
 */
struct kube_call *fetch_object(struct kube_client *client, const struct api_kind *kind,
			       const char *name, kube_done_fn *done, void *arg);

/* Does a 404 say that there is no @name? One that does not name it says that the path is not served;
 * what is done on that word could not be undone. */
bool fetch_says_gone(const struct kube_response *response, const char *name);
