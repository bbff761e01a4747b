# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Traffic in the background while something is taken away (link/traffic.c).

TRAFFIC_STATUS=$(mktemp)

# traffic_start [SECONDS]: returns when bytes flow.
traffic_start()
{
	: > "$TRAFFIC_STATUS"
	"$BUILD/link/traffic" "$TRAFFIC_STATUS" "${1:-60}" \
		> "$TRAFFIC_STATUS.out" 2>&1 &
	TRAFFIC_PID=$!
	if ! wait_for 15 traffic_flows 0; then
		cat "$TRAFFIC_STATUS.out"
		fail "no traffic between the ends"
	fi
}

traffic_bytes()
{
	local state bytes rest
	read -r state bytes rest < "$TRAFFIC_STATUS" || bytes=0
	: "$state" "$rest"
	echo $((10#${bytes:-0}))
}

# traffic_flows BYTES: more than that were moved.
traffic_flows()
{
	(($(traffic_bytes) > $1))
}

# traffic_moving: fails the test unless bytes move right now (100 ms).
traffic_moving()
{
	local before i
	before=$(traffic_bytes)
	for i in 1 2 3 4; do
		pause 0.1
		traffic_flows "$before" && return 0
		# a busy host stops the whole VM for longer than that
		note "no bytes moved in try $i of 100 ms"
	done
	fail "the traffic stands still before the test began"
}

# traffic_flows_on: bytes move within 300 ms.
traffic_flows_on()
{
	local before
	before=$(traffic_bytes)
	pause 0.3
	traffic_flows "$before"
}

# traffic_goes_on SECONDS WHEN: fails the test, with all that is known, unless
# bytes move again within that time.
traffic_goes_on()
{
	wait_for "$1" traffic_flows_on && return 0
	note "traffic: $(cat "$TRAFFIC_STATUS" "$TRAFFIC_STATUS.out")"
	rdma -d resource show qp 2> /dev/null | sed 's/^/# /'
	note_counters "$DEVA"
	note_counters "$DEVB"
	fail "no traffic $2"
}

# traffic_end: the process must end by itself, satisfied.
traffic_end()
{
	local rc=0
	wait_for 12 proc_gone "$TRAFFIC_PID" ||
		{ cat "/proc/$TRAFFIC_PID/stack" 2> /dev/null; \
		  fail "the traffic process hangs: $(cat "$TRAFFIC_STATUS")"; }
	wait "$TRAFFIC_PID" || rc=$?
	if ((rc)); then
		cat "$TRAFFIC_STATUS.out"
		fail "the traffic process ended with $rc: $(cat "$TRAFFIC_STATUS")"
	fi
}

# traffic_stop: end it from outside.
traffic_stop()
{
	kill "$TRAFFIC_PID"
	wait "$TRAFFIC_PID" 2> /dev/null
	return 0
}

# timed LIMIT_MS COMMAND...: run it, fail if it failed or took longer. A busy
# host stops the guest while its clock runs on: what an rdma command that does
# nothing takes just before, four times, is added to the limit.
timed()
{
	local limit=$1 start took idle
	shift
	start=$(now_ms)
	rdma system show > /dev/null
	idle=$(($(now_ms) - start))
	limit=$((limit + 4 * idle))
	start=$(now_ms)
	"$@" || fail "'$*' failed with $?"
	took=$(($(now_ms) - start))
	LAST_MS=$took
	((took <= limit)) ||
		fail "'$*' took $took ms, limit $limit (an idle command: $idle)"
}
