/*
 * plugin_codec: the messages of the kubelet's device plugin API as a plugin reads and writes them,
 * from and to C structs. No I/O.
 *
 * Reading: < 0 with *ret untouched: -EBADMSG for bytes that are no such message, -EMSGSIZE for a
 * message that takes too much memory or has more containers than PLUGIN_CONTAINERS_MAX. Release the
 * result with the matching _done. Writing appends to @out: -EMSGSIZE beyond PLUGIN_MESSAGE_MAX,
 * -EINVAL for text that is not UTF-8, which the kubelet could not read; @out is unchanged on an
 * error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/plugin/device_type.h"

struct err;
struct str;

/* One list of IDs per container. */
struct plugin_ids {
	struct json_strs *items;
	size_t len, cap;
};

/* What GetPreferredAllocation asks for one container. */
struct plugin_preference {
	struct json_strs available;
	struct json_strs must_include;
	size_t size;
};

struct plugin_preferences {
	struct plugin_preference *items;
	size_t len, cap;
};

struct plugin_allocations {
	struct allocation *items;
	size_t len, cap;
};

struct plugin_options {
	bool pre_start_required;
	bool preferred_allocation;
};

enum {
	PLUGIN_MESSAGE_MAX = 4 << 20, /* what a kubelet reads */
	PLUGIN_CONTAINERS_MAX = 64,   /* of one request; kubelets ask for one */
};

int plugin_codec_write_options(const struct plugin_options *options, struct str *out,
			       struct err *err);
int plugin_codec_write_list(const struct plugin_device *devices, size_t ndevices, struct str *out,
			    struct err *err);
/* The devices of a PreStartContainerRequest; the caller releases *@ret_ids. */
int plugin_codec_read_start(const char *data, size_t len, struct json_strs *ret_ids,
			    struct err *err);
/* Add the device nodes of the host in a ContainerAllocateResponse. */
int plugin_codec_read_nodes(const char *data, size_t len, struct json_strs *nodes, struct err *err);

int plugin_codec_read_allocate(const char *data, size_t len, struct plugin_ids *ret_request,
			       struct err *err);

int plugin_codec_write_allocations(const struct plugin_allocations *response, struct str *out,
				   struct err *err);
/* A size below 0 is 0. */
int plugin_codec_read_preferences(const char *data, size_t len,
				  struct plugin_preferences *ret_request, struct err *err);

int plugin_codec_write_preferred(const struct plugin_ids *response, struct str *out,
				 struct err *err);

/* Release; the list is empty again. */
void plugin_ids_done(struct plugin_ids *ids);

void plugin_preferences_done(struct plugin_preferences *preferences);

void plugin_allocations_done(struct plugin_allocations *allocations);
