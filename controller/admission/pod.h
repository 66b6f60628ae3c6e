/*
 * pod: the rule of pods that name their node, which the scheduler does not look at. Pure.
 *
 * A kubelet takes no notice of a resource that it does not know: a pod that names a node without the
 * resource runs there without the device, and nobody says so (removeMissingExtendedResources() of
 * pkg/kubelet/lifecycle/predicate.go, 1.34).
 */
#pragma once

struct rule_case;

/* Warns, or refuses where known.refuse_pinned says so and it is no mirror pod; what it warns of is an event of the
 * pod as well. */
void pod_create(const struct rule_case *c);
