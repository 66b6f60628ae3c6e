/*
 * claim_audit: the audit records of the PCI functions of a node that were bound or released, and of
 * claims that were refused or hindered (kube/audit.h).
 */
#pragma once

struct binder_job;
struct claim_attempt;
struct decision;
struct json_strs;
struct reconcile_view;
struct this_node;

/* A step of the claim @view was written: record the event of @decision. @bound (NULL: none) says
 * that the device is bound now, for a step whose event says something else; it also gets an event
 * of its own. @last is the claim's last attempt. */
void claim_audit_step(const struct this_node *node, const struct reconcile_view *view,
		      const struct decision *decision, const char *bound,
		      const struct claim_attempt *last);

/* The transition @last of the claim @view has done @job: record the functions that have no claim of
 * their own, because the status of no claim says what became of them. */
void claim_audit_moved(const struct this_node *node, const struct reconcile_view *view,
		       const struct binder_job *job, const struct claim_attempt *last);

/* The functions @addresses were bound for @to, "ResourceClaim default/nic". */
void claim_audit_on_demand(const struct this_node *node, const struct json_strs *addresses,
			   const char *to);
