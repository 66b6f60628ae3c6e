/* fetch: reads one object from the API server, not from a cache. */
#pragma once

#include <stdbool.h>

#include "kube/client.h"

struct api_kind;
struct err;

/*
 * Read the current state of @name. This is a quorum read, because no resourceVersion is given (with
 * "0" the API server may answer from its cache, which may be stale). @done is called as for
 * kube_client_send(); the response's body is the object. -ENOENT (404): it does not exist.
 */
struct kube_call *fetch_object(struct kube_client *client, const struct api_kind *kind,
			       const char *name, kube_done_fn *done, void *arg);

/* Decode the object of @kind in a successful response: *@ret_object, which the caller frees with
 * api_object_free(). < 0: the response is not such an object. */
int fetch_decode(const struct api_kind *kind, const struct kube_response *response,
		 void **ret_object, struct err *err);

/* True if a 404 says that @name does not exist. A 404 without the name says that the path is not
 * served; acting on that as if the object were gone could not be undone. */
bool fetch_says_gone(const struct kube_response *response, const char *name);
