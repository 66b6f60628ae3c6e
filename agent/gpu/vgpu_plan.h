/*
 * vgpu_plan: the next single step for one VGPUDevice: a virtual function of a card, and which vGPU
 * it is. Pure; both of the driver's ways to have vGPUs are the same here.
 *
 *	no object:  CREATE (a vGPU that is there is adopted as enabled) -> TELL
 *	enabled:    TELL (Applying: ours from now on) -> ACT -> TELL (Configured) -> CLAIM
 *	its resource is another kind's: TELL (NameTaken)
 *	disabled:   UNCLAIM -> TELL (InUse) while a pod has it, else ACT -> TELL (Disabled)
 *	made by others: SPEC (adopted), never removed before somebody says so
 *	function gone:  TELL (DeviceGone), or DELETE if neither it nor its card is enabled
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/gpu/gpu_step.h"

/* Ready's reason while devices of another kind have the vGPU's resource name; they take
 * precedence. */
#define VGPU_NAME_TAKEN "NameTaken"

struct gpu_card;
struct gpu_function;
struct pcidevice;
struct pcideviceclaim;
struct vgpudevice;

/* All borrowed. */
struct vgpu_case {
	const char *node_name;
	const char *name;
	const struct vgpudevice *object; /* the newest that is known; NULL: there is none        */
	const struct gpu_card *card;     /* of the function; NULL: none                          */
	const struct gpu_function *function; /* NULL: not on the node                            */
	bool known;                          /* what it is has been looked at                    */
	bool card_wanted;                    /* its SRIOVGPUDevice is enabled, so it will be back */
	const struct pcidevice *device;      /* at the API server; NULL: none                    */
	const struct pcideviceclaim *claim;  /* of its name; NULL: none                          */
	bool used;                           /* a pod has it, or that is not known yet           */
	const char *user;                    /* "pod default/vm-1"; NULL: not known yet          */
	bool taken;                          /* devices of another kind have its resource        */
	struct gpu_past past;
	int64_t now_wall_ms;
};

/* The caller releases *@ret_decision. */
void vgpu_plan(const struct vgpu_case *c, struct gpu_decision *ret_decision);

/* The extended resource of the vGPUs of the type @name: "nvidia.com/NVIDIA_A2-4C". Always a valid
 * name; the caller frees. */
char *vgpu_resource(const char *name);

/* Is the claim for a vGPU, and not for the function itself? */
bool vgpu_claim_is_ours(const struct pcideviceclaim *claim);
