#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What stands between the wire and the driver still stands there: conntrack, nft,
# IPsec, taps. And the GID that is made of the MAC address.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
# shellcheck source=selftests/networks/lib.sh
. "$HERE/networks/lib.sh"

up()
{
	net_up
	net_links
	gids $DEVA $A4 $A6
	gids $DEVB $B4 $B6
}

nft_counter()
{
	in_b nft list counter inet t "$1" | sed -n 's/.*packets \([0-9]*\) .*/\1/p'
}

# Each direction of RoCEv2 has a source port of its own and goes to port 4791, so
# that conntrack sees two connections without a reply: never "established", whoever
# sends. Known, after the first packet, they must be.
t_confirmed()
{
	up
	in_b nft -f - <<-NFT || fail "no nft"
	table inet t {
		counter fresh { }
		counter known { }
		chain in {
			type filter hook input priority 0; policy drop;
			meta l4proto ipv6-icmp accept
			ct status confirmed counter name known accept
			udp dport 4791 ct state new counter name fresh accept
		}
	}
	NFT
	works a $DEVA "$1" b $DEVB "$2"
	note "first of a connection: $(nft_counter fresh), of a known one:" \
		"$(nft_counter known)"
	(($(nft_counter known) > 3 * $(nft_counter fresh))) ||
		fail "connections stay unconfirmed"
	(($(nft_counter known) > 20)) || fail "no connection is known"
}

# How many packets of data each state of conntrack accepts, with nothing else let in.
# Pins what RoCEv2's ports mean to a stateful filter; UDP port 4791 by a rule works.
t_states()
{
	local state
	up
	in_b nft -f - <<-NFT || fail "no nft"
	table inet t {
		counter new { }
		counter established { }
		counter invalid { }
		counter untracked { }
		chain in {
			type filter hook input priority 0; policy drop;
			meta l4proto ipv6-icmp accept
			udp dport 4791 ct state new counter name new accept
			udp dport 4791 ct state established counter name established accept
			udp dport 4791 ct state invalid counter name invalid
			udp dport 4791 ct state untracked counter name untracked accept
		}
	}
	NFT
	works a $DEVA $A4 b $DEVB $B4
	note "new $(nft_counter new), established $(nft_counter established)," \
		"invalid $(nft_counter invalid), untracked $(nft_counter untracked)"
	(($(nft_counter new) > 20)) || fail "no new connection"
	for state in established invalid untracked; do
		(($(nft_counter $state) == 0)) || fail "packets are $state by now"
	done
	# and without tracking
	in_b nft -f - <<-NFT || fail "no notrack"
	table inet r {
		chain pre {
			type filter hook prerouting priority raw;
			udp dport 4791 notrack
		}
	}
	NFT
	works a $DEVA $A4 b $DEVB $B4
	(($(nft_counter untracked) > 20)) || fail "notrack does not reach the data"
}

# send_pair FROM-NS SRC DST: a UDP packet from port 4791 to port 4791.
send_pair()
{
	ip netns exec "$1" /usr/bin/python3 - "$2" "$3" <<-'PY'
	import socket, struct, sys
	s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
	s.bind((sys.argv[1], 0))
	s.sendto(struct.pack('>4H', 4791, 4791, 40, 0) + bytes(32), (sys.argv[2], 0))
	PY
}

# Were the ports a pair, "established" would match: the driver, which takes the
# packet before the stack confirms its connection, does that itself.
t_established()
{
	local rx n
	up
	in_b nft -f - <<-NFT || fail "no nft"
	table inet t {
		counter fresh { }
		counter known { }
		chain in {
			type filter hook input priority 0;
			udp sport 4791 ct state new counter name fresh
			udp sport 4791 ct state established counter name known
		}
	}
	NFT
	rx=$(counter $DEVB rx_hook)
	send_pair a $A4 $B4
	send_pair b $B4 $A4
	send_pair a $A4 $B4
	wait_for 5 taken $((rx + 2)) || note_counters $DEVB
	note "new $(nft_counter fresh), established $(nft_counter known)"
	n=$(($(counter $DEVB rx_hook) - rx))
	((n == 2)) || fail "the driver took $n packets of 2"
	(($(nft_counter fresh) == 1 && $(nft_counter known) == 1)) ||
		fail "the answered connection is not established"
}

taken()
{
	(($(counter $DEVB rx_hook) >= $1))
}

t_drop()
{
	local i
	up
	in_b nft -f - <<-NFT || fail "no nft"
	table inet t {
		counter dropped { }
		chain in {
			type filter hook $1 priority 0;
			udp dport 4791 counter name dropped drop
		}
	}
	NFT
	xchg a $DEVA $A4 b $DEVB $B4 && fail "data passes a rule that drops it"
	(($(nft_counter dropped) > 0)) || fail "nothing was dropped"
	in_b nft delete table inet t
	works a $DEVA $A4 b $DEVB $B4
}

t_drop_output()
{
	up
	in_b nft -f - <<-NFT || fail "no nft"
	table inet t {
		counter dropped { }
		chain out {
			type filter hook output priority 0;
			udp dport 4791 counter name dropped drop
		}
	}
	NFT
	xchg a $DEVA $A4 b $DEVB $B4 && fail "data passes a rule that drops it"
	in_b nft delete table inet t
	works a $DEVA $A4 b $DEVB $B4
}

KEY_ENC=0x000102030405060708090a0b0c0d0e0f
KEY_AUTH=0x000102030405060708090a0b0c0d0e0f10111213

# ipsec_policy NS SRC DST DIR
ipsec_policy()
{
	ip -n "$1" xfrm policy add src "$2" dst "$3" proto udp dir "$4" \
		tmpl src "$2" dst "$3" proto esp mode transport level required ||
		fail "no xfrm policy"
}

# ipsec_state SRC DST SPI: the same in both namespaces.
ipsec_state()
{
	local ns
	for ns in a b; do
		ip -n $ns xfrm state add src "$1" dst "$2" proto esp spi "$3" \
			mode transport enc 'cbc(aes)' $KEY_ENC \
			auth 'hmac(sha1)' $KEY_AUTH || fail "no xfrm state"
	done
}

# Who demands IPsec gets no plain packet, hook or not.
t_ipsec()
{
	local a=$1 b=$2 rx
	up
	ipsec_policy b "$a" "$b" in
	rx=$(counter $DEVB rcvd_pkts)
	xchg a $DEVA "$a" b $DEVB "$b" && fail "plain packets pass the policy"
	[ "$(counter $DEVB rcvd_pkts)" = "$rx" ] ||
		fail "plain packets reached the driver"
	in_b cat /proc/net/xfrm_stat | grep -E 'In(NoPols|TmplMismatch|PolBlock)' |
		grep -vq '	0$' || note "$(in_b cat /proc/net/xfrm_stat)"
	# with keys on both sides it works, and nothing is plain
	ipsec_state "$a" "$b" 0x100
	ipsec_state "$b" "$a" 0x200
	ipsec_policy a "$a" "$b" out
	ipsec_policy a "$b" "$a" in
	ipsec_policy b "$b" "$a" out
	( exec ip netns exec b tcpdump -i $IFB -Z root -w /run/ipsec.pcap \
		2> /run/tcpdump.log ) &
	local pid=$!
	wait_for 10 grep -q 'listening on' /run/tcpdump.log
	xchg a $DEVA "$a" b $DEVB "$b" || { kill $pid; works a $DEVA "$a" b $DEVB "$b"; }
	pause 0.5
	kill $pid
	wait $pid
	(($(tcpdump -r /run/ipsec.pcap esp 2> /dev/null | wc -l) > 20)) ||
		fail "no ESP on the wire"
	(($(tcpdump -r /run/ipsec.pcap udp port 4791 2> /dev/null | wc -l) == 0)) ||
		fail "plain packets on the wire"
}

t_tcpdump()
{
	local pids=() end
	up
	for end in "a $IFA" "b $IFB"; do
		# shellcheck disable=SC2086 # namespace and interface
		set -- $end
		( exec ip netns exec "$1" tcpdump -i "$2" -Z root -B 65536 \
			-w "/run/$2.pcap" 2> "/run/$2.log" ) &
		pids+=($!)
		wait_for 10 grep -q 'listening on' "/run/$2.log" || fail "tcpdump"
	done
	works a $DEVA $A4 b $DEVB $B4
	works a $DEVA $A6 b $DEVB $B6
	works a $DEVA $A4 b $DEVB $B4 ud_v4
	pause 0.5
	kill "${pids[@]}"
	wait "${pids[@]}"
	(($(tcpdump -r /run/$IFA.pcap udp port 4791 2> /dev/null | wc -l) > 50)) ||
		fail "tcpdump saw nothing"
}

ll_of()
{
	case $1 in
	a) echo fe80::9:ff:fe00:a ;;
	b) echo fe80::9:ff:fe00:b ;;
	esac
}

# GID 0 is made of the MAC address. With an address to it, it works.
t_gid0()
{
	up
	gids $DEVA "$(ll_of a)"
	gids $DEVB "$(ll_of b)"
	works a $DEVA "$(ll_of a)" b $DEVB "$(ll_of b)"
}

# Without, nobody can answer: the change to RTR says so, at once.
t_gid0_without_address()
{
	local before start
	up
	# as a netdev with stable privacy has it
	ip -n a addr add fe80::7/64 dev $IFA nodad
	ip -n a addr del "$(ll_of a)/64" dev $IFA
	gids $DEVA "$(ll_of a)"
	before=$(counter $DEVA tx_no_route)
	dmesg -C
	start=$(now_ms)
	xchg a $DEVA "$(ll_of a)" b $DEVB "$(ll_of b)" &&
		fail "works without an address"
	note "refused after $(($(now_ms) - start)) ms: $(grep RTR "$XCHG_LOG")"
	grep -q 'A to RTR: Cannot assign requested address' "$XCHG_LOG" ||
		fail "$(cat "$XCHG_LOG")"
	assert_grew tx_no_route "$before" "$(counter $DEVA tx_no_route)"
	dmesg | grep -q "$DEVA.*fe80" || fail "no line in the log: $(dmesg)"
}

ktap_plan 13
ktap_run conntrack_confirmed_v4 t_confirmed $A4 $B4
ktap_run conntrack_confirmed_v6 t_confirmed $A6 $B6
ktap_run conntrack_states_of_rocev2 t_states
ktap_run conntrack_established t_established
ktap_run nft_input_drops t_drop input
ktap_run nft_prerouting_drops t_drop prerouting
ktap_run nft_output_drops t_drop_output
ktap_run ipsec_policy_v4 t_ipsec $A4 $B4
ktap_run ipsec_policy_v6 t_ipsec $A6 $B6
ktap_run tcpdump_runs t_tcpdump
ktap_run gid_0 t_gid0
ktap_run gid_0_without_address t_gid0_without_address
ktap_run after_all_of_it up
summary
ktap_finish
