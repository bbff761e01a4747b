#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Guest side of soak.sh: random work of all operations (integrity/random) by
# three processes at a time, while both devices lose, double, delay, reorder and
# corrupt packets and answer "not ready", by rules that change every round.
# Every byte and every completion is verified. $DURATION seconds, $SEED.
set -u
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TREE=$(dirname "$HERE")
# The root file system is the host's, read-only.
mkdir -p /run/tmp
export TMPDIR=/run/tmp TREE HERE DRIVER=rdma_soft RIG=2ns MODULE
# shellcheck source=selftests/lib/ktap.sh
. "$HERE/lib/ktap.sh"
# shellcheck source=selftests/lib/rdma.sh
. "$HERE/lib/rdma.sh"
# shellcheck source=selftests/lib/net.sh
. "$HERE/lib/net.sh"

OUT=/run/out
FAULTS=/sys/kernel/debug/rdma_soft
CONFIGS=(rc_v4_mtu_256 rc_v6_mtu_512 rc_v4_mtu_1024 rc_v6_mtu_1024
	rc_srq_v4_mtu_1024 rc_v4_mtu_1024)
RANDOM=$((SEED & 32767))
rounds=0 bad=0

# below N: 0 to N-1, from the seed.
below()
{
	REPLY=$(((RANDOM * 32768 + RANDOM) % $1))
}

# share MAX_PERMILLE: a share up to that, as the rules want it, into REPLY.
share()
{
	below "$1"
	REPLY="$((REPLY / 10)).$((REPLY % 10))%"
}

# rules_of DEVICE: random rules for one device.
rules_of()
{
	local dir r=()
	echo clear > "$FAULTS/$1/faults"
	for dir in tx rx; do
		share 25; r+=("drop dir=$dir share=$REPLY")
		share 15; r+=("corrupt dir=$dir share=$REPLY")
		share 25; r+=("dup=$((1 + RANDOM % 3)) dir=$dir share=$REPLY")
		share 25; r+=("reorder=$((1 + RANDOM % 6)) dir=$dir share=$REPLY")
		share 10; r+=("delay=$((1 + RANDOM % 40))ms dir=$dir share=$REPLY")
	done
	share 10; r+=("rnr op=request share=$REPLY")
	for dir in "${r[@]}"; do
		below 1000000
		echo "$dir seed=$REPLY" > "$FAULTS/$1/faults" ||
			fail "rule '$dir' was refused"
		echo "# $1: $dir seed=$REPLY"
	done
}

# injected: hits of all rules so far, by action, added to the totals.
declare -A hits=()
add_hits()
{
	local action n
	while read -r action n; do
		hits[$action]=$((${hits[$action]:-0} + n))
	done < <(cat $FAULTS/*/faults | sed -n 's/^[0-9]* \([a-z]*\) .* hits=\([0-9]*\)$/\1 \2/p')
}

# round N: one set of rules, three processes.
round()
{
	local i pid pids=() rc=0
	{ rules_of soft0; rules_of soft1; } > "$OUT/rules"
	for i in 0 1 2; do
		below ${#CONFIGS[@]}
		local cfg=${CONFIGS[REPLY]}
		below 1000000000
		# Generous: on a busy machine the guest hardly gets a CPU.
		VT_SEED=$((REPLY + 1)) VT_SECONDS=4 VT_ACK_TIMEOUT=14 \
			VT_MAX_LEN=1000000 VT_LIMIT_S=600 \
			VT_WANT_MS=90000 VT_SHOW='rdma -dd resource show qp | grep state.RTS | sed "s/^/# /"' \
			"$BUILD/integrity/random" "$cfg" > "$OUT/random.$i" 2>&1 &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || rc=1
	done
	add_hits
	rounds=$((rounds + 1))
	cat "$OUT"/random.? >> "$OUT/all"
	((rc)) || return 0
	bad=$((bad + 1))
	echo "# round $1 failed"
	cat "$OUT/rules" "$OUT"/random.?
	note_counters soft0
	note_counters soft1
}

# totals: what was done in all rounds.
totals()
{
	local a
	awk '/batches/ {
		b += $2; by += $4
		for (i = 5; i < NF; i++)
			if ($i ~ /^(send|send_imm|write|write_imm|read|cas|fadd)$/)
				n[$i] += $(i + 1)
	} END {
		printf "# work: %d batches, %.0f MB:", b, by / 1e6
		for (k in n) printf " %s %d", k, n[k]
		print ""
	}' "$OUT/all"
	printf '# faults:'
	for a in "${!hits[@]}"; do
		printf ' %s %d' "$a" "${hits[$a]}"
	done
	echo
	note_counters soft0
	note_counters soft1
}

main()
{
	local end t
	echo "TAP version 13"
	echo "1..1"
	echo "# seed $SEED, $DURATION s"
	driver_load || exit 1
	dmesg -C
	rig_up 1500
	end=$((SECONDS + DURATION))
	t=$SECONDS
	while ((SECONDS < end)); do
		round $rounds
		if ((SECONDS - t > 300)); then
			t=$SECONDS
			echo "# $SECONDS s: $rounds rounds, $bad failed"
		fi
	done
	totals
	rig_down
	driver_unload || bad=$((bad + 1))
	dmesg_bad && bad=$((bad + 1))
	if ((bad)); then
		dmesg --color=never | tail -n 40 | sed 's/^/# log: /'
		echo "not ok 1 - soak of $rounds rounds # $bad failed"
		exit 1
	fi
	echo "ok 1 - soak of $rounds rounds"
}

main
