#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Guest side of the canary: one deliberate mistake after the other, the kernel
# log of each in /run/out/MISTAKE.txt. $CANARY is the module.
set -u

echo scan >/sys/kernel/debug/kmemleak
echo clear >/sys/kernel/debug/kmemleak
# Deadlock comes before the others, because any report
# switches lock proving off.
for mistake in none deadlock overflow use_after_free leak; do
	dmesg -C
	insmod "$CANARY" mistake="$mistake" || exit 1
	rmmod canary || exit 1
	if [ "$mistake" = leak ]; then
		for _ in 1 2; do
			sleep 6
			echo scan >/sys/kernel/debug/kmemleak
		done
	fi
	# Never empty: an empty log is an error of its own to the scan.
	echo "canary: $mistake" >/dev/kmsg
	dmesg --color=never >"/run/out/$mistake.txt"
done
exit 0
