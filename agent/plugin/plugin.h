/*
 * plugin: serves one resource on one socket, as the kubelet's device plugin API wants it.
 *
 * Does not register it anywhere (agent/plugin/registration.h). The program ignores SIGPIPE.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct clock;
struct device_list;
struct device_type;
struct err;
struct json_strs;
struct plugin;
struct uv_loop_s;

enum {
	PLUGIN_STREAMS_MAX = 16,
	PLUGIN_STOP_MS = 1000, /* how long a kubelet that does not read may delay a stop */
};

/* What happened; no call of these comes before plugin_new() has returned. */
struct plugin_ops {
	/* A stream of ListAndWatch was ended from the other side; @left: how many there still are;
	 * @kubelets: it was the kubelet's. May free the plugin. */
	void (*on_stream_closed)(void *arg, size_t left, bool kubelets);
	/* The devices @ids were allocated to a container. Does not free the plugin. */
	void (*on_allocated)(void *arg, const struct json_strs *ids);
	/* An Allocate of the devices @ids was refused; of a request that cannot be read there are
	 * none. Does not free the plugin. */
	void (*on_refused)(void *arg, const struct json_strs *ids, const struct err *err);
	/* The kubelet has opened its stream, and gets the list on it. May be NULL. Does not free
	 * the plugin. */
	void (*on_kubelet)(void *arg);
};

struct plugin_settings {
	struct uv_loop_s *loop;
	struct clock *clock;
	const char *socket_path;        /* copied */
	const char *resource;           /* copied */
	const struct device_type *type; /* borrowed, and its arg */
	void *type_arg;
	struct device_list *list;      /* referenced */
	struct checkpoint *checkpoint; /* the kubelet's, borrowed; NULL: none */
	const struct plugin_ops *ops;  /* borrowed, and its arg */
	void *arg;
};

/* Serve: when this returns, a kubelet can connect. Errors are those of grpc_uv_server_new(). */
int plugin_new(const struct plugin_settings *settings, struct plugin **ret_plugin, struct err *err);

/* Cancel all calls, remove the socket if it is still ours. Takes NULL, returns NULL. The loop must
 * run once more. */
struct plugin *plugin_free(struct plugin *plugin);

/* Set the list (referenced). Send it on every open stream, unless it equals the last one; a slow
 * stream gets only the newest list. */
void plugin_update(struct plugin *plugin, struct device_list *list);

/* Send the kubelet the list that it has: it then writes its checkpoint (agent/plugin/checkpoint.h).
 * False: its stream is not open. */
bool plugin_send_again(const struct plugin *plugin);

/*
 * Withdraw the resource: every stream gets an empty list and ends, and no call is accepted any
 * more. @stopped is called once, after this returns, when all connections are gone or after
 * PLUGIN_STOP_MS; it frees the plugin. Call this once; no other callback is called afterwards.
 */
void plugin_stop(struct plugin *plugin, void (*stopped)(void *arg), void *arg);

/* The kubelet is about to get the socket's path: the next ListAndWatch stream whose connection
 * first asks for the options belongs to the kubelet; until there is one, the next stream. */
void plugin_await_kubelet(struct plugin *plugin);

/* Is the kubelet's stream open? */
bool plugin_has_kubelet(const struct plugin *plugin);

/* Does the kubelet have a stream, on which the device @id was sent as healthy? */
bool plugin_lists(const struct plugin *plugin, const char *id);

/* If the kubelet's stream is open, close all connections, without callbacks for their streams. True
 * if it was open. Not from within a call. */
bool plugin_hang_up(struct plugin *plugin);

/* How many streams of ListAndWatch are open. */
size_t plugin_streams(const struct plugin *plugin);
