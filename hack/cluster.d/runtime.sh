# shellcheck shell=bash
# containerd, runc and the CNI plugins from Debian's packages, and two images.
# Sourced after hack/lib.sh. The packages are unpacked into the cache, not
# installed: installing them would start a service and could replace the
# container engine that the machine runs.

RUNTIME_ENTRY=node-runtime-bookworm-1
RUNTIME=$CACHE/$RUNTIME_ENTRY
RUNTIME_PACKAGES=(containerd runc containernetworking-plugins busybox-static)

# Of the Service "kubernetes": the first of kube-apiserver's --service-cluster-ip-range,
# where pods look for the API server. There is no kube-proxy: socat is it, for this
# one Service.
# shellcheck disable=SC2034 # for those who source this
API_SERVICE=10.96.0.1

PAUSE_IMAGE=localhost/hostdev/pause:1
BUSYBOX_IMAGE=localhost/hostdev/busybox:1

# node_runtime: afterwards RUNTIME has bin/{containerd,ctr,runc,…}, cni/ and
# images/*.tar.
node_runtime() {
	cache_entry "$RUNTIME_ENTRY" build_runtime
}

# start_api_relay DIR ADDRESS:PORT: pods of this machine reach the API server, which is
# at ADDRESS:PORT for the machine.
start_api_relay() {
	local dir=$1 server=$2
	process_running "$dir" api-relay "$server" && return 0
	stop_process "$dir" api-relay
	ip address replace "$API_SERVICE/32" dev lo
	start_process "$dir" api-relay "$server" \
		socat "TCP4-LISTEN:443,bind=$API_SERVICE,reuseaddr,fork" "TCP4:$server"
}

stop_api_relay() {
	process_running "$1" api-relay || return 0
	stop_process "$1" api-relay
	ip address delete "$API_SERVICE/32" dev lo 2>/dev/null || true
}

# link_runtime FOLDER: beside kubectl and kubelet, for the guest.
link_runtime() {
	mkdir -p "$1"
	ln -sfn "$RUNTIME"/bin/{containerd,containerd-shim-runc-v2,ctr,runc} "$RUNTIME/cni" "$1/"
}

build_runtime() {
	local folder=$1 package
	step "fetching containerd, runc, CNI plugins and busybox from Debian (once)"
	mkdir "$folder/deb" "$folder/root" "$folder/bin" "$folder/images"
	for package in "${RUNTIME_PACKAGES[@]}"; do
		(cd "$folder/deb" && apt_get download "$package")
	done
	for package in "$folder"/deb/*.deb; do
		dpkg -x "$package" "$folder/root"
	done
	mv "$folder"/root/usr/bin/{containerd,containerd-shim-runc-v2,ctr} "$folder/root/usr/sbin/runc" \
		"$folder/root/bin/busybox" "$folder/bin/"
	mv "$folder/root/usr/lib/cni" "$folder/cni"
	build_image "$folder" pause "$PAUSE_IMAGE" '["/bin/busybox", "sleep", "2147483647"]'
	build_image "$folder" busybox "$BUSYBOX_IMAGE" '["/bin/sh"]'
	rm -rf "$folder/deb" "$folder/root"
}

# build_image FOLDER NAME TAG COMMAND: images/NAME.tar in docker-archive form:
# busybox with its commands, and nothing else.
build_image() {
	local folder=$1 name=$2 tag=$3 command=$4 work applet
	work=$folder/work
	mkdir -p "$work/layer"/{bin,etc,tmp,proc,sys,dev}
	chmod 1777 "$work/layer/tmp"
	cp "$folder/bin/busybox" "$work/layer/bin/"
	for applet in $("$folder/bin/busybox" --list); do
		[[ $applet == busybox ]] || ln -s busybox "$work/layer/bin/$applet"
	done
	printf 'root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' >"$work/layer/etc/passwd"
	tar -C "$work/layer" --owner=0 --group=0 --numeric-owner --sort=name --mtime=@0 -cf "$work/layer.tar" .
	cat >"$work/config.json" <<-END
		{"architecture": "$(dpkg --print-architecture)", "os": "linux",
		 "config": {"Env": ["PATH=/bin"], "Entrypoint": $command},
		 "rootfs": {"type": "layers", "diff_ids": ["sha256:$(sha256sum "$work/layer.tar" | cut -d ' ' -f 1)"]}}
	END
	printf '[{"Config": "config.json", "RepoTags": ["%s"], "Layers": ["layer.tar"]}]\n' "$tag" \
		>"$work/manifest.json"
	tar -C "$work" -cf "$folder/images/$name.tar" manifest.json config.json layer.tar
	rm -rf "$work"
}
