/*
 * pod: rule for pods with spec.nodeName, which bypass the scheduler. Pure.
 *
 * A kubelet ignores a resource that it does not know: a pod bound to a node without the resource
 * runs there without the device and without an error (removeMissingExtendedResources() of
 * pkg/kubelet/lifecycle/predicate.go, 1.34).
 */
#pragma once

struct rule_case;

/* Warns; refuses if known.refuse_pinned is set and it is not a mirror pod. A warning is also
 * recorded as an event of the pod. */
void pod_create(const struct rule_case *c);
