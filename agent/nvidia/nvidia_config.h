/*
 * nvidia_config: parses the configuration file of NVIDIA's device plugin, version v1. Pure.
 *
 * Unknown fields are ignored, as the plugin does. A file that contradicts itself is rejected as a
 * whole; the error names the field. Unlike in the plugin, `rename` and `devices` of a resource have
 * an effect. Fields that are set but have no effect here are listed in `ignored`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/nvidia/nvidia_devices.h"
#include "api/json_values.h"

struct err;

enum {
	NVIDIA_CONFIG_MAX = 256 << 10, /* bytes of a file         */
	NVIDIA_SHARINGS_MAX = 64,      /* resources that are shared */
	NVIDIA_SHARED_MAX = 512,       /* devices of one          */
	NVIDIA_REPLICAS_MAX = 512,     /* of one device           */
	NVIDIA_MPS_CLIENTS_MAX = 48,   /* of one device: Volta and later allow no more */
	NVIDIA_MPS_ROOT_MAX = 512,     /* bytes of a path         */
};

/* A resource of sharing.timeSlicing, or of sharing.mps. */
struct nvidia_sharing {
	char *resource;           /* the resource whose devices are shared, "nvidia.com/gpu" */
	char *name;               /* the resource of the shares; may be the same             */
	unsigned replicas;        /* shares of each device                                   */
	unsigned count;           /* how many devices are shared                             */
	struct json_strs devices; /* or which: UUIDs, "0", "0:1"                             */
	bool all;                 /* or all                                                  */
};

/* Zero: no file. */
struct nvidia_config {
	unsigned lists; /* enum nvidia_list; 0: the file does not say */
	enum nvidia_mig_strategy mig;
	bool packed;              /* prefer shares of few GPUs, not of many            */
	bool single;              /* a container gets one share at most                */
	bool by_index;            /* name devices by index, not UUID, except CDI devices */
	bool nodes;               /* pass the device nodes to containers               */
	bool gds, mofed, gdrcopy; /* pass these to containers                          */
	bool imex;                /* pass IMEX channel 0                               */
	bool imex_required;       /* offer no device without that channel              */
	char *mps_root;           /* folder of the MPS daemons; NULL: share by time-slicing */
	struct {
		struct nvidia_sharing *items;
		size_t len, cap;
	} sharings;               /* a device belongs to the first that has it */
	struct json_strs ignored; /* fields without effect: "flags.gdsEnabled" */
};

/* Read a file; @name is for messages. 0, or ERR_INVALID with nothing to release. */
int nvidia_config_parse(const char *name, const char *text, size_t len,
			struct nvidia_config *ret_config, struct err *err);
/* Release and set to zero. */
void nvidia_config_done(struct nvidia_config *config);
