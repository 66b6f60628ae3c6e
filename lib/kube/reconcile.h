/*
 * reconcile: makes the objects of one kind what they should be: a queue of keys, the cache of an
 * informer, writes, events and metrics. A kind decides; this does what is decided.
 *
 * One run for one key: ask plan() for the next single step, do it, ask again, until it says REST
 * or a step fails. The queue repeats failed runs by the kind of their error (workq_run.h). Nothing
 * is remembered between two runs but which answers the cache does not show yet (expectations.h).
 *
 * Invariants, asserted where that is possible:
 *  - one run per key at a time; plan() is asked again after every step, at most
 *    RECONCILE_STEPS_MAX times in a run; then the run ends and the key waits RECONCILE_AGAIN_MS;
 *  - plan() sees the cache only when all that it needs is there, which is asked before each step,
 *    and only when the cache shows what the API server has answered;
 *  - ACT, and a patch that removes a finalizer, are done only on what the API server itself has
 *    returned in this run (view.fresh); of a digest, so is every patch of finalizers. If plan()
 *    decides on one of them before, the object is read in its place, and plan() is asked again;
 *    likewise if the watch has shown a later object than that answer;
 *  - a write is an apply, or creates, or carries uid and resourceVersion of what plan() saw;
 *  - while a kind acts, its key has no other run; the status may say what the act waits for;
 *  - nothing that is older than a change of the object during an act is believed after the act: the
 *    run ends, and the key is run again;
 *  - an event is recorded once, after the step that it belongs to has succeeded;
 *  - a program that does not lead plans nothing, and so writes nothing: leads() is asked before
 *    each step;
 *  - an unchanged world gives no write: plan() depends on its view alone, and no patch is empty.
 * The order of enqueues, changes and lists does not matter.
 *
 * docs/add-a-kind.md shows a whole kind.
 *
 * The kinds, and what each needs beside PATCH and PATCH_STATUS:
 *
 *	USBDeviceClaim           before(): gives the device's node back; ACT
 *	PCIDeviceClaim           ACT, and a status during it: reconcile_report(); is_ours() without
 *	                         an object, for a record that is left; failure, for a transition
 *	                         that is tried again; before() and after() for failpoints and audit
 *	SRIOVNetworkDevice       CREATE, DELETE, ACT; an object without our label that CREATE finds;
 *	                         after() for audit, rested() for what is remembered of tasks
 *	SRIOVGPUDevice, VGPUDevice, MigConfiguration
 *	                         likewise, a reconcile each, which run side by side; ACT also for
 *	                         a question to nvidia-smi
 *	PCIDeviceClaims of vGPUs CREATE, DELETE; is_settled(): neither they nor the vGPUs are
 *	                         decided on while the other kind's cache is behind
 *	PCIDevice, USBDevice, MediatedDevice, MediatedDeviceParent
 *	                         a reconcile each, which share a queue; APPLY, APPLY_STATUS, DELETE;
 *	                         plan() sees the answer of an apply: the status follows a new
 *	                         object, and nulls follow an apply that left fields of others
 *	                         (view.last); after() for the audit of allocations
 *	HostDeviceConfig         APPLY_STATUS, field_manager per node; again_ms spreads the agents
 *	DevicePool               CREATE, DELETE; leads(); quiet_ms: many changes make one write.
 *	                         Objects are digests: events need an answer
 *	claims, for the controller
 *	                         DELETE; leads(); the text of a READ, since a digest is too little
 *	                         to patch
 *	Node, for the agent      PATCH of annotations; APPLY that yields, of labels
 *	Node                     ACT that is done at once: what a node that is gone has left is
 *	                         enqueued elsewhere; ACT that is a write of the HostDeviceConfig
 *	KubeVirt, VirtualMachine keys "namespace/name"; the text of a READ, for what has no struct
 *	Secret and webhook configurations
 *	                         APPLY, of the configurations with resourceVersion in the body;
 *	                         leads(); insists. READ and CREATE are not used: their roles name
 *	                         the object, and have no get. The Secret's body has new keys: plan()
 *	                         does not decide on the same body twice
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct api_kind;
struct clock;
struct entry;
struct events;
struct informer;
struct json_text;
struct kube_client;
struct metrics;
struct reconcile;
struct reconcile_queue;
struct store;
struct str;

enum {
	RECONCILE_STEPS_MAX = 16,
	RECONCILE_AGAIN_MS = 2000, /* also between looks whether the kind is installed by now */
};

enum step {
	STEP_REST,         /* as it should be, or waits for a change             */
	STEP_CREATE,       /* post body; -EEXIST: read what is there             */
	STEP_PATCH,        /* merge body into the object                         */
	STEP_PATCH_STATUS, /* merge body into its status                         */
	STEP_APPLY,        /* apply body, taking fields over from others         */
	STEP_APPLY_STATUS, /* apply body as the status, likewise                 */
	STEP_DELETE,       /* delete the object as it was seen                   */
	STEP_READ,         /* read the object                                    */
	STEP_ACT,          /* have the kind's act() do something                 */
};

/* All that is known of one key. Borrowed, for the call. */
struct reconcile_view {
	const char *key;     /* the object's name, or "namespace/name": as the informer has it  */
	const void *object;  /* the newest: of an answer in this run, else of the cache; NULL:  */
			     /* there is none                                                   */
	const char *uid;     /* of it                                                           */
	const char *version; /* of it                                                           */
	bool fresh;          /* the API server itself has said so in this run                   */
	bool hidden;         /* CREATE has found it, though the cache does not show it          */
	enum step last;      /* the step that this run has done before; REST: none. An apply    */
			     /* that others' fields outlive is not to be decided on again       */
	bool acting;         /* of reconcile_report(): PATCH_STATUS without an event, or REST   */
	/* What @object has been read from, if it is fresh; else NULL */
	const struct json_text *text;
	int64_t now_wall_ms;
};

/* What to do next; {0} is REST. All of it is the reconcile's to release. */
struct decision {
	enum step step;
	int detail;          /* the kind's own word for the step, for its callbacks and the log  */
	json_t *body;        /* of a write: patch.h                                              */
	const char *manager; /* of the write, outlives it; NULL: the spec's field_manager       */
	bool yields;         /* APPLY: not if another manager has a field: that is -ESTALE       */
	uint64_t again_ms;   /* REST: run again after this; 0: not before a change               */
	struct err failure;  /* REST: the run fails with this; kind ERR_NONE: it does not        */
	void *job;           /* the kind's own, for act() and its other callbacks                */
	void (*job_free)(void *job);

	/* An event on the object that goes with the step; NULL reason: none. Of a digest only if it
	 * is fresh. */
	bool warning;
	char *event_reason;
	char *event_message;
};

/* What a kind is. Copied; what it points to is borrowed and outlives the reconcile. */
struct reconcile_spec {
	const char *name;              /* of the queue, in logs and metrics: "usbdeviceclaims"  */
	struct reconcile_queue *queue; /* NULL: one of its own, of max_running and metrics     */
	const char *prefix;            /* of the keys in a queue that is shared: "p/"          */
	const struct api_kind *kind;
	const struct informer *objects;      /* of the kind; NULL: an informer of its own    */
	const struct informer *const *needs; /* other lists that must be there; NULL ends it,
						and may be NULL                              */
	/* Of an informer of its own, which enqueues what changes, and all keys of the first
	 * list. */
	const char *label_selector; /* during reconcile_new(); NULL: none                       */
	const char *field_selector; /* likewise                                                */
	/* What the kind does about a change beside that, and about the first list; as struct
	 * informer_handlers has them. May be NULL. */
	void (*on_change)(void *arg, const char *key, const struct entry *before,
			  const struct entry *after);
	void (*on_synced)(void *arg);
	const char *field_manager;
	size_t max_running; /* keys at a time */
	uint64_t quiet_ms;  /* from a change of an object to its run: many changes make one run */
	bool insists; /* what is refused as invalid is tried again: it may be allowed later  */

	/* Is all there that is no list, such as an inventory? May be NULL. */
	bool (*is_ready)(void *arg);
	/* Is this program the leader, which writes, of several that run? Keys are dropped while it
	 * is not; enqueue all keys when it becomes the leader. NULL: it is. */
	bool (*leads)(void *leads_arg);
	void *leads_arg;
	/* Has this program to do with the key? @object NULL: there is none. NULL: with every object
	 * that is there. */
	bool (*is_ours)(void *arg, const char *key, const void *object);
	/* The next step. Pure: it writes nothing but @ret_decision, which is {0}. */
	void (*plan)(void *arg, const struct reconcile_view *view, struct decision *ret_decision);
	/* A step is about to be done, and has been done; @view is what it was decided on. Not of a
	 * REST. May be NULL. */
	void (*before)(void *arg, const struct reconcile_view *view,
		       const struct decision *decision);
	void (*after)(void *arg, const struct reconcile_view *view,
		      const struct decision *decision);
	/* Begin @decision->job. True: reconcile_acted() or reconcile_failed() will be called, not
	 * before this has returned. False: it is done, or cannot be done now; the run ends, and the
	 * kind enqueues the key when there is more to decide. NULL: the kind never decides on
	 * ACT. */
	bool (*act)(void *arg, const struct reconcile_view *view, const struct decision *decision);
	/* A run has come to rest, by @decision; NULL: the key is not ours, and @object is NULL
	 * then, too. May be NULL. */
	void (*rested)(void *arg, const char *key, const void *object,
		       const struct decision *decision);
	void *arg;

	struct kube_client *client;
	struct clock *clock;
	struct events *events;   /* NULL: none */
	struct metrics *metrics; /* may be NULL */
};

/* A queue that several reconciles share, each by a prefix of its own that no other begins with: so
 * many keys run at a time of all of them together. @name is static; @metrics may be NULL. */
struct reconcile_queue *reconcile_queue_new(const char *name, size_t max_running,
					    struct clock *clock, struct metrics *metrics);
/* Its reconciles are freed before. Takes NULL, returns NULL. */
struct reconcile_queue *reconcile_queue_free(struct reconcile_queue *queue);
/* True when nothing runs and nothing waits to be run. */
bool reconcile_queue_is_idle(const struct reconcile_queue *queue);

struct reconcile *reconcile_new(const struct reconcile_spec *spec);
/* Cancels calls under way; acts under way are to end without a word. No callback runs
 * any more. Takes NULL, returns NULL. */
struct reconcile *reconcile_free(struct reconcile *reconcile);

/* Start its own informer. No callback runs before. */
void reconcile_start(struct reconcile *reconcile);
/* The cache of its objects, whoever's informer fills it. */
const struct store *reconcile_store(const struct reconcile *reconcile);
/* Is the list of its objects there? If not, the reason is appended to @reason (may be NULL), if the
 * informer is its own. */
bool reconcile_is_synced(const struct reconcile *reconcile, struct str *reason);

/* Run @key, once all that is needed is there. */
void reconcile_enqueue(struct reconcile *reconcile, const char *key);
/* The same in @delay_ms, unless the key is to be run before that. */
void reconcile_enqueue_after(struct reconcile *reconcile, const char *key, uint64_t delay_ms);
/* The same for every object of the cache that is ours. Does nothing before all needs are synced:
 * the caller that syncs the last one calls this. */
void reconcile_enqueue_all(struct reconcile *reconcile);

/* The object @key changed in the cache: to be called for each change that an informer of others
 * reports. Runs it, after spec.quiet_ms. */
void reconcile_changed(struct reconcile *reconcile, const char *key);

/* Does the cache show all that is known of @key, and is nothing under way for it? What decides on
 * this kind's objects for another kind asks before. */
bool reconcile_is_settled(const struct reconcile *reconcile, const char *key);

/* The act of @key has ended: its run goes on, unless the object has changed meanwhile. */
void reconcile_acted(struct reconcile *reconcile, const char *key);
/* It has failed: its run ends with @err, by whose kind it is repeated. For acts whose failures the
 * kind does not remember; others end as acted, and plan() gives the failure. */
void reconcile_failed(struct reconcile *reconcile, const char *key, const struct err *err);

/* While the kind acts on @key: have its status say what the act waits for. plan() is asked with
 * view.acting. When the act ends before the answer, after() is called at once, and the next step
 * waits for the answer, whose version it needs. Does nothing if the kind does not act on @key, or
 * such a status is being written. */
void reconcile_report(struct reconcile *reconcile, const char *key);
