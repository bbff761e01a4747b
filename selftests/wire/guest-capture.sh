#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Guest side of check-wire.sh, first part: all operations between two
# namespaces, over a veth pair whose ends cut super-packets before the wire,
# while tcpdump writes what crosses it to /run/out/CASE.MTU.pcap.
# $MODULES is the folder of the modules, $TREE the project, $CASES the cases
# as PROGRAM:CASE:PATHMTU, with commas between.
set -u
HERE=$TREE/selftests
export TREE HERE
# shellcheck source=selftests/lib/all.sh
. "$HERE/lib/all.sh"

# capture_starts FILE MTU: a slot of the kernel's buffer holds a packet as it may be
# at this path MTU, so that many fit; 256 bytes are more than all headers.
capture_starts()
{
	# what the one before said must not be taken for its word
	: > /run/tcpdump.log
	# exec: the pid is tcpdump's
	( exec ip netns exec a tcpdump -i "$IFA" -s $(($2 + 256)) -B 131072 \
		--immediate-mode -c "$PACKETS" \
		-Z root -w "$1" udp port 4791 2> /run/tcpdump.log ) &
	TCPDUMP=$!
	wait_for 100 grep -q 'listening on' /run/tcpdump.log
}

# shellcheck disable=SC2317  # wait_for calls it
# all_taken: tcpdump has read what the kernel held for it, or has what it wanted.
all_taken()
{
	local taken came
	proc_gone "$TCPDUMP" && return 0
	kill -USR1 "$TCPDUMP" 2> /dev/null
	pause 0.2
	# tcpdump: N packets captured, N packets received by filter, ...
	read -r taken came < <(awk '/^tcpdump: [0-9]+ packets? captured, / {
		n = $2 " " $5 } END { print n }' /run/tcpdump.log)
	[ -n "$came" ] && ((taken >= came))
}

capture_ends()
{
	wait_for 100 all_taken
	kill "$TCPDUMP" 2> /dev/null
	wait "$TCPDUMP"
	tail -n 3 /run/tcpdump.log | sed 's/^/# tcpdump: /'
}

# one PROGRAM:CASE:PATHMTU
one()
{
	local program=${1%%:*} rest=${1#*:} name mtu file
	name=${rest%%:*}
	mtu=${rest#*:}
	file=/run/out/${name//\//_}.$mtu.pcap
	capture_starts "$file" "$mtu" || {
		kill "$TCPDUMP" 2> /dev/null
		fail "tcpdump does not listen: $(cat /run/tcpdump.log)"
	}
	VT_SEED=${VT_SEED:-7} VT_SECONDS=1 VT_MAX_LEN=30000 \
		"$BUILD/$program" "$name" > /run/case.log 2>&1
	if grep -q '^not ok\|^1..0' /run/case.log || ! grep -q '^ok' /run/case.log; then
		sed 's/^/# /' /run/case.log
		capture_ends
		return 1
	fi
	capture_ends
	# what came behind the last one it wanted may be dropped
	grep -q "^$PACKETS packets captured" /run/tcpdump.log ||
		grep -q '^0 packets dropped by kernel' /run/tcpdump.log ||
		fail "the capture has holes"
}

# The first ones of each case; what tcpdump's buffer holds, so that none is lost.
PACKETS=${PACKETS:-5000}
insmod "$MODULES/rdma_soft.ko" || exit 1
dmesg -C
rig_up 9000
for side in a b; do
	dev=$IFA
	[ $side = a ] || dev=$IFB
	ip netns exec $side ethtool -K "$dev" tx-udp-segmentation off \
		gro off tx off > /dev/null ||
		echo "not ok - ethtool $dev"
done
batches=$(counter "$DEVA" gso_batches)
# what arrives at a was sent by b in super-packets and cut on the way
sent=$(counter "$DEVB" gso_batches)
segs=$(counter "$DEVB" gso_segs)
whole=$(counter "$DEVA" rx_batches)
for c in ${CASES//,/ }; do
	( one "$c" )
	rc=$?
	c=${c#*:}
	if [ $rc -eq 0 ]; then
		echo "ok - wire.run_${c%:*}"
	else
		echo "not ok - wire.run_${c%:*}"
	fi
done
(($(counter "$DEVA" gso_batches) > batches)) ||
	echo "not ok - wire.super_packets_were_sent"
sent=$(($(counter "$DEVB" gso_batches) - sent))
segs=$(($(counter "$DEVB" gso_segs) - segs))
whole=$(($(counter "$DEVA" rx_batches) - whole))
if ((sent > 0 && segs > sent && whole == 0)); then
	echo "ok - wire.arrived_cut"
else
	echo "not ok - wire.arrived_cut"
fi
echo "# $sent super-packets of $segs packets were sent to the end that captures; $whole arrived whole"
rig_down > /dev/null 2>&1
rmmod rdma_soft || echo "not ok - wire.module_unloads"
dmesg --color=never > /run/out/dmesg.txt
exit 0
