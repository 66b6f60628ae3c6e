/*
 * dra_request: what a request of a ResourceClaim asks for, as far as its CEL expressions show that
 * without being evaluated, and what it waits for.
 *
 * Only the scheduler evaluates the expressions. Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "cli/model/cluster.h"

struct dra_class;
struct json_strs;
struct resourceclaim;
struct resourceclaim_exactly;

enum { DRA_TYPES = DEVICE_MDEV + 1 };

struct dra_request {
	bool types[DRA_TYPES]; /* of the devices that it might get */
	bool ours;             /* its class or an expression names hostdev's driver or attributes */
	struct str expressions; /* of the request itself */
};

/* @class is its DeviceClass; NULL: not known. dra_request_done() releases what is in
 * *@ret_request. */
void dra_request_read(const struct resourceclaim_exactly *exactly, const struct dra_class *class,
		      struct dra_request *ret_request);
void dra_request_done(struct dra_request *request);

/* "2 devices", "all devices"; for the caller to free. */
char *dra_request_amount(const struct resourceclaim_exactly *exactly);

/* What @request, which was read from @exactly, waits for; for the caller to free. @unread: kinds,
 * a CLUSTER_SET, that could not be read into @cluster. */
char *dra_request_lack(const struct dra_request *request,
		       const struct resourceclaim_exactly *exactly, struct cluster *cluster,
		       unsigned unread);

/* A ResourceClaim that asks for devices of hostdev and is not allocated. */
struct dra_waiting {
	char *ns;
	char *name;
	char *pod;     /* "NAMESPACE/NAME" that it was made for; "": not known */
	char *message; /* what its requests ask for, and what they wait for */
};

struct dra_waitings {
	struct dra_waiting *items;
	size_t len, cap;
};

/* The waiting ResourceClaims of @cluster, by namespace and name; only those of @ns unless it is
 * NULL. Needs its DeviceClasses and ResourceSlices. For dra_waitings_done(). */
void dra_waitings_find(struct cluster *cluster, const char *ns, unsigned unread,
		       struct dra_waitings *ret_waitings);
void dra_waitings_done(struct dra_waitings *waitings);
