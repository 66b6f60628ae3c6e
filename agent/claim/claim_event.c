#include "agent/claim/claim_event.h"

#include "agent/claim/claims.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "base/log.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/store.h"

void claim_event_tell(const struct claims_deps *deps, const struct claim_event *event)
{
	const struct pcidevice *device = store_object(informer_store(deps->devices), event->name);
	struct events_about about = { .kind = &pcideviceclaim_kind };

	log_write(event->warning ? LOG_WARN : LOG_INFO, "claim",
		  (const struct log_field[]){ log_str("claim", event->name),
					      log_str("reason", event->reason),
					      log_str("message", event->message),
					      { 0 } });
	if (event->claim)
		about.meta = &event->claim->meta;
	else if (device)
		about = (struct events_about){ &pcidevice_kind, &device->meta };
	if (about.meta)
		events_record(deps->events, &about, event->warning ? EVENTS_WARNING : EVENTS_NORMAL,
			      event->reason, "%s", event->message);
}
