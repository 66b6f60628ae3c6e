/*
 * audit: who did what to which device: one line each in the log, and an event on the device.
 *
 *	level=info msg=audit action=bind result=Done user=alice kind=PCIDevice device=n-000001000 node=n ...
 *
 * Lines are written whatever --log-level says. Their fields are those of docs/audit.md, in that order, without those
 * that have nothing to say: people search for them and ship them, so that names and meanings stay. Events name neither
 * users nor pods, since other people may read those (events.h).
 */
#pragma once

#include <stdbool.h>

struct clock;
struct events;
struct events_about;

enum {
	AUDIT_TEXT_MAX = 1024,      /* bytes of a field; longer ones are cut, with "..."          */
	AUDIT_QUOTA_TEXT_MAX = 256, /* likewise, of a line with a quota; a name has 253 at most   */
	AUDIT_QUOTA_BURST = 500,    /* lines at once, then one in AUDIT_QUOTA_REFILL_MS           */
	AUDIT_QUOTA_REFILL_MS = 1000,
	AUDIT_QUOTA_TOLD_MS = 60 * 1000, /* at the latest; sooner with the next line */
};

/* Borrowed. NULL: nothing to say. */
struct audit {
	const char *action; /* "bind"                                                       */
	const char *result; /* "Done", "Refused", or as binder_result_text()                */
	const char *user;   /* the API server's name of who asked, or whose the claim is    */
	const char *owner;  /* whose the claim is, where @user is who asked                 */
	const char *kind;   /* of the object @device: "PCIDevice"                           */
	const char *device; /* its name                                                     */
	const char *node;
	const char *ns; /* of @pod and @vm */
	const char *pod;
	const char *container;
	const char *resource; /* as which the device was given */
	const char *reason;   /* CamelCase, as in conditions; also the event's */
	const char *message;
	const char *vm;       /* the virtual machine that asks for the device               */
	const char *verified; /* "true", "false": is it known that an API server has asked? */
	bool warning;         /* somebody should look at it */
};

/* The result that an event with @reason stands for: "Held", "Stuck" and "Failed" (of reasons that end so, DriverLost and Unhealthy), else
 * "Refused"; "Done" if it is no warning. */
const char *audit_result(const char *reason, bool warning);

/* Write the line. */
void audit_log(const struct audit *audit);

/* Likewise, and record the event, which needs a reason and a message, on @about. @events or its meta may be NULL: there
 * is no event. */
void audit_record(struct events *events, const struct events_about *about,
		  const struct audit *audit);

/*
 * The quota of lines that anybody can cause, who might else fill the disk and have the others rotated away. What is left
 * out is counted, and told in a line of its own.
 */
struct audit_quota;

struct audit_quota *audit_quota_new(struct clock *clock);
/* Tells what is still to be told. Takes NULL, returns NULL. */
struct audit_quota *audit_quota_free(struct audit_quota *quota);

/* Write the line, if the quota has one left; with NULL as audit_log(). */
void audit_quota_log(struct audit_quota *quota, const struct audit *audit);
