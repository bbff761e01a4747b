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

case ${1:-} in
-h | --help) sed -n '4,/^set -u/s/^# \{0,1\}//p' "$0" | sed '$d'; exit 0 ;;
esac
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

bad=0
summary=
mkdir -p "$TOP/build/kverbs" || die "cannot create build/kverbs"
for where; do
	log=$TOP/build/kverbs/$where.log
	echo "# kverbs in $where"
	run "$where" 2>&1 | tee "$log"
	[ "${PIPESTATUS[0]}" = 0 ] || bad=1
	read -r pass fail checks < <(awk '
		/^ +ok [0-9]+ - / { pass++ }
		/^ +not ok / { fail++ }
		match($0, /# [0-9]+ checks/) { sum += substr($0, RSTART + 2) }
		END { print pass + 0, fail + 0, sum + 0 }' "$log")
	((pass > 0 && fail == 0)) || bad=1
	summary+="# kverbs $where: $pass passed, $fail failed, $checks checks"$'\n'
done
printf '%s' "$summary"
exit $bad
