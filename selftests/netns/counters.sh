#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The counters tell what happened, and what tests claim really happens: packets
# cross the pair, batches form, losses are repaired with every byte in place.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"

# snapshot: every counter of both ends into a file.
snapshot()
{
	rdma statistic show link "$DEVA/1" | tr ' ' '\n' | paste - - > "$1.a"
	rdma statistic show link "$DEVB/1" | tr ' ' '\n' | paste - - > "$1.b"
}

# grown NAME: by how much the sum of both ends grew since 'begin'.
grown()
{
	echo $(($(counter $DEVA "$1") + $(counter $DEVB "$1") - ${BASE[$1]:-0}))
}

begin()
{
	local name
	declare -gA BASE=()
	for name in $NAMES; do
		BASE[$name]=$(($(counter $DEVA "$name") + $(counter $DEVB "$name")))
	done
}

# want NAME [MINIMUM]
want()
{
	local n
	n=$(grown "$1")
	note "$1 +$n"
	((n >= ${2:-1})) || fail "$1 grew by $n, want at least ${2:-1}"
}

want_zero()
{
	local n
	n=$(grown "$1")
	((n == 0)) || fail "$1 grew by $n, want 0"
}

tc_a()
{
	tc ${NSA:+-n "$NSA"} "$@"
}

tc_b()
{
	tc ${NSB:+-n "$NSB"} "$@"
}

netem()
{
	tc_a qdisc replace dev "$IFA" root netem "$@" || fail "netem $*"
	tc_b qdisc replace dev "$IFB" root netem "$@" || fail "netem $*"
}

netem_off()
{
	tc_a qdisc del dev "$IFA" root 2> /dev/null
	tc_b qdisc del dev "$IFB" root 2> /dev/null
}

# data CASE [SECONDS]: compared traffic, its note lines go to the log.
data()
{
	local log
	log=$(mktemp)
	VT_SECONDS=${2:-3} "$BUILD/integrity/random" "$1" > "$log" 2>&1 ||
		{ netem_off; sed 's/^/# /' "$log"; fail "$1 failed"; }
	grep -E '^# [0-9]+ batches' "$log"
}

t_names()
{
	local name
	snapshot "$TMP"
	for name in $NAMES; do
		grep -q "^${name}[[:space:]]" "$TMP.a" || fail "no counter $name"
	done
	grep -q '^drop_' "$TMP.a" || fail "no drop reasons"
}

t_packets()
{
	local tx rx
	begin
	tx=$(tx_packets "$NSA" "$IFA")
	rx=$(tx_packets "$NSB" "$IFB")
	data rc_v4_mtu_1024 2
	assert_grew "tx_packets of $IFA" "$tx" "$(tx_packets "$NSA" "$IFA")" 50
	assert_grew "tx_packets of $IFB" "$rx" "$(tx_packets "$NSB" "$IFB")" 50
	want sent_pkts 500
	want rcvd_pkts 500
	want sent_bytes 100000
	want rcvd_bytes 100000
	want gso_batches 10
	want gso_segs 100
	# a batch is more than one segment
	(($(grown gso_segs) > 2 * $(grown gso_batches))) ||
		fail "$(grown gso_segs) segments in $(grown gso_batches) batches"
}

# A clean pair: whatever is sent arrives, nothing is dropped or sent twice.
t_clean()
{
	local name
	begin
	data rc_v4_mtu_4096 2
	for name in drop_icrc drop_length drop_opcode drop_source drop_qpn; do
		want_zero $name
	done
}

t_loss()
{
	begin
	netem loss 2%
	VT_MAX_LEN=65536 data rc_v4_mtu_1024 4
	netem_off
	want retransmits
	(($(grown out_of_seq) + $(grown ack_timeouts) > 0)) ||
		fail "losses, but neither a gap nor a time-out was seen"
}

t_duplicate()
{
	begin
	netem duplicate 20%
	VT_MAX_LEN=262144 data rc_v6_mtu_1024 2
	netem_off
	want duplicates
}

t_reorder()
{
	begin
	netem delay 1ms reorder 95%
	VT_MAX_LEN=65536 data rc_v4_mtu_1024 4
	netem_off
	want out_of_seq
}

t_silence()
{
	local log pid
	log=$(mktemp)
	begin
	VT_SECONDS=4 "$BUILD/integrity/random" rc_v4_mtu_2048 > "$log" 2>&1 &
	pid=$!
	wait_for 20 grep -q seed "$log"
	sleep 0.5
	# one direction, shorter than the 2 s after which a QP gives up
	tc_a qdisc replace dev "$IFA" root netem loss 100% || fail "netem"
	sleep 0.4
	tc_a qdisc del dev "$IFA" root
	wait $pid || { sed 's/^/# /' "$log"; fail "did not survive the gap"; }
	want ack_timeouts
	want retransmits
}

t_rnr()
{
	local log
	log=$(mktemp)
	begin
	"$BUILD/verbs/errors" rnr > "$log" || { cat "$log"; fail "rnr tests"; }
	want rnr_naks_sent 2
	want rnr_naks_rcvd 2
}

t_naks()
{
	local log
	log=$(mktemp)
	begin
	"$BUILD/verbs/errors" wrong_rkey > "$log" || { cat "$log"; fail "tests"; }
	want naks_sent 3
	want naks_rcvd 3
}

# A packet filter in front of the port: time-outs, and the peer hears nothing.
t_filter()
{
	local log rc=0
	log=$(mktemp)
	begin
	in_b nft add table inet t || fail "no nft"
	in_b nft add chain inet t in '{ type filter hook input priority 0; }'
	in_b nft add rule inet t in udp dport 4791 drop
	timeout 100 "$BUILD/verbs/post" sge_32 > "$log" 2>&1 || rc=$?
	in_b nft delete table inet t
	((rc)) || fail "data passed a firewall that drops it"
	want ack_timeouts
	data rc_v4_mtu_1024 2
}

NAMES='sent_pkts rcvd_pkts sent_bytes rcvd_bytes retransmits ack_timeouts
rnr_naks_sent rnr_naks_rcvd naks_sent naks_rcvd duplicates out_of_seq
gso_batches gso_segs engine_handoffs drop_icrc drop_length drop_opcode
drop_source drop_qpn'
TMP=$(mktemp)
ktap_plan 10
rig_up 9000
ktap_run names t_names
ktap_run packets_and_batches t_packets
ktap_run clean_pair t_clean
ktap_run loss_2_percent t_loss
ktap_run duplicate_20_percent t_duplicate
ktap_run reorder t_reorder
ktap_run silence_400_ms t_silence
ktap_run rnr t_rnr
ktap_run naks t_naks
ktap_run packet_filter t_filter
ktap_finish
