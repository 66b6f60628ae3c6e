# shellcheck shell=bash
# Debian's source packages, and its libraries of another architecture, for the scripts
# that build what the images are made of. Sourced after hack/lib.sh; runs nothing.

# The machine's own apt settings stay as they are: lists and sources are in FOLDER.

# apt_in FOLDER WORD…: apt-get there, after apt_lists or apt_source_lists.
apt_in() {
	local folder=$1
	shift
	apt-get -qq -o "Dir::State=$folder" -o "Dir::State::Lists=$folder/lists" \
		-o "Dir::Cache=$folder" -o Dir::Etc::SourceList=/dev/null \
		-o "Dir::Etc::SourceParts=$folder/sources.d" -o APT::Sandbox::User=root "$@"
}

# apt_sources FOLDER TYPE: the machine's sources of Debian, all of them TYPE (deb, deb-src).
apt_sources() {
	local folder=$1 type=$2 file
	mkdir -p "$folder/lists/partial" "$folder/archives/partial" "$folder/sources.d"
	for file in /etc/apt/sources.list.d/*.sources; do
		[[ -e $file ]] && grep -q 'debian' "$file" &&
			sed "s/^Types:.*/Types: $type/" "$file" >"$folder/sources.d/${file##*/}"
	done
	[[ ! -e /etc/apt/sources.list ]] ||
		sed -nE "s/^deb(-src)? /$type /p" /etc/apt/sources.list >"$folder/sources.d/list.list"
}

# fetch_source FOLDER NAME VERSION: unpacked in FOLDER/tree. An archive keeps the newest
# only, so where VERSION is not there any more, it is that.
fetch_source() {
	local folder=$1 name=$2 version=$3
	apt_sources "$folder" deb-src
	apt_in "$folder" update
	(
		cd "$folder"
		apt_in "$folder" source --download-only "$name=$version" ||
			apt_in "$folder" source --download-only "$name"
		dpkg-source --no-check -x "$name"_*.dsc tree
	)
}

# source_version FOLDER: of what fetch_source has put there. The archive keeps only the newest version
# of a suite, so it can be newer than the one that was asked for.
source_version() {
	dpkg-parsechangelog -l "$1/tree/debian/changelog" -S Version
}

# build_logged NAME WHAT COMMAND…: stops at what fails first, and shows then how its log ends.
build_logged() {
	local log=$CACHE/logs/$1.log what=$2 status
	shift 2
	step "$what"
	mkdir -p "${log%/*}"
	set +e
	(set -e; "$@") >"$log" 2>&1
	status=$?
	set -e
	((status == 0)) && return 0
	tail -n 20 "$log" >&2
	die "$what failed; the whole output is in $log"
}

# triplet_of ARCH: what compilers and library folders are called by.
triplet_of() {
	case $1 in
	amd64) echo x86_64-linux-gnu ;;
	arm64) echo aarch64-linux-gnu ;;
	*) die "no architecture $1; there are amd64 and arm64" ;;
	esac
}

# cross_options ARCH: what a configure script is told to compile for it, one word per
# line; nothing for this machine's own. The name of the sysroot is not in what is compiled.
cross_options() {
	local triplet sysroot
	[[ $1 != "$(dpkg --print-architecture)" ]] || return 0
	triplet=$(triplet_of "$1")
	sysroot=$("$ROOT/hack/sysroot" "$1")
	printf '%s\n' "--host=$triplet" "CC=$triplet-gcc --sysroot=$sysroot -ffile-prefix-map=$sysroot=" \
		"PKG_CONFIG_SYSROOT_DIR=$sysroot" \
		"PKG_CONFIG_LIBDIR=$sysroot/usr/lib/$triplet/pkgconfig:$sysroot/usr/share/pkgconfig"
}
