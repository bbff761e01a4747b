#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# scan-dmesg.sh FILE: exit 1 and print the lines (as TAP comments) when a
# kernel log shows a warning, bug, sanitizer or lockdep report, a leak or a
# hung task.
set -u

bad='WARNING:|BUG:|BUG at|kernel BUG|Oops|general protection|UBSAN:|KASAN:|KCSAN:'
bad+='|INFO: possible|possible circular locking|possible recursive locking'
bad+='|suspicious RCU usage|Invalid wait context|bad unlock balance'
bad+='|inconsistent lock state|lock held when returning|possible irq lock inversion'
bad+='|held lock freed|INFO: task .* blocked|rcu_.*detected stalls|soft lockup'
bad+='|kmemleak: [0-9]+ new suspected|ODEBUG:|refcount_t:|unregister_netdevice: waiting'
bad+='|Call Trace:|scheduling while atomic|sleeping function called|double free'
bad+='|list_(add|del) corruption|page allocation failure|leaked reference|Kernel panic'
if [ ! -s "${1:?usage: scan-dmesg.sh FILE}" ]; then
	echo "# $1: no kernel log, so nothing can be said about it"
	exit 1
fi
if grep -nE -- "$bad" "$1" | head -n 20 | sed 's/^/# dmesg:/' | grep .; then
	first=$(grep -nEm1 -- "$bad" "$1" | cut -d: -f1)
	sed -n "$((first > 3 ? first - 3 : 1)),$((first + 40))p" "$1" | sed 's/^/# | /'
	exit 1
fi
exit 0
