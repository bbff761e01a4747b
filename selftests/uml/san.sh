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

# canary: does the kernel, and the scan of its log, see mistakes at all?
canary()
{
	local build dir=$TOP/build/uml-canary out=$TOP/build/uml-canary/out m

	build=$("$here/build-uml.sh" san) || return 1
	rm -rf "$dir"
	mkdir -p "$out"
	cp "$here"/canary/* "$dir" &&
		make -s ARCH=um -C "$build" M="$dir" modules >"$dir/build.log" 2>&1 &&
		"$here/run-uml.sh" san "$here/guest-canary.sh" 120 UML_OUT="$out" \
			CANARY="$dir/canary.ko" >"$dir/console.txt" 2>&1 \
			{WORK_LOCK}>&-
	result $? san.canary_ran "see $dir"
	"$here/scan-dmesg.sh" "$out/none.txt"
	result $? san.canary_without_mistake_is_clean
	for m in deadlock overflow use_after_free leak; do
		[ -s "$out/$m.txt" ] && ! "$here/scan-dmesg.sh" "$out/$m.txt" >/dev/null
		result $? "san.canary_${m}_is_seen"
	done
}

{
	canary
	# What the guest said, its results under this stage's name.
	sed -E 's/^(not )?ok - /&san./' "$OUT/console.txt"
	case ,${ONLY:-kunit}, in
	*,kunit,*) suite_results "$OUT" san.kunit "$(expected_suites)" ;;
	esac
	result $status san.guest_finished "status $status"
	log_result "$OUT" san.kernel_log_clean
} >"$OUT/results.txt"
number_results "$OUT/results.txt"
