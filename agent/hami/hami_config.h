/*
 * hami_config: how this node's GPUs are divided among containers, from the configuration files of
 * HAMi: device-config.yaml of its scheduler, of which the part `nvidia` counts, and config.json of
 * its device plugin, whose entry for this node goes before the former. Pure.
 *
 * Unknown fields are passed over, as there. A file with a value that makes no sense is refused
 * whole, with the field.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json_values.h"

struct err;

enum {
	HAMI_CONFIG_MAX = 256 << 10, /* bytes of a file               */
	HAMI_SPLIT_MAX = 1000,       /* containers that share a GPU   */
	HAMI_SPLIT = 10,             /* if no file says               */
	HAMI_SCALING_MAX = 100000,   /* thousandths: a hundred times  */
	HAMI_FILTERS_MAX = 512,
};

struct hami_config {
	char *resource;      /* "nvidia.com/gpu" */
	unsigned split;      /* how many containers may have a GPU at a time */
	unsigned memory;     /* thousandths of each GPU's memory that are handed out */
	unsigned cores;      /* likewise of its time */
	uint64_t memory_mib; /* of a GPU that does not tell its own; 0: such a GPU is not offered */
	bool numa;           /* the kubelet is told the NUMA nodes     */
	bool no_core_limit;  /* HAMi-core limits no time               */
	char *log_level;     /* LIBCUDA_LOG_LEVEL; NULL: not set       */
	struct json_strs filtered; /* UUIDs and indexes that are not offered */
};

/* As without a file. */
void hami_config_init(struct hami_config *config);
/* Release. */
void hami_config_done(struct hami_config *config);

/* Take what a device-config.yaml says; @name is for messages. 0, or ERR_INVALID with @config as it
 * was. */
int hami_config_take_cluster(const char *name, const char *text, size_t len,
			     struct hami_config *config, struct err *err);

/* Take what the entry of a config.json for @node says, if there is one. Likewise. */
int hami_config_take_node(const char *name, const char *text, size_t len, const char *node,
			  struct hami_config *config, struct err *err);

/* Is the GPU with that UUID and index not to be offered? */
bool hami_config_filters(const struct hami_config *config, const char *uuid, int index);
