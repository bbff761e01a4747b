#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packets that come early are kept until the gap in front of them is closed: a path
# that reorders costs hardly a retransmission, one that loses only what was lost.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"

NAMES='retransmits early_held early_drops gaps_closed asked_in_vain naks_sent
implied_naks out_of_seq ack_timeouts duplicates drop_ghost'

grown()
{
	echo $(($(counter $DEVA "$1") + $(counter $DEVB "$1") - ${BASE[$1]:-0}))
}

begin()
{
	local name
	declare -gA BASE=()
	for name in $NAMES; do
		BASE[$name]=$(grown "$name")
	done
}

report()
{
	local name line=
	for name in $NAMES; do
		line+=" $name=$(grown "$name")"
	done
	note "$line"
}

# want NAME MINIMUM
want()
{
	local n
	n=$(grown "$1")
	((n >= $2)) || fail "$1 grew by $n, want at least $2"
}

# at_most NAME MAXIMUM
at_most()
{
	local n
	n=$(grown "$1")
	((n <= $2)) || fail "$1 grew by $n, want at most $2"
}

netem()
{
	ip_ns_tc a "$IFA" "$@" && ip_ns_tc b "$IFB" "$@" || fail "netem $*"
}

# ip_ns_tc END IF OPTION...
ip_ns_tc()
{
	local ns=$NSA dev=$2
	[ "$1" = a ] || ns=$NSB
	shift 2
	tc ${ns:+-n "$ns"} qdisc replace dev "$dev" root netem limit 20000 "$@"
}

netem_off()
{
	tc ${NSA:+-n "$NSA"} qdisc del dev "$IFA" root 2> /dev/null
	tc ${NSB:+-n "$NSB"} qdisc del dev "$IFB" root 2> /dev/null
}

# single on|off: netem sees packets, not super-packets
single()
{
	local state=off
	[ "$1" = off ] && state=on
	in_a ethtool -K "$IFA" tx-udp-segmentation $state &&
		in_b ethtool -K "$IFB" tx-udp-segmentation $state || fail "ethtool"
}

# data CASE SECONDS: random work of all operations, every byte compared.
data()
{
	local log
	log=$(mktemp)
	VT_SECONDS=$2 VT_MAX_LEN=65536 "$BUILD/integrity/random" "$1" > "$log" 2>&1 ||
		{ netem_off; report; sed 's/^/# /' "$log"; fail "$1 failed"; }
	grep -E '^# [0-9]+ batches' "$log"
}

t_clean()
{
	begin
	data rc_v4_mtu_1024 2
	report
	at_most early_held 0
	at_most naks_sent 0
}

# reordering NETEM OPTION...: packets come up to a millisecond late
t_reorder()
{
	begin
	netem "$@"
	data rc_v4_mtu_1024 6
	netem_off
	report
	want early_held 200
	want gaps_closed 100
	# a QP learns from its first gaps that its path reorders
	(($(grown naks_sent) + $(grown implied_naks) < $(grown gaps_closed))) ||
		fail "each gap was asked for"
}

t_loss()
{
	begin
	netem loss 1%
	data rc_v6_mtu_1024 6
	netem_off
	report
	want early_held 50
	want gaps_closed 10
}

ktap_plan 5
rig_up 1500
single on
ktap_run clean t_clean
ktap_run reorder_late t_reorder delay 300us reorder 80%
ktap_run reorder_early t_reorder delay 500us reorder 25% 50%
ktap_run loss_1_percent t_loss
single off
ktap_run loss_of_super_packets t_loss
ktap_finish
