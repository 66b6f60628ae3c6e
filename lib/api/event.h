/* event: core/v1 Event. Times are in timefmt.h's format; event_time is a MicroTime. */
#pragma once

#include "api/kind.h"
#include "api/meta.h"

struct event_object {
	char *api_version;
	char *kind;
	char *name;
	char *namespace_;
	char *uid;
	char *resource_version;
};

struct event_source {
	char *component;
	char *host;
};

struct event {
	struct api_meta meta;
	struct event_object involved_object;
	struct event_source source;
	char *type; /* "Normal" or "Warning" */
	char *reason;
	char *message;
	char *action;
	int64_t count;
	char *first_timestamp;
	char *last_timestamp;
	char *event_time;
	char *reporting_component;
	char *reporting_instance;
};

extern const struct api_kind event_kind;
