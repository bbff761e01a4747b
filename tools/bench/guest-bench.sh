#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# guest-bench.sh PLAN PAIR_LIB: guest side of rdma-soft-bench. Works through PLAN,
# one measurement a line, tab separated:
#
#   round  driver  rig  id  how  bytes  program  server's options  client's options
#
# driver: rdma_soft, rxe, tcp (tcp after one of the others); rig: MTU of the veth
# pair, or "self": one device on a dummy netdev, with itself, or "gbit": MTU 1500 and
# both ends of the pair send through a shaper of 1 Gbit/s with a queue of 384 KiB
# ("gbit:KIB": of so many), which must not have to drop a packet of rdma_soft; or "MTU:ref" with payload sent by
# reference (rdma_soft only). In the options DEV,
# GID and ADDR stand for the device, GID index and address of that end; PEER for the
# server's address. "bytes" must have crossed the veth pair. Prints, for each:
#
#   @  round  driver  id  ok|failed  last row of figures
#
# and copies the output of all programs to /out/log. With BENCH_MARK=PROGRAM, PROGRAM runs
# before and after each measurement, and the kernel's symbols go to /out/kallsyms (for
# rdma-soft-profile).

set -u
# shellcheck source=selftests/vm/guest-lib.sh
. "$VM_LIB"
# shellcheck source=scripts/demo/pair.sh
. "$2"
# shellcheck source=tools/bench/storage.sh
. "${0%/*}/storage.sh"
log=/run/log
mkdir -p $log
trap 'cp -r $log /out/' EXIT
limit=120${VM_ICOUNT:+000000}	# the clock jumps while the guest is idle
cli_in=() srv_in=() cli_if=v0 srv_if=v1
driver='' rig=''

# leave: no driver loaded
leave()
{
	storage_leave
	case $driver in
	rdma_soft|rxe) "unload_$driver" || exit 1 ;;
	esac
	driver='' rig=''
}

# shaper add KiB | shaper del: what "gbit" has in both ends. Its bucket holds less than a super-packet,
# so that each is cut there, packet by packet, as for a card without offloads.
shaper()
{
	local d opts=
	[ "$1" = del ] || opts="tbf rate 1gbit burst 16kb limit ${2}kb"
	for d in v0 v1; do
		# shellcheck disable=SC2086  # words
		tc qdisc "$1" dev $d root $opts || { err "tc qdisc $1 dev $d failed"; return; }
	done
}

by_reference()
{
	local d
	for d in bench0 bench1; do
		echo on >/sys/class/infiniband/$d/payload_by_reference || return
	done
}

# counted NAME: of both ends so far
counted()
{
	local f v n=0
	for f in /sys/class/infiniband/bench[01]/ports/1/hw_counters/"$1"; do
		read -r v 2>/dev/null <"$f" && n=$((n + v))
	done
	echo $n
}

# shaped: packets sent and packets dropped by both shapers so far
shaped()
{
	tc -s qdisc show | awk '
		/^qdisc/ { on = $2 == "tbf" }
		on && /Sent/ { sent += $4; sub(",", "", $7); drop += $7 }
		END { print sent + 0, drop + 0 }'
}

# enter_rig DRIVER RIG
enter_rig()
{
	local mtu=$2
	mtu=${mtu%:*}
	[ "$mtu" != gbit ] || mtu=1500
	[ "${rig%:*}" != gbit ] || shaper del || exit 1
	if [ "$1" != "$driver" ]; then
		leave
		[ "$1" = tcp ] || "load_$1" || exit 1
	elif [ "$1" != tcp ]; then
		storage_leave
		links_gone || exit 1
	fi
	driver=$1 rig=$2
	if [ "$rig" = self ]; then
		[ -e /sys/class/net/d0 ] ||
			ip -b - <<-IP || exit 1
			link add d0 mtu 1500 type dummy
			addr add 10.89.0.1/24 dev d0
			link set d0 up
			IP
		cli_addr=10.89.0.1 srv_addr=10.89.0.1 cli_dev=bench0 srv_dev=bench0
		rdma link add bench0 type "$driver" netdev d0 && links_ready bench0 10.89.0.1 || exit 1
	else
		cli_addr=10.88.0.1 srv_addr=10.88.0.2 cli_dev=bench0 srv_dev=bench1
		if [ -e /sys/class/net/v0 ]; then
			ip link set v0 mtu "$mtu" && ip link set v1 mtu "$mtu" || exit 1
		fi
		[ "$driver" = tcp ] && return
		setup_one_ns "$driver" bench0 bench1 "$mtu" || exit 1
		[ "$rig" != gbit ] || shaper add 384 || exit 1
		[[ $rig != gbit:* ]] || shaper add "${rig#*:}" || exit 1
		[[ $rig != *:ref ]] || by_reference || exit 1
	fi
	cli_gid=$(gid_index "$cli_dev" "$cli_addr") || exit 1
	srv_gid=$(gid_index "$srv_dev" "$srv_addr") || exit 1
}

# fill OPTIONS DEV GID ADDR
fill()
{
	local s=$1
	s=${s//DEV/$2} s=${s//GID/$3} s=${s//PEER/$srv_addr}
	echo "${s//ADDR/$4}"
}

# figures ID HOW: the last row of figures in the client's output
figures()
{
	case $2 in
	tcp) awk '/^ *#bytes/ { seen = 1 } seen && $1 ~ /^[0-9]+$/ && NF >= 4 { v = $0 } END { print v }' \
		"$log/$part-$1.client" ;;
	iperf) awk '/sender/ { for (i = 2; i <= NF; i++) if ($i == "MBytes/sec") print $(i - 1) }' "$log/$part-$1.client" ;;
	cm) awk '/^connect / { print }' "$log/$part-$1.client" ;;
	nvme|nfs) awk '/ copied, / { print $1, $(NF - 3) }' "$log/$part-$1.client" ;;
	esac
}

# crossed_veth: bytes so far, if the rig has that pair
crossed_veth()
{
	if [ "$rig" = self ]; then
		echo 0
	else
		veth_bytes
	fi
}

# crossed_all ID BYTES BEFORE: they crossed the veth pair since then, if the rig has it
crossed_all()
{
	local crossed=$(($(crossed_veth) - $3))
	[ "$rig" = self ] || [ $crossed -ge "$2" ] ||
		err "$part $1: moved $2 bytes but only $crossed crossed the veth pair"
}

measure()
{
	local id=$1 how=$2 bytes=$3 program=$4 before wait=tcp was='' endless=
	case $how in
	nvme|nfs)
		storage_measure "$id" "$how" "$bytes" "$5" "$6"
		return ;;
	esac
	before=$(crossed_veth)
	[ "${rig%:*}" != gbit ] || was=$(shaped)
	[ "$how" = cm ] && wait=cm endless=y
	# shellcheck disable=SC2153
	pair "$id" $wait "$program" "$(fill "$5" "$srv_dev" "$srv_gid" "$srv_addr")" \
		"$(fill "$6" "$cli_dev" "$cli_gid" "$cli_addr")" || return
	crossed_all "$id" "$bytes" "$before" || return
	[[ $rig != *:ref ]] || [ "$(counted tx_by_ref)" -gt 0 ] ||
		{ err "$part $id: payload was copied"; return; }
	[ "${rig%:*}" != gbit ] || shaper_held "$id" "$was"
}

# shaper_held ID "SENT DROPPED": what the shapers did since then
shaper_held()
{
	local sent drop sent0 drop0
	read -r sent0 drop0 <<<"$2"
	read -r sent drop <<<"$(shaped)"
	sent=$((sent - sent0)) drop=$((drop - drop0))
	echo "$part $1: the shapers sent $sent packets and dropped $drop; throttled $(counted tx_throttled) times in all"
	[ $sent -ge $((bytes / 1500)) ] || { err "$part $1: the shapers were passed by"; return; }
	[ "$driver" = rdma_soft ] || return 0
	[ "$(counted tx_throttled)" -gt 0 ] || { err "$part $1: the queue was never full"; return; }
	[ $drop = 0 ] || err "$part $1: the shapers dropped $drop packets"
}

mark() { [ -z "${BENCH_MARK:-}" ] || "$BENCH_MARK"; }

# Read every program once: the first start waits for the host's disk.
for p in ib_write_bw ib_read_bw ib_send_bw ib_send_lat ib_read_lat ib_atomic_lat ib_write_lat cmtime iperf3 awk timeout; do
	$p --help
done >/dev/null 2>&1

failed=0
while IFS=$'\t' read -r -u 3 round d r id how bytes program srv cli; do
	[ "$d $r" = "$driver $rig" ] || enter_rig "$d" "$r"
	part=$round-$d
	mark
	measure "$id" "$how" "$bytes" "$program" "$srv" "$cli"
	status=$?
	mark
	if [ $status = 0 ]; then
		status=ok
	else
		status=failed failed=1
		for f in "$log/$part-$id".*; do
			[ -s "$f" ] && echo "${f##*/}: $(tail -n 3 "$f")" >&2
		done
	fi
	printf '@\t%s\t%s\t%s\t%s\t%s\n' "$round" "$d" "$id" $status "$(figures "$id" "$how" 2>/dev/null)"
done 3<"$1"
[ -z "${BENCH_MARK:-}" ] || cat /proc/kallsyms >/out/kallsyms
leave
exit $failed
