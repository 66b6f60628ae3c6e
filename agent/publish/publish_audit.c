#include "agent/publish/publish_audit.h"

#include <stdbool.h>
#include <stddef.h>

#include "api/json_map.h"
#include "api/kind.h"
#include "api/pcidevice.h"
#include "base/mem.h"
#include "kube/audit.h"
#include "kube/events.h"

json_t *publish_audit_list(const struct pcidevice_allocations *list)
{
	json_t *json = json_array();

	for (size_t i = 0; list && i < list->len; i++)
		json_array_append_new(json,
				      json_map_encode(pcidevice_allocation_map, &list->items[i]));
	return json;
}

static bool has(const json_t *list, const json_t *item)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (json_equal(json_array_get(list, i), item))
			return true;
	}
	return false;
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* The pod has its name in the line alone: see events.h. */
static void tell(const struct publish_audit *about, const json_t *item, const char *resource,
		 bool given)
{
	auto_free char *message = resource && given ? xasprintf("given to a pod as %s", resource)
						    : xstrdup("given to a pod");

	audit_record(about->events, &(struct events_about){ about->kind, about->meta },
		     &(struct audit){
			     .action = given ? "allocate" : "free",
			     .result = "Done",
			     .user = about->user,
			     .kind = about->kind->kind,
			     .device = about->name,
			     .node = about->node_name,
			     .ns = text_of(item, "namespace"),
			     .pod = text_of(item, "pod"),
			     .container = text_of(item, "container"),
			     .resource = resource,
			     .reason = given ? "Allocated" : "Freed",
			     .message = given ? message
					      : "no pod's any more: the one that had it has ended",
		     });
}

void publish_audit_tell(const struct publish_audit *audit, const json_t *before,
			const json_t *status)
{
	const json_t *after = json_object_get(status, "allocations");
	const char *resource = text_of(status, "resourceName");

	for (size_t i = 0; i < json_array_size(before); i++) {
		if (!has(after, json_array_get(before, i)))
			tell(audit, json_array_get(before, i), resource, false);
	}
	for (size_t i = 0; i < json_array_size(after); i++) {
		if (!has(before, json_array_get(after, i)))
			tell(audit, json_array_get(after, i), resource, true);
	}
}
