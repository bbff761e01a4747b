#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check.sh [vm|uml|san|lockstat]...: many objects and connections; all four by
# default.
#
#   vm    10,000 connected QPs, 100,000 MRs and 4,000 CQs at once on Debian's 6.1:
#         time and kernel memory of each; 50,000 WRITEs over all of them; nothing
#         of the driver runs while they are idle; all memory comes back
#   uml   1,000 connections of rdma_cm at once, then 20,000 in a row, each with
#         data, in a UML guest: memory stays what it was
#   san   330 in a row in the sanitizer kernel: nothing leaks
#   lockstat
#         4 QPs on 2 CPUs in the test VM with a kernel with lock statistics: on the
#         data path nobody waits for a lock of the driver, but of QPs that share
#         a CQ somebody does. The first run builds that kernel (1,400 files)
#
# vm and lockstat need the module and the test programs (make modules).
# Prints TAP with a line of progress now and then, and at the end all figures
# ("# scale:" lines). Exit status 0 only if all passed. Logs: build/scale/.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/build/common.sh
. "$here/../../scripts/build/common.sh"
# shellcheck source=selftests/lib/places.sh
. "$here/../lib/places.sh"

help_or "$0" "$@"
(($#)) || set -- vm uml san lockstat

# The module for that kernel is built in a folder of its own.
lockstat()
{
	local build work=$TOP/build/vm-lockstat
	build=$("$here/../vm/build-kernel.sh" lockstat) || return
	mkdir -p "$work"
	MODULE_TARGET=drivers/rdma_soft/rdma_soft.ko "$TOP/scripts/build/module.sh" \
		"$build" "$work" ARCH=x86_64 -j"$JOBS" > "$work/build.log" 2>&1 ||
		die "the module does not build, see $work/build.log"
	VM_KERNEL=$build/vm VM_MODULE=$work/drivers/rdma_soft/rdma_soft.ko \
		"$here/../run-vm-tests.sh" --suite scale_lockstat \
		--append no_hash_pointers --out "$TOP/build/scale/lockstat"
}

run()
{
	case $1 in
	vm) VM_MEM=4G "$here/../run-vm-tests.sh" --suite scale ;;
	uml) UML_MEM=2G "$here/../uml/tests.sh" scale/thousand scale/sequence ;;
	san) UML_MEM=2G "$here/../uml/tests.sh" --san scale/sanitized ;;
	lockstat) lockstat ;;
	*) die "no '$1', see --help" ;;
	esac
}

figures()
{
	grep -oE '# scale: .*' "$2"
	echo "# scale: $1: $3 passed, $4 failed, $5 s"
}

in_places scale "$@"
