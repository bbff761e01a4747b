#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# 'rdma link del' under traffic, either end, 50 times: it returns within 1 s,
# the process gets DEVICE_FATAL and EIO and ends; then the module unloads.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
# shellcheck source=selftests/lib/traffic.sh
. "$HERE/lib/traffic.sh"

ROUNDS=${ROUNDS:-50}

one_round()
{
	local dev=$DEVA ns=$NSA if=$IFA addr=$A4
	if (($1 % 2)); then
		dev=$DEVB ns=$NSB if=$IFB addr=$B4
	fi
	traffic_start
	traffic_moving
	timed 1000 link_del "$dev"
	link_gone "$dev" || fail "$dev is still there"
	traffic_end
	((LAST_MS <= WORST)) || WORST=$LAST_MS
	link_add "$ns" "$dev" "$if" || fail "cannot add $dev again"
	wait_for 5 gid_index "$dev" "$addr" > /dev/null || fail "no GID"
}

t_rounds()
{
	local i WORST=0
	for ((i = 0; i < ROUNDS; i++)); do
		one_round "$i"
	done
	note "$ROUNDS removals, the slowest took $WORST ms"
}

# A process that only holds the device open.
t_idle_holder()
{
	local pid
	ibv_asyncwatch -d "$DEVA" > "$TRAFFIC_STATUS.aw" 2>&1 &
	pid=$!
	wait_for 10 grep -q 'async event FD' "$TRAFFIC_STATUS.aw" ||
		fail "ibv_asyncwatch does not start: $(cat "$TRAFFIC_STATUS.aw")"
	timed 1000 link_del "$DEVA"
	wait_for 5 grep -q DEVICE_FATAL "$TRAFFIC_STATUS.aw" ||
		fail "no DEVICE_FATAL: $(cat "$TRAFFIC_STATUS.aw")"
	kill "$pid"
	wait "$pid" 2> /dev/null
	link_add "$NSA" "$DEVA" "$IFA" || fail "cannot add $DEVA again"
	wait_for 5 gid_index "$DEVA" $A4 > /dev/null || fail "no GID"
}

t_unload()
{
	timed 5000 driver_unload
	! driver_loaded || fail "still loaded"
	[ -z "$(links_all)" ] || fail "links: $(links_all)"
	driver_load || fail "does not load again"
}

ktap_plan 3
rig_up 1500
ktap_run "link_del_under_traffic" t_rounds
ktap_run link_del_with_idle_holder t_idle_holder
ktap_run unload_afterwards t_unload
ktap_finish
