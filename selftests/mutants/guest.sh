#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Guest side of run.sh: one C program against many modules, in one UML guest.
# The namespaces and the veth pair stay, module and links are new each time: that
# is most of the work. $PROG is the program, $LIST a file with a line for each
# module: NAME FILE SUBTEST[,SUBTEST...]. Prints "# mutant NAME", then what the
# program says, then "# end NAME". Stops when a module cannot be taken out.
set -u
HERE=$(cd "$(dirname "$0")/.." && pwd)
TREE=$(dirname "$HERE")
export HERE TREE TMPDIR=/run/tmp DRIVER=rdma_soft RIG=2ns
mkdir -p $TMPDIR
# shellcheck source=selftests/lib/all.sh
. "$HERE/lib/all.sh"

# Seconds for the program; its tests have limits of their own, 60 s each.
LIMIT=150

links_down()
{
	link_del "$DEVA" && link_del "$DEVB" && driver_unload
}

mtu=$(awk -v n="$PROG" '$1 == n { print $3 }' "$HERE/tests.list")
ulimit -l unlimited
rig_two_ns "$mtu"
rig_export
while read -r name MODULE subtests; do
	echo "# mutant $name"
	if driver_load && (rig_links 10); then
		echo "# begin $PROG"
		timeout -k 5 $LIMIT "$BUILD/$PROG" "$subtests" < /dev/null
		echo "# end $name"
	fi
	links_down || exit 1
done < "$LIST"
