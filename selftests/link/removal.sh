#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Everything else that can take a device away under traffic: the netdev, the
# namespace, the module, a move to another namespace. Nothing may hang or leak.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
# shellcheck source=selftests/lib/traffic.sh
. "$HERE/lib/traffic.sh"

fresh()
{
	rig_down > /dev/null 2>&1
	driver_load || fail "the module does not load"
	rig_up 1500
	traffic_start
	traffic_moving
}

both_gone()
{
	link_gone "$DEVA" && link_gone "$DEVB"
}

t_netdev()
{
	fresh
	# both ends of a veth pair go together
	timed 10000 ip -n a link del "$IFA"
	wait_for 5 both_gone || fail "links survive their netdevs: $(links_all)"
	traffic_end
}

t_netns()
{
	fresh
	ip netns del a
	wait_for 10 both_gone || fail "links survive their netns: $(links_all)"
	traffic_end
}

t_both_netns()
{
	fresh
	ip netns del a
	ip netns del b
	wait_for 10 both_gone || fail "links survive their netns: $(links_all)"
	traffic_end
}

t_move()
{
	fresh
	ip netns add c
	ip -n a link set "$IFA" netns c || fail "cannot move $IFA"
	wait_for 5 link_gone "$DEVA" || fail "$DEVA survives the move of $IFA"
	traffic_end
	link_exists "$DEVB" || fail "$DEVB went away as well"
}

t_rmmod()
{
	fresh
	timed 5000 driver_unload
	both_gone || fail "links survive the module: $(links_all)"
	traffic_end
}

t_rmmod_links()
{
	rig_down > /dev/null 2>&1
	driver_load || fail "the module does not load"
	rig_up 1500
	timed 5000 driver_unload
	both_gone || fail "links survive the module"
}

t_reload()
{
	local i
	for i in 1 2 3 4 5; do
		driver_load || fail "round $i: does not load"
		timed 5000 driver_unload
	done
}

# Both ends at once, and the netdev together with its link.
t_race()
{
	local i
	for i in 1 2 3; do
		fresh
		link_del "$DEVA" &
		link_del "$DEVB" &
		ip -n a link del "$IFA"
		wait_for 10 both_gone || fail "round $i: $(links_all)"
		traffic_end
	done
}

ktap_plan 8
ktap_run netdev_removed t_netdev
ktap_run netns_removed t_netns
ktap_run both_netns_removed t_both_netns
ktap_run netdev_moved_to_other_netns t_move
ktap_run module_removed t_rmmod
ktap_run module_removed_idle_links t_rmmod_links
ktap_run load_and_unload_5_times t_reload
ktap_run link_del_races_netdev_removal t_race
ktap_finish
