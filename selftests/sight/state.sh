#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the driver tells of its objects (rdma resource show -dd) and of what
# happens to packets (tracepoints).
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
# shellcheck source=selftests/lib/traffic.sh
. "$HERE/lib/traffic.sh"

TRACING=/sys/kernel/tracing
EVENTS=$TRACING/events/rdma_soft

# detail TEXT NAME: value of drv_NAME in a line of rdma resource.
detail()
{
	sed -n "s/.* drv_$2 \([0-9]*\).*/\1/p" <<< "$1"
}

want_detail()
{
	local v
	v=$(detail "$1" "$2")
	[ -n "$v" ] || fail "no drv_$2 in: $1"
	[[ $v =~ ^($3)$ ]] || fail "drv_$2 is $v, want $3"
}

t_qp()
{
	local line psn
	traffic_start
	line=$(rdma -dd resource show qp link "$DEVA/1" | grep 'type RC')
	fold -sw 75 <<< "$line" | sed 's/^/# /'
	want_detail "$line" path_mtu 1024
	want_detail "$line" sq_max '[1-9][0-9]*'
	want_detail "$line" rq_max '[1-9][0-9]*'
	want_detail "$line" req_retry_left '[0-7]'
	want_detail "$line" resp_gap '[01]'
	psn=$(detail "$line" req_psn)
	traffic_moving
	line=$(rdma -dd resource show qp link "$DEVA/1" | grep 'type RC')
	[ "$(detail "$line" req_psn)" != "$psn" ] ||
		fail "bytes move, but req_psn stays at $psn"
	traffic_stop
	# QP1 waits for MADs with receives posted
	line=$(rdma -dd resource show qp link "$DEVA/1" | grep 'type GSI')
	want_detail "$line" rq_posted '[1-9][0-9]*'
	want_detail "$line" sq_posted 0
}

t_cq_and_mr()
{
	local line
	traffic_start
	line=$(rdma -dd resource show cq dev "$DEVA" | grep -v ib_core | head -n 1)
	fold -sw 75 <<< "$line" | sed 's/^/# /'
	want_detail "$line" cq_max '[1-9][0-9]*'
	want_detail "$line" cq_used '[0-9]+'
	want_detail "$line" overflowed 0
	line=$(rdma -dd resource show mr dev "$DEVA" | head -n 1)
	fold -sw 75 <<< "$line" | sed 's/^/# /'
	want_detail "$line" user 1
	want_detail "$line" valid 1
	want_detail "$line" block_size '[1-9][0-9]*'
	want_detail "$line" blocks '[1-9][0-9]*'
	traffic_stop
}

trace_on()
{
	mount -t tracefs tracefs $TRACING 2> /dev/null
	[ -d $EVENTS ] || fail "no $EVENTS"
	echo > $TRACING/trace
	echo 1 > $EVENTS/enable
}

trace_off()
{
	echo 0 > $EVENTS/enable
}

# seen EVENT [TEXT]: the trace has such an event of DEVA or DEVB.
seen()
{
	grep -E " $1: soft[01] qpn [0-9]+ .*${2:-}" $TRACING/trace | grep -q .
}

show()
{
	grep -E " $1:" $TRACING/trace | head -n "${2:-1}" | sed 's/^ */# /'
}

t_trace_states()
{
	trace_on
	traffic_start
	traffic_stop
	trace_off
	show rsoft_qp_state 4
	seen rsoft_qp_state 'RESET -> INIT' || fail "no RESET -> INIT"
	seen rsoft_qp_state 'INIT -> RTR' || fail "no INIT -> RTR"
	seen rsoft_qp_state 'RTR -> RTS' || fail "no RTR -> RTS"
	! seen rsoft_retransmit || fail "packets sent again on a clean pair"
}

# Losses in one direction: gaps, NAKs, retransmissions, and the counters agree.
t_trace_loss()
{
	local before n
	before=$(($(counter $DEVA retransmits) + $(counter $DEVB retransmits)))
	trace_on
	tc ${NSA:+-n "$NSA"} qdisc replace dev "$IFA" root netem loss 5% ||
		fail "netem"
	VT_SECONDS=3 VT_MAX_LEN=65536 "$BUILD/integrity/random" rc_v4_mtu_1024 \
		> /dev/null || fail "traffic with losses failed"
	tc ${NSA:+-n "$NSA"} qdisc del dev "$IFA" root
	trace_off
	for n in rsoft_retry rsoft_retransmit; do
		show $n
		seen $n || fail "no $n"
	done
	if seen rsoft_nak_sent; then
		show rsoft_nak_sent
		show rsoft_nak_rcvd
		seen rsoft_nak_sent 'PSN sequence' || fail "another NAK"
	else
		seen rsoft_timeout || fail "neither NAK nor time-out"
	fi
	# the ring buffer may have overwritten some
	n=$(grep -c rsoft_retransmit: $TRACING/trace)
	before=$(($(counter $DEVA retransmits) + $(counter $DEVB retransmits) - before))
	((n > 0 && n <= before)) ||
		fail "$n events for $before packets sent again"
}

# Nobody answers: time-outs, retries that run out, the QP goes to ERR.
t_trace_timeout()
{
	trace_on
	traffic_start
	tc ${NSA:+-n "$NSA"} qdisc replace dev "$IFA" root netem loss 100%
	wait_for 30 seen rsoft_qp_state 'RTS -> ERR' || fail "no QP went to ERR"
	tc ${NSA:+-n "$NSA"} qdisc del dev "$IFA" root
	traffic_stop
	trace_off
	show rsoft_timeout
	seen rsoft_timeout || fail "no rsoft_timeout"
	seen rsoft_retry 'retries left 0' || fail "no last retry"
}

# A NAK is seen at both ends, with its reason; an RNR NAK with its wait.
t_trace_naks()
{
	trace_on
	"$BUILD/verbs/errors" remote_range_write > /dev/null ||
		fail "errors remote_range_write"
	"$BUILD/verbs/errors" rnr_exhausted > /dev/null ||
		fail "errors rnr_exhausted"
	trace_off
	show rsoft_nak_sent
	seen rsoft_nak_sent 'remote access' || fail "no NAK was sent"
	seen rsoft_nak_rcvd 'remote access' || fail "no NAK was received"
	show rsoft_rnr_rcvd
	seen rsoft_rnr_sent 'wait [1-9]' || fail "no RNR NAK was sent"
	seen rsoft_rnr_rcvd 'wait [1-9]' || fail "no RNR NAK was received"
}

# Datagrams that are no RoCE packet, and one to a QP that does not exist.
t_trace_drops()
{
	local short qpn
	short=$(counter $DEVB drop_short)
	qpn=$(counter $DEVB drop_qpn)
	trace_on
	in_a bash -c "printf 12345678 > /dev/udp/$B4/4791
		head -c 40 /dev/zero > /dev/udp/$B4/4791"
	wait_for 5 seen rsoft_drop drop_short || fail "no drop_short"
	wait_for 5 seen rsoft_drop drop_qpn || fail "no drop_qpn"
	trace_off
	show rsoft_drop 2
	assert_grew drop_short "$short" "$(counter $DEVB drop_short)"
	assert_grew drop_qpn "$qpn" "$(counter $DEVB drop_qpn)"
}

ktap_plan 7
rig_up 1500
ktap_run qp_details t_qp
ktap_run cq_and_mr_details t_cq_and_mr
ktap_run trace_qp_states t_trace_states
ktap_run trace_loss t_trace_loss
ktap_run trace_timeout t_trace_timeout
ktap_run trace_naks t_trace_naks
ktap_run trace_drops t_trace_drops
ktap_finish
