#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Groups at the IP layer: joins are seen on the wire and in 'ip maddr', and
# whatever way the members go, nothing of them stays. mckey through rdma_cm.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"

maddr()
{
	ip netns exec "$1" ip maddr show dev "$2"
}

# hold_start COUNT FAMILY: mcast_hold at end b, attached.
hold_start()
{
	HOLD_OUT=$(mktemp)
	HOLD_IN=$(mktemp -u)
	mkfifo "$HOLD_IN"
	"$BUILD/netns/mcast_hold" b "$2" "$1" < "$HOLD_IN" > "$HOLD_OUT" 2>&1 &
	HOLD_PID=$!
	exec {HOLD_FD}> "$HOLD_IN"
	wait_for 60 grep -q joined "$HOLD_OUT" || fail "$(cat "$HOLD_OUT")"
}

hold_leave()
{
	echo >&"$HOLD_FD"
	wait_for 60 grep -q left "$HOLD_OUT" || fail "$(cat "$HOLD_OUT")"
}

hold_end()
{
	exec {HOLD_FD}>&-
	wait "$HOLD_PID" || fail "mcast_hold: $(cat "$HOLD_OUT")"
}

same_maddr()
{
	[ "$(maddr b "$IFB")" = "$1" ]
}

# t_joins COUNT FAMILY GROUP: the last of them.
t_joins()
{
	local before
	before=$(maddr b "$IFB")
	hold_start "$1" "$2"
	maddr b "$IFB" | grep -q "$3" || fail "no $3 in: $(maddr b "$IFB")"
	hold_leave
	wait_for 5 same_maddr "$before" || fail "ip maddr: $(maddr b "$IFB")"
	hold_end
}

t_killed()
{
	local before
	before=$(maddr b "$IFB")
	hold_start 50 4
	same_maddr "$before" && fail "nothing was joined"
	kill -9 "$HOLD_PID"
	wait "$HOLD_PID" 2> /dev/null
	wait_for 5 same_maddr "$before" || fail "ip maddr: $(maddr b "$IFB")"
	[ -z "$(rdma resource show qp link "$DEVB" | grep mcast_hold)" ] ||
		fail "QPs of the killed process remain"
}

# t_seen FILTER FAMILY: a report must cross the pair.
t_seen()
{
	local log=/run/tcpdump.mcast
	: > $log
	( exec ip netns exec a tcpdump -v -l -n -i "$IFA" -Z root "$1" \
		> $log 2>&1 ) &
	TCPDUMP=$!
	wait_for 10 grep -q 'listening on' $log || fail "$(cat $log)"
	hold_start 1 "$2"
	wait_for 10 grep -q "$3" $log || fail "no report: $(cat $log)"
	grep "$3" $log | head -n 1 | sed 's/^/# /'
	hold_leave
	hold_end
	kill "$TCPDUMP"
	wait "$TCPDUMP"
}

t_netdev_goes()
{
	hold_start 20 6
	ip -n a link del "$IFA"
	wait_for 10 link_gone "$DEVB" || fail "$DEVB stays"
	exec {HOLD_FD}>&-
	wait "$HOLD_PID"
	ip netns exec b ip maddr | grep -q ff0e && fail "$(ip -n b maddr)"
	rig_down > /dev/null 2>&1
	rig_up 1500
}

t_link_goes()
{
	local before
	before=$(maddr b "$IFB")
	hold_start 20 4
	timed 5000 link_del "$DEVB"
	same_maddr "$before" || fail "ip maddr: $(maddr b "$IFB")"
	exec {HOLD_FD}>&-
	wait "$HOLD_PID"
	link_add b "$DEVB" "$IFB" || fail "no link $DEVB"
	wait_for 5 gid_index "$DEVB" $B4 > /dev/null || fail "no GID"
	wait_for 5 gid_index "$DEVB" $B6 > /dev/null || fail "no GID"
}

# t_mckey GROUP A B: the receiver in b must get what a sends.
t_mckey()
{
	local out pid before_a before_b
	out=$(mktemp)
	before_a=$(maddr a "$IFA") before_b=$(maddr b "$IFB")
	( exec ip netns exec b timeout 40 stdbuf -oL mckey -m "$1" -b "$3" -C 10 \
		> "$out" 2>&1 ) &
	pid=$!
	wait_for 20 grep -q 'joined' "$out" || fail "$(cat "$out")"
	in_a timeout 40 mckey -m "$1" -b "$2" -s -C 10 > "$out.a" 2>&1 ||
		fail "sender: $(cat "$out.a")"
	wait "$pid" || fail "receiver: $(cat "$out")"
	grep -q 'receiving data transfers' "$out" || fail "$(cat "$out")"
	grep -q 'data transfers complete' "$out" || fail "$(cat "$out")"
	[ "$(maddr a "$IFA")" = "$before_a" ] || fail "a: $(maddr a "$IFA")"
	same_maddr "$before_b" || fail "b: $(maddr b "$IFB")"
}

# rdma_cm of the kernel joins IPv4 groups only.
t_mckey_v6()
{
	in_a timeout 20 mckey -m "$1" -b $A6 -s -C 1 > /run/mckey.log 2>&1 &&
		fail "rdma_cm joins IPv6 groups by now: test them"
	grep -q 'Unknown error 524' /run/mckey.log || fail "$(cat /run/mckey.log)"
}

# shellcheck source=selftests/lib/traffic.sh
. "$HERE/lib/traffic.sh"
ktap_plan 10
rig_up 1500
ktap_run igmp_is_seen t_seen igmp 4 '239.77.0.0'
ktap_run mld_is_seen t_seen 'icmp6 or ip6 proto 0' 6 'ff0e::77:0'
ktap_run joins_1000_v4 t_joins 1000 4 '239.77.3.231'
ktap_run joins_1000_v6 t_joins 1000 6 'ff0e::77:3e7'
ktap_run killed_receiver t_killed
ktap_run link_goes_under_members t_link_goes
ktap_run mckey_v4 t_mckey 239.5.5.5 $A4 $B4
ktap_run mckey_v6_is_refused t_mckey_v6 ff0e::5:5
ktap_run mckey_again t_mckey 239.5.5.6 $A4 $B4
ktap_run netdev_goes_under_members t_netdev_goes
ktap_finish
