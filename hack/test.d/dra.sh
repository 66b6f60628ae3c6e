# shellcheck shell=bash
# The Go programs of tests/flow/dra, built once for each state of their sources. Sourced after hack/lib.sh and
# hack/cluster.d/binaries.sh.

DRA_SOURCE=$ROOT/tests/flow/dra
DRA_TOOLCHAIN=go1.26.3 # if the machine's Go is too old

# dra_programs: afterwards DRA_PROGRAMS has kubelet, peer, reader and reader-1.8.
dra_programs() {
	local mark
	mark=$(cd "$DRA_SOURCE" && find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-16)
	# shellcheck disable=SC2034 # for those who source this
	DRA_PROGRAMS=$CACHE/dra-programs-$mark
	cache_entry "dra-programs-$mark" build_dra_programs
}

# build_dra_programs FOLDER
build_dra_programs() {
	local folder=$1
	find_go "$DRA_TOOLCHAIN"
	export CGO_ENABLED=0 GOWORK=off
	step "building the Go programs of tests/flow/dra (1 to 3 minutes on two cores, once)"
	build_dra . -o "$folder" ./...
	build_dra reader -o "$folder/reader" .
	build_dra reader -modfile=kubevirt-1.8.mod -tags kubevirt18 -o "$folder/reader-1.8" .
}

# build_dra SUBFOLDER ARGUMENT…
build_dra() {
	local log=$CACHE/logs/dra-programs.log where=$DRA_SOURCE/$1
	shift
	mkdir -p "${log%/*}"
	(cd "$where" && nice "$GO" build -buildvcs=false -mod=readonly -ldflags "-s -w" "$@") \
		>"$log" 2>&1 </dev/null && return 0
	tail -n 20 "$log" >&2
	die "go build failed in $where; the whole output is in $log"
}
