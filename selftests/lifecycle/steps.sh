#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Whatever can happen to a link while processes use it with every kind of object:
# each step below 1 s, the processes learn of it, and nothing is left.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
# shellcheck source=selftests/lib/traffic.sh
. "$HERE/lib/traffic.sh"
# shellcheck source=selftests/lifecycle/lib.sh
. "$HERE/lifecycle/lib.sh"

fresh()
{
	rig_down > /dev/null 2>&1
	driver_load || fail "the module does not load"
	rig_up "${1:-1500}"
}

# Removal in each way: the processes end by themselves.
t_removed()
{
	local name=$1
	shift
	fresh
	objects_start
	step "$name" "$@"
	[ "$name" = link_del ] || wait_for 10 link_gone $DEVA ||
		fail "$DEVA survives"
	objects_end
	left_nothing
}

t_netns()
{
	fresh
	objects_start
	step netns_deleted ip netns del a
	wait_for 5 link_gone $DEVA || fail "$DEVA survives its netns"
	objects_end
	left_nothing
}

move_to_c()
{
	ip -n a link set $IFA netns c
}

t_move()
{
	fresh
	setup_ns c
	objects_start
	step netdev_moved move_to_c
	wait_for 5 link_gone $DEVA || fail "$DEVA survives the move"
	link_exists $DEVB || fail "$DEVB went as well"
	objects_end
	link_add c $DEVA $IFA || fail "no link in the new netns"
	left_nothing
}

# What a link lives through: traffic goes on behind it.
t_survives()
{
	fresh
	export TRAFFIC_TIMEOUT=18
	traffic_start 200
	traffic_moving
	"$@"
	traffic_goes_on 20 "behind it"
	traffic_stop
	left_nothing
}

# neighbours: those of a netdev are gone after it was down.
neighbours()
{
	ip -n a neigh replace $B4 lladdr $MACB dev $IFA nud permanent
	ip -n a neigh replace $B6 lladdr $MACB dev $IFA nud permanent
}

down_up()
{
	step netdev_down ip -n a link set $IFA down
	pause 0.3
	step netdev_up ip -n a link set $IFA up
	neighbours
}

# Everything is lost for a while, ten times, at any point of a message.
blackouts()
{
	local i
	for i in 1 2 3 4 5 6 7 8 9 10; do
		tc -n a qdisc replace dev $IFA root netem loss 100%
		pause 0.$((i * 7 % 10))
		tc -n a qdisc del dev $IFA root
		traffic_goes_on 15 "after blackout $i"
	done
}

# Only a netdev that is down may be renamed, in this kernel.
rename()
{
	step netdev_down ip -n a link set $IFA down
	step netdev_renamed ip -n a link set $IFA name other
	link_exists $DEVA || fail "no $DEVA"
	step netdev_renamed ip -n a link set other name $IFA
	step netdev_up ip -n a link set $IFA up
	neighbours
}

mac()
{
	step mac_changed ip -n a link set $IFA address 02:09:00:00:00:77
	ip -n b neigh replace $A4 lladdr 02:09:00:00:00:77 dev $IFB nud permanent
	pause 0.3
	step mac_changed ip -n a link set $IFA address $MACA
	ip -n b neigh replace $A4 lladdr $MACA dev $IFB nud permanent
}

other_addresses()
{
	local i
	for i in 1 2 3 4 5 6 7 8; do
		step address_added ip -n a addr add 10.9.20.$i/32 dev $IFA
		step address_added ip -n a addr add fd20::$i/64 dev $IFA nodad
	done
	wait_for 5 gid_index $DEVA 10.9.20.8 > /dev/null || fail "no GID"
	for i in 1 2 3 4 5 6 7 8; do
		step address_removed ip -n a addr del 10.9.20.$i/32 dev $IFA
		step address_removed ip -n a addr del fd20::$i/64 dev $IFA
	done
}

larger_mtu()
{
	step mtu_changed ip -n a link set $IFA mtu 9000
	step mtu_changed ip -n b link set $IFB mtu 9000
	pause 0.2
	step mtu_changed ip -n a link set $IFA mtu 1500
	step mtu_changed ip -n b link set $IFB mtu 1500
}

# Packets no longer fit: the QPs end in error, by themselves.
t_mtu_too_small()
{
	fresh 9000
	traffic_start 100
	traffic_moving
	step mtu_lowered ip -n a link set $IFA mtu 1000
	step mtu_lowered ip -n b link set $IFB mtu 1000
	wait_for 60 proc_gone "$TRAFFIC_PID" ||
		fail "the QPs hang: $(cat "$TRAFFIC_STATUS")"
	wait "$TRAFFIC_PID" 2> /dev/null
	left_nothing
}

t_address_removed()
{
	fresh
	objects_start
	step address_removed ip -n a addr del $A4/24 dev $IFA
	pause 1
	step address_added ip -n a addr add $A4/24 dev $IFA
	wait_for 5 gid_index $DEVA $A4 > /dev/null || fail "no GID again"
	objects_kill
	left_nothing
}

t_killed()
{
	local i before
	fresh
	before=$(ip netns exec b ip maddr show dev $IFB)
	for i in 1 2 3 4 5; do
		objects_start 8
		pause 0.2
		objects_kill
	done
	[ "$(ip netns exec b ip maddr show dev $IFB)" = "$before" ] ||
		fail "groups are left: $(ip netns exec b ip maddr show dev $IFB)"
	"$BUILD/verbs/post" sge_32 | grep -q '^ok 1' || fail "no data afterwards"
	left_nothing
}

# The core's exclusive mode: the device itself moves, its users end.
t_set_netns()
{
	rig_down > /dev/null 2>&1
	driver_load
	rdma system set netns exclusive || skip "no exclusive mode here"
	ip netns add c
	ip link add d0 type dummy
	ip addr add 10.20.0.1/24 dev d0
	ip link set d0 up
	link_add '' soft7 d0 || fail "no link"
	has_qp1 || fail "soft7 has no QP1"
	step set_netns rdma dev set soft7 netns c
	ip netns exec c rdma dev | grep -q soft7 || fail "soft7 is not in c"
	rdma dev | grep -q soft7 && fail "soft7 is here as well"
	has_qp1 c || fail "soft7 has no QP1 in c: nothing can connect"
	ip netns del c
	wait_for 10 back_here || fail "soft7 does not come back"
	has_qp1 || fail "soft7 has no QP1 any more"
	link_del soft7
	ip link del d0
	wait_for 10 shared_again || fail "shared mode does not come back"
	left_nothing
}

# has_qp1 [NETNS]: rdma_cm and the MAD layer have what they need of soft7.
has_qp1()
{
	${1:+ip netns exec "$1"} rdma resource show qp link soft7/1 |
		grep -q 'type GSI'
}

back_here()
{
	rdma dev | grep -q soft7
}

shared_again()
{
	rdma system set netns shared 2> /dev/null
}

late_sent()
{
	tc -n a -s qdisc show dev $IFA | sed -n 's/^ *Sent .* \([0-9]*\) pkt .*/\1/p'
}

late_waiting()
{
	tc -n a -s qdisc show dev $IFA |
		sed -n 's/^ *backlog [^ ]* \([0-9]*\)p .*/\1/p'
}

# The stack sends packets of its own meanwhile.
late_all_sent()
{
	(($(late_sent) >= LATE_END))
}

# Packets in a qdisc for 20 s: they outlive QP, link, netdev's netns and module.
t_late_packets()
{
	fresh
	tc -n a qdisc add dev $IFA root netem delay 20s limit 10000
	local name
	for name in rc_v4_mtu_1024 ud_v4; do
		(VT_SECONDS=0 timeout -s KILL 3 "$BUILD/integrity/random" $name) \
			> /dev/null 2>&1
	done
	tc -n a -s qdisc show dev $IFA | grep -q 'backlog [1-9]' ||
		fail "no packet waits"
	step link_del link_del $DEVA
	step link_del link_del $DEVB
	step rmmod driver_unload
	LATE_END=$(($(late_sent) + $(late_waiting)))
	note "$(late_waiting) packets outlive the module"
	wait_for 60 late_all_sent || fail "$(late_waiting) packets still wait"
	driver_load || fail "the module does not load again"
	left_nothing
}

# rmmod while everything else goes as well.
t_rmmod_against_all()
{
	local i pids
	for i in 1 2 3; do
		fresh
		objects_start
		pids=()
		( link_del $DEVB; ip -n a link set $IFA down ) 2> /dev/null &
		pids+=($!)
		( ip -n a link del $IFA; ip netns del b ) 2> /dev/null &
		pids+=($!)
		timed 3000 driver_unload
		wait "${pids[@]}"
		objects_end
	done
	driver_load
	left_nothing
}

ktap_plan 17
ktap_run link_del t_removed link_del link_del $DEVA
ktap_run netdev_removed t_removed netdev_removed ip -n a link del $IFA
ktap_run module_removed t_removed rmmod driver_unload
ktap_run netns_exit t_netns
ktap_run netdev_moved t_move
ktap_run down_and_up t_survives down_up
ktap_run blackouts t_survives blackouts
ktap_run renamed t_survives rename
ktap_run mac_changed t_survives mac
ktap_run other_addresses t_survives other_addresses
ktap_run larger_mtu t_survives larger_mtu
ktap_run mtu_too_small t_mtu_too_small
ktap_run own_address_removed t_address_removed
ktap_run killed_with_every_object t_killed
ktap_run device_moved_to_netns t_set_netns
ktap_run packets_outlive_the_module t_late_packets
ktap_run rmmod_against_all t_rmmod_against_all
note "lifecycle: $(wc -l < $STEPS_FILE) steps, the longest: $(sort -n $WORST_FILE |
	tail -n 1 | sed 's/ / ms, /')"
ktap_finish
