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
# shellcheck source=selftests/uml/kunit-lib.sh
. "$here/kunit-lib.sh"

variant=${1:-plain}
suites=$(expected_suites)
if [ -n "${2:-}" ]; then
	suites=$(grep -xE -- "(rdma_soft_)?$2" <<<"$suites") ||
		die "no suite '$2'; there are: $(expected_suites | tr '\n' ' ')"
fi

build_for_uml "$variant"
fresh_out "kunit-$variant"
"$here/run-uml.sh" "$variant" "$here/guest-kunit.sh" "${KUNIT_TIMEOUT:-300}" \
	UML_OUT="$OUT" MODULES="$MODULES" >"$OUT/console.txt" 2>&1 {WORK_LOCK}>&-
status=$?

{
	result $BUILT kunit.driver_builds_for_uml
	suite_results "$OUT" kunit "$suites"
	[ $status -eq 0 ] || tail -n 40 "$OUT/console.txt"
	result $status kunit.modules_load_and_unload "guest status $status"
	log_result "$OUT" kunit.kernel_log_clean
} >"$OUT/results.txt"
number_results "$OUT/results.txt"
