#include "agent/claim/claim_event.h"

#include <stddef.h>

#include "agent/claim/claims.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "kube/audit.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/store.h"

void claim_event_tell(const struct claims_deps *deps, const struct claim_event *event)
{
	const struct pcideviceclaim *claim = event->claim;
	const struct pcidevice *device = store_object(informer_store(deps->devices), event->name);

	audit_record(deps->events,
		     &(struct events_about){ &pcidevice_kind, device ? &device->meta : NULL },
		     &(struct audit){
			     .action = event->release ? "release" : "bind",
			     .result = event->result,
			     .user = event->user ? event->user
				     : claim     ? claim->spec.user_name
						 : NULL,
			     .kind = pcidevice_kind.kind,
			     .device = event->name,
			     .node = deps->node_name,
			     .reason = event->reason,
			     .message = event->message,
			     .warning = event->warning,
		     });
	if (claim)
		events_record(deps->events,
			      &(struct events_about){ &pcideviceclaim_kind, &claim->meta },
			      event->warning ? EVENTS_WARNING : EVENTS_NORMAL, event->reason, "%s",
			      event->message);
}
