# shellcheck shell=bash
# The Kubernetes programs and etcd, built once from Go modules into the cache.
# Sourced after hack/lib.sh. After cluster_binaries, KUBE_BIN is their folder.

BINARIES_MODULE=$ROOT/hack/cluster.d/binaries
KUBE_VERSION=$(sed -n 's|^\tk8s.io/kubernetes v||p' "$BINARIES_MODULE/go.mod")
ETCD_VERSION=$(sed -n 's|^\tgo.etcd.io/etcd/server/v3 v||p' "$BINARIES_MODULE/go.mod")
KUBE_ENTRY=kubernetes-$KUBE_VERSION-etcd-$ETCD_VERSION
KUBE_BIN=$CACHE/$KUBE_ENTRY

# In the order in which a cluster needs them.
BINARIES_PACKAGES=(
	go.etcd.io/etcd/server/v3
	k8s.io/kubernetes/cmd/kube-apiserver
	k8s.io/kubernetes/cmd/kubectl
	k8s.io/kubernetes/cmd/kube-controller-manager
	k8s.io/kubernetes/cmd/kube-scheduler
	k8s.io/kubernetes/cmd/kubelet
	k8s.io/kubernetes/cmd/kube-proxy
)

# The Go of bookworm-backports is too old for this Kubernetes, but fetches this
# newer toolchain as a module.
BINARIES_TOOLCHAIN=go1.24.6

cluster_binaries() {
	cache_entry "$KUBE_ENTRY" build_binaries
}

# go_is_new_enough GO TOOLCHAIN: as new as TOOLCHAIN's minor version, by itself.
go_is_new_enough() {
	local least=${2%.*} version
	version=$(cd / && GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
	[[ $(printf '%s\n' "$least" "${version%% *}" | sort -V | head -n 1) == "$least" ]]
}

# find_go [TOOLCHAIN]: sets GO, and exports GOTOOLCHAIN where a newer one must be fetched.
# shellcheck disable=SC2120 # other files pass it
find_go() {
	local toolchain=${1:-$BINARIES_TOOLCHAIN}
	for GO in "$(command -v go || true)" /usr/local/go/bin/go; do
		if [[ -x $GO ]] && go_is_new_enough "$GO" "$toolchain"; then
			export GOTOOLCHAIN=local
			return 0
		fi
	done
	add_backports
	need_packages -t bookworm-backports golang-go
	GO=/usr/bin/go
	export GOTOOLCHAIN=$toolchain
}

# build_binaries FOLDER. Modules and objects lie in the cache while the build
# runs, so that an interrupted one goes on where it was; 4 GB that nobody needs
# afterwards.
build_binaries() {
	local folder=$1 flags package name number=0
	find_go "$BINARIES_TOOLCHAIN"
	export CGO_ENABLED=0 GOFLAGS=-modcacherw GOWORK=off
	export GOMODCACHE=$CACHE/go/mod GOCACHE=$CACHE/go/build
	flags="-s -w -X k8s.io/component-base/version.gitVersion=v$KUBE_VERSION"
	flags+=" -X k8s.io/component-base/version.gitMajor=${KUBE_VERSION%%.*}"
	flags+=" -X k8s.io/component-base/version.gitMinor=$(cut -d . -f 2 <<<"$KUBE_VERSION")"
	step "fetching the Go modules of Kubernetes $KUBE_VERSION and etcd $ETCD_VERSION (0.75 GB, once)"
	build_go mod download
	for package in "${BINARIES_PACKAGES[@]}"; do
		name=${package##*/}
		[[ $name != v3 ]] || name=etcd
		number=$((number + 1))
		step "building $name ($number of ${#BINARIES_PACKAGES[@]}; all take 5 to 10 minutes on two cores, once)"
		build_go build -buildvcs=false -trimpath -mod=readonly -ldflags "$flags" \
			-o "$folder/$name" "$package"
	done
	rm -rf "$CACHE/go"
}

build_go() {
	local log=$CACHE/logs/go.log
	mkdir -p "${log%/*}"
	(cd "$BINARIES_MODULE" && nice "$GO" "$@") >"$log" 2>&1 </dev/null && return 0
	tail -n 20 "$log" >&2
	die "go $1 failed in hack/cluster.d/binaries; the whole output is in $log; run the same command again to go on"
}

# link_binaries FOLDER: build/local/bin/kubectl and so on.
link_binaries() {
	mkdir -p "$1"
	ln -sfn "$KUBE_BIN"/* "$1/"
}
