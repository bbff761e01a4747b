#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# san.sh: KUnit, links, traffic, killed processes and removal in a UML kernel
# with KASAN, PROVE_LOCKING, kmemleak and object debugging. Prints TAP.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/build/common.sh
. "$here/../../scripts/build/common.sh"
# shellcheck source=selftests/uml/kunit-lib.sh
. "$here/kunit-lib.sh"

build_for_uml san
[ "$BUILT" = 0 ] || exit 1
out=$(mktemp -d) || die "mktemp failed"
trap 'rm -rf "$out"' EXIT
UML_MEM=2G "$here/run-uml.sh" san "$here/guest-san.sh" "${SAN_TIMEOUT:-600}" \
	UML_OUT="$out" MODULES="$MODULES" TOP="$TOP" >"$out/console.txt" 2>&1
status=$?

{
	# What the guest said, its results under this stage's name.
	sed -E 's/^(not )?ok - /&san./' "$out/console.txt"
	suite_results "$out" san.kunit "$(expected_suites)"
	result $status san.guest_finished "status $status"
	log_result "$out" san.kernel_log_clean
} >"$out/results.txt"
number_results "$out/results.txt"
