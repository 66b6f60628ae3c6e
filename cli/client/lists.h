/*
 * lists: the objects that a command needs, read from the API server into a cluster, all kinds at
 * once and in pages.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/model/cluster.h"

struct err;
struct session;
struct str;

enum {
	LISTS_PAGE = 500,
	LISTS_OBJECTS_MAX = 500000, /* of one kind: more than any cluster has */
};

struct lists_want {
	unsigned kinds; /* CLUSTER_SET()s; of these */
	/* May be refused to the caller, or not be served: ret_missing says so */
	unsigned optional;
	const char *node; /* only this node and its devices; NULL: all. Claims are not limited */
	const char *selector; /* devices and pools with these labels, and their claims; NULL: all */
	const char *user; /* as whose IOMMU groups are judged; NULL: the caller's               */
};

/* The optional kinds that could not be read, and why. */
struct lists_missing {
	unsigned kinds;
	unsigned forbidden; /* of these: not readable; the others do not exist */
	bool events;        /* not readable; set by the code that reads events */
	char why[CLUSTER_KINDS][240];
};

/* The label and field selectors by which @want limits the list of @kind; NULL: none. The caller
 * frees both. Pure. */
void lists_select(const struct lists_want *want, enum cluster_kind kind, char **ret_labels,
		  char **ret_fields);

/* Fill @cluster. @ret_missing may be NULL. The error is the first one of a kind that is not
 * optional. */
int lists_read(struct session *session, const struct lists_want *want, struct cluster *cluster,
	       struct lists_missing *ret_missing, struct err *err);

/* Fill @cluster, which has the ResourceSlices, with @kinds, a set, that only matter where hostdev
 * offers devices by DRA: the ResourceClaims of all namespaces, DeviceClasses. Without slices of
 * hostdev nothing is read, as no claim has a device of its. What is refused is added to
 * @missing. */
int lists_read_dra(struct session *session, unsigned kinds, struct cluster *cluster,
		   struct lists_missing *missing, struct err *err);

/* Append one line, without a line break, that names the kinds and events that the caller may not
 * read: "user 'ann' may not list pcidevices, nodes; ...". Appends nothing if there are none.
 * Pure. */
void lists_forbidden_text(const struct lists_missing *missing, unsigned kinds, struct str *to);

/* The user in a message such as: User "ann" cannot list resource ...; NULL: it names none, or is
 * not about that right but about impersonation. The caller frees. Pure. */
char *lists_forbidden_user(const char *message);

/* Append "user 'ann' may not list WHAT (403 forbidden)", with the user whom @message of the API
 * server names; NULL: none. Pure. */
void lists_add_forbidden(const char *what, const char *message, struct str *to);

/* The error for a list of @plural that the API server refuses with @message: it names the user, and
 * the role that allows it. Pure. */
int lists_denied(const char *plural, const char *message, struct err *err);

/* 0 if the kinds that every version of hostdev has are there, as far as they were asked for: without
 * PCIDeviceClaims, it is being installed or removed, and nothing can be claimed. */
int lists_installed(const struct lists_missing *missing, struct err *err);

/* 0 if hostdev is installed and the caller may read at least one kind of devices. */
int lists_check(const struct lists_missing *missing, struct err *err);

/* Read the object @name of @kind into @cluster. -ENOENT: there is none. */
int lists_read_one(struct session *session, enum cluster_kind kind, const char *name,
		   struct cluster *cluster, struct err *err);
