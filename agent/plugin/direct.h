/*
 * direct: registers one resource at the kubelet's own socket (agent/plugin/registration.h). Ties
 * registration_fsm to the clock, the kubelet's socket and gRPC.
 *
 * The kubelet opens its stream only once and drops all sockets of its folder when it starts, so the
 * call is repeated at every kubelet.
 */
#pragma once

#include "agent/plugin/registration.h"

struct direct;

/* Like registration_new(), but all of @ops are set. Reports every failure, even the same one
 * twice. */
struct direct *direct_new(const struct registration_deps *deps, const char *resource,
			  const char *socket_path, const struct registration_ops *ops, void *arg);
/* Takes NULL, returns NULL. */
struct direct *direct_free(struct direct *direct);

void direct_again(struct direct *direct);
