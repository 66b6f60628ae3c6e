# shellcheck shell=bash
# What each layer runs. Sourced by hack/test, which has `check`, `check_junit`
# and `check_shown`; a layer that dies counts as one failure.

declare -A BESIDE=() # processes that run beside a layer, for a later one

layer_lint() {
	"$ROOT/hack/packages" install build test
	check includes "$ROOT/hack/check-includes"
	check format check_format
	check shellcheck check_shell
	check mutations "$ROOT/tests/mutate/run" --fits
}

layer_tidy() {
	"$ROOT/hack/packages" install build test
	check tidy beside tidy check_tidy
}

# The programs without sanitizers are what the flow layers run.
layer_unit() {
	"$ROOT/hack/packages" install build test
	unit_preset asan
}

check_format() {
	git -C "$ROOT" ls-files -z '*.c' '*.h' |
		(cd "$ROOT" && xargs -0 -r clang-format-14 --dry-run --Werror)
}

# SC2317 takes functions that are called by a computed name for unreachable.
check_shell() {
	git -C "$ROOT" grep -lzE '^(#!/bin/(ba)?sh|# shellcheck shell=)' -- hack .ci tests |
		(cd "$ROOT" && xargs -0 -r shellcheck -x -e SC2317)
}

# clang's own warnings are among its checks (.clang-tidy), so only what is generated has to be built for it. One file a
# run: clang-tidy 14 takes the va_list of a second one for uninitialized.
check_tidy() {
	cd "$ROOT" &&
		cmake --preset clang &&
		cmake --build --preset clang --target proto generated/embedded/page.h &&
		tidy_files | "$ROOT/hack/test.d/tidy" build/clang "$CACHE/tidy"
}

# start_beside NAME COMMAND…: COMMAND takes what other layers leave of the processors, and no more: tests wait for much.
start_beside() {
	local name=$1
	shift
	"$ROOT/hack/packages" install build test
	rm -f "$LOGS/beside-$name.status"
	export ROOT LOGS CHANGED CACHE
	export -f build_preset check_tidy tidy_files changed_parts fuzz_when_built fuzz_all fuzz_one
	# A session of its own has a share of its own (sched(7), autogroup), whatever the nice values in it.
	# shellcheck disable=SC2016 # the variables are those of the shell that it starts
	setsid nice -n 19 bash -o pipefail -c '{ echo 19 >/proc/self/autogroup; } 2>/dev/null
		status=0; "${@:2}" || status=$?; echo "$status" >"$LOGS/beside-$1.status"' - "$name" "$@" \
		>"$LOGS/beside-$name.log" 2>&1 </dev/null &
	BESIDE[$name]=$!
	trap end_beside EXIT
}

end_beside() {
	local pid
	for pid in "${BESIDE[@]}"; do kill -- -"$pid" 2>/dev/null || true; done
}

# beside NAME COMMAND…: the end of what start_beside has begun; runs COMMAND if nothing has.
beside() {
	local name=$1
	shift
	if [[ -z ${BESIDE[$name]:-} ]]; then
		"$@"
		return
	fi
	tail -n +1 -f --pid "${BESIDE[$name]}" "$LOGS/beside-$name.log"
	return "$(cat "$LOGS/beside-$name.status" 2>/dev/null || echo 1)"
}

tidy_files() {
	if [[ -n $CHANGED ]]; then
		changed_parts tidy
	else
		jq -r '.[].file' build/clang/compile_commands.json | grep -v "^$ROOT/build/" | sort -u
	fi
}

build_preset() {
	# All that is wrong, not only what is wrong first.
	(cd "$ROOT" && cmake --preset "$1" && cmake --build --preset "$1" -- -k 0)
}

unit_preset() {
	local preset=$1 junit=$LOGS/unit-$1.xml areas=''
	[[ -z $CHANGED ]] || areas=$(changed_parts unit | paste -sd '|')
	check "build-$preset" build_preset "$preset"
	check_junit "$preset" "$junit" \
		ctest --test-dir "$ROOT/build/$preset" -L unit -R "^(${areas:-.*})/" -j "$(nproc)" \
		--output-on-failure --no-tests=error --output-junit "$junit"
}

# The programs and the control plane that the flow tests use.
prepare_flow() {
	"$ROOT/hack/packages" install build test cluster
	check build-release build_preset release
	export HOSTDEV_PROGRAMS=$ROOT/build/release/bin HOSTDEV_TEST_BUILD=build/release
	cluster_binaries
	link_binaries "$ROOT/build/local/bin"
}

# The version that upgrades begin with. A clone without its history has none, and says so here: tests then take this
# version under another number.
prepare_previous() {
	local status=0
	"$ROOT/hack/previous" >/dev/null || status=$?
	((status == 0 || status == 3)) || record failed build-previous
}

# flow_tests LAYER PROCESSES SECONDS [load | loadfile [TESTS]]: that many share the files, with `load` the tests; each
# process has a control plane (and a machine) of its own, if the tests need one. TESTS are those of the layer's folder.
# A test that hangs ends after ten minutes, and the layer after SECONDS or ten failures: a result that says where is
# worth more.
flow_tests() {
	local layer=$1 processes=$2 seconds=$3 dist=${4:-loadfile} junit=$LOGS/$1.xml
	local -a run=(/usr/bin/python3 -m pytest -o cache_dir="$LOGS/cache-$layer" -ra
		--timeout 600 -o timeout_func_only=true)
	local -a limited=(timeout --signal INT --kill-after 60) tests=("$ROOT/tests/flow/${5:-$layer}")
	[[ -e ${tests[0]} ]] || die "there are no tests in ${tests[0]}"
	[[ -z $CHANGED ]] || mapfile -t tests < <(changed_parts "$layer" | sed "s|^|$ROOT/tests/flow/|")
	rm -rf "$LOGS/cache-$layer"
	check_junit "$layer" "$junit" "${limited[@]}" "$seconds" \
		"${run[@]}" --numprocesses "$processes" --dist "$dist" --maxfail 10 --junitxml "$junit" "${tests[@]}"
	check_again "$layer" "$LOGS/$layer-again.xml" "${limited[@]}" 600 \
		"${run[@]}" --last-failed --junitxml "$LOGS/$layer-again.xml" "${tests[@]}"
}

# check_again NAME FILE COMMAND…: up to three tests that failed run once more. That changes no result: one that passes
# the second time has failed, and is named as unsteady beside it, which tells whoever reads it what to look for.
check_again() {
	local name=$1 junit=$2 outcome test failures
	shift 2
	failures=$(grep -c "^failed $name: " "$RESULTS") || return 0
	((failures <= 3)) || return 0
	rm -f "$junit"
	step "$name: $failures of its tests once more"
	run_logged "$LOGS/$name-again.log" "$@" || true
	[[ -s $junit ]] || return 0
	while read -r outcome test; do
		if [[ $outcome == passed ]] && grep -qxF "failed $name: $test" "$RESULTS"; then
			record unsteady "$name: $test"
		fi
	done < <("$HERE/test.d/outcomes" "$junit")
}

# KubeVirt's definitions come from its Go module, which Go's usual module proxy has.
layer_api() {
	prepare_flow
	prepare_previous
	"$ROOT/hack/packages" install browser
	prometheus_tools
	link_prometheus "$ROOT/build/local/bin"
	installers
	link_installers "$ROOT/build/local/bin"
	find_go
	export GO
	flow_tests api 6 2100
}

layer_node() {
	prepare_flow
	prepare_previous
	check build-failpoints cmake --build "$ROOT/build/release" --target failpoints -- -k 0
	node_runtime
	link_runtime "$ROOT/build/local/bin"
	containerd_2
	link_containerd "$ROOT/build/local/bin"
	dra_programs
	"$ROOT/hack/packages" install vm
	"$ROOT/hack/vm" build
	# Not by the test that needs it, beside two machines.
	"$ROOT/hack/vm" build --kernel iommufd
	flow_tests node 2 3800
}

# Ours with grpc-go, which Go's usual module proxy has.
layer_interop() {
	"$ROOT/hack/packages" install build test
	check build-release build_preset release
	find_go
	export GO HOSTDEV_TEST_BUILD=build/release
	flow_tests interop 4 600 load # they wait nearly all of the time
}

# The minimal programs, and those of arm64 by a cross compiler and an emulator: minutes on a machine that has none
# of their libraries yet, so not part of all.
layer_images() {
	"$ROOT/hack/packages" install build test images
	check build-minimal build_preset release-minimal
	flow_tests images 1 1800
}

# A release of the commit, made twice from clean clones, with the cache in two places; the first is installed on the node.
# Both have the same libcurl and GnuTLS: to build these twice takes half an hour.
layer_release() {
	local made=$ROOT/build/test-release
	rm -rf "$made"
	prepare_flow
	check first "$ROOT/hack/release" --output "$made/first" 0.0.0-test
	copy_cache "$made/cache"
	check second env "HOSTDEV_CACHE=$made/cache" "$ROOT/hack/release" --output "$made/second" 0.0.0-test
	check same-bytes diff -r "$made/first" "$made/second"
	export HOSTDEV_TEST_RELEASE=$made/first
	flow_tests release 1 1800 loadfile node/test_pods.py
}

# copy_cache FOLDER: what programs are compiled with is copied, because a link does not hide the folder's name.
copy_cache() {
	local entry
	mkdir "$1"
	for entry in "$CACHE"/*; do
		case ${entry##*/} in
		minimal-* | sysroot-*) cp -a "$entry" "$1/" ;;
		tmp.* | locks | logs) ;;
		*) ln -s "$entry" "$1/" ;;
		esac
	done
}

# Stock KubeVirt with virtual machines that run: half an hour to build it, and as long again for what is emulated in an
# emulator, so not part of all. A bench that runs already stays; one that does not ends with the layer.
layer_kubevirt() {
	local found=''
	prepare_flow
	if "$ROOT/hack/vm" status --name vm1 >/dev/null; then found=yes; fi
	check up "$ROOT/hack/kubevirt" up
	flow_tests kubevirt 1 7200
	[[ -n $found ]] || "$ROOT/hack/down"
}

layer_bench() {
	prepare_flow
	dra_programs
	find_go
	export GO
	check_shown bench "$ROOT/tests/bench/run"
}

layer_fuzz() {
	local target failed=''
	"$ROOT/hack/packages" install build test
	check build-fuzz beside fuzz build_preset fuzz
	step "fuzzing each target for ${FUZZ_SECONDS:-5} s, two at a time"
	beside fuzzing fuzz_all || failed=yes
	for target in "$ROOT"/build/fuzz/bin/fuzz_*; do
		target=${target##*/}
		check "$target" test -e "$LOGS/fuzz/$target.clean"
	done
	[[ -z $failed ]] || step "fuzz: inputs that failed and logs are in $LOGS/fuzz"
}

# Beside the layer before it, whose tests wait for most of the time.
fuzz_when_built() {
	until [[ -e $LOGS/beside-fuzz.status ]]; do sleep 1; done
	fuzz_all
}

# Two at a time; new inputs are kept below build/ and help the next run. The seed is fixed, so that a run on
# another machine goes the same ways; FUZZ_SEED=0 takes a new one.
fuzz_all() {
	rm -rf "$LOGS/fuzz"
	mkdir -p "$LOGS/fuzz"
	export ROOT LOGS FUZZ_SECONDS=${FUZZ_SECONDS:-5} FUZZ_SEED=${FUZZ_SEED:-1}
	export -f fuzz_one
	printf '%s\0' "$ROOT"/build/fuzz/bin/fuzz_* | xargs -0 -P 2 -I '{}' bash -c 'fuzz_one "{}"'
}

# fuzz_one PROGRAM: seeds are in tests/fuzz/corpus/NAME.
fuzz_one() {
	local program=$1 name=${1##*/} corpus seeds
	corpus=$ROOT/build/fuzz/corpus/$name
	seeds=$ROOT/tests/fuzz/corpus/$name
	mkdir -p "$corpus"
	[[ -d $seeds ]] || seeds=$corpus
	if "$program" -seed="$FUZZ_SEED" -max_total_time="$FUZZ_SECONDS" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$LOGS/fuzz/$name-" "$corpus" "$seeds" >"$LOGS/fuzz/$name.log" 2>&1; then
		: >"$LOGS/fuzz/$name.clean"
	else
		tail -n 20 "$LOGS/fuzz/$name.log" >&2
		return 1
	fi
}
