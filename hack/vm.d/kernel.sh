# shellcheck shell=bash
# Kernels for the guest, each a folder in the cache:
#
#     vmlinuz  release  lib/modules/RELEASE/  initrd  (cpio, uncompressed)
#
# Sourced by hack/vm after hack/lib.sh. Nothing here is installed on the machine.

# Changes with what is made below, so that old folders are not used any more.
KERNEL_RECIPE=r2
KERNEL_SERIES=6.12

# What the initramfs loads before the host's files are there.
BOOT_MODULES=(virtio_pci virtio_net 9p 9pnet_virtio overlay)
# What guest-setup, node-start and tests load: unpacked, so that nobody waits for xz.
GUEST_MODULES=(
	e1000e igb igbvf 8139cp nvme xhci_pci usb_storage uas usbhid hid_generic sd_mod
	vfio_pci vfio_iommu_type1 mdev dummy_hcd libcomposite usb_f_mass_storage usb_f_acm
	usb_f_hid virtio_rng virtio_blk bridge br_netfilter veth tun nf_conntrack nf_nat nf_tables
	nft_compat nft_chain_nat nft_ct nft_masq ip_tables iptable_nat iptable_filter
	xt_MASQUERADE xt_comment xt_conntrack xt_mark xt_addrtype xt_multiport dummy
	bonding 8021q loop ext4 dm_mod raid1
)

# kernel_folder KIND: the folder's name in the cache, the newest that is there, or
# else the one to make from the newest kernel that Debian has.
kernel_folder() {
	local kind=$1 found
	found=$(find "$CACHE" -maxdepth 1 -type d -name "vm-kernel-$kind-$KERNEL_SERIES.*-$KERNEL_RECIPE" \
		-printf '%f\n' 2>/dev/null | sort -V | tail -n 1)
	if [[ -z $found ]]; then
		found=vm-kernel-$kind-$(newest_kernel)-$KERNEL_RECIPE
	fi
	printf '%s\n' "$found"
}

# The newest Debian kernel of the series, as 6.12.117+deb12.
newest_kernel() {
	local found
	found=$(list_kernels)
	if [[ -z $found ]]; then
		add_backports
		found=$(list_kernels)
	fi
	[[ -n $found ]] || die "apt knows no linux-image-$KERNEL_SERIES.*-amd64; run: apt-get update"
	printf '%s\n' "$found"
}

list_kernels() {
	apt-cache search --names-only "^linux-image-$KERNEL_SERIES\\.[0-9.]+\\+deb[0-9.]+-amd64\$" |
		sed -E 's/^linux-image-(.*)-amd64 .*/\1/' | sort -V | tail -n 1
}

# make_kernel KIND: prints the folder, which is complete afterwards.
make_kernel() {
	local kind=$1 name
	name=$(kernel_folder "$kind")
	cache_entry "$name" "build_${kind}_kernel" "$(kernel_version "$name")" >&2
	printf '%s\n' "$CACHE/$name"
}

# vm-kernel-KIND-VERSION-RECIPE → VERSION
kernel_version() {
	local version=${1#vm-kernel-*-}
	printf '%s\n' "${version%-"$KERNEL_RECIPE"}"
}

# download_packages FOLDER NAME…: fetches and unpacks, each below FOLDER/NAME.
download_packages() {
	local folder=$1 name
	shift
	for name in "$@"; do
		mkdir -p "$folder/$name"
		(cd "$folder/$name" && apt_get download "$name")
		dpkg-deb -x "$folder/$name"/*.deb "$folder/$name"
	done
}

# --- Debian's own kernel ----------------------------------------------------

build_debian_kernel() {
	local version=$1 target=$2 release=$1-amd64 work=$2/work
	step "downloading Debian's kernel $version"
	mkdir -p "$work"
	download_packages "$work" "linux-image-$release"
	mv "$work/linux-image-$release/boot/vmlinuz-$release" "$target/vmlinuz"
	mv "$work/linux-image-$release/lib" "$target/lib"
	printf '%s\n' "$release" >"$target/release"
	build_mdev_samples "$version" "$target" "$work"
	finish_kernel "$target"
}

# The samples mtty and mdpy: devices that give mediated devices, without hardware.
build_mdev_samples() {
	local version=$1 target=$2 work=$3 headers sources=$3/mdev
	local release=$version-amd64
	need_packages gcc make libc6-dev
	step "building the mdev samples mtty and mdpy"
	download_packages "$work" "linux-headers-$release" "linux-headers-$version-common" "linux-kbuild-$version"
	# The three packages are parts of one tree and point at each other.
	headers=$work/headers
	mkdir "$headers"
	cp -a "$work/linux-headers-$release/." "$work/linux-headers-$version-common/." \
		"$work/linux-kbuild-$version/." "$headers/"
	sed -i "s#/usr/src/#$headers/usr/src/#" "$headers/usr/src/linux-headers-$release/Makefile"
	unpack_kernel_source "$work" samples/vfio-mdev
	mv "$work/linux-source-$KERNEL_SERIES/samples/vfio-mdev" "$sources"
	rm -f "$sources/Makefile"
	printf 'obj-m := mtty.o mdpy.o\n' >"$sources/Kbuild"
	make -C "$headers/usr/src/linux-headers-$release" M="$sources" CONFIG_DEBUG_INFO_BTF_MODULES= \
		modules >"$work/mdev.log" 2>&1 || {
		tail -n 20 "$work/mdev.log" >&2
		die "the mdev samples of linux-source-$KERNEL_SERIES do not build for $release"
	}
	install -D -t "$target/lib/modules/$release/extra" "$sources/mtty.ko" "$sources/mdpy.ko"
}

# unpack_kernel_source FOLDER [SUBFOLDER…]: FOLDER/linux-source-6.12
unpack_kernel_source() {
	local folder=$1 name=linux-source-$KERNEL_SERIES
	shift
	download_packages "$folder/deb" "$name"
	need_packages xz-utils
	tar -C "$folder" -xJf "$folder/deb/$name/usr/src/$name.tar.xz" "${@/#/$name/}"
	rm -rf "$folder/deb"
}

# --- what every kernel needs ------------------------------------------------

# Unpacks modules, indexes them, makes the initramfs, drops the scratch folder.
finish_kernel() {
	local target=$1 release
	release=$(<"$target/release")
	step "making the initramfs of $release"
	depmod -b "$target" "$release"
	unpack_modules "$target" "$release"
	depmod -b "$target" "$release"
	make_initramfs "$target" "$release"
	rm -rf "$target/work" "$target/lib/modules/$release/build" "$target/lib/modules/$release/source"
}

# module_closure TARGET RELEASE NAME…: files of modules and all they need, in the
# order of loading. A module that this kernel does not have is no error: it may be
# built in, and guest-setup loads what there is.
module_closure() {
	local target=$1 release=$2 name
	shift 2
	for name in "$@"; do
		modprobe -d "$target" -S "$release" --show-depends "$name" 2>/dev/null || true
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

unpack_modules() {
	local file
	module_closure "$1" "$2" "${BOOT_MODULES[@]}" "${GUEST_MODULES[@]}" |
		while read -r file; do
			if [[ $file == *.xz ]]; then xz -d "$file"; fi
		done
}

make_initramfs() {
	local target=$1 release=$2 root=$1/work/initramfs file
	mkdir -p "$root"/{bin,dev,proc,sys,modules}
	install /bin/busybox "$root/bin/busybox"
	: >"$root/modules/order"
	while read -r file; do
		cp "$file" "$root/modules/"
		printf '%s\n' "${file##*/}" >>"$root/modules/order"
	done < <(module_closure "$target" "$release" "${BOOT_MODULES[@]}")
	(cd "$root" && find . -print0 | cpio --null --create --format=newc --quiet) >"$target/initrd"
}
