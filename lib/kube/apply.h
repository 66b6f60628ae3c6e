/*
 * apply: writes of one object: server-side apply, patch, create and delete. Never PUT.
 *
 * For our own kinds, fields that the installed CRD does not define are refused (ERR_RETRY, see
 * answer.h).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "kube/client.h"

struct api_kind;

struct apply_request {
	const struct api_kind *kind;
	const char *name;
	const char *subresource;   /* "status"; NULL: the main resource */
	const char *field_manager; /* one per program and role */
	/* take fields over from others; only for fields that no other manager may own */
	bool force;
	const json_t *object; /* the fields we own; apiVersion, kind and name are filled in */
};

/* Server-side apply. @done is called as for kube_client_send(); the response's body is the
 * updated object. */
struct kube_call *apply_send(struct kube_client *client, const struct apply_request *request,
			     kube_done_fn *done, void *arg);

/*
 * The same by JSON merge patch: fields that are null in the object are removed, whichever manager
 * owns them. Server-side apply cannot do that: it removes the fields we owned and keeps those that
 * others wrote. A list (finalizers) is replaced as a whole. @request->force is ignored.
 *
 * metadata.resourceVersion in the object is a precondition: -ESTALE (409, ERR_CONFLICT) if the
 * object has changed since or another object now has the name; -ENOENT (404) if it is gone.
 * metadata.uid alone is not a precondition: another object's uid gives -EINVAL (422), and a status
 * patch does not check it at all. Without a resourceVersion the patch applies to whatever object
 * has the name.
 */
struct kube_call *apply_merge(struct kube_client *client, const struct apply_request *request,
			      kube_done_fn *done, void *arg);

/*
 * Create the object. No field is owned by server-side apply, so users' changes are kept. -EEXIST
 * (409) if an object of that name exists. @request->subresource and force are ignored.
 */
struct kube_call *apply_create(struct kube_client *client, const struct apply_request *request,
			       kube_done_fn *done, void *arg);

struct delete_request {
	const struct api_kind *kind;
	const char *name;
	const char *uid;     /* delete only the object with this uid; NULL: any */
	const char *version; /* delete only at this resourceVersion; NULL: at any */
};

/* -ENOENT (404) is reported as an error; most callers treat it as success. */
struct kube_call *apply_delete(struct kube_client *client, const struct delete_request *request,
			       kube_done_fn *done, void *arg);
