#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check.sh [STAGE]: run every check of the project, or one stage of it.
#
# Two lanes of stages run side by side: the VM and the sanitizers, and all the
# rest. Each stage prints TAP into build/check/STAGE.log; here it is one
# line with its counts and time, and its failures. A stage that prints no result
# at all has failed, and so has one that takes longer than its limit. All stages
# run even if one fails. Once a minute a line says what runs. The last line is
# "N passed, N failed, N skipped" over the single tests of all stages; exit
# status 0 only with nothing failed and something passed.
set -u
# shellcheck source=scripts/build/common.sh
. "$(dirname "$0")/build/common.sh"
cd "$TOP" || exit 1

logs=$TOP/build/check
mkdir -p "$logs" || die "cannot create $logs"

# The stages of each lane, in order. Those of the first share folders. Who is done
# first takes a stage that both have.
source_lane=(style fuzz build-6.1 sparse build-6.12 build-7.x kunit wire uml-tests uml-san)
machine_lane=(vm uml-san)
names=(style fuzz build-6.1 sparse build-6.12 build-7.x kunit wire uml-tests vm uml-san)

# stage_limit NAME: seconds until a stage is stopped: several times what it takes
# on two idle cores without caches.
stage_limit()
{
	case $1 in
	vm | uml-tests | uml-san) echo 2400 ;;
	*) echo 1500 ;;
	esac
}

stage_command()
{
	case $1 in
	style) scripts/check-style.sh ;;
	fuzz) fuzz ;;
	build-6.1) scripts/check-build.sh 6.1 ;;
	sparse) scripts/check-sparse.sh ${ALL_STAGES:+--built} ;;
	build-6.12) scripts/check-build.sh 6.12 ;;
	build-7.x) scripts/check-build.sh 7.x ;;
	kunit) selftests/uml/kunit.sh plain ;;
	wire) selftests/wire/check-wire.sh --quick ;;
	uml-tests) uml_tests ;;
	uml-san) selftests/uml/san.sh ;;
	vm) vm_tests ;;
	*) return 127 ;;
	esac
}

# Selftests that need no stock kernel: the suite 'uml' of tests.list.
uml_tests()
{
	selftests/run-vm-tests.sh --uml
}

# A share of what selftests/fuzz/run.sh does by itself.
fuzz()
{
	if selftests/fuzz/run.sh 200000; then
		echo "ok 1 - fuzz.proto"
	else
		echo "not ok 1 - fuzz.proto"
		return 1
	fi
}

# The VM runs Debian's 6.1 and loads the module that lies in the tree.
vm_tests()
{
	build_in_tree && selftests/run-vm-tests.sh
}

# The module and the test programs, where the selftests look for them. Without
# debug information, which takes a third of the time.
build_in_tree()
{
	local kdir

	use_ccache
	kdir=$(scripts/build/headers.sh 6.1) &&
		make -s modules KVERBS=1 KDIR="$kdir" KCFLAGS=-g0 -j"$JOBS" >&2 &&
		make -s selftests >&2
}

# How this script starts a stage, so that 'timeout' can stop it.
if [ "${1:-}" = --run-stage ]; then
	stage_command "${2:?--run-stage needs a name}"
	exit
fi

# The stages use folders below build/, so two checks of one tree would mix.
exec 8>"$logs/.lock"
flock -n 8 || die "another check of this tree is running"

wanted=("${names[@]}")
if [ -n "${1:-}" ]; then
	printf '%s\n' "${names[@]}" | grep -qx -- "$1" ||
		die "no stage '$1'; there are: ${names[*]}"
	wanted=("$1")
fi

# install_missing: what deps.sh knows, and what only the checks need (pahole
# for the 6.12 build, a C library for UML, nft for a test). Says what it
# installs; without root, says what to run.
install_missing()
{
	local p missing=()

	scripts/deps.sh all || return 1
	for p in ca-certificates debian-archive-keyring dwarves git libc6-dev \
		nftables procps; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' $p 2>/dev/null)" = installed ] ||
			missing+=("$p")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	echo "missing: ${missing[*]}"
	[ "$(id -u)" = 0 ] ||
		die "not root, so install them first: sudo apt-get install ${missing[*]}"
	DEBIAN_FRONTEND=noninteractive apt-get -y -q --no-install-recommends \
		-o DPkg::Lock::Timeout=300 install "${missing[@]}" >"$logs/deps.log" 2>&1 ||
		die "apt could not install them, see $logs/deps.log"
}
install_missing || exit 1

hms()
{
	printf '%d:%02d' $(($1 / 60)) $(($1 % 60))
}

# The UML kernels take minutes to build and nothing before needs them: start
# now, at low priority, beside the stages that come first. Stages wait for
# them by the cache's locks.
prebuild=
if [ ${#wanted[@]} -gt 1 ]; then
	(
		# Not under this shell's stdout: it may be read to its end.
		for v in plain san; do
			selftests/uml/build-uml.sh $v || exit 1
		done
	) >"$logs/uml-kernels.log" 2>&1 8>&- &
	prebuild=$!
fi
lanes=()
ticker=
cleanup()
{
	local p

	for p in $prebuild $ticker "${lanes[@]}"; do
		kill "$p" 2>/dev/null
	done
}
trap cleanup EXIT
trap 'exit 130' INT TERM
started=$SECONDS

# counts LOG: "pass fail skip" of a stage: its own totals if it prints them
# last, else its result lines (not nested ones).
counts()
{
	awk '
		/^# totals pass:[0-9]+ fail:[0-9]+ skip:[0-9]+$/ {
			split($0, t, /[^0-9]+/)
			pass = t[2]; fail = t[3]; skip = t[4]
			totals = 1
			next
		}
		totals { next }
		/^ok .*# [Ss][Kk][Ii][Pp]/ { skip++; next }
		/^ok / { pass++ }
		/^not ok / { fail++ }
		END { print pass + 0, fail + 0, skip + 0 }' "$1"
}

# report NAME NUMBER PASS FAIL SKIP TIME: what the reader sees of a stage.
report()
{
	local name=$1 num=$2 pass=$3 fail=$4 skip=$5 log=$logs/$1.log line

	line="stage: $name # pass:$pass fail:$fail skip:$skip time:$6"
	if [ "$fail" -gt 0 ]; then
		grep -E '^ *not ok ' "$log" | head -n 40 | sed 's/^/    /'
		tail -n 40 "$log" | sed 's/^/    | /'
		echo "# whole log: build/check/$name.log"
		echo "not ok $num - $line"
	elif [ "$pass" -eq 0 ]; then
		echo "ok $num - $line # SKIP every test was skipped"
	else
		echo "ok $num - $line"
	fi
}

# run_stage NAME NUMBER: leaves its counts in NAME.counts.
run_stage()
{
	local name=$1 log=$logs/$1.log begin=$SECONDS limit rc pass fail skip

	limit=$(stage_limit "$name")
	echo "# stage $name ..."
	: >"$logs/$name.running"
	timeout -k 30 "$limit" scripts/check.sh --run-stage "$name" >"$log" 2>&1 8>&- &
	child=$!
	wait "$child"
	rc=$?
	child=
	read -r pass fail skip < <(counts "$log")
	if [ "$rc" -eq 124 ] || [ "$rc" -eq 137 ]; then
		echo "error: stage $name was stopped after $limit s" >>"$log"
		fail=$((fail + 1))
	elif [ $((pass + fail + skip)) -eq 0 ]; then
		echo "error: no test ran in stage $name" >>"$log"
		fail=1
	elif [ $rc -ne 0 ] && [ "$fail" -eq 0 ]; then
		echo "error: stage $name ended with status $rc" >>"$log"
		fail=1
	fi
	rm -f "$logs/$name.running"
	echo "$pass $fail $skip" >"$logs/$name.counts"
	# One stage's lines stay together.
	flock "$logs/.print" echo "$(report "$name" "$2" "$pass" "$fail" "$skip" \
		"$(hms $((SECONDS - begin)))")"
}

# lane STAGE...: those of them that are wanted, one after the other.
lane()
{
	local s i child=

	trap '[ -z "$child" ] || kill "$child"; exit 130' TERM INT
	for s; do
		for i in "${!wanted[@]}"; do
			[ "${wanted[i]}" = "$s" ] || continue
			# whose folder this is runs it
			mkdir "$logs/$s.taken" 2>/dev/null && run_stage "$s" $((i + 1))
		done
	done
}

# Every minute: how long, and what each running stage did last.
tick()
{
	local s last

	trap 'exit 0' TERM
	while sleep 60 & wait $!; do
		for s in "${wanted[@]}"; do
			[ -f "$logs/$s.running" ] || continue
			last=$(grep -aE '^(# begin |(not )?ok )' "$logs/$s.log" |
				tail -n 1 | cut -c 1-70)
			echo "# $(hms $((SECONDS - started))) $s: ${last:-starts}"
		done
	done
}

# total: sums the counts, names what failed, prints the last line.
total()
{
	local s pass fail skip all=(0 0 0) failed=()

	for s in "${wanted[@]}"; do
		read -r pass fail skip <"$logs/$s.counts" || {
			pass=0
			fail=1
			skip=0
		}
		all=($((all[0] + pass)) $((all[1] + fail)) $((all[2] + skip)))
		[ "$fail" -eq 0 ] || failed+=("$s")
	done
	echo "# $(hms $((SECONDS - started))) in all, logs in build/check/"
	[ ${#failed[@]} -eq 0 ] ||
		echo "# failed: ${failed[*]}; again: make check STAGE=${failed[0]}"
	echo "${all[0]} passed, ${all[1]} failed, ${all[2]} skipped"
	[ "${all[1]}" -eq 0 ] && [ "${all[0]}" -gt 0 ]
}

# In one function, so that the whole script is read before the long run starts
# and may be edited meanwhile.
main()
{
	local s

	# Stage sparse then need not build again.
	[ ${#wanted[@]} -eq 1 ] || export ALL_STAGES=1
	for s in "${wanted[@]}"; do
		rm -f "$logs/$s.counts" "$logs/$s.running"
		rm -rf "$logs/$s.taken"
	done
	echo "TAP version 13"
	echo "1..${#wanted[@]}"
	# Both lanes use these; what does not build is a failure of stage vm.
	if [ ${#wanted[@]} -gt 1 ]; then
		echo "# module and test programs ..."
		build_in_tree >"$logs/build.log" 2>&1 || echo "# do not build, see build/check/build.log"
	fi
	lane "${machine_lane[@]}" &
	lanes+=($!)
	lane "${source_lane[@]}" &
	lanes+=($!)
	tick &
	ticker=$!
	wait "${lanes[@]}"
	total
}

main
exit
