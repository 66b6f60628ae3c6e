/* rights: what the caller may do with devices, as far as the API server can list it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

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
