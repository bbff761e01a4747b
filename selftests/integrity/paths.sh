#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Compared traffic over every way that packets can take through the kernel:
# super-packets whole, switched off, cut on the way and merged again; the receive
# hook and the UDP socket; a bridge and a packet tap in between; small and large
# MTU. Counters assert that the way was the one that was meant, and that no packet
# was damaged.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"

HOOK=/sys/kernel/debug/rdma_soft/hook
WATCHED='gso_batches rx_batches rx_hook rx_encap tx_by_ref drop_icrc drop_shape'

begin()
{
	local name
	declare -gA BASE=()
	for name in $WATCHED; do
		BASE[$name]=$(($(counter $DEVA "$name") + $(counter $DEVB "$name")))
	done
}

grown()
{
	echo $(($(counter $DEVA "$1") + $(counter $DEVB "$1") - BASE[$1]))
}

some()
{
	local name
	for name; do
		(($(grown "$name") > 0)) || fail "$name did not grow"
	done
}

none()
{
	local name
	for name; do
		(($(grown "$name") == 0)) || fail "$name grew by $(grown "$name")"
	done
}

# traffic CASE...: a second of compared traffic each.
traffic()
{
	local c log
	log=$(mktemp)
	for c; do
		VT_SECONDS=1 VT_MAX_LEN=400000 "$BUILD/integrity/random" "$c" > "$log" 2>&1 ||
			{ sed 's/^/# /' "$log"; fail "$c failed"; }
		grep -q '^ok' "$log" || { sed 's/^/# /' "$log"; fail "$c did not run"; }
		note "$c: $(sed -n 's/^# \([0-9]* batches, [0-9]* bytes\).*/\1/p' "$log")"
	done
	rm -f "$log"
	none drop_icrc drop_shape
}

# usual [FAMILY...]: with the largest path MTU; at the small netdev MTU over IPv4
# and IPv6, which are cut and merged by code of their own, or one of them
usual()
{
	if [ "$MTU" -ge 9000 ]; then
		traffic rc_v4_mtu_4096
		return
	fi
	[ $# -gt 0 ] || set -- 4 6
	set -- "${@/#/rc_v}"
	traffic "${@/%/_mtu_1024}"
}

offload()
{
	in_a ethtool -K "$IFA" "$@" > /dev/null || fail "ethtool $IFA $*"
	in_b ethtool -K "$IFB" "$@" > /dev/null || fail "ethtool $IFB $*"
}

gso()
{
	local dev
	for dev in $DEVA $DEVB; do
		echo "$1" > "/sys/class/infiniband/$dev/gso" || fail "gso $1"
		grep -qF "[$1]" "/sys/class/infiniband/$dev/gso" ||
			fail "gso shows $(cat "/sys/class/infiniband/$dev/gso")"
	done
}

used()
{
	[ "$(cat /sys/class/infiniband/$DEVA/gso_used)" = "$1" ] ||
		fail "gso_used: $(cat /sys/class/infiniband/$DEVA/gso_used), not $1"
}

t_whole()
{
	used 'ipv4 yes ipv6 yes'
	begin
	usual
	some gso_batches rx_batches rx_hook
	none rx_encap tx_by_ref
}

t_gso_off()
{
	trap 'gso auto' EXIT
	gso off
	used 'ipv4 no ipv6 no'
	begin
	usual 6
	none gso_batches rx_batches rx_encap
	some rx_hook
}

t_gso_refuses()
{
	local value
	for value in '' yes 1 'auto off' onn; do
		! echo "$value" 2> /dev/null > /sys/class/infiniband/$DEVA/gso ||
			fail "'$value' was taken"
	done
	grep -qF '[auto]' /sys/class/infiniband/$DEVA/gso || fail 'the value changed'
}

t_hook_off()
{
	[ -e $HOOK ] || mount -t debugfs none /sys/kernel/debug || fail 'no debugfs'
	trap 'echo Y > $HOOK' EXIT
	echo N > $HOOK
	begin
	usual 4
	some gso_batches rx_encap
	none rx_batches rx_hook
}

t_late()
{
	trap 'offload tx-udp-segmentation on' EXIT
	offload tx-udp-segmentation off
	begin
	usual
	some gso_batches rx_hook
	none rx_batches rx_encap
}

# A veth merges if its peer claims no TSO.
merging()
{
	offload tx-udp-segmentation off tso off gro on
}

merging_off()
{
	offload tx-udp-segmentation on tso on gro off
}

# Cut on the way, merged again by the receiving netdev.
t_merged()
{
	trap merging_off EXIT
	merging
	begin
	usual
	some gso_batches rx_batches rx_hook
	none rx_encap
}

# Merged, and cut again before the socket.
t_merged_hook_off()
{
	trap 'echo Y > $HOOK; merging_off' EXIT
	echo N > $HOOK
	merging
	begin
	usual
	some gso_batches rx_encap
	none rx_batches rx_hook
}

# by_ref on|off: payload by reference
by_ref()
{
	local dev
	for dev in $DEVA $DEVB; do
		echo "$1" > "/sys/class/infiniband/$dev/payload_by_reference" ||
			fail "payload_by_reference $1"
		[ "$(cat "/sys/class/infiniband/$dev/payload_by_reference")" = "$1" ] ||
			fail "payload_by_reference is not $1"
	done
}

# referred: some payload was sent by reference, which small packets never are
referred()
{
	if [ "$MTU" -ge 9000 ]; then
		some tx_by_ref
	else
		none tx_by_ref
	fi
}

t_by_ref()
{
	trap 'by_ref off' EXIT
	by_ref on
	begin
	usual 4
	some gso_batches rx_batches rx_hook
	none rx_encap
	referred
}

t_by_ref_gso_off()
{
	trap 'by_ref off; gso auto' EXIT
	by_ref on
	gso off
	begin
	usual
	none gso_batches rx_batches rx_encap
	some rx_hook
	referred
}

t_by_ref_hook_off()
{
	trap 'by_ref off; echo Y > $HOOK' EXIT
	by_ref on
	echo N > $HOOK
	begin
	usual
	some gso_batches rx_encap
	none rx_batches rx_hook
	referred
}

t_by_ref_late()
{
	trap 'by_ref off; offload tx-udp-segmentation on' EXIT
	by_ref on
	offload tx-udp-segmentation off
	begin
	usual
	some gso_batches rx_hook
	none rx_batches rx_encap
	referred
}

# tap_starts: a tap on both ends, which shares the bytes of every skb
tap_starts()
{
	local ns
	for ns in a b; do
		: > "/run/tap.$ns"
		( exec ip netns exec $ns tcpdump -i any -s 200 -w /dev/null \
			-Z root udp port 4791 2> "/run/tap.$ns" ) &
		TAPS+=($!)
		wait_for 10 grep -q 'listening on' "/run/tap.$ns" ||
			fail "tcpdump: $(cat "/run/tap.$ns")"
	done
}

t_tap()
{
	local ns
	TAPS=()
	command -v tcpdump > /dev/null || skip 'no tcpdump'
	tap_starts
	begin
	usual 6
	some gso_batches rx_batches
	kill "${TAPS[@]}"
	wait "${TAPS[@]}" 2> /dev/null
	for ns in a b; do
		grep -q '^[1-9][0-9]* packets received by filter' "/run/tap.$ns" ||
			fail "the tap in $ns saw nothing: $(cat "/run/tap.$ns")"
	done
}

# The same addresses, but each end's peer is a port of a bridge in between.
bridged()
{
	rig_down > /dev/null 2>&1
	dep_load bridge || fail 'no bridge'
	setup_ns a b br
	ip -n br link add br0 type bridge || fail 'cannot make a bridge'
	ip -n br link set br0 mtu "$MTU" up
	ip -n a link add $IFA address $MACA type veth peer name pa netns br &&
		ip -n b link add $IFB address $MACB type veth peer name pb netns br ||
		fail 'cannot make the veth pairs'
	ip -n br link set pa master br0 mtu "$MTU" up
	ip -n br link set pb master br0 mtu "$MTU" up
	veth_end a $IFA $A4/24 $A6/64 $B4 $B6 $MACB "$MTU"
	veth_end b $IFB $B4/24 $B6/64 $A4 $A6 $MACA "$MTU"
	link_add a $DEVA $IFA || fail "no link $DEVA"
	link_add b $DEVB $IFB || fail "no link $DEVB"
	wait_for 5 gid_index $DEVA $A6 > /dev/null || fail "no GID for $A6"
	wait_for 5 gid_index $DEVB $B6 > /dev/null || fail "no GID for $B6"
	rig_export
}

t_bridge()
{
	local seen
	bridged
	begin
	usual
	some gso_batches rx_batches rx_hook
	seen=$(tx_packets br pb)
	((seen > 100)) || fail "only $seen packets crossed the bridge"
	# a bridge port that must cut
	ip netns exec br ethtool -K pa tx-udp-segmentation off > /dev/null &&
		ip netns exec br ethtool -K pb tx-udp-segmentation off > /dev/null ||
		fail ethtool
	begin
	usual
	some gso_batches rx_hook
	none rx_batches
}

ktap_plan 20
for MTU in 1500 9000; do
	rig_down > /dev/null 2>&1
	rig_up $MTU
	offload gro off
	ktap_run "mtu_$MTU.whole" t_whole
	ktap_run "mtu_$MTU.gso_off" t_gso_off
	ktap_run "mtu_$MTU.hook_off" t_hook_off
	ktap_run "mtu_$MTU.cut_late" t_late
	ktap_run "mtu_$MTU.merged" t_merged
	ktap_run "mtu_$MTU.tap" t_tap
	ktap_run "mtu_$MTU.by_ref" t_by_ref
	[ $MTU = 1500 ] || ktap_run "mtu_$MTU.by_ref_gso_off" t_by_ref_gso_off
	[ $MTU = 1500 ] || ktap_run "mtu_$MTU.by_ref_hook_off" t_by_ref_hook_off
	[ $MTU = 1500 ] || ktap_run "mtu_$MTU.by_ref_cut_late" t_by_ref_late
	[ $MTU = 9000 ] || ktap_run "mtu_$MTU.merged_hook_off" t_merged_hook_off
	[ $MTU = 9000 ] || ktap_run "mtu_$MTU.gso_refuses" t_gso_refuses
	[ $MTU = 1500 ] || ktap_run "mtu_$MTU.bridge" t_bridge
done
rig_down > /dev/null 2>&1
ktap_finish
