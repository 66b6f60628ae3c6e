/* grpc_probe_plugin: the device plugin that grpc-probe serves, and a kubelet's podresources. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "grpc/server.h"

enum { PLUGIN_STREAMS_MAX = 16, PLUGIN_NMETHODS = 8 };

/* The handlers' argument. */
struct plugin {
	struct grpc_call *watches[PLUGIN_STREAMS_MAX]; /* NULL: free */
	uint64_t ndevices;
	uint64_t pad;
	struct str pods; /* what podresources lists: a message */
};

extern const struct grpc_method plugin_methods[PLUGIN_NMETHODS];

/* Tell all streams of so many devices, with @pad more bytes in each ID. */
void plugin_list(struct plugin *plugin, uint64_t ndevices, uint64_t pad);

/* One line on standard output. */
void probe_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
