/* impersonate: acting as somebody else, by headers of every request, if the API server lets us. Pure. */
#pragma once

#include "api/json_values.h"

struct err;
struct kube_as;

/* One value of userInfo.extra[@key] more. */
void impersonate_extra(struct kube_as *as, const char *key, const char *value);

/* Is it something that can be asked? Not without a user, and no value may break out of its header. */
int impersonate_check(const struct kube_as *as, struct err *err);

/* Append "Impersonate-User: jane" and the like; nothing without a user. */
void impersonate_headers(const struct kube_as *as, struct json_strs *headers);
