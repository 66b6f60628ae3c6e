/*
 * registration_fsm: what to do next about a registration at kubelet.sock, and when. No I/O.
 *
 *	            TIMER, CAME                OK
 *	 WAITING ----------------> CALLING ---------> REGISTERED
 *	    ^  ^                    |   | ^               |   |
 *	    |  +--- FAILED ---------+   +-+ CAME          |   |
 *	    |                           ^                 |   |
 *	    |                           +---- CAME -------+   |
 *	    +------------------------------------- AGAIN -----+
 *
 *	 CALLING ---CLEARED---> CLEARING ---TIMER---> CALLING
 */
#pragma once

#include <stdint.h>

#include "kube/backoff.h"

enum registration_event {
	REGISTRATION_TIMER,   /* the wait is over                              */
	REGISTRATION_CAME,    /* a kubelet that we have not registered at      */
	REGISTRATION_OK,      /* it took us                                    */
	REGISTRATION_FAILED,  /* it refused, or did not answer in time */
	REGISTRATION_AGAIN,   /* it has forgotten us: it has no stream open */
	REGISTRATION_CLEARED, /* a stream of before had to be ended first   */
	REGISTRATION_NEVENTS,
};

enum registration_act {
	REGISTRATION_ILLEGAL, /* cannot happen */
	REGISTRATION_NOTHING,
	REGISTRATION_CALL,   /* drop what is under way, then call Register   */
	REGISTRATION_WAIT,   /* start the timer with registration_fsm.wait_ms */
	REGISTRATION_REPORT, /* that it is done                              */
};

enum registration_step {
	REGISTRATION_STEP_WAITING,
	REGISTRATION_STEP_CALLING,
	REGISTRATION_STEP_CLEARING, /* a kubelet that lives notices the end meanwhile */
	REGISTRATION_STEP_REGISTERED,
	REGISTRATION_NSTEPS,
};

enum {
	REGISTRATION_CALL_MS = 10000,     /* timeout of Register, ... */
	REGISTRATION_DEADLINE_MS = 20000, /* ... and the kubelet hears of a later deadline      */
	REGISTRATION_SOON_MS = 2,         /* a new kubelet's socket is bound before it listens */
	REGISTRATION_CLEAR_MS = 50,       /* until a kubelet has noticed the end of a stream   */
	REGISTRATION_FIRST_MS = 50,       /* the first wait, without its jitter, ...           */
	REGISTRATION_MAX_MS = 10000,      /* ... and the longest                               */
	REGISTRATION_CALM_MS = 60000,     /* without a failure: the next is the first          */
};

struct registration_fsm {
	enum registration_step step;
	struct backoff backoff;
	uint64_t wait_ms;
	uint64_t quick_ms; /* the next of the short waits, which double; 0: there is none */
};

/* Waiting; the first event is a TIMER. */
void registration_fsm_init(struct registration_fsm *fsm);

/* The kubelet has only just made its socket: should the call fail, try again soon. CAME does this,
 * too. */
void registration_fsm_hurry(struct registration_fsm *fsm);

/* @random: 64 random bits, for the wait. */
enum registration_act registration_fsm_next(struct registration_fsm *fsm,
					    enum registration_event event, uint64_t now_ms,
					    uint64_t random);
