#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Guest side of rdma-soft-bench-uml: both drivers in turns, each with two devices on a
# veth pair in one namespace. $MODULE is rdma_soft.ko, $TREE the project, $ROUNDS how
# often. Prints "@ ROUND DRIVER write|read MB/s".
set -u
HERE=$TREE/selftests
RIG=1ns
export TREE HERE RIG
# shellcheck source=selftests/lib/all.sh
. "$HERE/lib/all.sh"

# turn ROUND DRIVER
turn()
{
	local kind rate
	DRIVER=$2
	driver_load || exit 1
	rig_up 1500
	for kind in write read; do
		rate=$("$BUILD/integrity/many" $kind 1 65536 2000 |
			sed -n 's/^# .* QPs, \(.*\) MB\/s$/\1/p')
		[ -n "$rate" ] || { echo "$DRIVER $kind failed"; exit 1; }
		echo "@ $1 $DRIVER $kind $rate"
	done
	rig_down
	driver_unload || exit 1
}

dep_load veth || exit 1
for ((i = 1; i <= ROUNDS; i++)); do
	turn $i rdma_soft
	turn $i rxe
done
exit 0
