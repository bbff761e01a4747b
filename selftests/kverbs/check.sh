#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check.sh [plain|san|vm]...: the tests through the kernel's verbs, in a UML
# guest (plain), in a UML guest with KASAN and lock proving (san), in the test
# VM on Debian's 6.1 (vm); all three by default. Prints TAP and, for each, how
# many tests passed and how many single checks they made. Exit status 0 only if
# all passed. Logs: build/kverbs/.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/build/common.sh
. "$here/../../scripts/build/common.sh"
# shellcheck source=selftests/lib/places.sh
. "$here/../lib/places.sh"

help_or "$0" "$@"
(($#)) || set -- plain san vm

run()
{
	local kdir

	case $1 in
	plain) "$here/../uml/tests.sh" kverbs/quick kverbs/full ;;
	san) "$here/../uml/tests.sh" --san kverbs/quick ;;
	vm)
		kdir=$("$TOP/scripts/build/headers.sh" 6.1) &&
			make -s -C "$TOP" modules KVERBS=1 KDIR="$kdir" >&2 &&
			"$here/../run-vm-tests.sh" kverbs/
		;;
	*) die "no '$1', see --help" ;;
	esac
}

figures()
{
	local checks

	checks=$(awk 'match($0, /# [0-9]+ checks/) { sum += substr($0, RSTART + 2) }
		END { print sum + 0 }' "$2")
	echo "# kverbs $1: $3 passed, $4 failed, $checks checks"
}

in_places kverbs "$@"
