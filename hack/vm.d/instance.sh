# shellcheck shell=bash
# One virtual machine: its folder, starting and stopping it. Sourced by hack/vm.
#
# build/local/vm/NAME/ holds
#   pids/qemu        the process, see lib.sh
#   channel          port and token of the command agent (0600)
#   client           link to the program that speaks to agent and monitor
#   qmp.sock         QEMU's monitor
#   console.log      what the guest wrote to its serial console
#   logs/qemu.log    what QEMU itself said
#   settings         kernel, ports: what `hack/vm status` prints
#   *.img, initrd    disks and initramfs of this run
#   node/            what the cluster's scripts put there, see node-start

BOOT_SECONDS=180
STICK_SIZE=16M
NVME_SIZE=64M
NODE_DISK_SIZE=8G # sparse

# instance NAME: sets NAME and STATE; STATE need not exist.
instance() {
	[[ $1 =~ ^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$ ]] ||
		die "'$1' is no name for a machine: lower case letters, digits and dashes, at most 63"
	NAME=$1
	STATE=$ROOT/build/local/vm/$NAME
}

instance_running() {
	process_running "$STATE" qemu
}

require_running() {
	instance_running || die "the machine $NAME does not run; start it with: hack/vm start --name $NAME"
}

# setting NAME: one line of the settings file.
setting() {
	sed -n "s/^$1=//p" "$STATE/settings" 2>/dev/null
}

# --- the programs of the channel --------------------------------------------

make_tools() {
	local source=$ROOT/hack/vm.d mark name
	mark=$(cat "$source"/{agent.c,client.c,wire.h} | sha256sum | cut -c 1-16)
	name=vm-tools-$mark
	cache_entry "$name" build_tools "$source"
	printf '%s\n' "$CACHE/$name"
}

build_tools() {
	local source=$1 target=$2
	need_packages gcc libc6-dev
	step "building the command agent and its client"
	# Static, because it starts before the guest's file systems are complete.
	gcc -std=gnu17 -O2 -Wall -Wextra -static -o "$target/agent" "$source/agent.c"
	gcc -std=gnu17 -O2 -Wall -Wextra -o "$target/client" "$source/client.c"
}

install_host_packages() {
	local version
	version=$(qemu-system-x86_64 --version 2>/dev/null | sed -nE '1s/.*version ([0-9]+).*/\1/p') || true
	if ((${version:-0} < 10)); then
		add_backports
		need_packages -t bookworm-backports qemu-system-x86
	fi
	need_packages seabios busybox-static cpio kmod pciutils usbutils iproute2
}

# --- starting ---------------------------------------------------------------

# start_instance KIND: boots it; its options are in OPT_*.
start_instance() {
	local kind=$1 kernel tools try panicked=''
	install_host_packages
	tools=$(make_tools)
	kernel=$(make_kernel "$kind")
	mkdir -p "$STATE"
	for try in 1 2 3; do
		prepare_state "$kind" "$kernel" "$tools"
		launch "$kernel"
		if await_agent; then
			set_clock
			return 0
		fi
		if [[ $try == 3 ]]; then break; fi
		if [[ -z $panicked ]] && panicked=$(panic_line); then
			warn "the guest's kernel panicked (${panicked%$'\r'}); booting $NAME once more"
		elif ! grep -q 'host forwarding rule' "$STATE/logs/qemu.log"; then
			break
		fi
	done
	report_failed_start
}

# The line in which the guest's kernel says that it panicked; fails if there is none.
panic_line() {
	grep -om 1 'Kernel panic - .*' "$STATE/console.log"
}

prepare_state() {
	local kind=$1 kernel=$2 tools=$3 port kubelet_port token
	mkdir -p "$STATE/logs"
	rm -f "$STATE"/{qmp.sock,console.log,channel,logs/qemu.log,stick-*.img}
	: >"$STATE/console.log"
	: >"$STATE/logs/qemu.log"
	port=$(free_ports 1)
	kubelet_port=$(free_ports 1)
	token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
	(umask 077 && printf '%s %s\n' "$port" "$token" >"$STATE/channel")
	printf '%s\n' "kernel=$kind" "release=$(<"$kernel/release")" "port=$port" \
		"kubelet_port=$kubelet_port" "started=$EPOCHSECONDS" >"$STATE/settings"
	ln -sfn "$tools/client" "$STATE/client"
	make_disk stick0 "$STICK_SIZE"
	make_disk nvme0 "$NVME_SIZE"
	make_disk node "$NODE_DISK_SIZE"
	write_initrd "$kernel" "$tools" "$token"
}

# make_disk NAME SIZE: empty, whatever the last run left in it.
make_disk() {
	truncate -s 0 "$STATE/$1.img"
	truncate -s "$2" "$STATE/$1.img"
}

# The kernel's initramfs and, behind it, what only this instance has.
write_initrd() {
	local kernel=$1 tools=$2 token=$3 extra=$STATE/initramfs
	rm -rf "$extra"
	mkdir -p "$extra"
	install -m 755 "$ROOT/hack/vm.d/guest-init" "$extra/init"
	install -m 755 "$tools/agent" "$extra/agent"
	{
		printf 'NAME=%q\nSOURCE=%q\nSETUP=%q\n' "$NAME" "$ROOT" "$ROOT/hack/vm.d/guest-setup"
		printf 'MODULES=%q\nCLEAN_TMP=%q\n' "$kernel/lib/modules" "$(clean_tmp "$kernel")"
		printf 'PORT=%q\nTOKEN=%q\n' "$AGENT_PORT" "$token"
	} >"$extra/instance"
	chmod 600 "$extra/instance"
	(umask 077 && {
		cat "$kernel/initrd"
		cd "$extra" && find . -print0 | cpio --null --create --format=newc --quiet
	} >"$STATE/initrd")
	rm -rf "$extra"
}

# The guest gets a /tmp of its own, unless the tree or the cache are in it.
clean_tmp() {
	case "$ROOT/:$1/" in
	/tmp/* | *:/tmp/*) echo no ;;
	*) echo yes ;;
	esac
}

launch() {
	local kernel=$1
	local -a command devices
	mapfile -t devices < <(device_arguments)
	# Without the processor's fast string instructions: kernel and libraries clear and copy pages with them where they
	# are, and the emulator does that byte by byte.
	# no_timer_check: the kernel expects interrupts of the timer within a time that it counts in processor cycles, and
	# panics if they come later, as they do on a busy host. As a guest of KVM it leaves this check out by itself.
	# tsc=reliable: all emulated processors share one time-stamp counter. A kernel that does not know this reads the time
	# from the HPET, which is slow because QEMU emulates it as a device.
	# highres=off: programs in Go sleep for microseconds thousands of times a second, and each time the kernel sets a
	# timer anew, which the emulator pays with a wakeup of another thread. With the timer tick, which comes every 4 ms,
	# a kubelet that starts, runs a pod or is left alone takes a third less of the processor.
	# One processor: with two on one thread of the host, each waits while the other has its share of the time, and in a
	# busy guest a pipe to another process and back takes 8 ms instead of 1. With a thread for each, a processor now and
	# then gets no more interrupts when many devices are rebound at once. The second NUMA node has memory and devices.
	# eim=on lets the kernel use x2APIC, whose registers are faster to emulate than the memory-mapped ones.
	# shellcheck disable=SC2054 # the commas are QEMU's
	command=(
		qemu-system-x86_64 -name "hostdev-$NAME" -accel tcg,thread=single
		-machine q35,kernel-irqchip=split -cpu max,-erms,-fsrm,-fsrs,-fzrm -nodefaults -display none -no-reboot
		-smp 1 -m "$OPT_MEMORY"
		-object "memory-backend-ram,id=m0,size=$((OPT_MEMORY / 2))M" -numa node,nodeid=0,cpus=0,memdev=m0
		-object "memory-backend-ram,id=m1,size=$((OPT_MEMORY - OPT_MEMORY / 2))M" -numa node,nodeid=1,memdev=m1
		-kernel "$kernel/vmlinuz" -initrd "$STATE/initrd"
		-append "console=ttyS0 quiet intel_iommu=on iommu=pt panic=-1 net.ifnames=0 mitigations=off no_timer_check tsc=reliable highres=off $OPT_APPEND"
		-serial file:console.log -qmp unix:qmp.sock,server=on,wait=off
	)
	if [[ $OPT_IOMMU == yes ]]; then
		# shellcheck disable=SC2054
		command+=(-device intel-iommu,intremap=on,eim=on,caching-mode=on,aw-bits=48)
	fi
	command+=("${devices[@]}" "${OPT_QEMU[@]}")
	step "booting $NAME with Linux $(<"$kernel/release")"
	# A socket's name may have 107 bytes, the path of a tree more: so work in the folder.
	cd -- "$STATE" || die "$STATE cannot be entered"
	start_process "$STATE" qemu "$NAME" "${command[@]}"
}

# QEMU's arguments for the guest's own devices and those of the device list, one per line.
device_arguments() {
	local forward port kubelet_port
	port=$(setting port)
	kubelet_port=$(setting kubelet_port)
	forward=hostfwd=tcp:127.0.0.1:$port-:$AGENT_PORT,hostfwd=tcp:127.0.0.1:$kubelet_port-:$kubelet_port
	printf '%s\n' \
		-netdev "user,id=net0,$forward" \
		-device virtio-net-pci,id=eth0,bus=pcie.0,addr=02.0,netdev=net0,romfile= \
		-fsdev local,id=fs-host,path=/,security_model=none,readonly=on,multidevs=remap \
		-device virtio-9p-pci,id=fs0,bus=pcie.0,addr=03.0,fsdev=fs-host,mount_tag=host \
		-fsdev "local,id=fs-source,path=${ROOT//,/,,},security_model=none,readonly=on,multidevs=remap" \
		-device virtio-9p-pci,id=fs1,bus=pcie.0,addr=04.0,fsdev=fs-source,mount_tag=source \
		-device virtio-rng-pci,id=rng0,bus=pcie.0,addr=05.0
	local option value state=${STATE//,/,,}
	printf '%s\n' -drive "if=none,id=disk0,format=raw,cache=unsafe,file=$state/node.img" \
		-device virtio-blk-pci,id=nodedisk,bus=pcie.0,addr=08.0,drive=disk0,serial=NODE0001
	while read -r option value; do
		if [[ -n $option && $option != '#'* ]]; then
			printf '%s\n' "-$option" "${value//@STATE@/"$state"}"
		fi
	done <"$OPT_DEVICES"
}

await_agent() {
	local end=$((EPOCHSECONDS + BOOT_SECONDS))
	# QEMU takes a connection before the guest can, and repeats it to the guest ever
	# more slowly: a new one is quicker.
	until timeout 3 "$STATE/client" exec "$STATE/channel" / true </dev/null >/dev/null 2>&1; do
		instance_running || return 1
		((EPOCHSECONDS < end)) || return 1
		sleep 0.1
	done
}

# The guest's clock starts at a full second, in the past: a certificate made just
# now would not be valid yet.
set_clock() {
	"$STATE/client" exec "$STATE/channel" / date -s "@$EPOCHREALTIME" </dev/null >/dev/null
}

report_failed_start() {
	local lines
	stop_process "$STATE" qemu
	lines=$(tail -n 15 "$STATE/console.log" "$STATE/logs/qemu.log" 2>/dev/null) || true
	printf '%s\n' "$lines" >&2
	die "the machine $NAME did not come up; its console is in $STATE/console.log, QEMU's words in $STATE/logs/qemu.log"
}

# --- stopping and looking ---------------------------------------------------

stop_instance() {
	if instance_running; then
		step "stopping $NAME"
	fi
	stop_process "$STATE" qemu 5
	rm -f "$STATE"/{channel,qmp.sock,initrd,settings,*.img}
}

show_instance() {
	if ! instance_running; then
		printf '%s: not running\n' "$NAME"
		return 3
	fi
	printf '%s: running, pid %s, Linux %s (%s), up %d s, kubelet port %s\n' "$NAME" "$(<"$STATE/pids/qemu")" \
		"$(setting release)" "$(setting kernel)" "$((EPOCHSECONDS - $(setting started)))" "$(setting kubelet_port)"
}

list_instances() {
	local folder found=3
	for folder in "$ROOT"/build/local/vm/*/; do
		[[ -d $folder ]] || continue
		instance "$(basename "$folder")"
		if show_instance; then found=0; fi
	done
	return "$found"
}
