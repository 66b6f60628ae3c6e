//go:build tools

// Package installers pins the main packages, so that go.mod and go.sum cover all they import.
package installers

import (
	_ "helm.sh/helm/v3/cmd/helm"
	_ "sigs.k8s.io/krew/cmd/krew"
)
