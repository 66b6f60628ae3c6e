/*
 * apply: writes of one object: server-side apply, patch, create and delete. Nothing here PUTs.
 *
 * Of our own kinds, fields that the cluster's definition does not have are refused (ERR_RETRY: see answer.h).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "kube/client.h"

struct api_kind;

struct apply_request {
	const struct api_kind *kind;
	const char *name;
	const char *subresource;   /* "status"; NULL: the object itself */
	const char *field_manager; /* one per program and role          */
	bool force;           /* take fields over from others: only for what nobody else may own */
	const json_t *object; /* what we own of it; apiVersion, kind and name are filled in      */
};

/* @done as kube_client_send() calls it; the response's body is the object as it now is. */
struct kube_call *apply_send(struct kube_client *client, const struct apply_request *request,
			     kube_done_fn *done, void *arg);

/*
 * The same by JSON merge patch: fields that are null in the object go, whoever owns them.
 * Server-side apply cannot do that: it removes what we owned and leaves what others wrote. A list
 * (finalizers) is replaced whole. @request->force does not count.
 *
 * metadata.resourceVersion in the object is a precondition: -ESTALE (409, ERR_CONFLICT) when it is
 * another state of the object by now, or another object of that name; -ENOENT (404) when it is
 * gone. metadata.uid alone is none: another object's is -EINVAL (422), and for a status it is not
 * even looked at. Without a resourceVersion the patch is made on whatever is there.
 */
struct kube_call *apply_merge(struct kube_client *client, const struct apply_request *request,
			      kube_done_fn *done, void *arg);

/*
 * Make a new object of it, whose fields nobody owns by server-side apply: what users change stays
 * theirs. -EEXIST (409) if there is one of that name. @request->subresource and force do not count.
 */
struct kube_call *apply_create(struct kube_client *client, const struct apply_request *request,
			       kube_done_fn *done, void *arg);

struct delete_request {
	const struct api_kind *kind;
	const char *name;
	const char *uid;     /* delete only this incarnation; NULL: any         */
	const char *version; /* delete only if unchanged since; NULL: whatever  */
};

/* -ENOENT (404) is an error like any other; most callers take it for success. */
struct kube_call *apply_delete(struct kube_client *client, const struct delete_request *request,
			       kube_done_fn *done, void *arg);
