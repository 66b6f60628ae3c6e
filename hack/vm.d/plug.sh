# shellcheck shell=bash
# Devices that come and go while the guest runs. Sourced by hack/vm.

# monitor JSON [EVENT [DEVICE]]: one QMP command, its answer on stdout.
monitor() {
	# A socket's name may have 107 bytes, the path of a tree more.
	cd -- "$STATE" || die "$STATE cannot be entered"
	./client qmp qmp.sock "$@"
}

plug() {
	local kind=${1:-}
	[[ $# -gt 0 ]] && shift
	local id='' bus=spare1 serial='' mac='' model=e1000e option
	while (($# > 0)); do
		option=$1
		(($# > 1)) || die "hack/vm plug: the option $option needs a value"
		case $option in
		--id) id=$2 ;;
		--bus) bus=$2 ;;
		--mac) mac=$2 ;;
		--model) model=$2 ;;
		--serial) serial=$2 ;;
		*) die "hack/vm plug: no option $option; see hack/vm --help" ;;
		esac
		shift 2
	done
	case $kind in
	nic) plug_nic "${id:-plugged-nic}" "$bus" "$model" "${mac:-52:54:00:12:01:01}" ;;
	usb) plug_stick "${id:-plugged-stick}" "$serial" ;;
	*) die "hack/vm plug: nic or usb, not '$kind'" ;;
	esac
}

plug_nic() {
	local id=$1 bus=$2 model=$3 mac=$4
	quietly "{\"execute\": \"device_add\", \"arguments\": {\"driver\": \"$model\", \"id\": \"$id\",
		\"bus\": \"$bus\", \"mac\": \"$mac\", \"romfile\": \"\"}}"
	printf '%s\n' "$id"
}

# A stick has a disk of its own, which goes when the stick goes.
plug_stick() {
	local id=$1 serial=${2:-${1^^}}
	truncate -s "$STICK_SIZE" "$STATE/stick-$id.img"
	quietly "{\"execute\": \"blockdev-add\", \"arguments\": {\"driver\": \"raw\", \"node-name\": \"disk-$id\",
		\"file\": {\"driver\": \"file\", \"filename\": \"stick-$id.img\"}}}"
	quietly "{\"execute\": \"device_add\", \"arguments\": {\"driver\": \"usb-storage\", \"id\": \"$id\",
		\"bus\": \"xhci.0\", \"drive\": \"disk-$id\", \"serial\": \"$serial\"}}"
	printf '%s\n' "$id"
}

# Returns when the guest has let go of the device, or fails after 30 s.
unplug() {
	local id=$1
	quietly "{\"execute\": \"device_del\", \"arguments\": {\"id\": \"$id\"}}" DEVICE_DELETED "$id"
	if [[ -e $STATE/stick-$id.img ]]; then
		quietly "{\"execute\": \"blockdev-del\", \"arguments\": {\"node-name\": \"disk-$id\"}}"
		rm -f "$STATE/stick-$id.img"
	fi
}

# monitor, but only an error's answer is shown.
quietly() {
	local answer
	answer=$(monitor "$@") || die "the machine $NAME refuses: $(in_words "$answer")"
}

# in_words ANSWER: of QEMU's error its sentence, and what to do about it.
in_words() {
	local sentence
	sentence=$(sed -nE 's/.*"desc": "(([^"\\]|\\.)*)".*/\1/p' <<<"$1")
	case $sentence in
	"Duplicate device ID '"* | *"already in use"*)
		printf '%s: it is plugged already; unplug it first, or choose another --id\n' "$sentence"
		;;
	*"in use by "* | *"already occupied"*) printf '%s: choose another --bus\n' "$sentence" ;;
	"Device '"*"' not found") printf '%s: it is not plugged\n' "$sentence" ;;
	*) printf '%s\n' "${sentence:-${1:-no answer}}" ;;
	esac
}
