/*
 * nvidia_config: the configuration file of NVIDIA's device plugin, version v1, as a struct. Pure.
 *
 * Unknown fields are passed over, as there. A file that contradicts itself is refused whole, with
 * the field. Unlike there, `rename` and `devices` of a resource have an effect. Fields that have
 * none here are listed, if they ask for something.
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
	char *resource;           /* whose devices are shared: "nvidia.com/gpu"     */
	char *name;               /* as which they are offered: may be the same one */
	unsigned replicas;        /* of each device                                 */
	unsigned count;           /* of so many devices                             */
	struct json_strs devices; /* or of these: UUIDs, "0", "0:1"                 */
	bool all;                 /* or of all                                      */
};

/* Zero: no file. */
struct nvidia_config {
	unsigned lists; /* enum nvidia_list; 0: the file does not say */
	enum nvidia_mig_strategy mig;
	bool packed;              /* prefer shares of few GPUs, not of many     */
	bool single;              /* a container gets one share at most         */
	bool by_index;            /* its runtime is told indexes, not UUIDs, but for CDI devices */
	bool nodes;               /* it is told the device nodes of its devices  */
	bool gds, mofed, gdrcopy; /* its runtime is told to give it these */
	bool imex;                /* ... and IMEX channel 0 */
	bool imex_required;       /* no device is offered without that channel */
	char *mps_root; /* folder of the MPS daemons that share devices; NULL: time-slicing does */
	struct {
		struct nvidia_sharing *items;
		size_t len, cap;
	} sharings;               /* a device belongs to the first that has it */
	struct json_strs ignored; /* fields without effect: "flags.gdsEnabled" */
};

/* Read a file; @name is for messages. 0, or ERR_INVALID with nothing to release. */
int nvidia_config_parse(const char *name, const char *text, size_t len,
			struct nvidia_config *ret_config, struct err *err);
/* Release; it is that of no file. */
void nvidia_config_done(struct nvidia_config *config);
