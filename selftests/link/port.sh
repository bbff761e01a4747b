#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The port follows its netdev: state, MTU, speed, GIDs, events.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"

port_state()
{
	cat "/sys/class/infiniband/$DEVA/ports/1/state"
}

state_is()
{
	[[ $(port_state) == *"$1" ]]
}

t_state()
{
	state_is ACTIVE || fail "at first $(port_state)"
	ip_a link set "$IFA" down
	wait_for 3 state_is DOWN || fail "netdev down: $(port_state)"
	ip_a link set "$IFA" up
	wait_for 3 state_is ACTIVE || fail "netdev up again: $(port_state)"
	# no carrier: the peer is down
	ip_b link set "$IFB" down
	wait_for 3 state_is DOWN || fail "no carrier: $(port_state)"
	ip_b link set "$IFB" up
	wait_for 3 state_is ACTIVE || fail "carrier again: $(port_state)"
}

t_events()
{
	local pid log
	log=$(mktemp)
	ibv_asyncwatch -d "$DEVA" > "$log" 2>&1 &
	pid=$!
	wait_for 10 grep -q 'async event FD' "$log" || fail "$(cat "$log")"
	ip_a link set "$IFA" down
	wait_for 5 grep -q PORT_ERR "$log" || fail "down: $(cat "$log")"
	ip_a link set "$IFA" up
	wait_for 5 grep -q PORT_ACTIVE "$log" || fail "up: $(cat "$log")"
	kill "$pid"
	return 0
}

active_mtu()
{
	ibv_devinfo -d "$DEVA" | sed -n 's/.*active_mtu:[^0-9]*\([0-9]*\).*/\1/p'
}

mtu_is()
{
	[ "$(active_mtu)" = "$1" ]
}

t_mtu()
{
	local pair
	for pair in 1500:1024 9000:4096 4200:4096 4100:2048 2200:2048 \
		1200:1024 1000:512 640:512 400:256 1500:1024; do
		ip_a link set "$IFA" mtu "${pair%:*}"
		wait_for 2 mtu_is "${pair#*:}" ||
			fail "netdev MTU ${pair%:*}: path MTU $(active_mtu)"
	done
}

t_rate()
{
	local rate
	rate=$(cat "/sys/class/infiniband/$DEVA/ports/1/rate")
	[[ $rate == 10\ Gb/sec* ]] || fail "veth says 10 Gbit/s, the port $rate"
}

gid_there()
{
	gid_index "$DEVA" "$1" > /dev/null
}

gid_not_there()
{
	! gid_index "$DEVA" "$1" > /dev/null
}

t_gids()
{
	local before
	before=$(gid_index "$DEVA" $A4)
	ip_a addr add 10.9.7.1/24 dev "$IFA"
	wait_for 3 gid_there 10.9.7.1 || fail "no GID for a new IPv4 address"
	ip_a -6 addr add fd09:7::1/64 dev "$IFA" nodad
	wait_for 3 gid_there fd09:7::1 || fail "no GID for a new IPv6 address"
	ip_a addr del 10.9.7.1/24 dev "$IFA"
	wait_for 3 gid_not_there 10.9.7.1 || fail "GID of a removed address"
	ip_a -6 addr del fd09:7::1/64 dev "$IFA"
	wait_for 3 gid_not_there fd09:7::1 || fail "GID of a removed address"
	[ "$(gid_index "$DEVA" $A4)" = "$before" ] || fail "the first one moved"
}

t_mac()
{
	ip_a link set "$IFA" address 02:09:00:00:00:77 ||
		fail "cannot change the MAC address"
	ip_a link set "$IFA" address $MACA
	state_is ACTIVE || wait_for 3 state_is ACTIVE || fail "$(port_state)"
}

t_rename()
{
	ip_a link set "$IFA" down
	ip_a link set "$IFA" name other0 || fail "cannot rename"
	ip_a link set other0 up
	wait_for 3 state_is ACTIVE || fail "$(port_state)"
	in_a rdma link show "$DEVA/1" | grep -q 'netdev other0' ||
		fail "$(in_a rdma link show "$DEVA/1")"
	ip_a link set other0 down
	ip_a link set other0 name "$IFA"
	ip_a link set "$IFA" up
	wait_for 3 state_is ACTIVE || fail "$(port_state)"
}

# Down and up again in the middle of a transfer: it goes on.
t_flap()
{
	local out
	out=$(mktemp)
	VT_SECONDS=6 "$BUILD/integrity/random" rc_v4_mtu_1024 > "$out" 2>&1 &
	wait_for 10 grep -q seed "$out"
	sleep 1
	ip_a link set "$IFA" down
	sleep 0.2
	good_again
	wait $! || { sed 's/^/# /' "$out"; fail "the transfer broke"; }
}

# good_again: up, with the neighbours that 'down' forgets.
good_again()
{
	ip_b link set "$IFB" up
	ip_a link set "$IFA" up
	ip_a neigh replace $B4 lladdr $MACB dev "$IFA" nud permanent
	ip_a neigh replace $B6 lladdr $MACB dev "$IFA" nud permanent
	ip_b neigh replace $A4 lladdr $MACA dev "$IFB" nud permanent
	ip_b neigh replace $A6 lladdr $MACA dev "$IFB" nud permanent
	wait_for 3 state_is ACTIVE || fail "$(port_state)"
}

# started COMMAND: each test begins with a good pair.
started()
{
	good_again
	"$@"
}

ktap_plan 8
rig_up 1500
ktap_run state_follows_netdev started t_state
ktap_run events started t_events
ktap_run mtu_follows_netdev started t_mtu
ktap_run rate_is_the_netdevs started t_rate
ktap_run gids_follow_addresses started t_gids
ktap_run mac_change started t_mac
ktap_run netdev_rename started t_rename
ktap_run transfer_survives_link_flap started t_flap
ktap_finish
