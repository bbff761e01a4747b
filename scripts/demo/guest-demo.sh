#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# guest-demo.sh ROUNDS PARTS: guest side of the demo (see demo.sh). Writes one
# line a test to /out/results.tsv:
#
#   part  test  status  bytes  value  unit      tab separated
#
# bytes is the payload that the programs moved; that at least so much crossed the
# veth pair is part of the test. Unit MB/s and kops/s: higher is better, us: lower.

# shellcheck disable=SC2317  # the tests are called by name: t_PROGRAM
set -u
# shellcheck source=selftests/vm/guest-lib.sh
. "$VM_LIB"
rounds=$1 parts=$2
log=/run/log	# copied to /out in the end: a measured program must not wait for the host
mkdir -p $log
trap 'cp -r $log /out/' EXIT
failed=0
# In instruction mode the clock jumps while the guest is idle.
limit=60${VM_ICOUNT:+000000}

# shellcheck source=scripts/demo/pair.sh
. "${0%/*}/pair.sh"

# result TEST BYTES VALUE UNIT: judge and note what "pair" brought.
result()
{
	local name=$1 bytes=$2 value=$3 unit=$4 crossed
	crossed=$(($(veth_bytes) - before))
	if [ -z "$value" ] || [[ $value =~ ^(0\.?0*|inf|-?nan)$ ]]; then
		err "$part $name: no figure in its output"
		return
	fi
	if [ "$crossed" -lt "$bytes" ]; then
		err "$part $name: moved $bytes bytes but only $crossed crossed the veth pair"
		return
	fi
	printf '%s\t%s\tok\t%d\t%s\t%s\n' "$part" "$name" "$bytes" "$value" "$unit" >>/out/results.tsv
	echo "$label: $name $value $unit"
}

perftest="-F"
t_ibv_devinfo()
{
	local d
	for d in "$cli_dev" "$srv_dev"; do
		cli ibv_devinfo -v -d "$d" >"$log/$part-ibv_devinfo.$d" 2>&1 || { err "ibv_devinfo $d failed"; return; }
		grep -q PORT_ACTIVE "$log/$part-ibv_devinfo.$d" || { err "$d is not active"; return; }
	done
	result "$1" 0 ok ""
}
t_rping()
{
	pair "$1" cm "rping -a $srv_addr -C 20 -S 4096 -V" -s "-c -I $cli_addr" || return
	result "$1" $((20 * 4096 * 2)) ok ""
}
bw()
{
	pair "$1" tcp "$2 -s $3 -n $4 $perftest" "-d $srv_dev -x $srv_gid" "-d $cli_dev -x $cli_gid $srv_addr" || return
	result "$1" $(($3 * $4)) "$(last_row "$1" 4)" MB/s
}
t_ib_write_bw() { bw "$1" ib_write_bw 65536 500; }
t_ib_read_bw() { bw "$1" ib_read_bw 65536 500; }
t_ib_send_lat()
{
	pair "$1" tcp "ib_send_lat -e -s 8 -n 300 $perftest" "-d $srv_dev -x $srv_gid" "-d $cli_dev -x $cli_gid $srv_addr" || return
	result "$1" $((8 * 300 * 2)) "$(last_row "$1" 5)" us
}
t_ibv_ud_pingpong()
{
	pair "$1" tcp "ibv_ud_pingpong -e -s 1024 -n 200" "-d $srv_dev -g $srv_gid" "-d $cli_dev -g $cli_gid $srv_addr" || return
	result "$1" $((1024 * 200 * 2)) "$(sed -n 's/.* = \([0-9.]*\) usec\/iter.*/\1/p' "$log/$part-$1.client")" us
}
t_ib_atomic_lat()
{
	pair "$1" tcp "ib_atomic_lat -e -A FETCH_AND_ADD -n 300 $perftest" "-d $srv_dev -x $srv_gid" "-d $cli_dev -x $cli_gid $srv_addr" || return
	result "$1" $((8 * 300)) "$(last_row "$1" 5)" us
}
t_ib_atomic_bw()
{
	pair "$1" tcp "ib_atomic_bw -A CMP_AND_SWAP -n 1000 $perftest" "-d $srv_dev -x $srv_gid" "-d $cli_dev -x $cli_gid $srv_addr" || return
	result "$1" $((8 * 1000)) "$(last_row "$1" 5 | awk 'NF { printf "%.2f", $1 * 1000 }')" kops/s
}

run_tests()
{
	local t f before
	cli_gid=$(gid_index "$cli_dev" "$cli_addr") || exit 1
	srv_gid=$(gid_index "$srv_dev" "$srv_addr") || exit 1
	for t in ibv_devinfo rping ib_write_bw ib_read_bw ib_send_lat ibv_ud_pingpong ib_atomic_lat ib_atomic_bw; do
		before=$(veth_bytes)
		"t_$t" $t && continue
		failed=1
		printf '%s\t%s\tFAILED\t0\t-\t\n' "$part" $t >>/out/results.tsv
		for f in "$log/$part-$t".*; do
			[ -s "$f" ] && echo "${f##*/}: $(tail -n 3 "$f")" >&2
		done
	done
}

one_ns()
{
	part=$1 label="$2, one namespace"
	cli_in=() srv_in=() cli_if=v0 srv_if=v1 cli_addr=10.88.0.1 srv_addr=10.88.0.2
	cli_dev=$3 srv_dev=$4
	"load_$2" || exit 1
	setup_one_ns "$2" "$cli_dev" "$srv_dev" || exit 1
	run_tests
	"unload_$2" || exit 1
}

# Read every program once: the first start waits for the host's disk.
for t in ibv_devinfo rping ib_write_bw ib_read_bw ib_send_lat ibv_ud_pingpong ib_atomic_lat ib_atomic_bw; do
	$t --help
done >/dev/null 2>&1

for part in $parts; do
	[ "$part" = pair ] || continue
	label="rdma_soft, two namespaces"
	cli_in=(ip netns exec a) srv_in=(ip netns exec b) cli_if=va srv_if=vb cli_addr=10.77.0.1 srv_addr=10.77.0.2
	cli_dev=soft0 srv_dev=soft1
	load_rdma_soft || exit 1
	setup_pair 1500 || exit 1
	echo "rdma_soft.ko loaded; netns a (soft0 on va) and b (soft1 on vb), joined by a veth pair"
	run_tests
	unload_rdma_soft || exit 1
done
for ((round = 0; round < rounds; round++)); do
	for part in $parts; do
		case $part in
		soft) one_ns soft rdma_soft soft0 soft1 ;;
		rxe) one_ns rxe rxe rxe0 rxe1 ;;
		esac
	done
done
exit $failed
