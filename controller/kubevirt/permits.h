/*
 * permits: keeps our entries in permittedHostDevices of every KubeVirt that there is.
 *
 * A second after the first change, so that many make one write, the object is read past every cache
 * and planned on (permit_plan). What somebody else has written in between makes the write a conflict,
 * and the object is read again.
 */
#pragma once

struct kubevirt_ties;
struct permits;

/* @ties outlive the permits. */
struct permits *permits_new(const struct kubevirt_ties *ties);
/* Takes NULL, returns NULL. */
struct permits *permits_free(struct permits *permits);

/* What is offered has changed: run every KubeVirt. */
void permits_enqueue_all(struct permits *permits);
/* Run the KubeVirt @name ("namespace/name"). */
void permits_enqueue(struct permits *permits, const char *name);
/* The KubeVirt @name has changed, as its informer reports. */
void permits_on_change(struct permits *permits, const char *name);
