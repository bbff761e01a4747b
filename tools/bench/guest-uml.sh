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
	if [ "$DRIVER" = rxe ]; then
		dep_load rdma_rxe || exit 1
	else
		insmod "$MODULE" || exit 1
	fi
	rig_up 1500
	for kind in write read; do
		rate=$("$BUILD/integrity/many" $kind 1 65536 2000 |
			sed -n 's/^# .* QPs, \(.*\) MB\/s$/\1/p')
		[ -n "$rate" ] || { echo "$DRIVER $kind failed"; exit 1; }
		echo "@ $1 $DRIVER $kind $rate"
	done
	rig_down
	rmmod "$([ "$DRIVER" = rxe ] && echo rdma_rxe || echo rdma_soft)" || exit 1
}

for dep in veth udp_tunnel ip6_udp_tunnel; do
	dep_load $dep || exit 1
done
for ((i = 1; i <= ROUNDS; i++)); do
	turn $i rdma_soft
	turn $i rxe
done
exit 0
