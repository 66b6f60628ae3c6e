/*
 * follow: the objects that a command needs, kept up to date by watches, for commands that keep
 * running.
 *
 * Owns the informers; runs on the session's loop, which runs inside session_wait(). A kind that
 * cannot be read is tried again, as watches are.
 */
#pragma once

#include <stdbool.h>

struct cluster;
struct follow;
struct lists_want;
struct session;

/* No request is sent before the loop runs. @want is copied. */
struct follow *follow_new(struct session *session, const struct lists_want *want);
/* Takes NULL, returns NULL. */
struct follow *follow_free(struct follow *follow);

/* Has something changed since the last call that returned true? False until every kind is read or
 * has failed once. */
bool follow_changed(struct follow *follow);

/* Put copies of all objects into @cluster, which is empty. */
void follow_fill(const struct follow *follow, struct cluster *cluster);

/* Why a kind is not up to date, of the kinds that the cluster has and the caller may read; "":
 * all are. Valid until the loop runs. */
const char *follow_error(const struct follow *follow);
