# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Sourced by the tests of networks/: data between two ends, wherever they are.

XCHG_LOG=$(mktemp)
XCHG_OPS=$(mktemp)

# xchg NSA DEVA ADDRA NSB DEVB ADDRB [CASE]: operations of every kind between
# the two GIDs, bytes compared; an empty namespace is this one. Status 0 if all
# went well. The processes live in the namespaces.
xchg()
{
	local family=4 rc=0 case=${7:-rc_v4_mtu_1024}
	[[ $3 != *:* ]] || family=6
	VT_NS_A=${1:+/run/netns/$1} VT_DEV_A=$2 VT_NS_B=${4:+/run/netns/$4} \
		VT_DEV_B=$5 VT_ADDR_A4=$3 VT_ADDR_A6=$3 VT_ADDR_B4=$6 \
		VT_ADDR_B6=$6 VT_FAMILY=$family VT_SECONDS=0 VT_MAX_LEN=30000 \
		timeout 60 "$BUILD/integrity/random" "$case" > "$XCHG_LOG" 2>&1
	grep -q '^ok 1' "$XCHG_LOG" || rc=1
	((rc)) || cat "$XCHG_LOG" >> "$XCHG_OPS"
	return $rc
}

# works ARGUMENTS-OF-XCHG...
works()
{
	local dev
	xchg "$@" && return 0
	sed 's/^/# /' "$XCHG_LOG"
	for dev in "$2" "$5"; do
		note_counters "$dev"
	done
	fail "no data: $*"
}

# gids DEV ADDRESS...: wait for them.
gids()
{
	local dev=$1 addr
	shift
	for addr; do
		wait_for 10 gid_index "$dev" "$addr" > /dev/null ||
			fail "$dev has no GID for $addr"
	done
}

# summary: how many operations were compared in all.
summary()
{
	awk '/^# [0-9]+ batches/ {
		sub(/.*:/, "")
		for (i = 2; i <= NF; i += 2)
			n += $i
	} END { print "# networks: " n + 0 " operations compared" }' "$XCHG_OPS"
}

# net_up: va and vb of namespaces a and b, without links.
net_up()
{
	rig_down > /dev/null 2>&1
	rig_two_ns "${1:-1500}"
}

# net_links [DEVICE-A DEVICE-B]: soft0 and soft1 over va and vb, or others.
net_links()
{
	link_add a "$DEVA" "${1:-$IFA}" || fail "no link on ${1:-$IFA}"
	link_add b "$DEVB" "${2:-$IFB}" || fail "no link on ${2:-$IFB}"
}
