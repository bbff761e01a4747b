#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Several QPs on two CPUs: packets of different QPs are processed by both at the
# same time, without waiting for each other's locks. How much faster that is than
# one QP depends on the machine and is only reported.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
# shellcheck source=selftests/scale/load.sh
. "$HERE/scale/load.sh"

T=/sys/kernel/tracing

median()
{
	printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"
}

# In turns, since a busy host is fast now and slow then.
t_ratio()
{
	local i m1 m4 one=() four=()
	two_cpus
	for i in 1 2 3 4 5; do
		flows 1 1 $SECONDS_EACH 65536
		one+=("$RATE")
		flows 4 2 $SECONDS_EACH 65536
		four+=("$RATE")
		note "round $i: one QP ${one[-1]} KB/s, four QPs ${four[-1]} KB/s"
	done
	m1=$(median "${one[@]}") m4=$(median "${four[@]}")
	note "scale: WRITE 64 KiB, real clock, medians of 5: one QP $m1 KB/s," \
		"four QPs on two CPUs $m4 KB/s, ratio $((m4 * 100 / m1)) %"
}

trace_off()
{
	echo 0 > $T/tracing_on
	echo nop > $T/current_tracer
	echo 0 > $T/events/enable
	echo > $T/set_ftrace_filter
	echo 0 > $T/options/func_stack_trace
	echo 0 > $T/options/stacktrace
	echo > $T/kprobe_events
	echo > $T/trace
} 2> /dev/null

# Where rsoft_engine_rx() works on packets of an engine: from its start (e is the
# engine, part of the QP) to its end, on which CPU. Prints: batches of CPU 0 and
# 1, QPs, starts while the other CPU worked on another QP, the same for one QP.
overlaps()
{
	awk '
	function hex(s,   i, v) {
		# the low 40 bits tell QPs apart
		s = substr(s, length(s) - 9)
		for (i = 1; i <= length(s); i++)
			v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
		return v
	}
	function abs(x) { return x < 0 ? -x : x }
	match($0, /\[[0-9]+\]/) { cpu = substr($0, RSTART + 1, RLENGTH - 2) + 0 }
	/ rsoft_rx_end: / { delete at[cpu]; next }
	match($0, / e=0x[0-9a-f]+/) {
		e = hex(substr($0, RSTART + 5, RLENGTH - 5))
		n[cpu]++
		for (q in seen)
			if (abs(q - e) < 2048)
				break
		if (!((q in seen) && abs(q - e) < 2048))
			seen[sprintf("%.0f", e)] = ++qps
		for (c in at)
			if (c != cpu) {
				if (abs(at[c] - e) < 2048)
					same++
				else
					other++
			}
		at[cpu] = e
	}
	END { print n[0] + 0, n[1] + 0, qps + 0, other + 0, same + 0 }' $T/trace
}

trace_rx()
{
	trace_off
	echo 16384 > $T/buffer_size_kb
	echo global > $T/trace_clock
	echo 'p:rsoft_rx rsoft_engine_rx e=%di:x64' > $T/kprobe_events &&
		echo 'r:rsoft_rx_end rsoft_engine_rx' >> $T/kprobe_events &&
		echo 1 > $T/events/kprobes/enable || fail "no kprobe"
	echo 1 > $T/tracing_on
	flows "$@"
	echo 0 > $T/tracing_on
	overlaps
}

# both_work WHAT QPS ARGUMENTS-OF-FLOWS
both_work()
{
	local what=$1 c0 c1 qps other same
	shift
	read -r c0 c1 qps other same <<< "$(trace_rx "$@")"
	trace_off
	[ -n "${same:-}" ] || fail "no figures: ${c0:-}"
	note "scale: $what: CPU 0 processed $c0 batches of packets, CPU 1 $c1, of $qps QPs;" \
		"$other began while the other CPU processed another QP's, $same the same QP's"
	((c0 > 100 && c1 > 100)) || fail "one CPU does it all"
	((qps >= 2 * $1)) || fail "$qps QPs seen"
	((other > 100)) || fail "not at the same time"
}

t_both_senders()
{
	two_cpus
	both_work "four QPs, two threads" 4 2 $SECONDS_EACH 65536
}

# One thread posts everything; the netdev spreads packets by their source ports.
t_both_spread()
{
	two_cpus
	local q
	for q in "a $IFA" "b $IFB"; do
		ip netns exec ${q% *} bash -c \
			"echo 3 > /sys/class/net/${q#* }/queues/rx-0/rps_cpus" ||
			fail "no RPS"
	done
	both_work "16 QPs, one thread, RPS" 16 1 $SECONDS_EACH 65536
	for q in "a $IFA" "b $IFB"; do
		ip netns exec ${q% *} bash -c \
			"echo 0 > /sys/class/net/${q#* }/queues/rx-0/rps_cpus"
	done
}

# contention ARGUMENTS-OF-FLOWS: who had to wait for a lock meanwhile? Prints the
# messages, how often locks were contended, how often one that the driver took
# itself, and where. Spinlocks enter a slow path then, others have a tracepoint.
contention()
{
	trace_off
	echo 32768 > $T/buffer_size_kb
	echo '*queued_spin_lock_slowpath' > $T/set_ftrace_filter || fail "no slow path"
	echo '*queued_read_lock_slowpath' >> $T/set_ftrace_filter 2> /dev/null
	echo '*queued_write_lock_slowpath' >> $T/set_ftrace_filter 2> /dev/null
	echo function > $T/current_tracer
	echo 1 > $T/options/func_stack_trace
	echo 1 > $T/options/stacktrace
	echo 'flags != 1' > $T/events/lock/contention_begin/filter
	echo 1 > $T/events/lock/contention_begin/enable || fail "no tracepoint"
	echo 1 > $T/tracing_on
	flows "$@"
	echo 0 > $T/tracing_on
	awk -v messages="$MESSAGES" '
	FNR == NR { if ($4 == "[rdma_soft]") ours[$3] = 1; next }
	/_lock_slowpath <-|contention_begin:/ { total++; waiting = 1; next }
	/<stack trace>/ { next }
	/^ => / {
		# the locks own functions, then the one that wanted the lock
		if (waiting && $2 !~ /^(0x|\[|ftrace_|trace_|__trace|__bpf_trace|do_trace|stack_trace|queued_|native_|__pv_|pv_|_raw_|do_raw|__raw|__mutex|mutex_|rwsem_|down_|__down|__lock_text|skb_|__skb_|lock_sock|osq_|percpu_)/ &&
		    $2 !~ /slowpath|contention/) {
			waiting = 0
			if ($2 in ours) {
				mine++
				where[$2]++
			}
		}
		next
	}
	END {
		printf "%d %d %d", messages, total, mine
		for (f in where)
			printf " %s:%d", f, where[f]
		print ""
	}' /proc/kallsyms $T/trace
}

# locks_of WHAT ARGUMENTS-OF-FLOWS: reports, and sets messages and mine
locks_of()
{
	local what=$1 total where
	shift
	two_cpus
	read -r messages total mine where <<< "$(contention "$@")"
	trace_off
	[ -n "${mine:-}" ] || fail "no figures: ${messages:-}"
	note "scale: locks, WRITE $4 B, $what: contended $total times in $messages messages, $mine of them ours $where"
}

t_locks()
{
	local messages mine size
	for size in 65536 64; do
		locks_of "four QPs" 4 2 $SECONDS_EACH $size
		((mine <= messages / 1000)) || fail "the driver's locks are contended"
	done
}

# What cannot be seen is no proof: QPs that share a CQ must wait for its lock.
t_locks_are_seen()
{
	local messages mine
	locks_of "four QPs that share a CQ" 4 2 $SECONDS_EACH 64 shared
	((mine > 0)) || fail "no contention seen where there must be some"
}

rig_up 1500
trap trace_off EXIT
ktap_plan 5
ktap_run ratio t_ratio
ktap_run both_cpus_of_the_senders t_both_senders
ktap_run both_cpus_by_source_port t_both_spread
ktap_run locks_without_contention t_locks
ktap_run locks_are_seen t_locks_are_seen
ktap_finish
