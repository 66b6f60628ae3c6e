//go:build !kubevirt18

package main

import v1 "kubevirt.io/api/core/v1"

// claimsOf is spec.resourceClaims of a VM with one claim.
func claimsOf(name, claim string) []v1.VirtualMachineInstanceResourceClaim {
	var one v1.VirtualMachineInstanceResourceClaim
	one.Name = name
	if template := "template"; claim == "" {
		one.ResourceClaimTemplateName = &template
	} else {
		one.ResourceClaimName = &claim
	}
	return []v1.VirtualMachineInstanceResourceClaim{one}
}
