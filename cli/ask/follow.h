/*
 * follow: the objects that a command needs, kept equal to the API server's by watches, for commands that go on.
 *
 * Owns the informers; lives on the session's loop, which turns in session_wait(). What cannot be read is tried again and
 * again, as watches are.
 */
#pragma once

#include <stdbool.h>

struct cluster;
struct follow;
struct lists_want;
struct session;

/* Nothing is asked before the loop turns. @want is read now. */
struct follow *follow_new(struct session *session, const struct lists_want *want);
/* Takes NULL, returns NULL. */
struct follow *follow_free(struct follow *follow);

/* Has something changed since the last call that returned true? False until every kind is read or has failed once. */
bool follow_changed(struct follow *follow);

/* Put copies of all objects into @cluster, which is empty. */
void follow_fill(const struct follow *follow, struct cluster *cluster);

/* What keeps a kind from being up to date, of those that the cluster has and the caller may read; "": nothing. Valid until
 * the loop turns. */
const char *follow_error(const struct follow *follow);
