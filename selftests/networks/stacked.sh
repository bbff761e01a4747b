#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Netdevs on netdevs: VLAN, bond, bridge, macvlan, ipvlan, VRF, tun, wireguard.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
# shellcheck source=selftests/lib/traffic.sh
. "$HERE/lib/traffic.sh"
# shellcheck source=selftests/networks/lib.sh
. "$HERE/networks/lib.sh"

tx_of()
{
	ip netns exec "$1" cat "/sys/class/net/$2/statistics/tx_packets"
}

t_vlan_on_link()
{
	local tx
	net_up
	net_links
	ip -n a link add link $IFA name $IFA.5 type vlan id 5
	ip -n b link add link $IFB name $IFB.5 type vlan id 5
	ip -n a addr add 10.9.5.1/24 dev $IFA.5
	ip -n b addr add 10.9.5.2/24 dev $IFB.5
	ip -n a addr add fd05::1/64 dev $IFA.5 nodad
	ip -n b addr add fd05::2/64 dev $IFB.5 nodad
	ip -n a link set $IFA.5 up
	ip -n b link set $IFB.5 up
	gids $DEVA 10.9.5.1 fd05::1
	gids $DEVB 10.9.5.2 fd05::2
	tx=$(tx_of a $IFA.5)
	works a $DEVA 10.9.5.1 b $DEVB 10.9.5.2
	works a $DEVA fd05::1 b $DEVB fd05::2
	assert_grew "tx_packets of $IFA.5" "$tx" "$(tx_of a $IFA.5)" 50
	works a $DEVA $A4 b $DEVB $B4
	run_both cm_listening 7174 rping -s -a 10.9.5.2 -V -C 5 -- \
		rping -c -a 10.9.5.2 -V -C 5
}

t_vlan_under_link()
{
	net_up
	ip -n a link add link $IFA name $IFA.5 type vlan id 5
	ip -n a addr add 10.9.5.1/24 dev $IFA.5
	ip -n a link set $IFA.5 up
	dmesg -C
	link_add a $DEVA $IFA.5 2> /dev/null &&
		fail "a link over a VLAN has no GID, but was made"
	dmesg | grep -q "$IFA.5: no link over it" || fail "refused without a reason"
}

# bonded MODE: two pairs between bond0 of a and bond0 of b.
bonded()
{
	local i ns
	rig_down > /dev/null 2>&1
	setup_ns a b
	modprobe bonding max_bonds=0
	for ns in a b; do
		ip -n $ns link add bond0 type bond mode "$1" miimon 50 \
			|| fail "no bond of mode $1"
	done
	ip -n a link set bond0 address $MACA
	ip -n b link set bond0 address $MACB
	for i in 0 1; do
		ip -n a link add sa$i type veth peer name sb$i netns b
		ip -n a link set sa$i master bond0
		ip -n b link set sb$i master bond0
	done
	veth_end a bond0 $A4/24 $A6/64 $B4 $B6 $MACB 1500
	veth_end b bond0 $B4/24 $B6/64 $A4 $A6 $MACA 1500
	for i in 0 1; do
		ip -n a link set sa$i up
		ip -n b link set sb$i up
	done
	net_links bond0 bond0
	gids $DEVA $A4 $A6
	gids $DEVB $B4 $B6
	wait_for 20 reachable || fail "bond of mode $1 does not carry packets"
}

reachable()
{
	in_a ping -c 1 -W 1 $B4 > /dev/null
}

# A slave fails under traffic and comes back, then the other one.
t_bond()
{
	local i
	bonded "$1"
	works a $DEVA $A4 b $DEVB $B4
	rig_export
	export TRAFFIC_TIMEOUT=18
	traffic_start 200
	traffic_moving
	for i in 0 1; do
		ip -n a link set sa$i down
		pause 0.5
		traffic_goes_on 15 "in mode $1 without sa$i"
		ip -n a link set sa$i up
		pause 0.5
		traffic_goes_on 20 "in mode $1 with sa$i again"
		# mode 4 takes its time to use it
		wait_for 20 slave_is_up sa$i || fail "sa$i stays down"
	done
	traffic_stop
}

slave_is_up()
{
	case $(ip -n a -d link show "$1") in
	*'mii_status UP'*) ;;
	*) return 1 ;;
	esac
	ip -n a -d link show bond0 | grep -q 'mode 802.3ad' || return 0
	# both ends collect and distribute: bits 4 and 5
	local s
	s=$(ip netns exec a cat "/sys/class/net/$1/bonding_slave/ad_actor_oper_port_state")
	((s & 0x30)) && ((s & 0x20))
}

t_bridge()
{
	net_up
	ip -n a addr flush dev $IFA
	ip -n a link add br0 type bridge
	ip -n a link set br0 address $MACA
	ip -n a link set $IFA master br0
	ip -n a link set $IFA address 02:09:00:00:00:1a
	veth_end a br0 $A4/24 $A6/64 $B4 $B6 $MACB 1500
	net_links br0 $IFB
	gids $DEVA $A4 $A6
	gids $DEVB $B4 $B6
	wait_for 10 reachable || fail "the bridge does not forward"
	works a $DEVA $A4 b $DEVB $B4
	works a $DEVA $A6 b $DEVB $B6
	works a $DEVA $A4 b $DEVB $B4 ud_v4
}

# child KIND-AND-MODE...: of va, in namespace c.
child()
{
	setup_ns c
	ip -n a link add link $IFA name kid netns c type "$@" ||
		fail "no child of type $*"
	ip -n c addr add 10.9.0.11/24 dev kid
	ip -n c addr add fd09::11/64 dev kid nodad
	ip -n c link set kid up
	# nobody answers ARP for a child that routes
	case $* in
	*' l3'*)
		ip -n b neigh replace 10.9.0.11 lladdr $MACA dev $IFB nud permanent
		ip -n b neigh replace fd09::11 lladdr $MACA dev $IFB nud permanent ;;
	esac
	wait_for 10 kid_reaches || fail "the child does not reach $B4"
}

kid_reaches()
{
	ip netns exec c ping -c 1 -W 1 $B4 > /dev/null &&
		ip netns exec c ping -c 1 -W 1 $B6 > /dev/null
}

# The layout of containers: link on the parent, address and process in c.
t_child_link_on_parent()
{
	net_up
	child "$@"
	net_links
	gids $DEVA $A4 10.9.0.11 fd09::11
	gids $DEVB $B4 $B6
	works c $DEVA 10.9.0.11 b $DEVB $B4
	works c $DEVA fd09::11 b $DEVB $B6
	works c $DEVA 10.9.0.11 b $DEVB $B4 ud_v4
	works a $DEVA $A4 b $DEVB $B4
	# nobody else may use the address of the container
	setup_ns d
	local ns before
	for ns in a d; do
		before=$(counter $DEVA tx_no_route)
		xchg $ns $DEVA 10.9.0.11 b $DEVB $B4 &&
			fail "a process of $ns uses the GID of c"
		grep -q 'Cannot assign requested address' "$XCHG_LOG" ||
			fail "$(cat "$XCHG_LOG")"
		assert_grew tx_no_route "$before" "$(counter $DEVA tx_no_route)"
	done
	# the container goes, its GIDs too, the link stays
	ip netns del c
	wait_for 10 no_gid $DEVA 10.9.0.11 || fail "the GID of c stays"
	works a $DEVA $A4 b $DEVB $B4
}

no_gid()
{
	! gid_index "$@" > /dev/null
}

t_child_own_link()
{
	net_up
	child "$@"
	link_add c $DEVA kid || fail "no link on the child"
	link_add b $DEVB $IFB || fail "no link on $IFB"
	gids $DEVA 10.9.0.11 fd09::11
	gids $DEVB $B4 $B6
	works c $DEVA 10.9.0.11 b $DEVB $B4
	works c $DEVA fd09::11 b $DEVB $B6
	ip netns del c
	wait_for 10 link_gone $DEVA || fail "$DEVA outlives its namespace"
}

t_vrf()
{
	net_up
	modprobe vrf
	ip -n a link add vrf0 type vrf table 77 || fail "no VRF"
	ip -n a link set vrf0 up
	ip -n a link set $IFA master vrf0
	ip -n a addr replace $A6/64 dev $IFA nodad
	ip -n a neigh replace $B4 lladdr $MACB dev $IFA nud permanent
	ip -n a neigh replace $B6 lladdr $MACB dev $IFA nud permanent
	net_links
	gids $DEVA $A4 $A6
	gids $DEVB $B4 $B6
	works a $DEVA $A4 b $DEVB $B4
	works a $DEVA $A6 b $DEVB $B6
	works a $DEVA $A4 b $DEVB $B4 ud_v4
}

cm_refused()
{
	in_a timeout 20 rping -c -a "$1" -C 1 > /run/rping.log 2>&1 &&
		note "rdma_cm works on $2 in this kernel"
	return 0
}

# tunnel_works NETDEV NET4 NET6 KIND: both ends of it get addresses and a link
tunnel_works()
{
	local ns
	for ns in a b; do
		ip -n $ns link set "$1" mtu 1500 up
	done
	ip -n a addr add "$2.1/24" dev "$1"
	ip -n b addr add "$2.2/24" dev "$1"
	ip -n a addr add "$3::1/64" dev "$1" nodad
	ip -n b addr add "$3::2/64" dev "$1" nodad
	net_links "$1" "$1"
	gids $DEVA "$2.1" "$3::1"
	gids $DEVB "$2.2" "$3::2"
	works a $DEVA "$2.1" b $DEVB "$2.2"
	works a $DEVA "$3::1" b $DEVB "$3::2"
	cm_refused "$2.2" "$4"
}

t_tun()
{
	local pid
	rig_down > /dev/null 2>&1
	setup_ns a b
	modprobe tun
	"$BUILD/networks/tunpair" /run/netns/a tun0 /run/netns/b tun0 &
	pid=$!
	wait_for 10 ip -n b link show tun0 > /dev/null 2>&1 || fail "no tun0"
	tunnel_works tun0 10.9.7 fd07 tun
	kill $pid
	wait_for 10 link_gone $DEVA || fail "$DEVA outlives tun0"
}

wg_end()
{
	local key=/run/wg.$1
	(umask 077; wg genkey > "$key")
	ip -n "$1" link add wg0 type wireguard || fail "no wireguard"
	ip netns exec "$1" wg set wg0 listen-port 5555 private-key "$key"
}

t_wireguard()
{
	net_up 9000
	modprobe wireguard
	wg_end a
	wg_end b
	ip netns exec a wg set wg0 peer "$(wg pubkey < /run/wg.b)" \
		allowed-ips 10.9.8.0/24,fd08::/64 endpoint $B4:5555
	ip netns exec b wg set wg0 peer "$(wg pubkey < /run/wg.a)" \
		allowed-ips 10.9.8.0/24,fd08::/64 endpoint $A4:5555
	tunnel_works wg0 10.9.8 fd08 wireguard
}

ktap_plan 15
ktap_run vlan_on_the_link t_vlan_on_link
ktap_run vlan_under_the_link_is_refused t_vlan_under_link
ktap_run bond_mode_1_slave_fails t_bond active-backup
ktap_run bond_mode_2_slave_fails t_bond balance-xor
ktap_run bond_mode_4_slave_fails t_bond 802.3ad
ktap_run bridge t_bridge
ktap_run macvlan_child_link_on_parent t_child_link_on_parent macvlan mode bridge
ktap_run macvlan_child_own_link t_child_own_link macvlan mode bridge
ktap_run ipvlan_l2_child_link_on_parent t_child_link_on_parent ipvlan mode l2
ktap_run ipvlan_l2_child_own_link t_child_own_link ipvlan mode l2
ktap_run ipvlan_l3_child_own_link t_child_own_link ipvlan mode l3
ktap_run ipvlan_l3s_child_own_link t_child_own_link ipvlan mode l3s
ktap_run vrf t_vrf
ktap_run tun t_tun
ktap_run wireguard t_wireguard
summary
ktap_finish
