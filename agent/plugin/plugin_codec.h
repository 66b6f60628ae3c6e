/*
 * plugin_codec: the messages of the kubelet's device plugin API as structs of ours, and back. No I/O.
 *
 * Both directions of each stand side by side; a plugin uses one of them, its tests the other.
 * Reading: < 0 with *ret untouched: -EBADMSG for bytes that are no such message, -EMSGSIZE for ones
 * that take too much memory or hold more containers than PLUGIN_CONTAINERS_MAX. What was read is to
 * be released by the matching _done. Writing appends to @out: -EMSGSIZE beyond PLUGIN_MESSAGE_MAX,
 * -EINVAL for text that is not UTF-8 (the kubelet could not read the message); @out is as it was then.
 */
#pragma once

#include <stddef.h>

#include "agent/plugin/plugin_lists.h"

struct err;
struct str;

enum {
	PLUGIN_MESSAGE_MAX = 4 << 20, /* what a kubelet reads */
	PLUGIN_CONTAINERS_MAX = 64,   /* of one request; kubelets ask for one */
};

int plugin_codec_write_options(const struct plugin_options *options, struct str *out,
			       struct err *err);
int plugin_codec_read_options(const char *data, size_t len, struct plugin_options *ret_options,
			      struct err *err);

int plugin_codec_write_list(const struct plugin_device *devices, size_t ndevices, struct str *out,
			    struct err *err);
int plugin_codec_read_list(const char *data, size_t len, struct plugin_listed *ret_list,
			   struct err *err);

int plugin_codec_write_allocate(const struct plugin_ids *request, struct str *out, struct err *err);
int plugin_codec_read_allocate(const char *data, size_t len, struct plugin_ids *ret_request,
			       struct err *err);

int plugin_codec_write_allocations(const struct plugin_allocations *response, struct str *out,
				   struct err *err);
int plugin_codec_read_allocations(const char *data, size_t len,
				  struct plugin_allocations *ret_response, struct err *err);

int plugin_codec_write_wishes(const struct plugin_wishes *request, struct str *out,
			      struct err *err);
/* A size below 0 is 0. */
int plugin_codec_read_wishes(const char *data, size_t len, struct plugin_wishes *ret_request,
			     struct err *err);

int plugin_codec_write_preferred(const struct plugin_ids *response, struct str *out,
				 struct err *err);
int plugin_codec_read_preferred(const char *data, size_t len, struct plugin_ids *ret_response,
				struct err *err);
