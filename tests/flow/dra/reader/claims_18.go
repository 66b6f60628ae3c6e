//go:build kubevirt18

package main

import v1 "k8s.io/api/core/v1"

// claimsOf is spec.resourceClaims of a VM with one claim.
func claimsOf(name, claim string) []v1.PodResourceClaim {
	one := v1.PodResourceClaim{Name: name}
	if template := "template"; claim == "" {
		one.ResourceClaimTemplateName = &template
	} else {
		one.ResourceClaimName = &claim
	}
	return []v1.PodResourceClaim{one}
}
