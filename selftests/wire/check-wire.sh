#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check-wire.sh [--quick | --timelines [NAME]]: is what the driver puts on the
# wire RoCEv2, and does it answer a peer that follows the rules, or breaks them?
#
#   --quick       fewer cases and packets: what 'make check' runs
#   --timelines   only the timelines, all or those whose name contains NAME
#
# In a UML guest: timelines.py against one QP, packet by packet; then all
# operations between two namespaces, captured behind the segmentation. Here:
# conform.py checks each captured packet, tshark decodes them. Prints TAP and
# how many packets were checked and timelines run. Logs in build/uml-wire-out.
# A guest fails that says nothing for SILENCE seconds, not one that is slow.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/build/common.sh
. "$here/../../scripts/build/common.sh"
# shellcheck source=selftests/uml/kunit-lib.sh
. "$TOP/selftests/uml/kunit-lib.sh"

SILENCE=300
LIMIT=3600
quick=
only=
pattern=
case ${1:-} in
--quick) quick=y ;;
--timelines) only=y; pattern=${2:-} ;;
'') ;;
*) sed -n '4,14s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac

# What tshark takes payload bytes for, by guessing.
no_guess=(smb_direct_infiniband rpcrdma_infiniband nvme_rdma iser_infiniband
	eth_over_ib mellanox_eoib sdp_infiniband fc_infiniband drbd_rdma
	smcr_infiniband lnet_ib)

# cases: PROGRAM:CASE:PATHMTU of the captured run.
cases()
{
	local c
	local -a list=(rc_v4_mtu_1024:1024 rc_v6_mtu_4096:4096 uc_v4_mtu_256:256
		ud_v6:4096)
	[ -n "$quick" ] || list+=(rc_v4_mtu_256:256 rc_v6_mtu_512:512
		rc_v6_mtu_1024:1024 rc_v4_mtu_2048:2048 rc_v4_mtu_4096:4096
		rc_srq_v4_mtu_1024:1024 uc_v4_mtu_1024:1024
		uc_v6_mtu_4096:4096 ud_v4:4096 ud_srq_v4:4096)
	for c in "${list[@]}"; do
		printf 'integrity/random:%s,' "$c"
	done
	printf 'verbs/errors:wrong_rkey:4096,verbs/errors:rnr:4096,'
	printf 'verbs/errors:send_too_long:4096\n'
}

timelines()
{
	local log=$OUT/timelines.txt

	mkdir -p "$OUT/timelines"
	UML_SILENCE=$SILENCE "$uml/run-uml.sh" plain "$uml/guest-tests.sh" $LIMIT \
		UML_OUT="$OUT/timelines" MODULE="$MODULES/rdma_soft.ko" \
		TESTS=wire/timelines SUBTEST="$pattern" >"$log" 2>&1 \
		{WORK_LOCK}>&-
	# the results without the runner's around them
	sed -n -E 's/^    //; s/^(not )?ok [0-9]+ - wire\./\1ok - wire./; /^1\.\./d
		/^((not )?ok -|#)/p' "$log"
	grep -q '^ok 1 - wire/timelines' "$log"
	result $? wire.timelines_finished "$(tail -n 1 "$log")"
}

capture()
{
	local log=$OUT/capture.txt rc

	mkdir -p "$OUT/capture"
	UML_SILENCE=$SILENCE UML_MEM=2G \
		"$uml/run-uml.sh" plain "$here/guest-capture.sh" $LIMIT \
		UML_OUT="$OUT/capture" MODULES="$MODULES" TREE="$TOP" \
		PACKETS="${quick:+1500}" CASES="$(cases)" >"$log" 2>&1 \
		{WORK_LOCK}>&-
	rc=$?
	cat "$log"
	result $rc wire.capture_finished "status $rc"
	log_result "$OUT/capture" wire.capture_kernel_log_clean
}

# tshark_agrees FILE N: it sees as many RoCE packets, and nothing odd in them.
tshark_agrees()
{
	# RoCEv2 has a checksum of its own, so a UDP checksum of zero is right.
	local n h args=(-o udp.ignore_ipv6_zero_checksum:TRUE)

	for h in "${no_guess[@]}"; do
		args+=(--disable-heuristic "$h")
	done
	n=$(tshark "${args[@]}" -r "$1" -Y infiniband -T fields \
		-e frame.number 2>/dev/null | wc -l)
	tshark "${args[@]}" -r "$1" -q -z expert 2>/dev/null >"$1.tshark"
	if grep -E '^(Errors|Warns) ' "$1.tshark"; then
		cat "$1.tshark"
		return 1
	fi
	[ "$n" = "$2" ] || { echo "# tshark sees $n packets, not $2"; return 1; }
}

# one_file FILE: FILE is CASE.PATHMTU.pcap.
one_file()
{
	local name mtu log n

	name=$(basename "$1" .pcap)
	mtu=${name##*.}
	log=${1%.pcap}.txt
	/usr/bin/python3 "$here/check_pcap.py" --rules --mtu "$mtu" \
		--to 02:09:00:00:00:0a "$1" >"$log" 2>&1
	result $? "wire.packets_of_${name%.*}"
	grep -v '^# rule ' "$log"
	n=$(sed -n 's/^packets=\([0-9]*\) .*/\1/p' "$log")
	tshark_agrees "$1" "${n:-0}"
	result $? "wire.tshark_${name%.*}"
}

# files PROCESSES: all captures, some at a time.
files()
{
	local f

	for f in "$OUT"/capture/*.pcap; do
		while [ "$(jobs -rp | wc -l)" -ge "$1" ]; do
			wait -n
		done
		one_file "$f" >"$f.result" 2>&1 &
	done
	wait
	cat "$OUT"/capture/*.result
	rm -f "$OUT"/capture/*.pcap
}

need tshark tshark
/usr/bin/python3 -c 'import scapy, pyverbs' 2>/dev/null ||
	die "no scapy or pyverbs; run: apt-get install python3-scapy python3-pyverbs"
make -s -C "$TOP" selftests >&2 || die "the test programs do not build"
build_for_uml plain
[ "$BUILT" = 0 ] || exit 1
fresh_out wire
{
	timelines
	[ -n "$only" ] || { capture; files 2; }
} >"$OUT/all.txt"
number_results "$OUT/all.txt"
status=$?
echo "# wire: $(sed -n 's/^packets=\([0-9]*\) .*/\1/p' "$OUT/all.txt" |
	awk '{ n += $1 } END { print n + 0 }') captured packets checked," \
	"$(sed -n 's/^# timelines=\([0-9]*\) sent=\([0-9]*\) received=\([0-9]*\)/\1 timelines run (\2 packets sent, \3 checked)/p' \
	"$OUT/all.txt")"
exit $status
