/* impersonate: user impersonation by request headers. Pure. */
#pragma once

#include "api/json_values.h"

struct err;
struct kube_as;

/* Add a value to userInfo.extra[@key]. */
void impersonate_extra(struct kube_as *as, const char *key, const char *value);

/* Check that impersonation has a user and that no value can break out of its header. */
int impersonate_check(const struct kube_as *as, struct err *err);

/* Append "Impersonate-User: jane" and related headers; none without a user. */
void impersonate_headers(const struct kube_as *as, struct json_strs *headers);
