/*
 * release: has the driver release a GPU, so that its card can be bound to another driver, and
 * attach it again. Writes lines of a reply.
 *
 *	{"kind":"releasing","n":4,"address":"0000:3b:00.0","persistence":true}  turned off next
 *	{"kind":"released","n":4,"address":"0000:3b:00.0","drained":true}
 *	{"kind":"attached","n":5,"address":"0000:3b:00.0"}
 *
 * In persistence mode the driver holds a GPU although no process has it open. In the drain state
 * the driver hides the GPU from new clients. Both require root, and a GPU in persistence mode
 * cannot enter the drain state. "drained" is left out if this question did not set the drain state:
 * it was set before, or this driver or GPU does not support it. A GPU that is not released has
 * problems and no "released" line. The driver does not hold a GPU that does not answer at all.
 */
#pragma once

#include <stdbool.h>

struct gpu_addresses;
struct nvml;
struct reply;

/* Turn persistence mode off, and the drain state on. */
void release_reply(const struct nvml *nvml, const struct gpu_addresses *addresses,
		   struct reply *reply);

/* Turn the drain state off and, if @persistence, persistence mode on. If persistence mode cannot be
 * turned on, the reply has a problem, but the GPU is attached. */
void attach_reply(const struct nvml *nvml, const struct gpu_addresses *addresses, bool persistence,
		  struct reply *reply);
