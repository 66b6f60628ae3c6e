/* same_nodes: before a container starts, a device type tells the nodes that it gave. */
#pragma once

#include <string.h>

#include "agent/plugin/device_type.h"
#include "base/err.h"
#include "unit/suite.h"

/* NULL: it refuses, with the error @says. */
static inline void assert_same_nodes(const struct device_type *type, void *arg,
				     const struct json_strs *ids, const struct allocation *given,
				     const char *says)
{
	struct json_strs nodes = { 0 };
	struct json_strs each = { 0 };
	struct err err = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ids->len; i++)
		r = type->nodes(arg, ids->items[i], &each, &err);
	for (size_t i = 0; i < each.len; i++) /* what several share is told for each */
		json_strs_add_new(&nodes, each.items[i]);
	assert_int_equal(r, given ? 0 : -EHOSTDOWN);
	assert_int_equal(nodes.len, given ? given->devices.len : 0);
	for (size_t i = 0; i < nodes.len; i++)
		assert_string_equal(nodes.items[i], given->devices.items[i].host_path);
	json_strs_done(&each);
	if (!given)
		assert_string_equal(err.msg, says);
	json_strs_done(&nodes);
}
