#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Eight threads at once: links, netdevs, names, namespaces, addresses and MTU
# come, go and change, with traffic and with processes that are killed
# (churn.c). ROUNDS (from the environment or the kernel's command line; 1000,
# 200 in a UML guest) is how many turns each thread has at least. Only hangs,
# splats and leftovers are mistakes.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
# shellcheck source=selftests/lib/traffic.sh
. "$HERE/lib/traffic.sh"
# shellcheck source=selftests/lifecycle/lib.sh
. "$HERE/lifecycle/lib.sh"

ROUNDS=${ROUNDS:-$(tr ' ' '\n' < /proc/cmdline | sed -n 's/^ROUNDS=//p')}
# A sanitizer kernel takes longer for each.
[ -z "${UML_BUILD:-}" ] || ROUNDS=${ROUNDS:-200}
ROUNDS=${ROUNDS:-1000}

# stacks: of each process, and of kernel threads that wait for something.
stacks()
{
	local t
	for t in /proc/[0-9]*/task/[0-9]*; do
		[ -s "/proc/${t#*/task/}/cmdline" ] ||
			grep -qs '^State:.D' "$t/status" || continue
		note "${t#/proc/} $(cat "$t/comm"):"
		sed 's/^/#   /' "$t/stack"
	done 2> /dev/null
}

t_stress()
{
	local start=$SECONDS rc=0 took
	rig_up 9000
	# the limit is churn's: on a busy host 10 s are nothing
	echo 300 > /proc/sys/net/core/netdev_unregister_timeout_secs
	"$BUILD/lifecycle/churn" "$ROUNDS" "$BUILD" || rc=$?
	if ((rc == 3)); then
		stacks | head -n 1000
		# not every kernel has it
		echo w 2> /dev/null > /proc/sysrq-trigger
		fail "a thread hangs"
	fi
	((rc == 0)) || fail "churn ended with $rc"
	took=$((SECONDS - start))
	note "lifecycle: $ROUNDS rounds of stress in $took s," \
		"$((ROUNDS * 60 / (took + 1))) a minute"
}

splats()
{
	note "lifecycle: $(dmesg_bad | wc -l) splats"
	! dmesg_bad | sed 's/^/# /' | grep .
}

ktap_plan 4
ktap_run stress t_stress
ktap_run nothing_is_left left_nothing
ktap_run no_splats splats
ktap_run no_leaks leaks
ktap_finish
