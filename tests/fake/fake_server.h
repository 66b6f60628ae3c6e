/*
 * fake_server: an API server with the objects of one kind, behind fake_client: lists, a watch,
 * reads, and writes with preconditions, finalizers and generations. A test serves one request
 * after the other, well or badly, and says when the watch shows what has changed. More kinds join
 * it, which have objects and a watch of their own.
 *
 * Asserts what no program of ours may do: patch or delete without uid and resourceVersion, remove
 * a finalizer from an object that the server has not returned in this state.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct api_kind;
struct fake_server;
struct kube_client;

/* When a watch shows a change that it has not shown. */
enum fake_watch {
	FAKE_WATCH_BY_HAND, /* when fake_server_show() is called */
	FAKE_WATCH_FIRST,   /* before the write is answered      */
	FAKE_WATCH_NEXT,    /* right after that                  */
};

/* A request, and its answer, which is about to be given; borrowed. */
struct fake_asked {
	const struct api_kind *kind;
	const char *method;
	const char *name; /* "": of the collection */
	bool is_status;
	const json_t *body;  /* NULL: none */
	int status;          /* of the answer; 0: there is none                   */
	const char *version; /* of the object that is the answer; "": it is none */
};

typedef void fake_asked_fn(void *arg, const struct fake_asked *asked);

enum fake_fault {
	FAULT_NONE,
	FAULT_NO_ANSWER,  /* nothing was done                              */
	FAULT_LOST,       /* it was done, and the answer does not come     */
	FAULT_TROUBLE,    /* 500                                           */
	FAULT_TOO_MANY,   /* 429                                           */
	FAULT_DENIED,     /* 403                                           */
	FAULT_CONFLICT,   /* 409                                           */
	FAULT_GONE,       /* 410                                           */
	FAULT_TOO_LARGE,  /* the answer passes the limit: it was done      */
	FAULT_STRANGE,    /* 200 with something else                       */
	FAULT_NO_JSON,    /* 200 with no JSON                              */
	FAULT_NO_VERSION, /* 200 with an object without a version          */
	FAULT_ANOTHER,    /* 200 with an object of another name            */
	FAULT_UNREADABLE, /* 200 with the object, which does not decode    */
	FAULT_NOT_SERVED, /* 404 that names nothing                        */
	FAULT_INVALID,    /* 422                                           */
	FAULT_OVERTAKEN,  /* done, but the watch shows a later change first */
	FAKE_FAULTS,
};

struct fake_server *fake_server_new(const struct api_kind *kind);
/* The same for one more kind, by the client of @first, which serves its requests, has them in its
 * log, and frees it unless that was done before. */
struct fake_server *fake_server_join(struct fake_server *first, const struct api_kind *kind);
/* The one of that kind, of @first and those that have joined. */
struct fake_server *fake_server_of(struct fake_server *first, const char *plural);
/* The client is to be freed before. Takes NULL, returns NULL. */
struct fake_server *fake_server_free(struct fake_server *server);
/* A client of it, to be freed by the caller. The same one at each call. */
struct kube_client *fake_server_client(struct fake_server *server);

/* At first by hand. What has not been shown is shown by that, if it is not by hand. */
void fake_server_set_watch(struct fake_server *server, enum fake_watch watch);
/* @on_asked is called for each request of all kinds; not more than two listen. */
void fake_server_listen(struct fake_server *server, fake_asked_fn *on_asked, void *arg);

/* A user creates the object @name, or changes it, by a merge patch; @text has ' for ". */
void fake_server_write(struct fake_server *server, const char *name, const char *text);
void fake_server_delete(struct fake_server *server, const char *name);
/* Somebody changes the status of the object @name, likewise. */
void fake_server_write_status(struct fake_server *server, const char *name, const char *text);
/* The field manager @manager applies this status to the object @name, likewise: status.nodes is a map
 * by "node". */
void fake_server_apply_status(struct fake_server *server, const char *manager, const char *name,
			      const char *text);
/* From now on the server edits each object that a program applies, or the part of it, before it
 * stores it: as one that drops fields or sets some. */
void fake_server_set_edit(struct fake_server *server, void (*edit)(json_t *object));
/* Whoever deletes an object of the kind need not have seen it. */
void fake_server_allow_unseen_deletes(struct fake_server *server);
/* There is the object @name, all of it as @text says, status and uid, too. */
void fake_server_put(struct fake_server *server, const char *name, const char *text);
/* Neither lists nor watch have the object @name from now on, until it gets a label of its node;
 * "": all have. */
void fake_server_hide(struct fake_server *server, const char *name);

/* How many objects there are. */
size_t fake_server_count(const struct fake_server *server);
/* The object; NULL: there is none. */
const json_t *fake_server_get(const struct fake_server *server, const char *name);
/* The text of its member "spec.userName"; "" without it. */
const char *fake_server_text(const struct fake_server *server, const char *name,
			     const char *member);

/* Serve the oldest request that is no watch. False: there is none. */
bool fake_server_serve(struct fake_server *server, enum fake_fault fault);
/* Serve one request, or show one change of any of the kinds. False: there was nothing. */
bool fake_server_step(struct fake_server *server);
/* Let the watch show the next @count changes. False: there was none, or there is no watch. */
bool fake_server_show(struct fake_server *server, size_t count);
/* The same for one change of any of the kinds; @which chooses. */
bool fake_server_show_any(struct fake_server *server, uint64_t which);
/* End the watch; what it has not shown is in the next list. */
void fake_server_end_watch(struct fake_server *server);

/* Requests of objects since the last call, as "PATCH a/status|GET a|", valid until the next; if
 * there are several kinds, "PATCH pods/a|". All changes so far. */
const char *fake_server_log(struct fake_server *server);
size_t fake_server_writes(const struct fake_server *server);
/* The same of all kinds together. */
size_t fake_server_all_writes(const struct fake_server *server);
