# shellcheck shell=bash
# Stand-ins for GPUs in the guest, of which there are GPUS. Sourced by hack/up after hack/lib.sh;
# uses ROOT, GUEST and PROGRAMS.

# Free in hack/vm.d/devices.
GPU_SLOTS=(09 0a 0b 0c 0d 0e 0f 16)

# choose_gpus: as many as a guest that runs has.
choose_gpus() {
	local running
	running=$("$ROOT/hack/vm" exec --name "$GUEST" -- grep -c ^gpu /run/hostdev-gpus/scene 2>/dev/null) || running=0
	((GPUS == 0 || GPUS == running)) ||
		die "$GUEST runs with $running stand-in GPUs, not with $GPUS; stop it first: hack/vm stop --name $GUEST"
	GPUS=$running
}

# gpu_arguments: for hack/vm start; a device without driver for each. One word on each line.
gpu_arguments() {
	local slot
	for slot in "${GPU_SLOTS[@]:0:GPUS}"; do
		printf '%s\n' --qemu -device --qemu "edu,id=gpu$slot,bus=pcie.0,addr=$slot.0"
	done
}

make_gpus() {
	local -a addresses
	local library=${PROGRAMS%/*}/fake/libnvidia-ml.so.1
	[[ -e $library ]] || die "there is no $library; build it: cmake --build --preset $PRESET --target fake_nvml"
	step "giving $GUEST $GPUS stand-ins for GPUs"
	addresses=("${GPU_SLOTS[@]:0:GPUS}")
	addresses=("${addresses[@]/#/0000:00:}")
	"$ROOT/hack/vm" exec --name "$GUEST" -- "$ROOT/hack/vm.d/gpus" make "$library" "${addresses[@]/%/.0}" ||
		die "$GUEST did not get its GPUs; see above"
}
