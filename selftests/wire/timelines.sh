#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# timelines.py against soft0 in namespace a; its peer sends from interface vb of
# namespace b, with addresses that nobody has. KTAP_PATTERN=text: only the
# timelines whose name contains it.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"

P4=10.9.0.70
P6=fd09::70

rig_two_ns 9000
link_add a "$DEVA" "$IFA" || fail "no link on $IFA"
for other in $P4 $P6 10.9.0.79 fd09::79; do
	ip_a neigh replace $other lladdr $MACB dev $IFA nud permanent
done
# What crosses the pair is what crosses a wire; but the peer may send packets
# merged into one skb, as they come from a NIC that merges.
in_a ethtool -K $IFA tx-udp-segmentation off gro off tx off > /dev/null &&
	in_b ethtool -K $IFB gro off > /dev/null || fail "ethtool"
wait_for 5 gid_index "$DEVA" $A4 > /dev/null || fail "no GID for $A4"
wait_for 5 gid_index "$DEVA" $A6 > /dev/null || fail "no GID for $A6"
# The device is seen from this namespace too, and its counters only here.
DEVICE_NETNS=a DEVICE_IF=$IFA \
	/usr/bin/python3 "$HERE/wire/timelines.py" "$DEVA" /run/netns/b "$IFB" \
	$MACB $MACA "$P4,$A4;$P6,$A6" ${KTAP_PATTERN:+"$KTAP_PATTERN"} \
	2> /run/timelines.err | awk '
	/^(not )?ok - / { n++; sub(/ok -/, "ok " n " -") }
	/^timelines=/ { $0 = "# " $0 }
	{ print; fflush() }
	END { print "1.." n + 0 }'
rc=${PIPESTATUS[0]}
sed 's/^/# /' /run/timelines.err
((rc == 0)) || note_counters "$DEVA"
exit "$rc"
