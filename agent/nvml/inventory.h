/*
 * inventory: what the GPUs of this machine are, and whether they are well, as lines of a reply.
 *
 *	{"kind":"system","n":1,"driver":"550.54.15","nvml":"12.550.54.15","cuda":12040,"gpus":8}
 *	{"kind":"mig","n":1,"address":"0000:3b:00.0","uuid":"MIG-...","slot":0,"gi":7,"ci":0,
 *	 "profile":"1g.5gb",...}
 *	{"kind":"gpu","n":1,"address":"0000:3b:00.0","uuid":"GPU-...","index":0,"minor":0,
 *	 "name":...,...}
 *	{"kind":"probe","n":2,"address":"0000:3b:00.0","uuid":"GPU-...","recovery":0,"well":true}
 *
 * A member that the driver or the GPU does not have is left out; one that could not be read as
 * well, with a problem in the reply.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agent/nvml/nvml.h"

struct gpu;
struct gpu_addresses;
struct reply;
struct str;

/* Everything about the GPUs at @addresses (none: all). The MIG devices of a GPU come before it. */
void inventory_reply(const struct nvml *nvml, const struct gpu_addresses *addresses,
		     struct reply *reply);

/* Whether each GPU is well: it answers by its address with a UUID, tells its memory, and wants no
 * recovery action. One that does not has its problem in the reply and no "well". */
void inventory_probe(const struct nvml *nvml, const struct gpu_addresses *addresses,
		     struct reply *reply);

/* The same for one that is open: add "recovery", "well" and so on to @line. False if the GPU is
 * gone or not well, with problems in @reply. */
bool inventory_health(const struct nvml *nvml, const struct gpu *gpu, struct reply *reply,
		      struct str *line);

/*
 * The name of a MIG device's profile, "1g.5gb", "1c.2g.10gb", "1g.5gb+me", as NVIDIA's programs
 * make it: @gpu_profile is the number by which its GPU instance's profile is asked for, and tells
 * the attributes; @total_bytes is the memory of the whole GPU. "" if the numbers are none.
 */
void inventory_profile_name(const struct nvml_attributes *attributes, unsigned gpu_profile,
			    uint64_t total_bytes, char *ret_name, size_t size);
