#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# soak.sh: an hour of mixed random faults with all operations, verified, in a
# User Mode Linux guest. The environment sets DURATION (seconds, default 3600),
# SEED (default: the time of day, printed) and OUT (folder of the log, default
# build/soak-loss). --san runs it in the sanitizer kernel. Prints TAP and a
# summary.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/build/common.sh
. "$here/../../scripts/build/common.sh"
# shellcheck source=selftests/uml/kunit-lib.sh
. "$here/../uml/kunit-lib.sh"

variant=plain
[ "${1:-}" != --san ] || variant=san
duration=${DURATION:-3600}
seed=${SEED:-$((10#$(date +%s) % 1000000))}
out=${OUT:-$TOP/build/soak-loss}
rm -rf "$out"
mkdir -p "$out" || die "cannot create $out"
out=$(cd "$out" && pwd)
make -s -f "$TOP/scripts/selftests.mk" -C "$TOP" selftests >&2 ||
	die "the test programs do not build: run 'make selftests'"
build_for_uml "$variant"
((BUILT == 0)) || exit 1
# The tree may be built anew meanwhile.
cp "$MODULES/rdma_soft.ko" "$out/" || die "cannot copy to $out"
cp -r "$TOP/build/selftests" "$out/selftests" || die "cannot copy to $out"
exec {WORK_LOCK}>&-
"$here/../uml/run-uml.sh" "$variant" "$here/guest-soak.sh" $((duration + 600)) \
	UML_OUT="$out" MODULE="$out/rdma_soft.ko" SEED="$seed" \
	DURATION="$duration" SELFTESTS_BUILD="$out/selftests" | tee "$out/log"
exit "${PIPESTATUS[0]}"
