#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# kunit.sh [plain|san [SUITE]]: build the driver and its KUnit module for a
# User Mode Linux kernel, load both there, print TAP: one line per test case.
#
# Which suites must report is read from the sources, so a suite that is built
# but never ran, or is not built at all, is a failure. The guest's kernel log
# must be free of warnings.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/build/common.sh
. "$here/../../scripts/build/common.sh"

variant=${1:-plain}
only=${2:-}
tests=$TOP/drivers/rdma_soft/tests
work=$TOP/build/uml-$variant

# expected_suites: names in the sources, one a line.
expected_suites()
{
	find "$tests" -name '*_kunit.c' -exec awk '
		/struct kunit_suite [a-z0-9_]+ *= *{/ { inside = 1 }
		inside && match($0, /\.name *= *"[^"]+"/) {
			name = substr($0, RSTART, RLENGTH)
			gsub(/^[^"]*"|"$/, "", name)
			print name
			inside = 0
		}' {} + | sort
}

suites=$(expected_suites)
[ -n "$suites" ] || die "no kunit_suite found in drivers/rdma_soft/tests/*_kunit.c"
if [ -n "$only" ]; then
	suites=$(grep -x -- "\(rdma_soft_\)\?$only" <<<"$suites") ||
		die "no suite '$only'; there are: $(expected_suites | tr '\n' ' ')"
fi

build=$("$here/build-uml.sh" "$variant") || exit 1
mkdir -p "$work"
if ! "$TOP/scripts/build/module.sh" "$build" "$work" ARCH=um -j"$JOBS" \
	>"$work/build.log" 2>&1; then
	grep -E 'error|Error|undefined' "$work/build.log" | head -n 20 >&2
	die "the modules do not build for UML, see $work/build.log"
fi

out=$(mktemp -d) || die "mktemp failed"
trap 'rm -rf "$out"' EXIT
"$here/run-uml.sh" "$variant" "$here/guest-kunit.sh" "${KUNIT_TIMEOUT:-120}" \
	UML_OUT="$out" MODULES="$work/drivers/rdma_soft" >"$out/console.txt" 2>&1
status=$?

results=$out/results.txt
for s in $suites; do
	if [ -f "$out/$s.ktap" ]; then
		awk -v suite="$s" -f "$here/ktap.awk" "$out/$s.ktap"
	else
		echo "not ok - kunit.$s.results # the suite did not run"
	fi
done >"$results"
if [ $status -eq 0 ]; then
	echo "ok - kunit.modules_load_and_unload"
else
	echo "not ok - kunit.modules_load_and_unload # guest status $status"
	sed 's/^/# /' "$out/console.txt" | tail -n 40
fi >>"$results"
if [ -f "$out/dmesg.txt" ] && "$here/scan-dmesg.sh" "$out/dmesg.txt"; then
	echo "ok - kunit.kernel_log_clean"
else
	echo "not ok - kunit.kernel_log_clean # see the lines above"
fi >>"$results"

# Number the results and add plan and totals.
awk '
	BEGIN { print "TAP version 13" }
	/^(not )?ok / {
		n++
		if (/^not ok/) fail++
		else if (/# SKIP/) skip++
		else pass++
		sub(/ok -/, "ok " n " -")
	}
	{ print }
	END {
		print "1.." n
		printf "# totals pass:%d fail:%d skip:%d\n", pass, fail, skip
		exit fail > 0
	}' "$results"
