# shellcheck shell=bash
# The licence texts of what Debian's packages give to the images, for hack/image. Sourced
# after hack/lib.sh; runs nothing.
#
# SYSROOT is the folder below which the packages' files are, with dpkg's lists of them:
# empty for this machine's own, else what hack/sysroot prints.

# SYMBOL PACKAGE: what a program defines only if the static library of that package is
# linked into it, and be it the library's own smaller build; see hack/cmake/minimal_curl.cmake
# and, of static programs, hack/cmake/dependencies.cmake.
static_libraries() {
	cat <<'END_OF_TABLE'
curl_easy_perform libcurl4-gnutls-dev
gnutls_init libgnutls28-dev
MHD_start_daemon libmicrohttpd-dev
nettle_sha256_init nettle-dev
nettle_rsa_public_key_init nettle-dev
__gmpn_mul_1 libgmp-dev
json_loads libjansson-dev
yaml_parser_initialize libyaml-dev
uv_loop_init libuv1-dev
nghttp2_session_client_new libnghttp2-dev
protobuf_c_message_unpack libprotobuf-c-dev
__libc_start_main libc6
END_OF_TABLE
}

# licences_of_file ROOT PATH SYSROOT: the texts of the package that PATH is of.
licences_of_file() {
	local root=$1 path=$2 sysroot=$3 real package
	real=$(realpath "$sysroot$path")
	real=${real#"$sysroot"}
	# A package may have it below /lib, which leads to /usr/lib.
	package=$(grep -lxF -e "$path" -e "$real" -e "${real#/usr}" "$sysroot"/var/lib/dpkg/info/*.list) ||
		die "$sysroot$path is of no Debian package, so its licence is not known; install the library from Debian"
	package=${package%%$'\n'*}
	package=${package##*/}
	package=${package%.list}
	add_licences "$root" "${package%:*}" "$sysroot"
}

# licences_of_program ROOT FILE SYSROOT: the texts of the libraries that are linked into FILE.
licences_of_program() {
	local root=$1 file=$2 sysroot=$3 symbols defined symbol package
	symbols=$(readelf --wide --symbols "$file")
	[[ $symbols == *"'.symtab'"* ]] ||
		die "$file is stripped, so what is linked into it is not known; give the program as it was built"
	defined=$(awk '$7 != "UND" { print $8 }' <<<"$symbols")
	while read -r symbol package; do
		if grep -qxF -e "$symbol" <<<"$defined"; then add_licences "$root" "$package" "$sysroot"; fi
	done < <(static_libraries)
}

# add_licences ROOT PACKAGE SYSROOT: its text, and the common ones that this one names,
# compressed: they are half of all text.
add_licences() {
	local root=$1 file=/usr/share/doc/$2/copyright sysroot=$3 common
	[[ ! -e $root$file ]] || return 0
	[[ -e $sysroot$file ]] ||
		die "$sysroot$file is missing; install the Debian package $2 again, and let dpkg keep its copyright file"
	install -D -m 644 "$(realpath "$sysroot$file")" "$root$file"
	while read -r common; do
		[[ -f $common ]] || continue
		mkdir -p "$root${common%/*}"
		gzip -9nc "$common" >"$root$common.gz"
	done < <(common_licences "$root$file")
}

# common_licences FILE: the paths that it names; one text has several in braces.
common_licences() {
	local word name
	{ grep -oE '/usr/share/common-licenses/(\{[A-Za-z0-9.,+-]+\}|[A-Za-z0-9.+-]+)' "$1" || true; } | sort -u |
		while read -r word; do
			for name in $(tr '{,}' ' ' <<<"${word##*/}"); do
				printf '/usr/share/common-licenses/%s\n' "${name%.}"
			done
		done
}
