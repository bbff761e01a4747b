#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [options] [PATTERN...]: rdma-core's pyverbs suite, as Debian ships it,
# in the test VM on one end of a veth pair, judged by what is known of it.
#
#   --driver rxe   the same on in-tree rxe; nothing is judged
#   --runs N       N times in one VM (1)
#   --uml          in a User Mode Linux guest: native speed, one CPU
#   --debian13     Debian 13's rdma-core and suite (56) on Linux 6.12 in the VM
#   --out DIR      results and logs (build/pyverbs)
#   PATTERN...     only tests whose name contains one of them
#
# With rdma_soft, these fail: a test that failed; one of passing.list
# (passing-13.list) without a pass; a pass that it does not name; a skip that is not
# in Documentation/conformance.rst under its message; a warning in the kernel log.
# Prints TAP, one line a test (one a run if there are several), and last
# "# totals pass:N fail:N skip:N". Status 0: nothing failed.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "$here/../.." && pwd)
driver=rdma_soft
runs=1
out=$tree/build/pyverbs
patterns=()
# Seconds in the VM: before the first run, and for each.
boot_s=200
run_s=1820
uml=
debian13=

die()
{
	echo "run.sh: $*" >&2
	exit 2
}

while [ $# -gt 0 ]; do
	case $1 in
	--driver) driver=${2:?--driver needs a name}; shift ;;
	--runs) runs=${2:?--runs needs a number}; shift ;;
	--out) out=${2:?--out needs a folder}; shift ;;
	--uml) uml=1 ;;
	--debian13) debian13=1 ;;
	-h | --help) sed -n '4,19s/^# \{0,1\}//p' "$0"; exit 0 ;;
	-*) die "unknown option $1, see --help" ;;
	*) patterns+=("$1") ;;
	esac
	shift
done
case $driver in
rdma_soft) rig=2ns ;;
rxe) rig=1ns ;;
*) die "--driver is rdma_soft or rxe" ;;
esac
[[ $runs =~ ^[1-9][0-9]*$ ]] || die "--runs needs a number"

passing=$here/passing${debian13:+-13}.list

# skips_listed: "message<tab>test" of every skip in conformance.rst: a heading is
# the message, indented lines below it name the tests. Of Debian 13's suite only
# the messages count: "message<tab>".
skips_listed()
{
	awk -v names="${debian13:-names}" '
		/^-+$/ { message = prev }
		/^-+$/ && names != "names" { print message "\t" }
		/^=+$/ { message = "" }
		/^ +test_[A-Za-z0-9_.]+$/ && message != "" && names == "names" {
			print message "\t" $1
		}
		{ prev = $0 }' "$tree/Documentation/conformance.rst"
}

# judge RESULTS: "verdict<tab>test<tab>text" of a run; verdict is ok, skip or bad.
judge()
{
	local text verdict name
	declare -A seen=() want=() skips=() messages=()

	while read -r name; do
		[[ $name == '#'* || -z $name ]] || want[$name]=y
	done < "$passing"
	while IFS=$'\t' read -r text name; do
		[ -z "$name" ] || skips[$name$text]=y
		[ -n "$name" ] || messages[$text]=y
	done < <(skips_listed)

	while IFS=$'\t' read -r verdict name text _; do
		seen[$name]=y
		case $verdict in
		pass)
			if [ -n "${want[$name]:-}" ]; then
				printf 'ok\t%s\t\n' "$name"
			else
				printf 'bad\t%s\tpasses, but is not in %s\n' \
					"$name" "${passing##*/}"
			fi ;;
		skip)
			if [ -n "${want[$name]:-}" ]; then
				printf 'bad\t%s\tskipped: %s\n' "$name" "$text"
			elif [ -z "${skips[$name$text]:-}${messages[$text]:-}" ]; then
				printf 'bad\t%s\tnot in conformance.rst under this message: %s\n' "$name" "$text"
			else
				printf 'skip\t%s\t%s\n' "$name" "$text"
			fi ;;
		*) printf 'bad\t%s\t%s\n' "$name" "$verdict: $text" ;;
		esac
	done < "$1"
	[ ${#patterns[@]} -eq 0 ] || return 0
	for name in "${!want[@]}"; do
		[ -n "${seen[$name]:-}" ] ||
			printf 'bad\t%s\tno result\n' "$name"
	done
}

pass=0 fail=0 skip=0 num=0
tap()
{
	num=$((num + 1))
	case $1 in
	ok) pass=$((pass + 1)); echo "ok $num - pyverbs.$2${3:+ # $3}" ;;
	skip) skip=$((skip + 1)); echo "ok $num - pyverbs.$2 # SKIP $3" ;;
	bad) fail=$((fail + 1)); echo "not ok $num - pyverbs.$2 # $3" ;;
	esac
}

# report RUN: of a single run each test, of many only what is bad.
report()
{
	local verdict name text p=0 s=0 b=0

	if [ ! -s "$out/results.$1" ]; then
		tap bad "run_$1" "no results, see ${out#"$tree"/}"
		return
	fi
	while IFS=$'\t' read -r verdict name text; do
		case $verdict in
		ok) p=$((p + 1)) ;;
		skip) s=$((s + 1)) ;;
		bad) b=$((b + 1)) ;;
		esac
		if [ "$runs" = 1 ] || [ "$verdict" = bad ]; then
			tap "$verdict" "$name" "$text"
		fi
	done < <(judge "$out/results.$1")
	if [ -s "$out/kernel.$1" ]; then
		sed 's/^/# kernel: /' "$out/kernel.$1"
		tap bad "run_$1.kernel_log" "see above"
		b=$((b + 1))
	fi
	[ $b -eq 0 ] || sed 's/^/# /' "$out/stderr.$1" | tail -n 60
	[ "$runs" = 1 ] || [ $b -gt 0 ] ||
		tap ok "run_$1" "$p tests passed, $s skipped"
}

# The options of run-vm.sh for Debian 13: a kernel of its backports for Debian 12,
# the newest with FLUSH for which headers and image can be had alike.
vm_opts=()
prepare_debian13()
{
	local kdir root module=$tree/build/6.12

	root=$("$here/fetch-root.sh") && suite=/usr/share/doc/rdma-core/tests &&
		kdir=$("$tree/scripts/build/headers.sh" 6.12) || exit 2
	"$tree/scripts/build/module.sh" "$kdir" "$module" "-j$(nproc)" \
		>"$module.log" 2>&1 || die "no module for 6.12, see build/6.12.log"
	kdir=$(readlink -f "$kdir")
	vm_opts=(--kernel "${kdir##*/linux-headers-}" --env "SUITE_ROOT=$root"
		--module "$module/drivers/rdma_soft/rdma_soft.ko")
}

# in_vm, in_uml: run guest.sh there.
in_vm()
{
	"$here/../vm/run-vm.sh" --timeout $((boot_s + runs * run_s)) \
		"${vm_opts[@]}" --out "$out" --env "DRIVER=$driver" --env "RIG=$rig" \
		--env OUT=/out --script "$here/guest.sh" \
		"$suite" "$runs" "${patterns[@]}"
}

in_uml()
{
	local IFS=,
	"$here/../uml/tests.sh" --build-only &&
		"$here/../uml/run-uml.sh" plain "$here/guest.sh" \
			$((boot_s + runs * run_s)) UML_OUT="$out" OUT=/run/out \
			MODULE="$tree/build/uml-plain/drivers/rdma_soft/rdma_soft.ko" \
			DRIVER=rdma_soft RIG=2ns SUITE="$suite" SUITE_RUNS="$runs" \
			PATTERNS="${patterns[*]}"
}

if [ -n "$debian13" ]; then
	[ -z "$uml" ] || die "--debian13 needs the VM"
	[ "$driver" = rdma_soft ] || die "--debian13 is for rdma_soft"
	mkdir -p "$tree/build"
	prepare_debian13
else
	suite=$("$here/fetch-suite.sh") || exit 2
fi
[ -z "$uml" ] || [ "$driver" = rdma_soft ] || die "--uml is for rdma_soft"
mkdir -p "$out" || die "cannot create $out"
out=$(cd "$out" && pwd)
rm -f "$out"/results.* "$out"/stderr.* "$out"/kernel.*
if [ -n "$uml" ]; then
	in_uml >&2
else
	in_vm >&2
fi
rc=$?

if [ "$driver" = rxe ]; then
	for ((n = 1; n <= runs; n++)); do
		cat "$out/results.$n"
	done
	exit $rc
fi
echo "TAP version 13"
[ $rc -eq 0 ] || tap bad vm "the VM ended with status $rc"
for ((n = 1; n <= runs; n++)); do
	report $n
done
echo "1..$num"
echo "# totals pass:$pass fail:$fail skip:$skip"
[ $fail -eq 0 ] && [ $pass -gt 0 ]
