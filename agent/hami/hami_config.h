/*
 * hami_config: how this node's GPUs are divided among containers. Pure.
 *
 * It is read from HAMi's configuration files: the part `nvidia` of its scheduler's
 * device-config.yaml, and the entry for this node in its device plugin's config.json, which
 * overrides the former. Unknown fields are ignored, as HAMi does. A file with an invalid value is
 * rejected as a whole; the error names the field.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json_values.h"

struct err;

enum {
	HAMI_CONFIG_MAX = 256 << 10, /* bytes of a file              */
	HAMI_SPLIT_MAX = 1000,       /* containers that share a GPU  */
	HAMI_SPLIT = 10,             /* the default                  */
	HAMI_WHOLE = 1000,           /* thousandths: a factor of 1   */
	HAMI_SCALING_MAX = 100000,   /* thousandths: a factor of 100 */
	HAMI_FILTERS_MAX = 512,
};

struct hami_config {
	char *resource;            /* "nvidia.com/gpu" */
	unsigned split;            /* how many containers may share a GPU */
	unsigned memory;           /* thousandths of each GPU's memory that may be allocated */
	unsigned cores;            /* likewise of its compute time */
	uint64_t memory_mib;       /* of GPUs whose memory is unknown; 0: they are not offered */
	bool numa;                 /* tell the kubelet the NUMA node of each GPU */
	bool no_core_limit;        /* HAMi-core does not limit compute time      */
	char *log_level;           /* LIBCUDA_LOG_LEVEL; NULL: not set           */
	struct json_strs filtered; /* UUIDs and indexes of GPUs that are not offered */
};

/* Set the defaults. */
void hami_config_init(struct hami_config *config);
/* Release. */
void hami_config_done(struct hami_config *config);

/* Apply a device-config.yaml to @config; @name is for messages. 0, or ERR_INVALID with @config
 * unchanged. */
int hami_config_take_cluster(const char *name, const char *text, size_t len,
			     struct hami_config *config, struct err *err);

/* The same for the entry of @node in a config.json. Without an entry nothing changes. */
int hami_config_take_node(const char *name, const char *text, size_t len, const char *node,
			  struct hami_config *config, struct err *err);

/* Does the configuration exclude the GPU with this UUID and index? */
bool hami_config_filters(const struct hami_config *config, const char *uuid, int index);
