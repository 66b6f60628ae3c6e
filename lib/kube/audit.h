/*
 * audit: records who did what to which device: one log line each, and an event on the device.
 *
 *	level=info msg=audit action=bind result=Done user=alice kind=PCIDevice device=n-000001000
 *	 node=n ...
 *
 * Audit lines are written at every --log-level. The fields and their order are those of
 * docs/audit.md; empty fields are left out. People search for these lines and ship them, so names
 * and meanings must not change. Events name neither users nor pods, because other people may read
 * events (events.h).
 */
#pragma once

#include <stdbool.h>

struct clock;
struct events;
struct events_about;

enum {
	AUDIT_TEXT_MAX = 1024,      /* bytes per field; longer values are cut and end in "..." */
	AUDIT_QUOTA_TEXT_MAX = 256, /* the same for a line with a quota; a name has at most 253 */
	AUDIT_QUOTA_BURST = 500,    /* lines at once, then one every AUDIT_QUOTA_REFILL_MS */
	AUDIT_QUOTA_REFILL_MS = 1000,
	AUDIT_QUOTA_TOLD_MS = 60 * 1000, /* the count is logged with the next line, or after this */
};

/* All strings are borrowed. NULL leaves the field out. */
struct audit {
	const char *action; /* "bind" */
	const char *result; /* "Done", "Refused", or as binder_result_text() */
	const char *user;   /* the API server's name of the requesting user, or the claim's owner */
	const char *owner;  /* the claim's owner, if @user is the requesting user */
	const char *kind;   /* kind of the object @device: "PCIDevice" */
	const char *device; /* the object's name */
	const char *node;
	const char *ns; /* namespace of @pod and @vm */
	const char *pod;
	const char *container;
	const char *resource; /* the resource name under which the device was allocated */
	const char *reason;   /* CamelCase, as in conditions; also the event's reason */
	const char *message;
	const char *vm;       /* the virtual machine that requests the device */
	const char *verified; /* "true" or "false": is it known that an API server sent it? */
	bool warning;         /* log level warning, event type Warning */
};

/* The result for an event with @reason: "Held", "Stuck" or "Failed" (for reasons ending in
 * "Failed", DriverLost and Unhealthy), else "Refused". "Done" if it is not a warning. */
const char *audit_result(const char *reason, bool warning);

void audit_log(const struct audit *audit);

/* Write the log line and record an event on @about; the event needs a reason and a message. No
 * event if @events or its meta is NULL. */
void audit_record(struct events *events, const struct events_about *about,
		  const struct audit *audit);

/*
 * Limits lines that anybody can cause, who could otherwise fill the disk or have other lines
 * rotated away. Omitted lines are counted, and the count is logged in a line of its own.
 */
struct audit_quota;

struct audit_quota *audit_quota_new(struct clock *clock);
/* Logs the remaining count. Takes NULL, returns NULL. */
struct audit_quota *audit_quota_free(struct audit_quota *quota);

/* Write the line unless the quota is used up; with NULL the same as audit_log(). */
void audit_quota_log(struct audit_quota *quota, const struct audit *audit);
