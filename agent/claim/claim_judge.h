/*
 * claim_judge: may a claim be carried out, and which claim covers which function of a group?
 *
 * Reasons of the condition Accepted. True: Accepted. False, in this order:
 *   Contradictory    name, address and node name do not mean one device
 *   DriverNotAllowed spec.driver is none that this agent allows
 *   DeviceNotFound   there is no such device yet
 *   DeviceGone       there was one
 *   DifferentDevice  another device is where the recorded one was
 *   IdentityByModelOnly  the node has booted, and it may be another of its model
 *   (of Claimable)   the device, or another of its group, is not claimable
 *                    (agent/inventory/claimable.h); an administrator may override some of these,
 *                    for each function by a claim of its own (lib/api/override.h)
 *   Held             its VFIO node would get a number that a pod may open
 *                    (agent/resource/node_numbers.h); or, first of all that the device itself is
 *                    refused for, its group is bound for a ResourceClaim (on_demand_binds.h)
 *   USBDevicesClaimed it is a controller, or has one in its group, whose USB devices are claimed
 *   GroupShared      others of the group are not claimed; or another user has claimed one of them,
 *                    and came first: also of a claim that is bound
 */
#pragma once

#include <stdbool.h>

struct claim_case;
struct claim_group;
struct pcideviceclaim;

struct claim_verdict {
	bool ok;
	const char *reason; /* static, or part of the case */
	char *message;      /* never NULL                  */
	bool other_owner;   /* refused because another user has the group */
};

void claim_verdict_done(struct claim_verdict *verdict);

/* Fill the cover of each function. A claim covers if it could be accepted on its own account, or is
 * bound already. */
void claim_cover_group(const struct claim_case *c, struct claim_group *group);

/* The claim is live, and the group covered. The caller releases *@ret_verdict. */
void claim_judge(const struct claim_case *c, const struct claim_group *group,
		 struct claim_verdict *ret_verdict);
