#include "agent/claim/claim_audit.h"

#include <stddef.h>
#include <string.h>

#include "agent/binder/binder.h"
#include "agent/claim/claim_plan.h"
#include "agent/node/this_node.h"
#include "agent/task/task_line.h"
#include "api/json_values.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "base/mem.h"
#include "kube/audit.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/reconcile.h"
#include "kube/store.h"

/* What to record of a function. Borrowed. */
struct record {
	const char *name; /* of its PCIDevice        */
	const char *user; /* for whom; NULL: no user */
	bool release;
	const char *result;
	const char *reason;
	const char *message;
	bool warning;
};

static void record_audit(const struct this_node *node, const struct record *record)
{
	const struct pcidevice *device =
		store_object(informer_store(node->devices[INVENTORY_PCI]), record->name);

	audit_record(node->events,
		     &(struct events_about){ &pcidevice_kind, device ? &device->meta : NULL },
		     &(struct audit){
			     .action = record->release ? "release" : "bind",
			     .result = record->result,
			     .user = record->user,
			     .kind = pcidevice_kind.kind,
			     .device = record->name,
			     .node = node->name,
			     .reason = record->reason,
			     .message = record->message,
			     .warning = record->warning,
		     });
}

/* Of the last attempt, if that is what the event is about. */
static const char *result_of(const struct decision *decision, const struct claim_attempt *last)
{
	const struct task_outcome *outcome = last->outcome;

	if (decision->warning && outcome && outcome->reason &&
	    strcmp(outcome->reason, decision->event_reason) == 0)
		return task_result_text(outcome->result);
	return audit_result(decision->event_reason, decision->warning);
}

static void record_bound(const struct this_node *node, const struct reconcile_view *view,
			 const char *message)
{
	const struct pcideviceclaim *claim = view->object;

	record_audit(node, &(struct record){
				   .name = view->key,
				   .user = claim->spec.user_name,
				   .result = task_result_text(TASK_DONE),
				   .reason = "Bound",
				   .message = message,
			   });
	events_record(node->events, &(struct events_about){ &pcideviceclaim_kind, &claim->meta },
		      EVENTS_NORMAL, "Bound", "%s", message);
}

void claim_audit_step(const struct this_node *node, const struct reconcile_view *view,
		      const struct decision *decision, const char *bound,
		      const struct claim_attempt *last)
{
	const struct pcideviceclaim *claim = view->object;

	if (bound)
		record_bound(node, view, bound);
	if (!decision->event_reason)
		return;
	record_audit(node, &(struct record){
				   .name = view->key,
				   .user = claim->spec.user_name,
				   .release = claim->meta.deletion_timestamp &&
					      strcmp(decision->event_reason, "Bound") != 0,
				   .result = result_of(decision, last),
				   .reason = decision->event_reason,
				   .message = decision->event_message,
				   .warning = decision->warning,
			   });
}

/* Does the status of a claim say what became of the device @name? */
static bool has_claim(const struct this_node *node, const struct reconcile_view *view,
		      const char *name)
{
	if (strcmp(name, view->key) == 0)
		return view->object != NULL;
	return store_get(informer_store(node->claims[INVENTORY_PCI]), name) != NULL;
}

/* What the helper saw of a function at the end of the last transition. NULL: nothing. */
static const struct binder_seen *seen_after(const struct claim_attempt *last, const char *address)
{
	for (size_t i = 0; last->outcome && i < last->seen->len; i++) {
		if (strcmp(last->seen->items[i].address, address) == 0)
			return &last->seen->items[i];
	}
	return NULL;
}

static char *moved_message(const struct claim_attempt *last, const struct binder_function *f,
			   bool release)
{
	const struct binder_seen *seen = seen_after(last, f->address);

	if (!release)
		return xasprintf("bound to %s for the claim %s", f->driver, f->claim);
	if (!seen)
		return xasprintf("%s was released", f->address);
	return seen->driver ? xasprintf("%s is back on %s", f->address, seen->driver)
			    : xasprintf("%s has no driver now", f->address);
}

void claim_audit_moved(const struct this_node *node, const struct reconcile_view *view,
		       const struct binder_job *job, const struct claim_attempt *last)
{
	const struct pcideviceclaim *claim = view->object;
	bool release = job->verb == BINDER_RELEASE;

	for (size_t i = 0; i < job->len; i++) {
		const struct binder_function *f = &job->items[i];
		auto_free char *name = names_pcidevice(node->name, f->address);
		auto_free char *message = moved_message(last, f, release);

		if (!has_claim(node, view, name))
			record_audit(node, &(struct record){
						   .name = name,
						   .user = claim ? claim->spec.user_name : NULL,
						   .release = release,
						   .result = task_result_text(TASK_DONE),
						   .reason = release ? "Released" : "Bound",
						   .message = message,
					   });
	}
}

void claim_audit_on_demand(const struct this_node *node, const struct json_strs *addresses,
			   const char *to)
{
	auto_free char *message = xasprintf("bound for the %s, on demand", to);

	for (size_t i = 0; i < addresses->len; i++) {
		auto_free char *name = names_pcidevice(node->name, addresses->items[i]);

		record_audit(node, &(struct record){ .name = name,
						     .result = task_result_text(TASK_DONE),
						     .reason = "Bound",
						     .message = message });
	}
}
