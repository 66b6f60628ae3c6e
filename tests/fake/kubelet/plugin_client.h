/*
 * plugin_client: the messages of the device plugin API as a kubelet reads and writes them: the other
 * side of agent/plugin/plugin_codec.h, with the same rules.
 */
#pragma once

#include "agent/plugin/plugin_codec.h"

struct plugin_listed_device {
	char *id;
	char *health;
	int64_t numa_node; /* -1: none */
};

/* A ListAndWatchResponse. */
struct plugin_listed {
	struct plugin_listed_device *items;
	size_t len, cap;
};

int plugin_codec_read_options(const char *data, size_t len, struct plugin_options *ret_options,
			      struct err *err);
int plugin_codec_read_list(const char *data, size_t len, struct plugin_listed *ret_list,
			   struct err *err);
int plugin_codec_read_allocations(const char *data, size_t len,
				  struct plugin_allocations *ret_response, struct err *err);
int plugin_codec_read_preferred(const char *data, size_t len, struct plugin_ids *ret_response,
				struct err *err);

int plugin_codec_write_allocate(const struct plugin_ids *request, struct str *out, struct err *err);
int plugin_codec_write_preferences(const struct plugin_preferences *request, struct str *out,
				   struct err *err);

void plugin_listed_done(struct plugin_listed *list);
