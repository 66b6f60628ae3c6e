/*
 * registry: lets the kubelet find one plugin in its plugins_registry folder: that of a resource
 * (agent/plugin/registration.h), or a DRA driver.
 *
 * Owns one socket there. The kubelet asks on it for the plugin's info and reports whether it
 * accepted the plugin. The kubelet connects by itself when it starts; when it only drops the stream
 * of a resource, the socket must be created again. The name of the socket depends on the plugin
 * alone, so it replaces a socket that a crash left, or that of the previous agent in a rolling
 * update. The replaced agent waits until the other is gone.
 */
#pragma once

#include "agent/plugin/registration.h"

struct err;
struct plugin_info;
struct registry;

/* Like registration_new() for the plugin @info (copied), with its socket at @path (copied) in the
 * registry's folder; but all of @ops are set. Reports every failure, even the same one twice. */
struct registry *registry_new(const struct registration_deps *deps, const struct plugin_info *info,
			      const char *path, const struct registration_ops *ops, void *arg);
/* Takes NULL, returns NULL. */
struct registry *registry_free(struct registry *registry);

void registry_again(struct registry *registry);

/* Where the socket for @resource is; the caller frees. What would be too long becomes a hash. */
char *registry_socket_path(const char *dir, const char *resource);

/* Remove the sockets in the folder @dir that earlier agents left, because the kubelet would call
 * them for ever although their resources may not be offered any more. Returns how many; < 0 if the
 * folder cannot be read. */
int registry_sweep(const char *dir, struct err *err);
