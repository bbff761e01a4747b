# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Topologies. Every rig joins two interfaces by a veth pair:
#
#   two namespaces (RIG=2ns, rdma_soft)        one namespace (RIG=1ns)
#   netns a            netns b                 initial netns
#   va 10.9.0.1/24 --- vb 10.9.0.2/24          va 10.9.0.1/32 --- vb 10.9.0.2/32
#      fd09::1/64         fd09::2/64              fd09::1/128        fd09::2/128
#   DEVA on va         DEVB on vb              policy rules send the packets over
#                                              the pair, not over lo (rxe of 6.1
#                                              knows only the initial netns)
#
# Addresses are static, neighbours permanent: nothing waits for DAD or ARP.

RIG=${RIG:-2ns}
RIG_FILE=/run/selftests-rig
IFA=va
IFB=vb
A4=10.9.0.1
B4=10.9.0.2
A6=fd09::1
B6=fd09::2
MACA=02:09:00:00:00:0a
MACB=02:09:00:00:00:0b

# in_a CMD..., in_b CMD...: run in the namespace of that end; exec_b replaces
# the shell, so that its pid becomes the command's. ip_a and ip_b are quicker.
if [ "$RIG" = 2ns ]; then
	NSA=a
	NSB=b
	ip_a() { ip -n a "$@"; }
	ip_b() { ip -n b "$@"; }
	in_a() { ip netns exec a "$@"; }
	in_b() { ip netns exec b "$@"; }
	exec_b() { exec ip netns exec b "$@"; }
else
	NSA=
	NSB=
	ip_a() { ip "$@"; }
	ip_b() { ip "$@"; }
	in_a() { "$@"; }
	in_b() { "$@"; }
	exec_b() { exec "$@"; }
fi

# setup_ns NAME...: namespaces with lo up and no DAD delay.
setup_ns()
{
	local ns
	for ns; do
		ip netns add "$ns" || fail "cannot create netns $ns"
		ip netns exec "$ns" bash -c 'ip link set lo up
			cd /proc/sys/net/ipv6/conf
			echo 0 > all/accept_dad
			echo 0 > default/accept_dad
			echo 1 > all/keep_addr_on_down'
	done
}

# veth_end NS IF ADDR4 ADDR6 PEER4 PEER6 PEERMAC MTU
veth_end()
{
	local ip=(ip)
	[ -z "$1" ] || ip=(ip -n "$1")
	"${ip[@]}" -batch - <<-BATCH || fail "cannot set up $2"
		link set $2 mtu $8 up
		addr add $3 dev $2
		addr add $4 dev $2 nodad
		neigh replace $5 lladdr $7 dev $2 nud permanent
		neigh replace $6 lladdr $7 dev $2 nud permanent
	BATCH
}

rig_two_ns()
{
	local mtu=$1
	setup_ns a b
	ip -n a link add "$IFA" address $MACA type veth peer name "$IFB" \
		address $MACB netns b || fail 'cannot create the veth pair'
	veth_end a "$IFA" $A4/24 $A6/64 $B4 $B6 $MACB "$mtu"
	veth_end b "$IFB" $B4/24 $B6/64 $A4 $A6 $MACA "$mtu"
	# UC and UD have no retransmission: the pair itself must not drop
	echo 20000 > /proc/sys/net/core/netdev_max_backlog
}

# policy FAMILY A B: traffic between A and B takes the pair in both directions.
policy()
{
	local f=$1 a=$2 b=$3
	ip "$f" rule add pref 32000 lookup local
	ip "$f" rule del pref 0 lookup local
	ip "$f" rule add pref 5 iif "$IFA" lookup local
	ip "$f" rule add pref 6 iif "$IFB" lookup local
	ip "$f" rule add pref 10 from "$a" to "$b" lookup 100
	ip "$f" rule add pref 11 from "$b" to "$a" lookup 101
	ip "$f" route add "$b" dev "$IFA" src "$a" table 100
	ip "$f" route add "$a" dev "$IFB" src "$b" table 101
}

rig_one_ns()
{
	local mtu=$1 i
	for i in all default; do
		sysctl -qw net.ipv4.conf.$i.rp_filter=0 \
			net.ipv4.conf.$i.accept_local=1 \
			net.ipv6.conf.$i.accept_dad=0
	done
	sysctl -qw net.core.netdev_max_backlog=20000
	ip link set lo up
	ip link add "$IFA" address $MACA type veth peer name "$IFB" \
		address $MACB || fail 'cannot create the veth pair'
	veth_end '' "$IFA" $A4/32 $A6/128 $B4 $B6 $MACB "$mtu"
	veth_end '' "$IFB" $B4/32 $B6/128 $A4 $A6 $MACA "$mtu"
	policy -4 $A4 $B4
	policy -6 $A6 $B6
}

# rig_is MTU: is the whole rig there, with this MTU?
rig_is()
{
	[ "$(cat "$RIG_FILE" 2> /dev/null)" = "$1" ] &&
		link_exists "$DEVA" && link_exists "$DEVB"
}

# rig_links SECONDS: both links on the rig's netdevs, each GID there in that time.
rig_links()
{
	link_add "$NSA" "$DEVA" "$IFA" || fail "no link $DEVA on $IFA"
	link_add "$NSB" "$DEVB" "$IFB" || fail "no link $DEVB on $IFB"
	wait_for "$1" gid_index "$DEVA" $A4 > /dev/null || fail "no GID for $A4"
	wait_for "$1" gid_index "$DEVA" $A6 > /dev/null || fail "no GID for $A6"
	wait_for "$1" gid_index "$DEVB" $B4 > /dev/null || fail "no GID for $B4"
	wait_for "$1" gid_index "$DEVB" $B6 > /dev/null || fail "no GID for $B6"
}

# rig_up [MTU]: the pair with a link at each end.
rig_up()
{
	local mtu=${1:-1500}
	if [ "$RIG" = 2ns ]; then
		rig_two_ns "$mtu"
	else
		rig_one_ns "$mtu"
	fi
	rig_links 5
	echo "$mtu" > "$RIG_FILE"
	rig_export
}

# rig_export: what the C programs need to know.
rig_export()
{
	export VT_DEV_A=$DEVA VT_DEV_B=$DEVB
	export VT_ADDR_A4=$A4 VT_ADDR_A6=$A6 VT_ADDR_B4=$B4 VT_ADDR_B6=$B6
	export VT_IF_A=$IFA VT_IF_B=$IFB
	export VT_NS_A=${NSA:+/run/netns/$NSA} VT_NS_B=${NSB:+/run/netns/$NSB}
}

# netdevs_all: every netdev of this namespace that a test may have made.
netdevs_all()
{
	local kind
	for kind in vlan macvlan ipvlan bond bridge veth dummy; do
		ip -br link show type $kind
	done | sed 's/[@ ].*//'
}

# rig_down: whatever any test left: links, namespaces, interfaces, rules.
rig_down()
{
	local dev ns f
	rm -f "$RIG_FILE"
	for dev in $(links_all); do
		rdma link del "$dev"
	done
	for ns in /run/netns/*; do
		[ ! -e "$ns" ] || ip netns del "${ns##*/}"
	done
	for dev in $(netdevs_all); do
		ip link del "$dev" 2> /dev/null
	done
	[ "$RIG" = 1ns ] || return 0
	for f in -4 -6; do
		ip $f rule show pref 32000 | grep -q local || continue
		ip $f rule add pref 0 lookup local
		for ns in 5 6 10 11 32000; do
			ip $f rule del pref $ns
		done
		ip $f route flush table 100 2> /dev/null
		ip $f route flush table 101 2> /dev/null
	done
	return 0
}

# tx_packets NS IF
tx_packets()
{
	if [ -n "$1" ]; then
		ip netns exec "$1" cat "/sys/class/net/$2/statistics/tx_packets"
	else
		cat "/sys/class/net/$2/statistics/tx_packets"
	fi
}
