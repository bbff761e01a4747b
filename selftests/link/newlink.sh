#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Adding and deleting links: kinds of netdevs, names, wrong arguments, many.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"

# self_traffic DEV IF ADDR4 [ADDR6]: two QPs of that device exchange data.
self_traffic()
{
	wait_for 5 gid_index "$1" "$3" > /dev/null || fail "$1 has no GID for $3"
	VT_DEV_A=$1 VT_DEV_B=$1 VT_ADDR_A4=$3 VT_ADDR_B4=$3 VT_NS_A='' \
		VT_NS_B='' "$BUILD/verbs/post" two_qps_of_one_device |
		sed 's/^\(not ok\|ok\|1\.\.\)/# &/' > "$LOG"
	grep -q '^# ok 1' "$LOG" || { cat "$LOG"; fail "no data through $1"; }
}

# on_netdev DEV IF ADDR: add, state, use, delete.
on_netdev()
{
	local guid
	link_add '' "$1" "$2" || fail "link on $2 was refused"
	link_exists "$1" || fail "no device $1"
	rdma link show "$1/1" | grep -q "netdev $2" ||
		fail "wrong netdev: $(rdma link show "$1/1")"
	guid=$(cat "/sys/class/infiniband/$1/node_guid")
	[ "$guid" != 0000:0000:0000:0000 ] || fail "node GUID is zero"
	self_traffic "$1" "$2" "$3"
	link_del "$1" || fail "cannot delete $1"
	link_gone "$1" || fail "$1 is still there"
}

t_veth()
{
	ip link add v0 type veth peer name v1
	ip addr add 10.20.0.1/24 dev v0
	ip link set v0 up
	ip link set v1 up
	on_netdev soft0 v0 10.20.0.1
	ip link del v0
}

t_dummy()
{
	ip link add d0 type dummy
	ip addr add 10.20.1.1/24 dev d0
	ip link set d0 up
	on_netdev soft0 d0 10.20.1.1
	ip link del d0
}

t_lo()
{
	on_netdev soft0 lo 127.0.0.1
}

t_virtio()
{
	local dev
	modprobe virtio_net
	dev=$(for d in /sys/class/net/*; do
		[ "$(readlink "$d/device/driver" 2> /dev/null)" ] &&
			readlink -f "$d/device/driver" | grep -q virtio_net &&
			echo "${d##*/}"
	done | head -n 1)
	[ -n "$dev" ] || skip "no virtio-net card in this VM"
	ip addr add 10.20.9.1/24 dev "$dev"
	ip link set "$dev" up
	on_netdev soft0 "$dev" 10.20.9.1
	ip addr flush dev "$dev"
}

# On top of another netdev: bridge, macvlan, bond.
t_upper()
{
	local kind
	ip link add d0 type dummy
	ip link set d0 up
	for kind in macvlan bridge bond; do
		case $kind in
		macvlan) ip link add link d0 up0 type macvlan ;;
		bridge) ip link add up0 type bridge && ip link set d0 master up0 ;;
		bond)
			ip link set d0 nomaster down
			ip link add up0 type bond && ip link set d0 master up0 ;;
		esac || fail "cannot make a $kind"
		ip link set d0 up
		ip addr add 10.20.2.1/24 dev up0
		ip link set up0 up
		on_netdev soft0 up0 10.20.2.1
		ip link set d0 nomaster 2> /dev/null
		ip link del up0
	done
	ip link del d0
}

t_several()
{
	local i
	for i in 0 1 2 3 4 5 6 7; do
		ip link add "d$i" type dummy
		ip addr add "10.20.3$i.1/24" dev "d$i"
		ip link set "d$i" up
		link_add '' "soft$i" "d$i" || fail "link number $i"
	done
	for i in 0 3 7; do
		self_traffic "soft$i" "d$i" "10.20.3$i.1"
	done
	# the others go on when one is deleted
	link_del soft3 || fail "cannot delete soft3"
	self_traffic soft7 d7 10.20.37.1
	for i in 0 1 2 4 5 6 7; do
		link_del "soft$i" || fail "cannot delete soft$i"
		ip link del "d$i"
	done
	ip link del d3
}

t_duplicate_name()
{
	local out
	ip link add d0 type dummy
	ip link add d1 type dummy
	link_add '' soft0 d0 || fail "cannot add"
	out=$(link_add '' soft0 d1 2>&1) && fail "a second soft0 was added"
	[[ $out == *exists* ]] || fail "the reason is: $out"
	link_exists soft0 || fail "the first soft0 is gone"
	link_add '' soft1 d1 || fail "d1 is no longer usable"
	link_del soft0
	link_del soft1
	ip link del d0
	ip link del d1
}

t_same_netdev()
{
	local out
	ip link add d0 type dummy
	link_add '' soft0 d0 || fail "cannot add"
	out=$(link_add '' soft1 d0 2>&1) && fail "two links on one netdev"
	[[ $out == *exists* ]] || fail "the reason is: $out"
	link_gone soft1 || fail "half a soft1 is there"
	link_exists soft0 || fail "soft0 is gone"
	link_del soft0
	link_add '' soft1 d0 || fail "d0 is no longer usable"
	link_del soft1
	ip link del d0
}

t_bad_arguments()
{
	rdma link add soft0 type "$DRIVER" netdev nosuch 2> /dev/null &&
		fail "unknown netdev"
	rdma link add soft0 type nosuchdriver netdev lo 2> /dev/null &&
		fail "unknown type"
	rdma link del nosuch 2> /dev/null && fail "deleted what is not there"
	[ -z "$(links_all)" ] || fail "left behind: $(links_all)"
}

t_tiny_mtu()
{
	local out
	ip link add d0 mtu 100 type dummy
	ip link set d0 up
	out=$(link_add '' soft0 d0 2>&1) && fail "a link with netdev MTU 100"
	[ -n "$out" ] || fail "refused without a word"
	ip link del d0
}

t_name_kept()
{
	ip link add d0 type dummy
	link_add '' mlx5_77 d0 || fail "cannot add mlx5_77"
	link_exists mlx5_77 || fail "renamed to $(links_all)"
	ibv_devinfo -d mlx5_77 > "$LOG" 2>&1 || fail "$(cat "$LOG")"
	link_del mlx5_77
	ip link del d0
}

t_20_times()
{
	local i start
	ip link add d0 type dummy
	ip addr add 10.20.1.1/24 dev d0
	ip link set d0 up
	for ((i = 0; i < 20; i++)); do
		link_add '' soft0 d0 || fail "add number $i"
		link_del soft0 || fail "delete number $i"
	done
	start=$(now_ms)
	ip link del d0
	(($(now_ms) - start < 5000)) || fail "d0 is held by someone"
}

t_alias()
{
	modinfo -F alias "$MODULE" | grep -qx "rdma-link-$DRIVER" ||
		fail "no alias: $(modinfo -F alias "$MODULE")"
}

# clean COMMAND: what a failed test left must not fail the next one.
clean()
{
	[ -z "$(links_all)$(netdevs_all)" ] || rig_down
	"$@"
}

LOG=$(mktemp)
ktap_plan 13
ktap_run veth clean t_veth
ktap_run dummy clean t_dummy
ktap_run lo clean t_lo
ktap_run virtio_net clean t_virtio
ktap_run macvlan_bridge_bond clean t_upper
ktap_run eight_links clean t_several
ktap_run duplicate_name_is_refused clean t_duplicate_name
ktap_run second_link_on_netdev_is_refused clean t_same_netdev
ktap_run bad_arguments clean t_bad_arguments
ktap_run tiny_mtu_is_refused clean t_tiny_mtu
ktap_run any_name_works clean t_name_kept
ktap_run add_and_delete_20_times clean t_20_times
ktap_run module_alias clean t_alias
ktap_finish
