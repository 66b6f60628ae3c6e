/*
 * client_wire: one curl multi handle with its connections, tied to a libuv loop. A part of
 * client_curl.c, for nobody else.
 *
 * In the normal case a wire is one HTTP/2 connection that carries everything.
 */
#pragma once

#include <stdbool.h>

#include <curl/curl.h>
#include <uv.h>

#include "kube/liveness.h"

/* What wires need of their owner, and count for it. */
struct wire_env {
	uv_loop_t *loop;
	unsigned handles;                    /* libuv's, not closed yet                          */
	unsigned inside;                     /* curl is on the stack: it must not be entered now */
	void (*after)(struct wire_env *env); /* curl has done something and has returned */
	void (*gone)(struct wire_env *env);  /* the last handle is closed                */
};

struct wire {
	struct wire_env *env;
	struct wire *next;
	CURLM *multi;
	uv_timer_t timer; /* curl's */
	struct liveness liveness;
	unsigned transfers; /* the owner counts */
	bool retired;       /* takes no new transfers           */
	bool broken;        /* and all that is on it is to end  */
	bool http1;         /* seen to speak it                 */
};

/* The wire for new transfers: the first of *@list, or a new one ahead of it if that is retired. */
struct wire *wire_current(struct wire_env *env, struct wire **list);

/* Something came on it. Its sockets notice that by themselves, but for what curl reads right after it
 * has written: the owner tells of answers. */
void wire_heard(struct wire *wire);

/* Close the retired wires that nobody is on any more. Calls nobody back; while curl is on the stack
 * it does nothing. */
void wire_sweep(struct wire_env *env, struct wire **list);

/* Closes its connections and, once libuv lets go of it, its memory. No transfer is on it. */
void wire_close(struct wire *wire);

/* One of the handles counted in @env is closed. */
void wire_env_unref(struct wire_env *env);
