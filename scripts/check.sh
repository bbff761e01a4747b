#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check.sh [STAGE]: run every check of the project, or one stage of it.
#
# Each stage prints TAP into build/check/STAGE.log; here it is one line with
# its counts and time, and its failures. A stage that prints no result at all
# has failed. All stages run even if one fails. The last line is
# "N passed, N failed, N skipped" over the single tests of all stages; exit
# status 0 only with nothing failed and something passed.
set -u
# shellcheck source=scripts/build/common.sh
. "$(dirname "$0")/build/common.sh"
cd "$TOP" || exit 1

logs=$TOP/build/check
mkdir -p "$logs" || die "cannot create $logs"
# The stages use folders below build/, so two checks of one tree would mix.
exec 8>"$logs/.lock"
flock -n 8 || die "another check of this tree is running"

# name and command of each stage, in order
names=(style fuzz build-6.1 sparse build-6.12 build-7.x kunit wire uml-tests uml-san vm)
stage_command()
{
	case $1 in
	style) scripts/check-style.sh ;;
	fuzz) fuzz ;;
	build-6.1) scripts/check-build.sh 6.1 ;;
	sparse) scripts/check-sparse.sh ;;
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

# Selftests that need no real CPU: the suite 'uml' of tests.list.
uml_tests()
{
	local t=()

	mapfile -t t < <(awk '$4 == "uml" { print $1 }' selftests/tests.list)
	selftests/uml/tests.sh "${t[@]}"
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
	local kdir

	kdir=$(scripts/build/headers.sh 6.1) &&
		make -s modules KVERBS=1 KDIR="$kdir" -j"$JOBS" >&2 &&
		selftests/run-vm-tests.sh
}

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
cleanup()
{
	[ -z "$prebuild" ] || kill "$prebuild" 2>/dev/null
}
trap cleanup EXIT
trap 'exit 130' INT TERM

total_pass=0
total_fail=0
total_skip=0
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

run_stage()
{
	local name=$1 num=$2 log=$logs/$1.log begin=$SECONDS rc pass fail skip line

	echo "# stage $name ..."
	stage_command "$name" >"$log" 2>&1 8>&-
	rc=$?
	read -r pass fail skip < <(counts "$log")
	if [ $((pass + fail + skip)) -eq 0 ]; then
		echo "error: no test ran in stage $name" >>"$log"
		fail=1
	elif [ $rc -ne 0 ] && [ "$fail" -eq 0 ]; then
		echo "error: stage $name ended with status $rc" >>"$log"
		fail=1
	fi
	line="stage: $name # pass:$pass fail:$fail skip:$skip time:$(hms $((SECONDS - begin)))"
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
	total_pass=$((total_pass + pass))
	total_fail=$((total_fail + fail))
	total_skip=$((total_skip + skip))
}

# In one function, so that the whole script is read before the long run starts
# and may be edited meanwhile.
main()
{
	local i=0 s

	echo "TAP version 13"
	echo "1..${#wanted[@]}"
	for s in "${wanted[@]}"; do
		i=$((i + 1))
		run_stage "$s" "$i"
	done
	echo "# $(hms $((SECONDS - started))) in all, logs in build/check/"
	echo "$total_pass passed, $total_fail failed, $total_skip skipped"
	[ "$total_fail" -eq 0 ] && [ "$total_pass" -gt 0 ]
}

main
exit
