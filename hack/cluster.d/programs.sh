# shellcheck shell=bash
# Our own programs on the local cluster: built, started as processes of this machine
# with an identity each, and waited for. Sourced by hack/up after hack/lib.sh; uses
# LOCAL and NODE.

# choose_programs PRESET: sets PROGRAMS, the folder with them, and PRESET, what builds it.
choose_programs() {
	PRESET=${HOSTDEV_PRESET:-$1}
	PROGRAMS=${HOSTDEV_PROGRAMS:-$ROOT/build/$PRESET/bin}
}

build_programs() {
	local log=$LOCAL/logs/build.log
	if [[ -n ${HOSTDEV_PROGRAMS:-} ]]; then
		step "using the programs in $PROGRAMS"
		return 0
	fi
	step "building the programs (preset $PRESET)"
	[[ $PRESET != release-minimal || -e $ROOT/build/$PRESET/build.ninja ]] ||
		step "with libraries of its own: about 5 minutes more, once"
	mkdir -p "$LOCAL/logs"
	(
		cd "$ROOT"
		[[ -e build/$PRESET/build.ninja ]] || cmake --preset "$PRESET" || exit 1
		cmake --build --preset "$PRESET" --target hostdev-{agent,helper,names,nvml,controller} kubectl-hostdev fake_nvml
	) >"$log" 2>&1 && {
		mkdir -p "$LOCAL/bin"
		ln -sfn "$PROGRAMS"/kubectl{-,_complete-}hostdev "$LOCAL/bin/"
		return 0
	}
	grep -E 'error|Error' "$log" | head -n 10 >&2 || tail -n 20 "$log" >&2
	die "building the programs failed; the whole output is in $log"
}

# program_kubeconfig FILE ACCOUNT SERVER [NODE]: a kubeconfig with a token of the
# ServiceAccount; one that is still good stays, so that nothing is restarted.
program_kubeconfig() {
	local file=$1 account=$2 server=$3 node=${4:-}
	if [[ -s $file ]] && grep -qF "server: $server" "$file" &&
		kubectl --kubeconfig "$file" --server "$API_SERVER" auth whoami >/dev/null 2>&1; then
		return 0
	fi
	mkdir -p "${file%/*}"
	(umask 077 && "$ROOT/hack/cluster.d/cluster" sa-kubeconfig hostdev-system "$account" \
		--server "$server" ${node:+--node "$node"} >"$file.new")
	mv "$file.new" "$file"
}

# shellcheck disable=SC2153 # NODE is set by those who source this
start_host_agent() {
	program_kubeconfig "$LOCAL/agents/$NODE.kubeconfig" hostdev-agent "$API_SERVER" "$NODE"
	"$ROOT/hack/cluster.d/agent" start "$LOCAL" "$NODE" "$LOCAL/agents/$NODE.kubeconfig" "$PROGRAMS"
}

start_controller() {
	local file=$LOCAL/agents/controller.kubeconfig port=${HOSTDEV_CONTROLLER_PORT:-9808} mark
	program_kubeconfig "$file" hostdev-controller "$API_SERVER"
	mark=$(mark_of "$PROGRAMS/hostdev-controller" "$port" "$(<"$file")")
	process_running "$LOCAL" hostdev-controller "$mark" && return 0
	stop_process "$LOCAL" hostdev-controller
	check_port_free "$port" hostdev-controller HOSTDEV_CONTROLLER_PORT
	step "starting the controller"
	start_process "$LOCAL" hostdev-controller "$mark" env "KUBECONFIG=$file" \
		POD_NAMESPACE=hostdev-system "POD_NAME=hostdev-controller-$NODE" "$PROGRAMS/hostdev-controller" \
		--agent-pods none "--listen=127.0.0.1:$port"
	sleep 0.2
	process_running "$LOCAL" hostdev-controller || {
		tail -n 5 "$LOCAL/logs/hostdev-controller.log" >&2
		die "the controller ended at once; its log is $LOCAL/logs/hostdev-controller.log"
	}
}

# expected_devices NODE [COMMAND…]: the names that the agent of the node would
# apply, by asking the same program on the same node.
expected_devices() {
	local node=$1
	shift
	"$@" "$PROGRAMS/hostdev-agent" inspect -o json --node-name "$node" 2>"$LOCAL/logs/inspect-$node.log" |
		jq -r '.items[] | select(.kind == "PCIDevice") | .metadata.name' | sort
}

# wait_for_devices NODE [COMMAND…]: until the API has all that `inspect` prints.
wait_for_devices() {
	local node=$1 expected
	expected=$(expected_devices "$@") ||
		die "hostdev-agent inspect failed on node $node; what it said is in $LOCAL/logs/inspect-$node.log"
	step "waiting for the $(wc -w <<<"$expected") PCI devices of node $node"
	wait_until 30 devices_are_listed "$expected" ||
		die "the PCI devices of node $node are not in the API after 30 s; see its agent's log: $LOCAL/logs/hostdev-agent.log, or of pods, kubectl -n hostdev-system logs daemonset/hostdev-agent"
}

devices_are_listed() {
	local names
	names=$(kubectl get pcidevices -o name | sed 's|.*/||' | sort) || return 1
	[[ -z $(comm -23 <(sed '/^$/d' <<<"$1") <(printf '%s\n' "$names")) ]]
}
