/*
 * uevent_socket: the kernel's uevents on the loop.
 *
 * Owns one NETLINK_KOBJECT_UEVENT socket. Messages that do not come from the kernel are dropped.
 */
#pragma once

#include <stdbool.h>

#include "agent/look/uevent.h"

struct err;
struct uevent_socket;
struct uv_loop_s;

/* A hint; @lost says that messages were lost (ENOBUFS) and everything may have changed. Never runs
 * before uevent_socket_new() has returned. */
typedef void uevent_socket_fn(void *arg, enum uevent_hint hint, bool lost);

/* Listen. Errors: -EPERM and the other errnos of socket and bind; the caller goes on with its
 * periodic scan then. The receive buffer is made large where the process may (8 MiB with
 * CAP_NET_ADMIN; the default holds 166 messages). */
int uevent_socket_new(struct uv_loop_s *loop, uevent_socket_fn *fn, void *arg,
		      struct uevent_socket **ret_socket, struct err *err);

/* Takes NULL, returns NULL; the memory goes when the loop has run the close callback. */
struct uevent_socket *uevent_socket_free(struct uevent_socket *s);
