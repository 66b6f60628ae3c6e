# shellcheck shell=bash
# The root file system of virt-launcher and virt-handler from Debian's packages, and what the virtual machines boot: on one
# disk, because the node would take minutes to unpack them from an image. Sourced after
# hack/lib.sh, hack/debian.sh and hack/kubevirt.d/programs.sh, when the packages of the purpose
# kubevirt are installed.

LAUNCHER_SUITE=trixie # libvirt 11.3, QEMU 10.0
LAUNCHER_ENTRY=kubevirt-root-$LAUNCHER_SUITE-1
LAUNCHER_PACKAGES=(
	qemu-system-x86 qemu-utils seabios libvirt-daemon libvirt-daemon-driver-qemu libvirt-daemon-log libvirt-daemon-common
	libvirt-clients libcap2-bin nftables iproute2 procps kmod pciutils psmisc xorriso
)

# kubevirt_disk: afterwards KUBEVIRT_DISK is the file; needs kubevirt_programs before it.
kubevirt_disk() {
	local mark
	mark=$({ cat "$ROOT"/hack/kubevirt.d/{launcher.sh,kernel.c}; printf '%s\n' "$KUBEVIRT_BIN"; } | sha256sum | cut -c 1-16)
	cache_entry "$LAUNCHER_ENTRY" build_launcher_root
	cache_entry "kubevirt-disk-$mark" build_kubevirt_disk
	# shellcheck disable=SC2034 # for those who source this
	KUBEVIRT_DISK=$CACHE/kubevirt-disk-$mark/disk.img
}

# build_launcher_root FOLDER: FOLDER/root, without KubeVirt's programs.
build_launcher_root() {
	need_root "making a root file system in a chroot"
	build_logged kubevirt-root "fetching libvirt and QEMU of Debian $LAUNCHER_SUITE (2 to 9 minutes, once)" \
		make_launcher_root "$1/root"
}

make_launcher_root() {
	local base=$1
	debootstrap --variant=minbase "$LAUNCHER_SUITE" "$base" "$(debian_mirror)"
	printf 'path-exclude /usr/share/%s/*\n' doc man locale >"$base/etc/dpkg/dpkg.cfg.d/small"
	printf '#!/bin/sh\nexit 101\n' >"$base/usr/sbin/policy-rc.d" # no service starts
	chmod 755 "$base/usr/sbin/policy-rc.d"
	DEBIAN_FRONTEND=noninteractive chroot "$base" apt-get install -y --no-install-recommends "${LAUNCHER_PACKAGES[@]}"
	make_small "$base"
	make_virtqemud "$base"
	make_qemu_user "$base"
}

# debian_mirror: where the machine itself has its packages from.
debian_mirror() {
	{
		awk '/^[^#]/ && $1 == "URIs:" { print $2 }' /etc/apt/sources.list.d/debian*.sources
		sed -nE 's/^deb +(\[[^]]*\] +)?([^ ]+) +bookworm .*/\2/p' /etc/apt/sources.list
	} 2>/dev/null | head -n 1
}

# libvirt asks each emulator that it finds what it can, which takes half a minute in an emulated node.
make_small() {
	local base=$1
	rm -rf "$base"/var/{cache,lib/apt/lists}/* "$base"/usr/share/{doc,man,locale,qemu-efi*} \
		"$base"/usr/bin/qemu-system-i386 "$base"/usr/share/qemu/{edk2*,*.fd}
}

# Debian's libvirt has one daemon for all. virt-launcher wants the one for QEMU under its own name, at its own socket.
make_virtqemud() {
	local base=$1
	mkdir -p "$base/usr/lib/kubevirt"
	cp "$base/usr/sbin/libvirtd" "$base/usr/lib/kubevirt/virtqemud"
	cat >"$base/usr/sbin/virtqemud" <<-'END'
		#!/bin/sh
		dir=${XDG_RUNTIME_DIR:-/var/run}/libvirt
		[ "$(id -u)" != 0 ] || dir=/var/run/libvirt
		mkdir -p "$dir"
		ln -sfn libvirt-sock "$dir/virtqemud-sock"
		exec /usr/lib/kubevirt/virtqemud "$@"
	END
	chmod 755 "$base/usr/sbin/virtqemud"
}

# 107 is the user of virtual machines to KubeVirt. Debian may have given the number to another one.
make_qemu_user() {
	local base=$1
	sed -i -E -e '/^qemu:/d' -e 's/^([^:]*:[^:]*):107:/\1:9107:/' "$base"/etc/{passwd,group}
	echo 'qemu:x:107:107:qemu:/home/qemu:/bin/bash' >>"$base/etc/passwd"
	echo 'qemu:x:107:' >>"$base/etc/group"
	install -d -o 107 -g 107 "$base/home/qemu"
}

# build_kubevirt_disk FOLDER: FOLDER/disk.img with launcher/, a container's root, and kernel/, another one.
build_kubevirt_disk() {
	local folder=$1
	step "making the disk with KubeVirt's containers (a minute, once)"
	mkdir "$folder/disk"
	cp -a "$CACHE/$LAUNCHER_ENTRY/root" "$folder/disk/launcher"
	add_programs "$folder/disk/launcher"
	make_kernel "$folder/disk/kernel"
	truncate -s 1200M "$folder/disk.img"
	mkfs.ext4 -q -F -O ^has_journal -d "$folder/disk" "$folder/disk.img"
	rm -rf "$folder/disk"
}

add_programs() {
	local base=$1
	install -m 755 "$KUBEVIRT_BIN"/virt-{launcher,launcher-monitor,tail,freezer,probe,handler,chroot} \
		"$KUBEVIRT_BIN"/{container-disk,files/node-labeller.sh} "$base/usr/bin/"
	setcap cap_net_bind_service=+ep "$base/usr/bin/virt-launcher-monitor"
	mkdir -p "$base"/etc/{libvirt,virt-handler} "$base"/var/lib/kubevirt-node-labeller
	install -m 644 "$KUBEVIRT_BIN"/files/{qemu,virtqemud}.conf "$base/etc/libvirt/"
	install -m 644 "$KUBEVIRT_BIN/files/virtqemud.conf" "$base/etc/libvirt/libvirtd.conf"
	: >"$base/etc/libvirt/virtlogd.conf"
}

# make_kernel FOLDER: FOLDER/boot/kernel, see kernel.c.
make_kernel() {
	mkdir -p "$1/boot"
	gcc -m32 -march=i686 -mno-sse -mno-mmx -Os -std=gnu17 -Wall -Wextra -Wno-main -ffreestanding -fno-builtin -fno-pie \
		-fno-stack-protector -fno-asynchronous-unwind-tables -nostdlib -static -no-pie -Wl,-N,--no-warn-rwx-segments \
		-Wl,-melf_i386,-Ttext=0x101000,--section-start=.multiboot=0x100000,--build-id=none \
		-o "$1/boot/kernel" "$ROOT/hack/kubevirt.d/kernel.c"
	chown -R 107:107 "$1"
}
