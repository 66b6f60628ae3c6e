# shellcheck shell=bash
# Functions that the scripts in hack/ share: progress, errors, packages, the
# cache outside the tree, processes that outlive a script. Source it after
# `set -euo pipefail`; sourcing it runs nothing but the settings below.

if [[ -n ${HOSTDEV_LIB_SOURCED:-} ]]; then return 0; fi
HOSTDEV_LIB_SOURCED=1

# shellcheck disable=SC2034 # for those who source this
ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
# Without links: compilers find out where one leads, and would not cut that name out of what they compile.
CACHE=$(realpath -m -- "${HOSTDEV_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hostdev}")

# Tells one checkout from another on the same machine.
# shellcheck disable=SC2034
MARK=$(printf '%08x' "$(cksum <<<"$ROOT" | cut -d ' ' -f 1)")

# Of the agent that is a process. Not in build/local: what it has bound outlives hack/down, and the next
# agent gives it back.
# shellcheck disable=SC2034
AGENT_STATE=/var/lib/hostdev-local-$MARK

# One clock for a script and all that it calls.
printf -v HOSTDEV_STARTED '%s' "${HOSTDEV_STARTED:-${EPOCHSECONDS}}"
export HOSTDEV_STARTED

# --- what the reader sees -------------------------------------------------

# step TEXT: one line of progress with the time since the first script began.
step() {
	printf '[%4ds] %s\n' "$((EPOCHSECONDS - HOSTDEV_STARTED))" "$*" >&2
}

warn() {
	printf 'warning: %s\n' "$*" >&2
}

# die WHAT…: says what failed, on what, and what to do; ends the script.
die() {
	printf 'error: %s\n' "$*" >&2
	exit 1
}

# need_root WHY: ends the script unless it runs as root.
need_root() {
	[[ $EUID -eq 0 ]] || die "this needs root: $*; run it with sudo"
}

# --- Debian packages ------------------------------------------------------

# has_package NAME [SUITE]: installed, and from backports where that is asked.
has_package() {
	local state
	state=$(dpkg-query -W -f '${db:Status-Status} ${Version}' "$1" 2>/dev/null) || return 1
	[[ $state == "installed "* ]] || return 1
	[[ ${2:-} != *-backports || $state == *~bpo* ]]
}

# need_packages [-t SUITE] NAME…: installs those that are missing.
need_packages() {
	local suite='' name
	local -a missing=() options=()
	if [[ $1 == -t ]]; then
		suite=$2
		options=(-t "$suite")
		shift 2
	fi
	for name in "$@"; do
		has_package "$name" "$suite" || missing+=("$name")
	done
	((${#missing[@]})) || return 0
	command -v apt-get >/dev/null ||
		die "these Debian packages are missing and there is no apt-get: ${missing[*]}"
	[[ $EUID -eq 0 ]] ||
		die "installing packages needs root; run: sudo apt-get install ${options[*]} ${missing[*]}"
	step "installing Debian packages: ${missing[*]}"
	apt_get install --no-install-recommends "${options[@]}" "${missing[@]}"
}

# apt_get VERB ARGUMENT…: quiet, unattended, waits for other runs of dpkg. Fresh
# machines have no package lists and old ones stale lists, so a failure leads
# to one update and one more try.
apt_get() {
	local log=$CACHE/logs/apt.log
	mkdir -p "${log%/*}"
	apt_get_once "$@" >"$log" 2>&1 && return 0
	step "updating the package lists"
	apt_get_once update >"$log" 2>&1 || warn "apt-get update failed, see $log"
	apt_get_once "$@" >"$log" 2>&1 && return 0
	tail -n 20 "$log" >&2
	die "apt-get $* failed; the whole output is in $log"
}

apt_get_once() {
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
		-o DPkg::Lock::Timeout=300 -o APT::Sandbox::User=root "$@" </dev/null
}

# add_backports: makes bookworm-backports known to apt, from the mirror and with
# the key that the machine already uses for bookworm.
add_backports() {
	local list=/etc/apt/sources.list.d/hostdev-backports
	if apt-cache policy | grep -q 'n=bookworm-backports'; then return 0; fi
	need_root "adding the bookworm-backports suite to apt's sources"
	step "adding bookworm-backports to apt's sources"
	backports_deb822 >"$list.sources"
	if [[ ! -s $list.sources ]]; then
		rm -f "$list.sources"
		backports_one_line >"$list.list"
		[[ -s $list.list ]] || {
			rm -f "$list.list"
			die "no source of the suite bookworm in /etc/apt to copy for backports; add bookworm-backports to apt's sources"
		}
	fi
	apt_get update
}

backports_deb822() {
	local file
	for file in /etc/apt/sources.list.d/*.sources; do
		[[ -e $file ]] || continue
		awk -v RS='' '
			(" " $0 " ") ~ /\nSuites:([^\n]* )?bookworm[ \n]/ && !done {
				print "Types: deb\nSuites: bookworm-backports\nComponents: main"
				n = split($0, line, "\n"); keep = 0
				for (i = 1; i <= n; i++) {
					if (line[i] ~ /^#/) continue
					if (line[i] !~ /^[ \t]/) keep = line[i] ~ /^(URIs|Signed-By):/
					if (keep) print line[i]
				}
				done = 1
			}' "$file"
	done | awk -v RS='' '{ print; exit }'
}

backports_one_line() {
	{ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null || true; } |
		sed -nE 's/^(deb +(\[[^]]*\] +)?[^ ]+) +bookworm +.*/\1 bookworm-backports main/p' | head -n 1
}

# --- the cache ------------------------------------------------------------

# locked NAME COMMAND…: runs COMMAND (a function, too) while no other run holds
# the lock NAME; waits with a word where one does.
locked() {
	local name=$1 lock
	lock=$CACHE/locks/$1
	shift
	mkdir -p "$CACHE/locks"
	(
		if ! flock -n 9; then
			step "waiting for another run that holds the lock $name"
			until flock -w 30 9; do
				step "still waiting for the run that holds the lock $name"
			done
		fi
		"$@"
	) 9>"$lock"
}

# cache_entry NAME BUILDER [ARGUMENT…]: makes the folder $CACHE/NAME by calling
# BUILDER ARGUMENT… FOLDER once. NAME carries the version. The folder appears
# whole or not at all, whatever interrupts the builder.
cache_entry() {
	[[ -d $CACHE/$1 ]] || locked "$1" build_cache_entry "$@"
}

build_cache_entry() {
	local name=$1 scratch
	shift
	[[ ! -d $CACHE/$name ]] || return 0
	# Scratch folders of runs that were killed: nobody else holds the lock.
	rm -rf "$CACHE/tmp.$name".*
	scratch=$(mktemp -d "$CACHE/tmp.$name.XXXXXX")
	chmod 755 "$scratch"
	"$@" "$scratch"
	printf '%s\n' "$name" >>"$CACHE/entries"
	mv -T "$scratch" "$CACHE/$name"
}

# remove_cache: what cache_entry made, and nothing else that lies there.
remove_cache() {
	local name
	[[ -d $CACHE ]] || return 0
	while read -r name; do
		[[ -z $name || $name == */* ]] || rm -rf "${CACHE:?}/$name"
	done < <(cat "$CACHE/entries" 2>/dev/null || true)
	rm -rf "${CACHE:?}"/{entries,locks,logs,go,go-kubevirt} "$CACHE"/tmp.*
	rmdir --ignore-fail-on-non-empty "$CACHE"
}

# --- archives -------------------------------------------------------------

# reproducible_tar FOLDER FILE PATH…: neither time nor owner nor order of this machine.
reproducible_tar() {
	local folder=$1 file=$2
	shift 2
	tar -C "$folder" --format=ustar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner \
		--mode=u+rwX,go+rX,go-w -cf "$file" "$@"
}

# --- one script at a time --------------------------------------------------

# under_lock FILE WAITING SCRIPT WORD…: returns in a run of SCRIPT that is alone: no other holds the
# lock FILE; says WAITING if that has to be waited for. The caller starts this run, in a session of
# its own and without the lock's descriptor, and ends with it. So the lock goes with the caller,
# whatever else still runs, and a signal to the caller stops the run and all that it waits for.
under_lock() {
	local file=$1 waiting=$2 run signal status
	shift 2
	if [[ ${HOSTDEV_LOCKED:-} == "$file" ]]; then
		unset HOSTDEV_LOCKED
		return 0
	fi
	exec 7>"$file"
	flock -n 7 || { step "$waiting"; flock 7; }
	HOSTDEV_LOCKED=$file setsid "$@" 7>&- </dev/null &
	run=$!
	for signal in INT TERM HUP; do
		# shellcheck disable=SC2064 # now
		trap "kill -s TERM -- -$run 2>/dev/null || true" "$signal"
	done
	# A signal ends `wait` before the run ends.
	while status=0; wait "$run" || status=$?; ((status > 128)) && kill -0 "$run" 2>/dev/null; do :; done
	exit "$status"
}

# --- processes that outlive a script --------------------------------------
#
# A process NAME below DIR has DIR/pids/NAME (its pid), DIR/pids/NAME.id (the
# boot and the start time that tell it from a later process with the same pid,
# and a mark of what was started) and DIR/logs/NAME.log.

process_start_time() {
	local stat
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	stat=${stat##*) }
	cut -d ' ' -f 20 <<<"$stat"
}

process_identity() {
	local began
	began=$(process_start_time "$1") || return 1
	printf '%s %s\n' "$(cat /proc/sys/kernel/random/boot_id)" "$began"
}

# process_running DIR NAME [MARK]: alive, and started with this mark.
process_running() {
	local file=$1/pids/$2 pid id
	[[ -s $file && -s $file.id ]] || return 1
	pid=$(<"$file")
	id=$(process_identity "$pid") || return 1
	[[ $(head -n 1 "$file.id") == "$id" ]] || return 1
	# A process that is ending, or that nobody waited for yet, has no program any more.
	readlink "/proc/$pid/exe" >/dev/null 2>&1 || return 1
	[[ -z ${3:-} || $(tail -n 1 "$file.id") == "$3" ]]
}

# start_process DIR NAME MARK COMMAND…: starts COMMAND in a session of its own,
# without our descriptors, and records it. MARK is any word; see mark_of.
start_process() {
	local dir=$1 name=$2 mark=$3 pid
	shift 3
	mkdir -p "$dir/pids" "$dir/logs"
	(
		close_descriptors
		exec setsid "$@" </dev/null >>"$dir/logs/$name.log" 2>&1
	) &
	pid=$!
	disown "$pid"
	printf '%s\n' "$pid" >"$dir/pids/$name"
	{ process_identity "$pid" || true; printf '%s\n' "$mark"; } >"$dir/pids/$name.id"
}

# A lock that a process inherits would be held for as long as it lives.
close_descriptors() {
	local fd
	for fd in /proc/self/fd/*; do
		fd=${fd##*/}
		((fd > 2)) && eval "exec $fd>&-"
	done
	return 0
}

# mark_of FILE WORD…: changes when the program or its arguments change.
mark_of() {
	local file=$1
	{ stat -L -c '%i %s %Y' -- "$file"; printf '%s\n' "$@"; } | sha256sum | cut -c 1-16
}

# stop_process DIR NAME [SECONDS]: SIGTERM, then SIGKILL; forgets it.
stop_process() {
	local dir=$1 name=$2 limit=${3:-10} pid
	if process_running "$dir" "$name"; then
		pid=$(<"$dir/pids/$name")
		kill -CONT "$pid" 2>/dev/null || true
		kill -TERM "$pid" 2>/dev/null || true
		wait_until "$limit" process_gone "$dir" "$name" || {
			kill -KILL "$pid" 2>/dev/null || true
			wait_until 5 process_gone "$dir" "$name" ||
				warn "process $pid ($name) does not end; it hangs in the kernel"
		}
	fi
	rm -f "$dir/pids/$name" "$dir/pids/$name.id"
}

process_gone() {
	! process_running "$1" "$2"
}

# kill_all LIST: kills what the function LIST prints until it prints nothing.
kill_all() {
	local pids round
	for ((round = 0; round < 50; round++)); do
		pids=$("$1")
		[[ -n $pids ]] || return 0
		xargs -r kill -KILL 2>/dev/null <<<"$pids" || true
		sleep 0.1
	done
	warn "these processes do not end: ${pids//$'\n'/ }"
}

# wait_until SECONDS COMMAND…: tries COMMAND ten times a second, silently.
wait_until() {
	local limit=$1 end
	shift
	end=$((EPOCHSECONDS + limit))
	until "$@" >/dev/null 2>&1; do
		((EPOCHSECONDS < end)) || return 1
		sleep 0.1
	done
}

# node_name: the name under which this machine is a node.
node_name() {
	uname -n | tr '[:upper:]' '[:lower:]'
}

# port_taken PORT: something listens on this port of the loopback address.
port_taken() {
	(: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# free_ports COUNT: the first of that many in a row that nothing listens on, below the range that the kernel gives to
# outgoing connections. Whoever asks begins to listen a while later, so for five minutes nobody else is given them.
free_ports() {
	local count=$1 given=$CACHE/ports port each
	mkdir -p "$CACHE"
	(
		exec 9>"$given.lock"
		flock 9
		[[ -e $given ]] || : >"$given"
		awk -v from="$((EPOCHSECONDS - 300))" '$2 >= from' "$given" >"$given.new"
		while :; do
			port=$((20000 + RANDOM % 12000))
			for ((each = port; each < port + count; each++)); do
				if port_taken "$each" || grep -q "^$each " "$given.new"; then continue 2; fi
			done
			break
		done
		for ((each = port; each < port + count; each++)); do
			printf '%s %s\n' "$each" "$EPOCHSECONDS"
		done >>"$given.new"
		mv "$given.new" "$given"
		printf '%s\n' "$port"
	)
}

# check_port_free PORT PROGRAM VARIABLE: or say what to do.
check_port_free() {
	! port_taken "$1" ||
		die "port $1, which $2 needs, is in use; stop what uses it, or set $3 to a free port"
}
