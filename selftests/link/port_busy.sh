#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Somebody else owns UDP port 4791 of a namespace: the link is refused with
# EADDRINUSE, the log says who and what to do, other namespaces do not care.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"

# hold FAMILY: occupy the port in namespace c; pid in HOLDER.
hold()
{
	local log
	log=$(mktemp)
	ip netns exec c "$BUILD/link/hold_port" "$1" > "$log" 2>&1 &
	HOLDER=$!
	wait_for 5 grep -q bound "$log" || fail "cannot hold the port: $(cat "$log")"
}

release()
{
	kill "$HOLDER"
	wait "$HOLDER" 2> /dev/null
	return 0
}

refused()
{
	local out i=0
	dmesg -C
	hold "$1"
	while ((i++ < 3)); do
		out=$(link_add c soft7 dc 2>&1) &&
			fail "the link was added though the port is taken"
		[[ $out == *[Aa]ddress*in\ use* ]] || fail "the reason is: $out"
	done
	link_gone soft7 || fail "half a soft7 is there"
	dmesg | grep -q "rdma_soft.*4791" || fail "nothing in the log: $(dmesg)"
	dmesg | grep 4791 | head -n 1 | sed 's/^/# log: /'
	release
	link_add c soft7 dc || fail "cannot add the link after release"
	link_del soft7 || fail "cannot delete the link"
	# the port is free again for others
	hold "$1"
	release
}

t_other_netns()
{
	hold 4
	ip netns add d
	ip -n d link add dd type dummy
	ip -n d link set dd up
	link_add d soft8 dd || fail "refused in a namespace where it is free"
	link_del soft8
	release
}

t_unload()
{
	hold 4
	link_add c soft7 dc 2> /dev/null && fail "added"
	driver_unload || fail "the module is held by a refused link"
	release
}

ktap_plan 4
setup_ns c
ip -n c link add dc type dummy
ip -n c link set dc up
ktap_run ipv4_port_taken refused 4
ktap_run ipv6_port_taken refused 6
ktap_run other_netns_unaffected t_other_netns
ktap_run unload_after_refusal t_unload
ktap_finish
