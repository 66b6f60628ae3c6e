/*
 * fake_reconcile: stands between kinds and lib/kube/reconcile.c, and asserts what the head of
 * reconcile.h promises, of whatever kinds a test has:
 *
 *  - plan() is asked only by a program that leads, with all that is needed there, at most
 *    RECONCILE_STEPS_MAX times in a run, and not while the kind acts;
 *  - plan() does not see a cache that is behind what the API server has answered in the last
 *    ECHOES_MS, nor after an act what is older than a change of the object meanwhile;
 *  - what plan() is told to be an answer of the API server is one, of that object;
 *  - plan() depends on its view alone: asked twice, it decides the same;
 *  - an act is on what the API server has returned in this run, and no older than what the watch
 *    has shown;
 *  - a step has been done when the API server has answered so; the event comes after that, once.
 *
 * What concerns a request alone (preconditions, finalizers) fake_server asserts. A test that
 * includes unit/kube/random_life.h is linked so that calls of reconcile.h come here first.
 */
#pragma once

struct fake_server;

/* Reconciles that are made from now on are looked at, until they are freed. */
void fake_reconcile_begin(void);
/* No more are; all have been freed. */
void fake_reconcile_end(void);
/* Of the bodies that one of them decides on, only their presence is compared: they have new keys. */
void fake_reconcile_allow_random_bodies(void);
/* Their API server, or one of them. */
void fake_reconcile_listen(struct fake_server *server);
