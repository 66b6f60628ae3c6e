/*
 * permits: keeps our entries in permittedHostDevices of every KubeVirt.
 *
 * A second after the first change, so that many changes make one write, the object is read from the
 * API server and planned (permit_plan). If somebody else writes in between, the write fails with a
 * conflict and the object is read again.
 */
#pragma once

struct kubevirt_ties;
struct permits;

/* @ties must outlive the permits. */
struct permits *permits_new(const struct kubevirt_ties *ties);
/* Takes NULL, returns NULL. */
struct permits *permits_free(struct permits *permits);

/* The offered resources have changed: enqueue every KubeVirt. */
void permits_enqueue_all(struct permits *permits);
/* Enqueue the KubeVirt @name ("namespace/name"). */
void permits_enqueue(struct permits *permits, const char *name);
/* The KubeVirt @name has changed, as reported by its informer. */
void permits_on_change(struct permits *permits, const char *name);
