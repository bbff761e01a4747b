#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Guest side of make check-pyverbs, started by run.sh in the test VM:
#
#   guest.sh SUITE-FOLDER RUNS [PATTERN...]
#
# or in a UML guest, with these in SUITE, SUITE_RUNS and PATTERNS (comma-separated).
# Runs the suite RUNS times on one end of the usual pair. Result lines of run N
# go to $OUT/results.N, what tests print to $OUT/stderr.N, what the kernel log
# has against it to $OUT/kernel.N. Status 0: the runs took place.
set -u
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TREE=$(dirname "$HERE")
# shellcheck source=selftests/lib/all.sh
. "$HERE/lib/all.sh"

# Seconds for one run on a busy machine; an idle one needs a tenth.
RUN_LIMIT=1800

if [ -n "${SUITE:-}" ]; then
	mkdir -p /run/tmp
	export TMPDIR=/run/tmp
	ulimit -l unlimited
	# shellcheck disable=SC2086  # words
	set -- "$SUITE" "$SUITE_RUNS" ${PATTERNS//,/ }
fi

# suite_run N [PATTERN...]: one run, in namespace a; in the tree SUITE_ROOT, if set,
# whose rdma-core it is then.
suite_run()
{
	local n=$1 root=${SUITE_ROOT:-}
	shift

	set -- --dev "$DEVA" "$@"
	if [ -z "$root" ]; then
		in_a timeout -k 5 $RUN_LIMIT python3 -B "$HERE/pyverbs/suite.py" \
			--suite "$suite" --out "$OUT/results.$n" "$@"
		return
	fi
	mkdir -p "$root/src" "$root/out"
	# shellcheck disable=SC2016  # expanded by the inner shell
	in_a timeout -k 5 $RUN_LIMIT bash -c '
		root=$1 here=$2 out=$3
		shift 3
		for d in proc sys dev; do
			mount --rbind "/$d" "$root/$d" || exit 125
		done
		mount --bind "$here" "$root/src" && mount --bind "$out" "$root/out" ||
			exit 125
		exec chroot "$root" /usr/bin/python3 -B /src/pyverbs/suite.py "$@"' \
		bash "$root" "$HERE" "$OUT" --suite "$suite" \
		--no-gc --out "/out/results.$n" "$@"
}

suite=$1
runs=$2
shift 2
driver_load || fail "module $(driver_module) does not load"
rig_up 1500
# tests of huge pages; a UML guest has none
[ ! -e /proc/sys/vm/nr_hugepages ] || echo 64 > /proc/sys/vm/nr_hugepages
for ((n = 1; n <= runs; n++)); do
	dmesg -C
	suite_run "$n" "$@" 2> "$OUT/stderr.$n"
	rc=$?
	dmesg_bad > "$OUT/kernel.$n"
	((rc < 2)) || echo "suite.py ended with status $rc" >> "$OUT/kernel.$n"
	echo "run $n of $runs: $(cut -f 1 "$OUT/results.$n" | sort | uniq -c | tr -s ' \n' ' ')"
done
rig_down
driver_unload || echo "$(driver_module) does not unload" >> "$OUT/kernel.$runs"
exit 0
