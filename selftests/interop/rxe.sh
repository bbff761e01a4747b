#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Against in-tree rdma_rxe, in one machine: rxe0 on va in the initial namespace
# (rxe of 6.1 knows no other), our soft1 on vb in namespace b. Each run picks at
# random which end posts, so every operation goes both ways, and compares every
# byte. INTEROP=quick: a part of it.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"

DEVA=rxe0
NSA=
in_a() { "$@"; }
ip_a() { ip "$@"; }
INTEROP_LOG=$(mktemp)

# swapped COMMAND...: in it, 'a' is our end and 'b' is rxe's.
swapped()
{
	local t
	t=$A4 A4=$B4 B4=$t
	t=$A6 A6=$B6 B6=$t
	in_a() { ip netns exec b "$@"; }
	in_b() { "$@"; }
	exec_b() { exec "$@"; }
	"$@"
}

interop_up()
{
	setup_ns b
	ip link add "$IFA" address $MACA type veth peer name "$IFB" \
		address $MACB netns b || fail "cannot create the veth pair"
	echo 0 > /proc/sys/net/ipv6/conf/$IFA/accept_dad
	veth_end '' "$IFA" $A4/24 $A6/64 $B4 $B6 $MACB 9000
	veth_end b "$IFB" $B4/24 $B6/64 $A4 $A6 $MACA 9000
	echo 20000 > /proc/sys/net/core/netdev_max_backlog
	dep_load rdma_rxe || fail "rdma_rxe does not load"
	rdma link add rxe0 type rxe netdev $IFA || fail "no rxe device"
	link_add b "$DEVB" "$IFB" || fail "no link $DEVB"
	wait_for 5 gid_index rxe0 $A4 > /dev/null || fail "rxe0: no GID"
	wait_for 5 gid_index rxe0 $A6 > /dev/null || fail "rxe0: no GID"
	wait_for 5 gid_index "$DEVB" $B4 > /dev/null || fail "$DEVB: no GID"
	wait_for 5 gid_index "$DEVB" $B6 > /dev/null || fail "$DEVB: no GID"
	NSB=b
	rig_export
}

# sum_operations FILE: of the lines '# N batches, ...: send 4 write 5 ...'.
sum_operations()
{
	awk '/^# [0-9]+ batches/ {
		sub(/.*:/, "")
		for (i = 2; i <= NF; i += 2)
			n += $i
	} END { print n + 0 }' "$1"
}

# data CASE FAMILY [SECONDS]: operations of every kind, compared. UC loses what another
# CPU's packets overtake, and rxe lets them: on one CPU none can.
data()
{
	local log rx
	local -a one_cpu=()
	[[ $1 != uc_* ]] || one_cpu=(taskset -c 0)
	log=$(mktemp)
	rx=$(counter "$DEVB" rcvd_pkts)
	VT_FAMILY=$2 VT_SECONDS=${3:-1} VT_MAX_LEN=${VT_MAX_LEN:-200000} \
		timeout 100 "${one_cpu[@]}" "$BUILD/integrity/random" "$1" > "$log" 2>&1
	if ! grep -q '^ok 1' "$log"; then
		sed 's/^/# /' "$log"
		note_counters "$DEVB"
		fail "$1 over IPv$2"
	fi
	grep -E '^# [0-9]+ batches' "$log"
	cat "$log" >> "$INTEROP_LOG"
	assert_grew "rcvd_pkts of $DEVB" "$rx" "$(counter "$DEVB" rcvd_pkts)" 10
}

# Behind a hop that sees single packets: what netem drops is one packet.
lossy()
{
	local rc=0 loss
	ethtool -K $IFA tx-udp-segmentation off > /dev/null
	in_b ethtool -K $IFB tx-udp-segmentation off > /dev/null
	tc qdisc replace dev $IFA root netem limit 10000 loss 0.5% ||
		fail "no netem"
	tc -n b qdisc replace dev $IFB root netem limit 10000 loss 0.5% ||
		fail "no netem"
	VT_MAX_LEN=20000 data "$@" || rc=1
	loss=$(tc -s qdisc show dev $IFA | sed -n 's/.*dropped \([0-9]*\).*/\1/p')
	tc qdisc del dev $IFA root
	tc -n b qdisc del dev $IFB root
	((rc == 0)) || exit 1
	note "lost towards $DEVB: $loss packets"
	((loss > 0)) || fail "nothing was lost"
}

rping_with()
{
	local lines
	run_both cm_listening 7174 rping -s -a "$1" -V -S "$2" -C "$3" -- \
		rping -c -a "$1" -v -V -S "$2" -C "$3"
	lines=$(grep -c '^ping data' "$OUT_C")
	((lines == $3)) || fail "$lines of $3 pings"
	echo "# $3 batches, rping: read $3 write $3" | tee -a "$INTEROP_LOG"
}

ucmatose_with()
{
	run_both cm_listening 7471 ucmatose -b "$1" -c "$2" -C 10 -S 2000 -- \
		ucmatose -s "$1" -c "$2" -C 10 -S 2000
	grep -q 'return status 0' "$OUT_C" || fail "$(tail -n 3 "$OUT_C")"
}

udaddy_with()
{
	run_both cm_listening 7174 udaddy -b "$1" -c "$2" -C 10 -S 900 -- \
		udaddy -s "$1" -c "$2" -C 10 -S 900
	grep -q 'return status 0' "$OUT_C" || fail "$(tail -n 3 "$OUT_C")"
}

t_down()
{
	link_del "$DEVB"
	rdma link del rxe0
	rmmod rdma_rxe || fail "rdma_rxe does not unload"
}

# matrix: the lines 'NAME COMMAND...' of this run.
matrix()
{
	local mtu f
	cat <<-LIST
	rc_v4_mtu_1024 data rc_v4_mtu_1024 4
	rc_v6_mtu_4096 data rc_v4_mtu_4096 6
	uc_v6_mtu_1024 data uc_v4_mtu_1024 6
	ud_v4 data ud_v4 4
	rc_loss_v4 lossy rc_v4_mtu_1024 4
	rping_to_ours rping_with $B4 1000 20
	rping_to_rxe swapped rping_with $A6 1000 20
	LIST
	[ "${INTEROP:-}" != quick ] || return 0
	for mtu in 256 512 1024 2048 4096; do
		for f in 4 6; do
			case $mtu$f in 10244 | 40966) continue ;; esac
			echo "rc_v${f}_mtu_$mtu data rc_v$((mtu == 512 ? 6 : 4))_mtu_$mtu $f"
		done
	done
	cat <<-LIST
	rc_srq_v4 data rc_srq_v4_mtu_1024 4
	uc_v4_mtu_256 data uc_v4_mtu_256 4
	uc_v4_mtu_4096 data uc_v6_mtu_4096 4
	ud_v6 data ud_v6 6
	ud_srq data ud_srq_v4 4
	rc_loss_v6_mtu_4096 lossy rc_v6_mtu_4096 6 2
	rc_loss_v4_mtu_256 lossy rc_v4_mtu_256 4 2
	rping_to_ours_v6 rping_with $B6 60000 10
	rping_to_rxe_v4 swapped rping_with $A4 60000 10
	ucmatose_to_ours ucmatose_with $B4 10
	ucmatose_to_rxe swapped ucmatose_with $A4 10
	ucmatose_to_rxe_v6 swapped ucmatose_with $A6 10
	udaddy_to_ours udaddy_with $B4 4
	udaddy_to_rxe swapped udaddy_with $A4 4
	LIST
}

mapfile -t LINES < <(matrix)
ktap_plan $((${#LINES[@]} + 1))
modprobe -r rdma_rxe 2> /dev/null
interop_up
for line in "${LINES[@]}"; do
	# shellcheck disable=SC2086 # name and command
	ktap_run $line
done
ktap_run both_unload t_down
note "interop: $(sum_operations "$INTEROP_LOG") operations compared"
ktap_finish
