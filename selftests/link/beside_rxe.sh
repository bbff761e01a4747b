#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In-tree rdma_rxe loaded before, during and after our links, unloaded in every
# order. Both use the same driver id, so 'rmmod rdma_rxe' makes the core
# unregister our devices too: the links go, the module must survive that.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
# shellcheck source=selftests/lib/traffic.sh
. "$HERE/lib/traffic.sh"

rxe_load()
{
	modprobe rdma_rxe || fail "rdma_rxe does not load"
}

rxe_unload()
{
	modprobe -r rdma_rxe || fail "rdma_rxe does not unload"
}

# The initial namespace is rxe's: a dummy netdev with an rxe device.
rxe_link()
{
	ip link add dx type dummy
	ip addr add 10.30.0.1/24 dev dx
	ip link set dx up
	rdma link add rxe0 type rxe netdev dx || fail "no rxe device"
	wait_for 5 gid_index rxe0 10.30.0.1 > /dev/null || fail "rxe0: no GID"
}

rxe_works()
{
	local log
	log=$(mktemp)
	VT_DEV_A=rxe0 VT_DEV_B=rxe0 VT_ADDR_A4=10.30.0.1 \
		VT_ADDR_B4=10.30.0.1 VT_NS_A='' VT_NS_B='' \
		"$BUILD/verbs/post" two_qps_of_one_device > "$log"
	grep -q '^ok 1' "$log" || fail "rxe0: $(cat "$log")"
}

ours_works()
{
	local log
	log=$(mktemp)
	"$BUILD/verbs/post" sge_32 > "$log"
	grep -q '^ok 1' "$log" || fail "ours: $(cat "$log")"
}

fresh()
{
	rig_down > /dev/null 2>&1
	modprobe -r rdma_rxe
	driver_load || fail "our module does not load"
}

t_rxe_first()
{
	fresh
	rxe_load
	rxe_link
	rig_up 1500
	ours_works
	rxe_works
	link_del $DEVA
	link_del $DEVB
	rxe_works
	timed 5000 driver_unload
	rxe_works
	rdma link del rxe0
	rxe_unload
}

t_rxe_later()
{
	fresh
	rig_up 1500
	traffic_start
	traffic_moving
	rxe_load
	rxe_link
	rxe_works
	traffic_moving
	rdma link del rxe0
	traffic_moving
	traffic_stop
	ours_works
}

# The core takes every device with the id away, ours under traffic.
t_rxe_unloaded_first()
{
	fresh
	rig_up 1500
	rxe_load
	traffic_start
	traffic_moving
	timed 10000 rxe_unload
	traffic_end
	link_gone $DEVA && link_gone $DEVB ||
		note "our links survived rmmod rdma_rxe"
	# and the module is as good as new
	rig_down > /dev/null 2>&1
	rig_up 1500
	ours_works
	timed 5000 driver_unload
}

t_same_netdev()
{
	local out
	fresh
	rxe_load
	rxe_link
	# rxe owns the port of this namespace, and sits on dx
	out=$(link_add '' soft7 dx 2>&1) && fail "a link on rxe's netdev"
	[ -n "$out" ] || fail "refused without a word"
	rxe_works
	rdma link del rxe0
	rxe_unload
	link_add '' soft7 dx || fail "dx is not usable after rxe is gone"
	modprobe rdma_rxe 2> /dev/null && note "rdma_rxe loads beside our port"
	link_exists soft7 || fail "soft7 was taken by rdma_rxe"
	link_del soft7
}

t_names()
{
	fresh
	rxe_load
	rxe_link
	setup_ns c
	ip -n c link add dc type dummy
	link_add c rxe0 dc 2> /dev/null && fail "rxe0 twice"
	link_add c rxe1 dc || fail "a name that begins with rxe was refused"
	link_del rxe1
	rxe_works
}

t_end()
{
	fresh
	! grep -q '^rdma_rxe ' /proc/modules || fail "rdma_rxe is still loaded"
	timed 5000 driver_unload
}

ktap_plan 6
ktap_run rxe_loaded_before t_rxe_first
ktap_run rxe_loaded_under_our_traffic t_rxe_later
ktap_run rxe_unloaded_under_our_traffic t_rxe_unloaded_first
ktap_run both_on_one_netdev t_same_netdev
ktap_run names_of_the_other t_names
ktap_run both_unload t_end
ktap_finish
