#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Small messages of a stream wait for each other and leave in batches; messages
# that somebody waits for never do. hold_us is set high, so that a message that
# is held without need shows, and a slow machine still holds.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
# shellcheck source=selftests/perftest/lib.sh
. "$HERE/perftest/lib.sh"

# Rates are not looked at here: a slow clock may hide them.
rows_good()
{
	return 0
}

SWITCH=/sys/kernel/debug/rdma_soft/hold_us

# both NAME: a counter, both ends together
both()
{
	echo $(($(counter "$DEVA" "$1") + $(counter "$DEVB" "$1")))
}

hold_us()
{
	echo "$1" > $SWITCH || fail "cannot write $SWITCH"
}

# t_stream COMMAND: messages travel in batches of many.
t_stream()
{
	local holds batches segs
	holds=$(both tx_holds) batches=$(both gso_batches) segs=$(both gso_segs)
	# longer than a busy host stops the guest, as a rule
	hold_us 20000
	perftest 4 "$1 -n 5000"
	hold_us 20
	holds=$(($(both tx_holds) - holds))
	batches=$(($(both gso_batches) - batches))
	segs=$(($(both gso_segs) - segs))
	note "$holds holds, $segs packets in $batches batches"
	((holds >= 5)) || fail "$holds holds"
	((segs >= 500 && segs >= 8 * batches)) ||
		fail "$segs packets in $batches batches"
}

# t_alone COMMAND: nothing is held.
t_alone()
{
	local holds
	holds=$(both tx_holds)
	hold_us 2000
	perftest 4 "$1"
	hold_us 20
	holds=$(($(both tx_holds) - holds))
	((holds == 0)) || fail "$holds times a message was held"
}

t_off()
{
	local holds
	holds=$(both tx_holds)
	hold_us 0
	perftest 4 'ib_write_bw -s 64 -n 2000'
	hold_us 20
	holds=$(($(both tx_holds) - holds))
	((holds == 0)) || fail "$holds times a message was held"
}

ktap_plan 9
rig_up 1500
[ -e $SWITCH ] || mount -t debugfs debugfs /sys/kernel/debug
ktap_run stream_write t_stream 'ib_write_bw -s 64'
ktap_run stream_write_all_signaled t_stream 'ib_write_bw -s 64 -Q 1'
ktap_run stream_send t_stream 'ib_send_bw -s 8 -r 512'
ktap_run stream_ud t_stream 'ib_send_bw -c UD -s 8 -r 512'
ktap_run alone_send t_alone 'ib_send_lat -s 8 -n 300 -e'
ktap_run alone_read t_alone 'ib_read_lat -s 8 -n 300'
ktap_run alone_atomic t_alone 'ib_atomic_lat -n 300'
ktap_run alone_write t_alone 'ib_write_lat -s 8 -n 300'
ktap_run switched_off t_off
ktap_finish
