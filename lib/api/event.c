#include "api/event.h"

static const struct json_row object_map[] = {
	JSON_STR(struct event_object, api_version, "apiVersion", JSON_OPTIONAL),
	JSON_STR(struct event_object, kind, "kind", JSON_OPTIONAL),
	JSON_STR(struct event_object, name, "name", JSON_OPTIONAL),
	JSON_STR(struct event_object, namespace_, "namespace", JSON_OPTIONAL),
	JSON_STR(struct event_object, uid, "uid", JSON_OPTIONAL),
	JSON_STR(struct event_object, resource_version, "resourceVersion", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row source_map[] = {
	JSON_STR(struct event_source, component, "component", JSON_OPTIONAL),
	JSON_STR(struct event_source, host, "host", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row map[] = {
	API_META(struct event),
	JSON_STRUCT(struct event, involved_object, "involvedObject", JSON_ALWAYS,
		    struct event_object, object_map),
	JSON_STRUCT(struct event, source, "source", JSON_OPTIONAL, struct event_source, source_map),
	JSON_STR(struct event, type, "type", JSON_OPTIONAL),
	JSON_STR(struct event, reason, "reason", JSON_OPTIONAL),
	JSON_STR(struct event, message, "message", JSON_OPTIONAL),
	JSON_STR(struct event, action, "action", JSON_OPTIONAL),
	JSON_INT(struct event, count, "count", JSON_OPTIONAL),
	JSON_STR(struct event, first_timestamp, "firstTimestamp", JSON_OPTIONAL),
	JSON_STR(struct event, last_timestamp, "lastTimestamp", JSON_OPTIONAL),
	JSON_STR(struct event, event_time, "eventTime", JSON_OPTIONAL),
	JSON_STR(struct event, reporting_component, "reportingComponent", JSON_OPTIONAL),
	JSON_STR(struct event, reporting_instance, "reportingInstance", JSON_OPTIONAL),
	JSON_END,
};

const struct api_kind event_kind = {
	.group = "",
	.version = "v1",
	.kind = "Event",
	.plural = "events",
	.ns = "default", /* namespace of events about cluster-scoped objects */
	.size = sizeof(struct event),
	.map = map,
};
