# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced in the test VM, after guest-lib.sh, by the demo and the bench: run both
# ends of a test program over a veth pair and keep their output. The user sets
# log (folder), part (prefix of the file names) and limit (time-out in s).

# shellcheck disable=SC2154  # the user's variables

# The topology in use is in srv_in, cli_in (command prefix), *_dev, *_if, *_addr, *_gid.
cli() { "${cli_in[@]}" timeout "$limit" "$@"; }

# veth_bytes: payload and headers that left both ends so far.
veth_bytes()
{
	local n=0 x
	for x in "${srv_in[*]}:$srv_if" "${cli_in[*]}:$cli_if"; do
		# shellcheck disable=SC2086  # a command prefix
		n=$((n + $(${x%:*} cat "/sys/class/net/${x#*:}/statistics/tx_bytes")))
	done
	echo $n
}

# tcp_listening PID: the server waits on port 18515 (4853) in its own netns.
tcp_listening()
{
	local line f
	for f in tcp tcp6; do
		while read -r line; do
			[[ $line == *:4853\ *\ 0A\ * ]] && return 0
		done <"/proc/$1/net/$f"
	done
	return 1
}

cm_listening()
{
	rdma resource show cm_id | grep -q LISTEN
}

# pair TEST tcp|cm "PROGRAM OPTIONS" "SERVER'S" "CLIENT'S": run both ends. Their output
# goes to $log; both must end well. perftest gives no figures when a busy host kept it
# from measuring its clock: again, then.
pair()
{
	local i
	for ((i = 0; i < 4; i++)); do
		pair_once "$@" || return
		grep -q 'Correlation coefficient' "$log/$part-$1.client" || return 0
	done
	err "$part $1: the host is too busy for perftest to measure its clock"
}

pair_once()
{
	local name=$1 how=$2 pid
	# Not by a function: $! must be the process that enters the netns.
	# shellcheck disable=SC2086  # words
	"${srv_in[@]}" timeout "$limit" $3 $4 >"$log/$part-$name.server" 2>&1 &
	pid=$!
	wait_for 20 "${how}_listening" "$pid" || { err "$part $name: the server does not listen"; kill "$pid" 2>/dev/null; wait "$pid"; return 1; }
	# shellcheck disable=SC2086
	cli $3 $5 >"$log/$part-$name.client" 2>&1 || {
		err "$part $name: the client ended with status $?"
		kill "$pid" 2>/dev/null
		wait "$pid"
		return 1
	}
	if [ -n "${endless:-}" ]; then
		kill "$pid"
		wait "$pid"
		return 0
	fi
	wait "$pid" || err "$part $name: the server ended with status $?"
}

# last_row TEST COLUMN: from perftest's last line of figures at the client.
last_row()
{
	awk -v c="$2" '$1 ~ /^[0-9]+$/ && NF >= 4 { v = $c } END { print v }' "$log/$part-$1.client"
}
