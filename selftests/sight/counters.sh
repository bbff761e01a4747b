#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Counters of single QPs (rdma statistic qp) and of the port in InfiniBand's own
# terms (ports/1/counters), against what the device counts and the netdev says.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
# shellcheck source=selftests/lib/traffic.sh
. "$HERE/lib/traffic.sh"

COUNTERS=/sys/class/infiniband/$DEVA/ports/1/counters

# qp_stat NAME: a counter of the QP counters shown for DEVA.
qp_stat()
{
	rdma statistic qp show link "$DEVA/1" |
		grep -oE " $1 [0-9]+" | awk '{ s += $2 } END { print s + 0 }'
}

qp_counters()
{
	rdma statistic qp show link "$DEVA/1" | grep -c ' cntn '
}

# link_stat NAME: as rdma statistic shows the port.
link_stat()
{
	rdma statistic show link "$DEVA/1" | grep -oE " $1 [0-9]+" | awk '{ print $2 }'
}

rc_qpn()
{
	rdma resource show qp link "$DEVA/1" | grep 'type RC' |
		sed -n '1s/.* lqpn \([0-9]*\).*/\1/p'
}

pma()
{
	local v
	read -r v < "$COUNTERS/$1" || fail "no counter $1"
	echo "$v"
}

t_auto()
{
	local before sum
	before=$(link_stat sent_pkts)
	rdma statistic qp set link "$DEVA/1" auto type on || fail "auto mode refused"
	rdma statistic qp mode link "$DEVA/1" | grep -q 'auto type on' ||
		fail "auto mode is not shown"
	traffic_start
	(($(qp_counters) == 1)) || fail "$(qp_counters) counters for one type"
	rdma statistic qp show link "$DEVA/1" | grep -q 'qp-type RC' ||
		fail "the counter is not of type RC"
	sum=$(qp_stat sent_pkts)
	traffic_moving
	assert_grew "sent_pkts of the QPs" "$sum" "$(qp_stat sent_pkts)"
	assert_grew "sent_bytes of the QPs" 0 "$(qp_stat sent_bytes)" 100000
	assert_grew "rcvd_pkts of the QPs" 0 "$(qp_stat rcvd_pkts)"
	rdma statistic qp show link "$DEVA/1" | fold -sw 75 | sed 's/^/# /'
	sum=$(qp_stat sent_pkts)
	traffic_stop
	# it is gone, and what it counted stays with the port
	wait_for 5 eval '(($(qp_counters) == 0))' || fail "a counter stays"
	assert_grew "sent_pkts of the port" "$before" "$(link_stat sent_pkts)" "$sum"
	rdma statistic qp set link "$DEVA/1" auto off || fail "auto mode stays"
}

# The port shows the same, whether its QPs have counters or not: nothing is
# counted twice, nothing is missed.
t_same_sum()
{
	local mode
	for mode in 'auto type on' 'auto off'; do
		# shellcheck disable=SC2086  # words
		rdma statistic qp set link "$DEVA/1" $mode || fail "$mode"
		P0=$(pma port_xmit_packets) L0=$(link_stat sent_pkts)
		N0=$(tx_packets "$NSA" "$IFA") S0=$(link_stat gso_segs) B0=$(link_stat gso_batches)
		traffic_start
		traffic_stop
		wait_for 5 eval '(($(qp_counters) == 0))' || fail "a counter stays"
		P1=$(pma port_xmit_packets) L1=$(link_stat sent_pkts)
		((P1 - P0 == L1 - L0)) ||
			fail "$mode: port +$((P1 - P0)), statistic +$((L1 - L0))"
		# what the netdev sent, cut into packets (and a few of others)
		N0=$((N0 - B0 + S0))
		N1=$(($(tx_packets "$NSA" "$IFA") - $(link_stat gso_batches) + $(link_stat gso_segs)))
		note "$mode: port +$((P1 - P0)), netdev +$((N1 - N0))"
		((N1 - N0 >= L1 - L0 && N1 - N0 <= L1 - L0 + 50)) ||
			fail "$mode: netdev +$((N1 - N0)), statistic +$((L1 - L0))"
	done
}

t_manual()
{
	local qpn id
	traffic_start
	qpn=$(rc_qpn)
	[ -n "$qpn" ] || fail "no QP in rdma resource"
	rdma statistic qp bind link "$DEVA/1" lqpn "$qpn" || fail "bind refused"
	id=$(rdma statistic qp show link "$DEVA/1" | grep -oE 'cntn [0-9]+' | cut -d ' ' -f 2)
	[ -n "$id" ] || fail "no counter is shown"
	rdma statistic qp show link "$DEVA/1" | grep -q "LQPN: <$qpn>" ||
		fail "QP $qpn is not in counter $id"
	traffic_moving
	assert_grew "sent_pkts of QP $qpn" 0 "$(qp_stat sent_pkts)"
	! rdma statistic qp set link "$DEVA/1" auto type on 2> /dev/null ||
		fail "auto mode beside a bound QP"
	rdma statistic qp unbind link "$DEVA/1" cntn "$id" lqpn "$qpn" ||
		fail "unbind refused"
	(($(qp_counters) == 0)) || fail "the counter stays"
	traffic_moving
	traffic_stop
}

# The device goes while QPs have counters.
t_removal()
{
	rdma statistic qp set link "$DEVA/1" auto type,pid on || fail "auto mode"
	traffic_start
	link_del "$DEVA" || fail "link del"
	traffic_end
	link_add "$NSA" "$DEVA" "$IFA" || fail "link add"
	wait_for 5 gid_index "$DEVA" $A4 > /dev/null || fail "no GID"
	wait_for 5 gid_index "$DEVA" $A6 > /dev/null || fail "no GID"
}

t_port_counters()
{
	local name bytes pkts data
	for name in port_xmit_data port_rcv_data port_xmit_packets \
		port_rcv_packets unicast_xmit_packets unicast_rcv_packets \
		port_rcv_errors port_xmit_discards link_downed symbol_error \
		multicast_rcv_packets multicast_xmit_packets; do
		[ -r "$COUNTERS/$name" ] || fail "no $COUNTERS/$name"
	done
	bytes=$(link_stat sent_bytes) pkts=$(pma port_rcv_packets)
	data=$(pma port_xmit_data)
	traffic_start
	traffic_stop
	pause 0.3
	# in units of four bytes
	bytes=$(($(link_stat sent_bytes) - bytes))
	data=$((4 * ($(pma port_xmit_data) - data)))
	((bytes > 65536 && data <= bytes + 4 && data >= bytes - 4)) ||
		fail "sent $bytes bytes, port_xmit_data says $data"
	assert_grew port_rcv_packets "$pkts" "$(pma port_rcv_packets)" 10
	rdma statistic show link "$DEVA/1" | fold -sw 75 | sed 's/^/# /'
	grep . "$COUNTERS"/{port_xmit,port_rcv}_{data,packets} | sed 's/^.*counters./# /'
}

t_link_downed()
{
	local n
	n=$(pma link_downed)
	ip_b link set "$IFB" down
	wait_for 5 eval '(($(pma link_downed) == n + 1))' ||
		fail "link_downed went from $n to $(pma link_downed)"
	ip_b link set "$IFB" up
	ip_b neigh replace $A4 lladdr $MACA dev "$IFB" nud permanent
	ip_b neigh replace $A6 lladdr $MACA dev "$IFB" nud permanent
}

ktap_plan 6
rig_up 1500
ktap_run qp_counters_of_a_type t_auto
ktap_run qp_counters_add_up t_same_sum
ktap_run qp_counter_of_one_qp t_manual
ktap_run qp_counters_removal t_removal
ktap_run port_counters t_port_counters
ktap_run port_counts_link_downed t_link_downed
ktap_finish
