/*
 * offer: one resource offered to the kubelet: served on a socket and registered, both repeated as
 * often as needed, until it is withdrawn.
 *
 * The socket gets a new name each time: a kubelet uses it to distinguish the plugins of one
 * resource.
 */
#pragma once

#include <stdbool.h>

#include "agent/plugin/plugin_event.h"

struct device_list;
struct device_type;
struct offer;
struct plugin_socket_maker;
struct registration_deps;

/* All borrowed except the texts, which are copied, and the list, which is referenced. */
struct offer_settings {
	const struct registration_deps *deps;
	struct plugin_socket_maker *sockets;
	const char *resource;
	const struct device_type *type;
	void *type_arg;
	struct device_list *list;
	struct checkpoint *checkpoint; /* NULL: none */
	plugin_event_fn *fn;           /* REGISTERED, WAITING, ALLOCATED, NOT_ALLOCATED */
	void (*withdrawn)(void *arg, struct offer *offer);
	void *arg; /* of both */
};

/* Begin, from the loop: nothing is called before this returns. */
struct offer *offer_new(const struct offer_settings *settings);

/* Without a word to the kubelet; its metrics are dropped. Takes NULL, returns NULL. The loop must
 * run once more. */
struct offer *offer_free(struct offer *offer);

void offer_update(struct offer *offer, struct device_list *list);

/* As plugin_send_again(). */
bool offer_send_again(const struct offer *offer);

/* Tell the kubelet that there are no devices any more, and stop. `withdrawn` is called once, after
 * at most PLUGIN_STOP_MS and never before this returns; it frees the offer. A second call changes
 * nothing. */
void offer_withdraw(struct offer *offer);

/* Show its metrics: one that went may have made room for them. */
void offer_show(const struct offer *offer);

const char *offer_resource(const struct offer *offer);
const struct device_type *offer_type(const struct offer *offer);
bool offer_is_withdrawn(const struct offer *offer);

/* Does the kubelet have the device @id of it on its list, as healthy? */
bool offer_lists(const struct offer *offer, const char *id);
