#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# san.sh: KUnit, links, traffic, killed processes and removal in a UML kernel
# with KASAN, PROVE_LOCKING, kmemleak and object debugging. Prints TAP.
# ONLY=test,test runs some of it, see guest-san.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/build/common.sh
. "$here/../../scripts/build/common.sh"
# shellcheck source=selftests/uml/kunit-lib.sh
. "$here/kunit-lib.sh"

build_for_uml san
[ "$BUILT" = 0 ] || exit 1
fresh_out san
UML_MEM=2G "$here/run-uml.sh" san "$here/guest-san.sh" "${SAN_TIMEOUT:-900}" \
	UML_OUT="$OUT" MODULES="$MODULES" TOP="$TOP" \
	ONLY="${ONLY:-}" >"$OUT/console.txt" 2>&1 {WORK_LOCK}>&-
status=$?

{
	# What the guest said, its results under this stage's name.
	sed -E 's/^(not )?ok - /&san./' "$OUT/console.txt"
	case ,${ONLY:-kunit}, in
	*,kunit,*) suite_results "$OUT" san.kunit "$(expected_suites)" ;;
	esac
	result $status san.guest_finished "status $status"
	log_result "$OUT" san.kernel_log_clean
} >"$OUT/results.txt"
number_results "$OUT/results.txt"
