#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A kernel booted with ipv6.disable=1: IPv4 works, GIDs of IPv6 are refused.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
# shellcheck source=selftests/networks/lib.sh
. "$HERE/networks/lib.sh"

up()
{
	local ns
	[ ! -e /proc/sys/net/ipv6 ] || fail "this kernel has IPv6"
	ip netns add a && ip netns add b
	ip -n a link add $IFA address $MACA type veth peer name $IFB \
		address $MACB netns b
	for ns in a b; do
		ip -n $ns link set lo up
	done
	ip -n a addr add $A4/24 dev $IFA
	ip -n b addr add $B4/24 dev $IFB
	ip -n a link set $IFA up
	ip -n b link set $IFB up
	net_links
	gids $DEVA $A4
	gids $DEVB $B4
}

t_data()
{
	works a $DEVA $A4 b $DEVB $B4
	works a $DEVA $A4 b $DEVB $B4 ud_v4
	run_both cm_listening 7174 rping -s -a $B4 -V -C 5 -- \
		rping -c -a $B4 -V -C 5
}

t_gid0_refused()
{
	xchg a $DEVA fe80::9:ff:fe00:a b $DEVB fe80::9:ff:fe00:b &&
		fail "an IPv6 GID works without IPv6"
	grep 'RTR' "$XCHG_LOG" | sed 's/^/# /'
	works a $DEVA $A4 b $DEVB $B4
}

t_down()
{
	link_del $DEVA && link_del $DEVB || fail "cannot delete the links"
	ip netns del a && ip netns del b
	driver_unload || fail "the module does not unload"
}

ktap_plan 4
ktap_run links up
ktap_run data t_data
ktap_run gid_of_ipv6_is_refused t_gid0_refused
ktap_run down t_down
summary
ktap_finish
