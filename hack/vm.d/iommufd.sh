# shellcheck shell=bash
# A kernel with IOMMUFD and the VFIO cdev, which Debian's own does not have, from
# Debian's kernel source. Sourced by hack/vm after kernel.sh.

# build_iommufd_kernel VERSION TARGET: some minutes on two cores, once.
build_iommufd_kernel() {
	local target=$2 work=$2/work source log=$CACHE/logs/vm-kernel-iommufd.log
	need_packages gcc make flex bison bc libelf-dev libssl-dev xz-utils perl
	step "downloading Debian's kernel source"
	mkdir -p "$work" "$CACHE/logs"
	unpack_kernel_source "$work"
	source=$work/linux-source-$KERNEL_SERIES
	step "building the kernel with IOMMUFD: about 7 minutes on two cores, log in $log"
	build_kernel_tree "$source" >"$log" 2>&1 || {
		grep -E 'error|Error' "$log" | head -n 10 >&2
		die "building the kernel failed; the whole output is in $log"
	}
	cp "$source/arch/x86/boot/bzImage" "$target/vmlinuz"
	make -s -C "$source" kernelrelease >"$target/release"
	make -s -C "$source" INSTALL_MOD_PATH="$target" modules_install >>"$log" 2>&1
	finish_kernel "$target"
}

build_kernel_tree() {
	local source=$1
	make -C "$source" tinyconfig
	"$source/scripts/kconfig/merge_config.sh" -m -O "$source" "$source/.config" "$ROOT/hack/vm.d/iommufd.config"
	# The name tells this kernel from Debian's, and no file of the source changes it.
	"$source/scripts/config" --file "$source/.config" --set-str LOCALVERSION -hostdev-iommufd
	make -C "$source" olddefconfig
	require_settings "$source/.config"
	# Others have work to do, too.
	nice make -C "$source" -j "$(nproc)" LOCALVERSION= bzImage modules
}

# A setting that a later kernel calls by another name would be dropped silently.
require_settings() {
	local line missing=''
	while read -r line; do
		if [[ $line == CONFIG_*=[ym] ]] && ! grep -qE "^${line%=*}=[ym]\$" "$1"; then
			missing+=" ${line%=*}"
		fi
	done <"$ROOT/hack/vm.d/iommufd.config"
	[[ -z $missing ]] || {
		echo "Error: the kernel has no$missing"
		return 1
	}
}
