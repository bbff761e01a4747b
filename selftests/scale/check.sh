#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check.sh [vm|uml|san]...: many objects and connections; all three by default.
#
#   vm    10,000 connected QPs, 100,000 MRs and 4,000 CQs at once on Debian's 6.1:
#         time and kernel memory of each; 50,000 WRITEs over all of them; nothing
#         of the driver runs while they are idle; all memory comes back
#   uml   1,000 connections of rdma_cm at once, then 20,000 in a row, each with
#         data, in a UML guest: memory stays what it was
#   san   330 in a row in the sanitizer kernel: nothing leaks
#
# Prints TAP with a line of progress now and then, and at the end all figures
# ("# scale:" lines). Exit status 0 only if all passed. Logs: build/scale/.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/build/common.sh
. "$here/../../scripts/build/common.sh"

case ${1:-} in
-h | --help) sed -n '4,/^set -u/s/^# \{0,1\}//p' "$0" | sed '$d'; exit 0 ;;
esac
(($#)) || set -- vm uml san

run()
{
	case $1 in
	vm) VM_MEM=4G "$here/../run-vm-tests.sh" --suite scale ;;
	uml) UML_MEM=2G "$here/../uml/tests.sh" scale/thousand scale/sequence ;;
	san) UML_MEM=2G "$here/../uml/tests.sh" --san scale/sanitized ;;
	*) die "no '$1', see --help" ;;
	esac
}

bad=0
summary=
mkdir -p "$TOP/build/scale" || die "cannot create build/scale"
for where; do
	log=$TOP/build/scale/$where.log
	echo "# scale in $where"
	start=$SECONDS
	run "$where" 2>&1 | tee "$log"
	[ "${PIPESTATUS[0]}" = 0 ] || bad=1
	read -r pass fail < <(awk '
		/^ +ok [0-9]+ - / { pass++ }
		/^ +not ok / { fail++ }
		END { print pass + 0, fail + 0 }' "$log")
	((pass > 0 && fail == 0)) || bad=1
	summary+=$(grep -oE '# scale: .*' "$log")$'\n'
	summary+="# scale: $where: $pass passed, $fail failed, $((SECONDS - start)) s"$'\n'
done
printf '\n%s' "$summary"
exit $bad
