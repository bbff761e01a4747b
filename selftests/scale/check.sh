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
# shellcheck source=selftests/lib/places.sh
. "$here/../lib/places.sh"

help_or "$0" "$@"
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

figures()
{
	grep -oE '# scale: .*' "$2"
	echo "# scale: $1: $3 passed, $4 failed, $5 s"
}

in_places scale "$@"
