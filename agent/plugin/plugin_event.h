/* plugin_event: events for the owner of the plugins. */
#pragma once

struct err;
struct json_strs;

enum plugin_event_kind {
	PLUGIN_REGISTERED,    /* the kubelet took the resource                                   */
	PLUGIN_LISTED,        /* it has opened its stream, and gets the list of devices */
	PLUGIN_WAITING,       /* it is not served or not registered yet; that goes on being tried */
	PLUGIN_ALLOCATED,     /* devices were allocated to a container */
	PLUGIN_NOT_ALLOCATED, /* an Allocate was refused: a pod failed                           */
	PLUGIN_REFUSED,       /* a device, or a whole resource, is left out of what is offered   */
	PLUGIN_WITHDRAWN,     /* the kubelet got an empty list of devices */
};

/* Valid during the call. */
struct plugin_event {
	enum plugin_event_kind kind;
	const char *type; /* the device type's name */
	const char *resource;
	const char *id;              /* REFUSED: the device; NULL: the whole resource */
	const struct json_strs *ids; /* ALLOCATED and NOT_ALLOCATED, in the order of the request */
	const struct err *err;       /* WAITING, NOT_ALLOCATED, REFUSED               */
};

/* Must not change the object that calls it. */
typedef void plugin_event_fn(void *arg, const struct plugin_event *event);
