# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# A server in namespace b, a client in namespace a, both must end with status 0.

CM_TIMEOUT=${CM_TIMEOUT:-40}

# cm_listening PORT: an rdma_cm listener of namespace b on that port. Who listens on
# any address gets one on each device, one after the other, and each says LISTEN
# before it can be found: wait for that, too.
cm_listening()
{
	# asking costs the server more CPU time than its start: ask seldom
	pause 0.2
	in_b rdma resource show cm_id 2> /dev/null |
		grep -q "state LISTEN.*:$1\b" && pause 0.3
}

# tcp_listening PORT: the same for TCP, in the namespace of the server.
tcp_listening()
{
	listening "$SERVER_PID" "$1"
}

# run_both READY PORT SERVER-COMMAND -- CLIENT-COMMAND
# READY is cm_listening or tcp_listening. Output in $OUT_S and $OUT_C.
# SERVER_STAYS=1: a server that serves for ever; it is stopped.
run_both()
{
	local ready=$1 port=$2 rc_s=0 rc_c=0 SERVER_PID
	local -a server=()
	shift 2
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	OUT_S=$(mktemp)
	OUT_C=$(mktemp)
	( exec_b timeout -k 1 "$CM_TIMEOUT" "${server[@]}" \
		> "$OUT_S" 2>&1 < /dev/null ) &
	SERVER_PID=$!
	if ! wait_for 10 "$ready" "$port"; then
		kill "$SERVER_PID"
		note "server: $(tail -n 5 "$OUT_S")"
		fail "'${server[*]}' does not listen on port $port"
	fi
	in_a timeout -k 1 "$CM_TIMEOUT" "$@" > "$OUT_C" 2>&1 < /dev/null || rc_c=$?
	# rping's threads race at the end: one closes the event channel that the
	# other still reads, which then ends the program. The data is judged by
	# the caller.
	if ((rc_c == 255)) && [ "$1" = rping ] &&
	   grep -q 'rdma_get_cm_event: Bad file descriptor' "$OUT_C"; then
		rc_c=0
	fi
	if [ -n "${SERVER_STAYS:-}" ]; then
		kill "$SERVER_PID"
		wait "$SERVER_PID"
	else
		wait_for 5 proc_gone "$SERVER_PID" || kill "$SERVER_PID"
		wait "$SERVER_PID" || rc_s=$?
	fi
	if ((rc_c || rc_s)); then
		tail -n 12 "$OUT_S" | sed 's/^/# server: /'
		echo
		tail -n 12 "$OUT_C" | sed 's/^/# client: /'
		echo
		note_counters "$DEVA"
		note_counters "$DEVB"
		fail "'$*' ended with $rc_c, its server with $rc_s"
	fi
}

# crossed COMMAND...: the command must send packets over the veth pair.
crossed()
{
	local tx sent
	tx=$(tx_packets "$NSA" "$IFA")
	sent=$(counter "$DEVA" sent_pkts)
	"$@"
	assert_grew "tx_packets of $IFA" "$tx" "$(tx_packets "$NSA" "$IFA")" 5
	if [ "$DRIVER" = rdma_soft ]; then
		assert_grew "sent_pkts of $DEVA" "$sent" \
			"$(counter "$DEVA" sent_pkts)" 5
	fi
}
