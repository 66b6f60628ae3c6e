# shellcheck shell=bash
# Our own programs as pods of the nodes that have a kubelet. Sourced by hack/up after
# hack/cluster.d/programs.sh; uses LOCAL and PROGRAMS.

IMAGES=$LOCAL/images
POD_KINDS=daemonset,deployment,poddisruptionbudget,networkpolicy,resourcequota

build_images() {
	local log=$LOCAL/logs/image.log
	mkdir -p "$IMAGES" "$LOCAL/logs"
	step "making the images of the programs"
	"$ROOT/hack/image" --programs "$PROGRAMS" --output "$IMAGES" >"$IMAGES/list" 2>"$log" ||
		die "making the images failed: $(tail -n 1 "$log")"
}

# image_digest NAME
image_digest() {
	awk -v name="localhost/hostdev/$1:local" '$1 == name { print $2 }' "$IMAGES/list"
}

# load_guest_images GUEST: into a containerd that runs; one that starts takes them itself.
load_guest_images() {
	local image
	for image in agent controller; do
		# shellcheck disable=SC2016 # expanded in the guest
		"$ROOT/hack/vm" exec --name "$1" -- bash -euc '
			ctr="$0/ctr -a /run/containerd/containerd.sock -n k8s.io images"
			$ctr ls "name==localhost/hostdev/$1:local" | grep -qF "$2" || $ctr import "$3" >/dev/null' \
			"$LOCAL/bin" "$image" "$(image_digest "$image")" "$IMAGES/hostdev-$image.tar" ||
			die "containerd of $1 could not import $IMAGES/hostdev-$image.tar"
	done
}

# write_overlay: an overlay with the map, in which the webhook answers this cluster's API server and nobody else, and pods of
# another image are replaced: the image is part of what a pod is.
write_overlay() {
	local folder=$LOCAL/manifests tree components
	mkdir -p "$folder"
	tree=$(realpath --relative-to="$folder" "$ROOT/manifests")
	cp "$LOCAL/pki/webhooks/ca.crt" "$folder/"
	components="$tree/components/webhook-clients, $tree/components/map"
	if ((${GPUS:-0})); then components+=", $tree/components/privileged, $tree/components/nvidia"; fi
	cat >"$folder/kustomization.yaml" <<-END
		apiVersion: kustomize.config.k8s.io/v1beta1
		kind: Kustomization
		resources: [$tree/overlays/local]
		components: [$components]
		configMapGenerator:
		- {name: hostdev-webhook-clients, namespace: hostdev-system, files: [ca.crt]}
		patches:
		$(image_patch DaemonSet agent)
		$(image_patch Deployment controller)
	END
	if ((${GPUS:-0})); then gpu_patch >>"$folder/kustomization.yaml"; fi
}

# gpu_patch: where an agent finds the stand-ins that hack/vm.d/gpus has made.
gpu_patch() {
	cat <<-'END'
		- target: {kind: DaemonSet, name: hostdev-agent}
		  patch: |
		    - op: add
		      path: /spec/template/spec/containers/0/args/-
		      value: --nvidia-config-file=/host/run/hostdev-gpus/config.yaml
		    - op: add
		      path: /spec/template/spec/containers/0/env/-
		      value: {name: HOSTDEV_FAKE_NVML, value: /host/run/hostdev-gpus}
	END
}

# image_patch KIND NAME
image_patch() {
	printf -- '- patch: %s' "$(jq -cn --arg kind "$1" --arg name "hostdev-$2" --arg digest "$(image_digest "$2")" '{
		apiVersion: "apps/v1", kind: $kind, metadata: {name: $name, namespace: "hostdev-system"},
		spec: {template: {metadata: {annotations: {"hostdev.io/image": $digest}}}}} | tojson')"
}

wait_for_pods() {
	step "waiting for the pods of hostdev"
	rolled_out daemonset hostdev-agent
	rolled_out deployment hostdev-controller
	wait_until 60 no_pod_ends || warn "pods of hostdev are still ending; see: kubectl -n hostdev-system get pods"
	wait_until 60 webhook_answers || die "no controller answered the API server's admission review of a claim within 60 s;" \
		"see: kubectl -n hostdev-system logs deployment/hostdev-controller"
}

# Those of an earlier version, which still answer and log for a while.
no_pod_ends() {
	local names
	names=$(kubectl -n hostdev-system get pods -l app.kubernetes.io/part-of=hostdev \
		-o 'jsonpath={.items[?(@.metadata.deletionTimestamp)].metadata.name}') && [[ -z $names ]]
}

# A claim of no device, which is not created. Only the webhook refuses it, and only once the API server trusts the
# controller's certificate and the controller has read all devices.
webhook_answers() {
	local answer
	! answer=$(kubectl create --dry-run=server -f - 2>&1 <<-END
		apiVersion: devices.harvesterhci.io/v1beta1
		kind: PCIDeviceClaim
		metadata: {name: hostdev-up-asks}
		END
	) && [[ $answer == *"there is no PCIDevice of this name"* ]]
}

# rolled_out KIND NAME: says every 30 s what it waits for.
rolled_out() {
	local log=$LOCAL/logs/rollout.log attempt
	for attempt in {1..20}; do
		kubectl -n hostdev-system rollout status --timeout=30s "$1" "$2" >"$log" 2>&1 && return 0
		grep -q "timed out waiting" "$log" || break
		((attempt == 20)) || step "$(grep -v "timed out waiting" "$log" | tail -n 1)"
	done
	kubectl -n hostdev-system get pods -o wide >&2
	die "the pods of $2 are not ready after $((30 * attempt)) s; see: kubectl -n hostdev-system describe pods"
}

remove_pods() {
	quietly kubectl -n hostdev-system delete "$POD_KINDS" -l app.kubernetes.io/part-of=hostdev --ignore-not-found
}
