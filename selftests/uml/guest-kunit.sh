#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Guest side of kunit.sh: load the driver and its KUnit module, copy each
# suite's results and the kernel log to /run/out. $MODULES is the folder of
# the modules.
set -u
status=0

dmesg -C
for m in rdma_soft.ko tests/rdma_soft_kunit.ko; do
	if ! insmod "$MODULES/$m"; then
		echo "error: insmod $m failed"
		status=1
	fi
done
for r in /sys/kernel/debug/kunit/*/results; do
	[ -e "$r" ] || continue
	suite=${r%/results}
	cat "$r" >"/run/out/${suite##*/}.ktap"
done
if [ -d /sys/module/rdma_soft_kunit ] && ! rmmod rdma_soft_kunit; then
	echo "error: rmmod rdma_soft_kunit failed"
	status=1
fi
if [ -d /sys/module/rdma_soft ] && ! rmmod rdma_soft; then
	echo "error: rmmod rdma_soft failed"
	status=1
fi
dmesg --color=never >/run/out/dmesg.txt
exit $status
