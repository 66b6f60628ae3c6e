# shellcheck shell=bash
# Helm and krew, built once from Go modules into the cache, for tests of what hack/release makes. Sourced
# after hack/lib.sh and hack/cluster.d/binaries.sh.

INSTALLERS_MODULE=$ROOT/hack/cluster.d/installers
HELM_VERSION=$(sed -n 's|^\thelm.sh/helm/v3 v||p' "$INSTALLERS_MODULE/go.mod")
KREW_VERSION=$(sed -n 's|^\tsigs.k8s.io/krew v||p' "$INSTALLERS_MODULE/go.mod")
INSTALLERS_ENTRY=helm-$HELM_VERSION-krew-$KREW_VERSION

# installers: afterwards the cache has helm and krew.
installers() {
	cache_entry "$INSTALLERS_ENTRY" build_installers
}

# link_installers FOLDER: beside kubectl; kubectl finds krew as `kubectl krew`.
link_installers() {
	mkdir -p "$1"
	ln -sfn "$CACHE/$INSTALLERS_ENTRY"/{helm,kubectl-krew} "$1/"
}

build_installers() {
	local folder=$1
	find_go
	export CGO_ENABLED=0 GOFLAGS=-modcacherw GOWORK=off
	export GOMODCACHE=$folder/go/mod GOCACHE=$folder/go/build
	step "building Helm $HELM_VERSION and krew $KREW_VERSION (a few minutes on two cores, once)"
	build_installer helm.sh/helm/v3/cmd/helm "$folder/helm"
	build_installer sigs.k8s.io/krew/cmd/krew "$folder/kubectl-krew"
	rm -rf "$folder/go"
}

# build_installer PACKAGE PROGRAM
build_installer() {
	local log=$CACHE/logs/installers.log
	mkdir -p "${log%/*}"
	(cd "$INSTALLERS_MODULE" && nice "$GO" build -buildvcs=false -trimpath -mod=readonly -ldflags "-s -w" -o "$2" "$1") \
		>"$log" 2>&1 </dev/null && return 0
	tail -n 20 "$log" >&2
	die "$1 could not be built; the whole output is in $log"
}
