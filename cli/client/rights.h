/* rights: what the caller may do with devices, as far as the API server can list it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/model/cluster.h"

struct err;
struct json_strs;
struct rights;
struct session;

/* A SelfSubjectRulesReview. Some authorizers cannot list their rules: then everything counts as
 * allowed, and the request itself shows whether it is. */
int rights_read(struct session *session, struct rights **ret_rights, struct err *err);

/* From the review's JSON. Pure. */
int rights_parse(const char *text, size_t len, struct rights **ret_rights, struct err *err);

/* Takes NULL, returns NULL. */
struct rights *rights_free(struct rights *rights);

/* May the caller do @verb with the device @name of the kind @resource ("pcidevices")? @rights NULL:
 * yes. Pure. */
bool rights_allow(const struct rights *rights, const char *resource, const char *name,
		  const char *verb);

/* Add the names on which @verb is granted one by one. Pure. */
void rights_names(const struct rights *rights, const char *resource, const char *verb,
		  struct json_strs *names);

/* May the caller claim the devices with these @names, joined by blanks? @rights as
 * rights_allow(). Pure. */
bool rights_claim(const struct rights *rights, enum device_type type, const char *names);

/* How the caller can claim the device @name: a sentence with the command, or with what it lacks.
 * @rest: the names of the other functions in its IOMMU group that are to be claimed as well,
 * joined by blanks; "": not known; NULL: none. The caller frees. Pure. */
char *rights_how(const struct rights *rights, enum device_type type, const char *name,
		 const char *rest);
