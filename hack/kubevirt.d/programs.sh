# shellcheck shell=bash
# KubeVirt's programs, built once from its Go module into the cache. Sourced after hack/lib.sh and
# hack/cluster.d/binaries.sh, when the packages of the purpose kubevirt are installed. After kubevirt_programs,
# KUBEVIRT_BIN is their folder.

KUBEVIRT_MODULE=$ROOT/hack/kubevirt.d/programs
KUBEVIRT_VERSION=$(sed -n 's|^require kubevirt.io/kubevirt v||p' "$KUBEVIRT_MODULE/go.mod")
KUBEVIRT_GO=$CACHE/go-kubevirt

# All with cgo: virt-launcher needs it for libvirt, and the rest would be compiled twice without.
KUBEVIRT_PACKAGES=(
	kubevirt.io/kubevirt/cmd/virt-{api,controller,launcher,handler}
	kubevirt.io/kubevirt/cmd/virt-{launcher-monitor,chroot,tail,freezer,probe}
	./objects
)

# The Go of bookworm-backports is too old for this KubeVirt, but fetches this newer toolchain as a module.
KUBEVIRT_TOOLCHAIN=go1.24.6

kubevirt_programs() {
	local mark
	mark=$(cat "$KUBEVIRT_MODULE"/{go.mod,go.sum,tools.go,objects/*} | sha256sum | cut -c 1-16)
	KUBEVIRT_BIN=$CACHE/kubevirt-$KUBEVIRT_VERSION-$mark
	cache_entry "${KUBEVIRT_BIN##*/}" build_kubevirt
}

# build_kubevirt FOLDER: the programs, and in FOLDER/files what of its source goes into the launcher's root file
# system. Modules and objects lie in the cache while the build runs, so that an interrupted one goes on where it was.
build_kubevirt() {
	local folder=$1 source package name number=0 version
	find_go "$KUBEVIRT_TOOLCHAIN"
	export CGO_ENABLED=1 GOFLAGS=-modcacherw GOWORK=off
	export GOMODCACHE=$KUBEVIRT_GO/mod GOCACHE=$KUBEVIRT_GO/build
	version="-s -w -X kubevirt.io/client-go/version.gitVersion=v$KUBEVIRT_VERSION"
	step "fetching the Go modules of KubeVirt $KUBEVIRT_VERSION (once)"
	go_of_kubevirt mod download
	for package in "${KUBEVIRT_PACKAGES[@]}"; do
		name=${package##*/}
		number=$((number + 1))
		step "building $name ($number of ${#KUBEVIRT_PACKAGES[@]}; all take 10 to 25 minutes on two cores, once)"
		go_of_kubevirt build -buildvcs=false -trimpath -mod=readonly -ldflags "$version" -o "$folder/$name" "$package"
	done
	source=$KUBEVIRT_GO/mod/kubevirt.io/kubevirt@v$KUBEVIRT_VERSION/cmd
	mkdir "$folder/files"
	install -m 644 "$source"/virt-launcher/{qemu,virtqemud}.conf "$folder/files/"
	install -m 755 "$source/virt-launcher/node-labeller/node-labeller.sh" "$folder/files/"
	gcc -O2 -static -o "$folder/container-disk" "$source/container-disk-v2alpha/main.c"
	rm -rf "$KUBEVIRT_GO"
}

go_of_kubevirt() {
	local log=$CACHE/logs/go-kubevirt.log
	mkdir -p "${log%/*}"
	(cd "$KUBEVIRT_MODULE" && nice "$GO" "$@") >"$log" 2>&1 </dev/null && return 0
	tail -n 20 "$log" >&2
	die "go $1 failed in hack/kubevirt.d/programs; the whole output is in $log; run the same command again to go on"
}
