# shellcheck shell=bash
# containerd 2, built once from its Go module into the cache. Unlike Debian's (runtime.sh), which nodes run unless told
# otherwise, it knows CDI. Sourced after hack/lib.sh and hack/cluster.d/binaries.sh.

CONTAINERD_MODULE=$ROOT/hack/cluster.d/containerd
CONTAINERD_PACKAGE=github.com/containerd/containerd/v2
CONTAINERD_VERSION=$(sed -n "s|^require $CONTAINERD_PACKAGE v||p" "$CONTAINERD_MODULE/go.mod")
CONTAINERD_ENTRY=containerd-$CONTAINERD_VERSION
CONTAINERD_TOOLCHAIN=go1.25.9 # if the machine's Go is too old

# containerd_2: afterwards the cache has containerd, containerd-shim-runc-v2 and ctr.
containerd_2() {
	cache_entry "$CONTAINERD_ENTRY" build_containerd
}

# link_containerd FOLDER: as FOLDER/containerd-2, beside Debian's programs.
link_containerd() {
	mkdir -p "$1"
	ln -sfn "$CACHE/$CONTAINERD_ENTRY" "$1/containerd-2"
}

# build_containerd FOLDER. Without cgo: of the file systems that it could use, those that need C libraries are left out.
build_containerd() {
	local folder=$1 log=$CACHE/logs/containerd.log name
	find_go "$CONTAINERD_TOOLCHAIN"
	export CGO_ENABLED=0 GOFLAGS=-modcacherw GOWORK=off
	export GOMODCACHE=$folder/go/mod GOCACHE=$folder/go/build
	mkdir -p "${log%/*}"
	step "building containerd $CONTAINERD_VERSION (1 to 2 minutes on two cores, once)"
	for name in containerd containerd-shim-runc-v2 ctr; do
		(cd "$CONTAINERD_MODULE" && nice "$GO" build -buildvcs=false -trimpath -mod=readonly \
			-tags "no_btrfs no_devmapper no_zfs" \
			-ldflags "-s -w -X $CONTAINERD_PACKAGE/version.Version=v$CONTAINERD_VERSION" \
			-o "$folder/$name" "$CONTAINERD_PACKAGE/cmd/$name") >"$log" 2>&1 </dev/null && continue
		tail -n 20 "$log" >&2
		die "$name $CONTAINERD_VERSION could not be built; the whole output is in $log"
	done
	rm -rf "$folder/go"
}
