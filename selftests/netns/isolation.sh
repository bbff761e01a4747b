#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Namespaces: the same addresses twice, several links in one, coming and going.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
# shellcheck source=selftests/lib/traffic.sh
. "$HERE/lib/traffic.sh"

# A second pair with the very addresses of the first, in c and d.
twin_up()
{
	setup_ns c d
	ip -n c link add vc address $MACA type veth peer name vd \
		address $MACB netns d || fail "cannot create the second pair"
	veth_end c vc $A4/24 $A6/64 $B4 $B6 $MACB 1500
	veth_end d vd $B4/24 $B6/64 $A4 $A6 $MACA 1500
	link_add c soft2 vc || fail "no soft2"
	link_add d soft3 vd || fail "no soft3"
	wait_for 5 gid_index soft2 $A6 > /dev/null || fail "no GID"
	wait_for 5 gid_index soft3 $B6 > /dev/null || fail "no GID"
}

integrity_twin()
{
	VT_DEV_A=soft2 VT_DEV_B=soft3 VT_NS_A=/run/netns/c \
		VT_NS_B=/run/netns/d VT_SECONDS=4 \
		"$BUILD/integrity/random" "$1"
}

t_same_addresses()
{
	local one two pid
	twin_up
	one=$(mktemp) two=$(mktemp)
	integrity_twin rc_v4_mtu_1024 > "$two" 2>&1 &
	pid=$!
	VT_SECONDS=4 "$BUILD/integrity/random" rc_v4_mtu_1024 > "$one" 2>&1 ||
		{ sed 's/^/# /' "$one"; fail "first pair"; }
	wait $pid || { sed 's/^/# /' "$two"; fail "second pair"; }
}

t_removal_next_door()
{
	traffic_start
	ip netns del c
	ip netns del d
	wait_for 10 link_gone soft2 || fail "soft2 stays"
	wait_for 10 link_gone soft3 || fail "soft3 stays"
	traffic_moving
	traffic_stop
}

# Two links in one namespace, each to a peer of its own.
t_two_links()
{
	setup_ns c
	ip -n a link add va2 type veth peer name vc netns c
	ip -n a addr add 10.9.2.1/24 dev va2
	ip -n a link set va2 up
	ip -n c addr add 10.9.2.2/24 dev vc
	ip -n c link set vc up
	link_add a soft2 va2 || fail "no second link in a"
	link_add c soft3 vc || fail "no link in c"
	wait_for 5 gid_index soft2 10.9.2.1 > /dev/null || fail "no GID"
	wait_for 5 gid_index soft3 10.9.2.2 > /dev/null || fail "no GID"
	pair soft2 10.9.2.1 a soft3 10.9.2.2 c
	pair $DEVA $A4 a $DEVB $B4 b
	link_del soft2
	pair $DEVA $A4 a $DEVB $B4 b
	link_del soft3
	ip netns del c
}

# pair DEV ADDR NS DEV ADDR NS: data both ways.
pair()
{
	local log
	log=$(mktemp)
	VT_DEV_A=$1 VT_ADDR_A4=$2 VT_NS_A=/run/netns/$3 VT_DEV_B=$4 \
		VT_ADDR_B4=$5 VT_NS_B=/run/netns/$6 \
		"$BUILD/verbs/post" psn_wrap > "$log"
	grep -q '^ok 1' "$log" || fail "$1 to $4: $(cat "$log")"
}

# The GID of another namespace is not for this one's processes.
t_foreign_gid()
{
	local log
	log=$(mktemp)
	setup_ns c
	VT_NS_A=/run/netns/c VT_NS_B=/run/netns/c timeout 60 \
		"$BUILD/verbs/post" sge_32 > "$log" 2>&1
	grep -q '^ok 1' "$log" &&
		note "a process of another namespace may use the devices"
	ip netns del c
	# the devices themselves must be unharmed
	pair $DEVA $A4 a $DEVB $B4 b
}

t_create_exit_loop()
{
	local i
	for ((i = 0; i < 5; i++)); do
		ip netns add "e$i"
		ip -n "e$i" link add de type dummy
		ip -n "e$i" addr add 10.50.0.1/24 dev de
		ip -n "e$i" link set de up
		link_add "e$i" softe de || fail "round $i: no link"
		ip netns del "e$i"
		wait_for 10 link_gone softe || fail "round $i: softe stays"
	done
}

ktap_plan 5
rig_up 1500
ktap_run same_addresses_in_two_pairs t_same_addresses
ktap_run removal_next_door t_removal_next_door
ktap_run two_links_in_one_netns t_two_links
ktap_run gid_of_another_netns t_foreign_gid
ktap_run link_and_netns_5_times t_create_exit_loop
ktap_finish
