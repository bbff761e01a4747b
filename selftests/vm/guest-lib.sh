# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by scripts in the test VM (". $VM_LIB"): load the drivers, build the
# usual topologies, find GIDs, wait for things. A helper that fails says why
# and returns non-zero.
#
#   setup_pair             netns a and b, soft0 in a and soft1 in b:
#
#                            a: va 10.77.0.1/24 fd77::1/64 soft0
#                                 |  (veth)
#                            b: vb 10.77.0.2/24 fd77::2/64 soft1
#
#   setup_one_ns TYPE L0 L1  both ends in the initial netns, for a driver that knows
#                          only that one; policy routing sends packets over the veth:
#
#                            v0 10.88.0.1/32 L0
#                             |  (veth)
#                            v1 10.88.0.2/32 L1
#
#                          With ONE_NS_WIRE=hop a bridge stands between them, in a
#                          netns of its own, mid: m0 is its end of v0's pair, m1 of
#                          v1's.

err()
{
	echo "${0##*/}: $*" >&2
	return 1
}

# wait_for SECONDS COMMAND...: until it succeeds. In instruction mode the clock
# jumps while the guest waits for the host, so seconds are many there.
wait_for()
{
	local factor=1 end
	[ -z "$VM_ICOUNT" ] || factor=1000
	end=$((SECONDS + 1 + $1 * factor))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		read -r -t 0.05 <>/dev/console	# a pause without a process
	done
	return 0
}

in_a() { ip netns exec a "$@"; }
in_b() { ip netns exec b "$@"; }

gone() { [ ! -e "/proc/$1" ]; }

# listening: someone waits for TCP or RDMA connections in this netns.
listening()
{
	ss -tlnH | grep -q . || rdma resource show cm_id | grep -q LISTEN
}

load_core()
{
	modprobe -a ib_uverbs rdma_cm rdma_ucm ib_umad udp_tunnel ip6_udp_tunnel veth ||
		err "cannot load the RDMA core of $(uname -r)"
}

load_rdma_soft()
{
	local deps
	load_core || return
	[ -e "$RDMA_SOFT_KO" ] || { err "no $RDMA_SOFT_KO: run 'make modules'"; return; }
	deps=$(modinfo -F depends "$RDMA_SOFT_KO")
	# shellcheck disable=SC2086  # a list
	[ -z "$deps" ] || modprobe -a ${deps//,/ } || { err "cannot load $deps"; return; }
	modprobe -q crc32-pclmul
	insmod "$RDMA_SOFT_KO" || err "insmod $RDMA_SOFT_KO failed: see dmesg"
}

load_rxe()
{
	load_core || return
	modprobe rdma_rxe || err "cannot load rdma_rxe"
}

# links_gone: remove all RDMA links.
links_gone()
{
	local d
	for d in /sys/class/infiniband/*; do
		[ -e "$d" ] || continue
		rdma link del "${d##*/}" || { err "cannot delete ${d##*/}"; return; }
	done
}

unload_rdma_soft() { links_gone && rmmod rdma_soft; }
unload_rxe() { links_gone && rmmod rdma_rxe; }

port_active()
{
	local s
	read -r s <"/sys/class/infiniband/$1/ports/1/state" && [ "${s#*: }" = ACTIVE ]
}

# gid_of_addr ADDRESS: the address as /sys prints GIDs.
gid_of_addr()
{
	local a=$1 h left right i out=''
	local -a l r w=()
	if [[ $a == *.* ]]; then
		IFS=. read -r -a l <<<"$a"
		printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n' "${l[@]}"
		return
	fi
	left=${a%%::*} right=
	[[ $a == *::* ]] && right=${a#*::}
	IFS=: read -r -a l <<<"$left"
	IFS=: read -r -a r <<<"$right"
	w=(${l[@]+"${l[@]}"})
	for ((i = ${#l[@]} + ${#r[@]}; i < 8; i++)); do w+=(0); done
	w+=(${r[@]+"${r[@]}"})
	for h in "${w[@]}"; do printf -v out '%s:%04x' "$out" "0x$h"; done
	echo "${out#:}"
}

# gid_index DEVICE ADDRESS: index of the RoCEv2 GID with this address.
gid_index()
{
	local p=/sys/class/infiniband/$1/ports/1 want i g t
	want=$(gid_of_addr "$2")
	for ((i = 0; i < 1024; i++)); do
		[ -e "$p/gids/$i" ] || break
		read -r g <"$p/gids/$i"
		[ "$g" = "$want" ] || continue
		read -r t 2>/dev/null <"$p/gid_attrs/types/$i"
		[ "$t" = "RoCE v2" ] && echo "$i" && return
	done
	err "$1 has no RoCE v2 GID for $2"
}

has_gid() { gid_index "$1" "$2"; }

# setup_pair [MTU]: see above. VM_LINK=none leaves the RDMA links out.
setup_pair()
{
	local mtu=${1:-1500} n
	for n in a b; do
		ip netns add $n || return
		# No duplicate address detection: addresses work at once.
		ip netns exec $n "$VM_BUSYBOX" sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0
	done
	ip -b - <<-IP || { err "cannot build the veth pair"; return; }
	link add va mtu $mtu netns a type veth peer name vb mtu $mtu netns b
	IP
	ip -n a -b - <<-IP || { err "cannot set up netns a"; return; }
	link set lo up
	addr add 10.77.0.1/24 dev va
	addr add fd77::1/64 dev va
	link set va up
	IP
	ip -n b -b - <<-IP || { err "cannot set up netns b"; return; }
	link set lo up
	addr add 10.77.0.2/24 dev vb
	addr add fd77::2/64 dev vb
	link set vb up
	IP
	[ "${VM_LINK:-}" = none ] && return
	in_a rdma link add soft0 type rdma_soft netdev va || { err "link soft0 failed"; return; }
	in_b rdma link add soft1 type rdma_soft netdev vb || { err "link soft1 failed"; return; }
	links_ready soft0 10.77.0.1 fd77::1 && links_ready soft1 10.77.0.2 fd77::2
}

# links_ready DEVICE ADDRESS...: wait for the port and its GIDs.
links_ready()
{
	local d=$1 a
	shift
	wait_for 10 port_active "$d" || { err "port of $d is not active"; return; }
	for a; do
		wait_for 10 has_gid "$d" "$a" || { err "$d has no GID for $a"; return; }
	done
}

# wire_veth MTU, wire_hop MTU: v0 and v1, and what joins them
wire_veth()
{
	ip -b - <<-IP
	link add v0 address 02:00:00:00:00:01 mtu $1 type veth peer name v1 address 02:00:00:00:00:02 mtu $1
	IP
}

wire_hop()
{
	modprobe bridge && ip netns add mid && ip -b - <<-IP || return
	link add v0 address 02:00:00:00:00:01 mtu $1 type veth peer name m0 mtu $1 netns mid
	link add v1 address 02:00:00:00:00:02 mtu $1 type veth peer name m1 mtu $1 netns mid
	IP
	ip -n mid -b - <<-IP
	link add br0 mtu $1 type bridge forward_delay 0 mcast_snooping 0
	link set m0 master br0 up
	link set m1 master br0 up
	link set br0 up
	IP
}

# setup_one_ns TYPE LINK0 LINK1 [MTU]
setup_one_ns()
{
	local type=$1 l0=$2 l1=$3 mtu=${4:-1500} i
	if [ ! -e /sys/class/net/v0 ]; then
		for i in all default; do
			"$VM_BUSYBOX" sysctl -qw net.ipv4.conf.$i.rp_filter=0 net.ipv4.conf.$i.accept_local=1 \
				net.ipv6.conf.$i.accept_dad=0
		done
		"wire_${ONE_NS_WIRE:-veth}" "$mtu" || { err "cannot join the one-namespace rig"; return; }
		ip -b - <<-IP || { err "cannot build the one-namespace rig"; return; }
		addr add 10.88.0.1/32 dev v0
		addr add 10.88.0.2/32 dev v1
		link set v0 up
		link set v1 up
		neigh replace 10.88.0.2 lladdr 02:00:00:00:00:02 dev v0 nud permanent
		neigh replace 10.88.0.1 lladdr 02:00:00:00:00:01 dev v1 nud permanent
		route add 10.88.0.2 dev v0 src 10.88.0.1 table 100
		route add 10.88.0.1 dev v1 src 10.88.0.2 table 101
		rule add pref 5 iif v0 lookup local
		rule add pref 6 iif v1 lookup local
		rule add pref 10 from 10.88.0.1 to 10.88.0.2 lookup 100
		rule add pref 11 from 10.88.0.2 to 10.88.0.1 lookup 101
		rule add pref 32000 lookup local
		rule del pref 0
		IP
	fi
	rdma link add "$l0" type "$type" netdev v0 || { err "link $l0 failed"; return; }
	rdma link add "$l1" type "$type" netdev v1 || { err "link $l1 failed"; return; }
	links_ready "$l0" 10.88.0.1 && links_ready "$l1" 10.88.0.2
}

# packets NETDEV [NETNS]: packets sent so far, to show that traffic crossed it.
packets()
{
	ip ${2:+-n "$2"} -s -j link show dev "$1" | sed 's/.*"tx":{"bytes":[0-9]*,"packets":\([0-9]*\).*/\1/'
}
