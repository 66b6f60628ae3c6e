/* vgpu_claim: the PCIDeviceClaim through which a vGPU without a mediated device is lent. Text only. */
#pragma once

#include <jansson.h>

struct vgpu_case;

/* The claim to post; NULL: its PCIDevice is not there yet. */
json_t *vgpu_claim_body(const struct vgpu_case *c, const char *type_name);

/* A merge patch that gives the claim the resource of @type_name; NULL: it has it. */
json_t *vgpu_claim_patch(const struct vgpu_case *c, const char *type_name);
