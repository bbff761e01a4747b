#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# guest-loss.sh PLAN PAIR_LIB: guest side of rdma-soft-bench-loss. Works through PLAN,
# one measurement a line, tab separated:
#
#   round  driver  id  rig  messages  netem  corrupt
#
# Two hops: v0 and v1, which carry the RDMA links, are joined by a bridge in netns mid
# whose ports drop, delay and corrupt in both directions. With rig "single" the ends cut
# super-packets before the first hop, so that the bridge sees packets one by one; what the
# bridge's qdiscs counted must agree with that. Prints, for each:
#
#   @  round  driver  id  ok|failed  MB/s  packets  dropped  retransmits  time-outs
#
# and copies the output of all programs and the counters to /out/log.

set -u
# shellcheck source=selftests/vm/guest-lib.sh
. "$VM_LIB"
# shellcheck source=scripts/demo/pair.sh
. "$2"
log=/run/log
mkdir -p $log
trap 'cp -r $log /out/' EXIT
limit=600${VM_ICOUNT:+000000}	# the clock jumps while the guest is idle
# shellcheck disable=SC2034  # for pair.sh
cli_in=() srv_in=()
ONE_NS_WIRE=hop
driver='' rig=''

mid() { ip netns exec mid "$@"; }

leave()
{
	[ -z "$driver" ] || "unload_$driver" || exit 1
	driver=''
}

enter()
{
	leave
	"load_$1" && setup_one_ns "$1" bench0 bench1 1500 || exit 1
	driver=$1
	cli_gid=$(gid_index bench0 10.88.0.1) || exit 1
	srv_gid=$(gid_index bench1 10.88.0.2) || exit 1
}

# set_rig single|whole: who cuts super-packets. The ends merge what arrives (GRO), as
# network cards do; a veth pair does so only if the other end does no TSO.
set_rig()
{
	local cut=off d
	[ "$1" = single ] || cut=on
	for d in v0 v1; do
		ethtool -K $d gro on tx-udp-segmentation $cut || exit 1
	done
	for d in m0 m1; do
		mid ethtool -K $d tso off tx-udp-segmentation $cut || exit 1
	done
	rig=$1
}

# disturb NETEM CORRUPT: for both directions; counters start at 0
disturb()
{
	local d opts=$1
	[ "$opts" != - ] || opts=
	[[ $opts == *limit* ]] || opts+=' limit 20000'
	for d in m0 m1; do
		tc -n mid qdisc del dev $d root 2>/dev/null
		tc -n mid qdisc del dev $d clsact 2>/dev/null
		# shellcheck disable=SC2086  # words
		tc -n mid qdisc add dev $d root netem $opts || exit 1
		[ "$2" = - ] || corruptor $d "$2" || exit 1
	done
}

# corruptor DEV N: inverts 32 bits of one packet of N, half of them in the payload (at
# 600 bytes behind the start of the IP header) and half in the transport header (PSN).
# netem would touch only what lies in an skb's head.
corruptor()
{
	tc -n mid qdisc add dev "$1" clsact || return
	tc -n mid filter add dev "$1" ingress pref 1 protocol ip matchall \
		action continue random netrand pipe $((2 * $2)) \
		action pedit munge offset 600 u32 invert pipe action ok || return
	tc -n mid filter add dev "$1" ingress pref 2 protocol ip matchall \
		action ok random netrand pipe $((2 * $2)) \
		action pedit munge offset 36 u32 invert pipe action ok
}

# qdisc_stats: packets sent (each of a super-packet counts) and dropped, both directions
qdisc_stats()
{
	tc -n mid -s qdisc show | awk '
		/^qdisc/ { on = $2 == "netem" }
		on && /Sent/ { sent += $4; sub(",", "", $7); drop += $7 }
		END { print sent + 0, drop + 0 }'
}

# corrupted: packets that pedit had
corrupted()
{
	local d
	for d in m0 m1; do
		tc -n mid -s filter show dev $d ingress
	done | awk '/pedit/ { on = 1 } on && /Sent/ { n += $4; on = 0 } END { print n + 0 }'
}

# port_sum COUNTER: of both of the bridge's ports
port_sum()
{
	local n=0 d
	for d in m0 m1; do
		n=$((n + $(mid cat "/sys/class/net/$d/statistics/$1")))
	done
	echo $n
}

# skbs: what the bridge's ports handed on or found no room for at the end (whose ring
# of 256 is as short as a card's), a super-packet counts once
skbs()
{
	echo $(($(port_sum tx_packets) + $(port_sum tx_dropped)))
}

# counters NAME: of both ends
counters()
{
	local n=0 v f
	for f in /sys/class/infiniband/bench[01]/ports/1/hw_counters/"$1"; do
		read -r v 2>/dev/null <"$f" && n=$((n + v))
	done
	echo $n
}

save_counters()
{
	local f v
	for f in /sys/class/infiniband/bench[01]/ports/1/hw_counters/*; do
		read -r v 2>/dev/null <"$f"
		echo "$f $v"
	done >"$log/$part-$1.counters.$2"
}

# verify ID NETEM CORRUPT SENT SKBS DROPPED: did the packets meet what the row says?
verify()
{
	local bad
	if [ "$rig" = single ]; then
		[ "$4" -le "$5" ] || { err "$part $1: $4 packets in $5 skbs: netem saw super-packets"; return; }
	elif [ $driver = rdma_soft ]; then
		[ "$4" -gt $((2 * $5)) ] || { err "$part $1: $4 packets in $5 skbs: no super-packets"; return; }
	fi
	[[ $2 != *loss* ]] || [ "$6" -gt 0 ] || { err "$part $1: nothing was lost"; return; }
	[ "$3" = - ] && return
	bad=$(corrupted)
	# a third of what is expected at least
	[ "$bad" -gt $(($4 / $3 / 3)) ] || err "$part $1: $bad of $4 packets were corrupted"
}

measure()
{
	local id=$1 n=$2 before=$3 again=0 timeouts=0 common rc ring
	ring=$(port_sum tx_dropped)
	common="ib_write_bw -F -s 65536 -n $n -u 14"
	[ $driver = rxe ] || { again=$(counters retransmits) timeouts=$(counters ack_timeouts); }
	save_counters "$id" before
	pair "$id" tcp "$common" "-d bench1 -x $srv_gid" "-d bench0 -x $cli_gid 10.88.0.2"
	rc=$?
	save_counters "$id" after
	tc -n mid -s qdisc show >"$log/$part-$id.qdisc"
	read -r sent dropped < <(qdisc_stats)
	handed=$(($(skbs) - before))
	dropped=$((dropped + $(port_sum tx_dropped) - ring))
	[ $driver = rxe ] || { again=$(($(counters retransmits) - again)) timeouts=$(($(counters ack_timeouts) - timeouts)); }
	figures="$sent	$dropped	$again	$timeouts"
	return $rc
}

# Read every program once: the first start waits for the host's disk.
for p in ib_write_bw ethtool tc awk timeout; do
	$p --help
done >/dev/null 2>&1
modprobe -a sch_netem cls_matchall act_gact act_pedit sch_ingress || exit 1

failed=0
while IFS=$'\t' read -r -u 3 round d id r n netem corrupt; do
	[ "$d" = "$driver" ] || { enter "$d"; rig=''; }
	[ "$r" = "$rig" ] || set_rig "$r"
	part=$round-$d
	before=$(skbs)
	disturb "$netem" "$corrupt"
	status=failed
	if measure "$id" "$n" "$before"; then
		verify "$id" "$netem" "$corrupt" "$sent" "$handed" "$dropped" && status=ok
	else
		for f in "$log/$part-$id".client "$log/$part-$id".server; do
			[ -s "$f" ] && echo "${f##*/}: $(tail -n 3 "$f")" >&2
		done
	fi
	[ $status = ok ] || failed=1
	printf '@\t%s\t%s\t%s\t%s\t%s\t%s\n' "$round" "$d" "$id" $status "$(last_row "$id" 4)" "$figures"
done 3<"$1"
leave
exit $failed
