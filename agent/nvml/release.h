/*
 * release: the driver lets a GPU go, so that its card can be bound to another driver, and takes it
 * back, as lines of a reply.
 *
 *	{"kind":"releasing","n":4,"address":"0000:3b:00.0","persistence":true}  turned off next
 *	{"kind":"released","n":4,"address":"0000:3b:00.0","drained":true}
 *	{"kind":"attached","n":5,"address":"0000:3b:00.0"}
 *
 * In persistence mode the driver holds a GPU without any open file, so that nobody sees it. In the
 * drain state it hides the GPU from every new client. Both need root, and no GPU is in the drain
 * state while it is in persistence mode. "drained" is left out if this question did not do it: it
 * was done before, or this driver or GPU cannot. A GPU that is not let go has problems and no
 * "released"; one that does not answer at all cannot be held either.
 */
#pragma once

#include <stdbool.h>

struct gpu_addresses;
struct nvml;
struct reply;

/* Turn persistence mode off, and the drain state on. */
void release_reply(const struct nvml *nvml, const struct gpu_addresses *addresses,
		   struct reply *reply);

/* Turn the drain state off, and with @persistence persistence mode on. That this mode cannot be
 * turned on is a problem of a GPU that is attached all the same. */
void attach_reply(const struct nvml *nvml, const struct gpu_addresses *addresses, bool persistence,
		  struct reply *reply);
