#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Guest side of the selftests: runs the named tests one after the other on this
# machine (root; a throw-away VM: it deletes every link and namespace) and
# prints nested TAP. selftests/run-vm-tests.sh starts it in a VM.
#
#   run.sh TEST...           names of selftests/tests.list
#   DRIVER=rxe RIG=1ns run.sh TEST...   the same test on in-tree rxe
#   KTAP_PATTERN=text        only the subtests whose name contains text
#
# A test is TEST.sh, or a C program build/selftests/TEST that gets the standard
# rig of lib/net.sh. After each test the kernel log is scanned; what it left
# behind is removed; the module must still be loadable for the next one.
set -u

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TREE=$(dirname "$HERE")
export TREE HERE
DRIVER=${DRIVER:-rdma_soft}
if [ "$DRIVER" = rxe ]; then
	RIG=${RIG:-1ns}
fi
RIG=${RIG:-2ns}
export DRIVER RIG

# shellcheck source=selftests/lib/ktap.sh
. "$HERE/lib/ktap.sh"
# shellcheck source=selftests/lib/rdma.sh
. "$HERE/lib/rdma.sh"
# shellcheck source=selftests/lib/net.sh
. "$HERE/lib/net.sh"

# test_field NAME COLUMN: a column of tests.list (2 = seconds, 3 = MTU).
test_field()
{
	awk -v n="$1" -v c="$2" '$1 == n { print $c }' "$HERE/tests.list"
}

# mtu_of NAME: of the standard rig.
mtu_of()
{
	local mtu
	mtu=$(test_field "$1" 3)
	echo "${mtu:-1500}"
}

# The standard rig around a C program.
run_program()
{
	if rig_is "$(mtu_of "$1")"; then
		rig_export
	else
		rig_up "$(mtu_of "$1")"
	fi
	exec "$BUILD/$1" ${KTAP_PATTERN:+"$KTAP_PATTERN"}
}

# C programs in a row share one rig: setting it up takes as long as many tests.
rig_stays()
{
	! [ -f "$HERE/$1.sh" ] && rig_is "$(mtu_of "$1")"
}

run_test()
{
	if [ -f "$HERE/$1.sh" ]; then
		exec bash "$HERE/$1.sh"
	elif [ -x "$BUILD/$1" ]; then
		run_program "$1"
	fi
	note "no $1.sh and no $BUILD/$1: run 'make selftests' on the host first"
	exit 1
}

# stop_leftovers PGID: no process of a finished test may live on.
stop_leftovers()
{
	kill -KILL -- "-$1" 2> /dev/null
	return 0
}

# where_it_stands: what each process waits for, for tests that do not end.
where_it_stands()
{
	local p
	ps -eo pid,ppid,pgid,stat,wchan:24,args | grep -v '\]$' | sed 's/^/# /'
	for p in /proc/[0-9]*; do
		grep -qs '^State:.[DZT]' "$p/status" || continue
		note "stack of ${p#/proc/}, $(tr '\0' ' ' < "$p/cmdline"):"
		sed 's/^/#   /' "$p/stack"
	done 2> /dev/null
}

# watch_over NAME SECONDS: what is done outside of a test's own limit, loading and
# cleaning up, may hang too. Then the machine is ended, which the host boots again
# for the rest.
watch_over()
{
	pause "$2"
	note "$1: no end of the test and its cleaning up after $2 s; processes:"
	where_it_stands
	dmesg --color=never | tail -n 60 | sed 's/^/# log: /'
	pause 1
	echo b > /proc/sysrq-trigger || "${UML_BUILD:-/sbin}/poweroff"
}

# One test with its time limit in a process group of its own.
run_limited()
{
	local name=$1 log=$2 limit pid rc end
	limit=$(test_field "$name" 2)
	end=$((SECONDS + ${limit:-120}))
	set -m
	( run_test "$name" ) > "$log" 2>&1 &
	pid=$!
	set +m
	until proc_gone "$pid"; do
		if ((SECONDS > end)); then
			{
				note "no end after ${limit:-120} s; processes:"
				where_it_stands
			} >> "$log"
			stop_leftovers "$pid"
			wait "$pid" 2> /dev/null
			stop_leftovers "$pid"
			return 124
		fi
		pause 0.1
	done
	wait "$pid"
	rc=$?
	stop_leftovers "$pid"
	return $rc
}

# plan_ok LOG: the plan line is there, not 0, and equals the result lines.
plan_ok()
{
	local planned results
	planned=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$1" | head -n 1)
	results=$(grep -cE '^(not )?ok [0-9]+ ' "$1")
	[ -n "$planned" ] && ((planned > 0 && planned == results))
}

# follow LOG PID: the output as subtests, live, until PID ends.
follow()
{
	tail -n +1 --pid="$2" -s 0.2 -f "$1" 2> /dev/null | sed -u 's/^/    /'
}

one_test()
{
	local name=$1 number=$2 log start rc watch why=
	log=$(mktemp)
	start=$SECONDS
	echo "# begin $name"
	watch_over "$name" $(($(test_field "$name" 2) + 150)) &
	watch=$!
	rig_stays "$name" || rig_down > /dev/null 2>&1
	if ! driver_load; then
		why="module $(driver_module) does not load"
	fi
	dmesg -C
	echo "selftest: $name" > /dev/kmsg
	if [ -z "$why" ]; then
		run_limited "$name" "$log" &
		follow "$log" $!
		wait $!
		rc=$?
		((rc == 0)) || why="exit status $rc"
		plan_ok "$log" || why="plan and results differ"
		! grep -q '^not ok' "$log" || why="failed subtests"
	fi
	if [ -n "$why" ] || [ -f "$HERE/$name.sh" ]; then
		rig_down > /dev/null 2>&1 || why="${why:+$why, }cannot clean up"
	fi
	if dmesg_bad | sed 's/^/    # kernel: /' | grep . ; then
		why="${why:+$why, }kernel log"
		dmesg --color=never | tail -n 60 | sed 's/^/    # log: /'
	fi
	[ -z "${OUT:-}" ] || dmesg --color=never >> "$OUT/dmesg.tests"
	rm -f "$log"
	pkill -P "$watch" 2> /dev/null
	kill "$watch" 2> /dev/null
	wait "$watch" 2> /dev/null
	if [ -z "$why" ]; then
		echo "ok $number - $name # time=$((SECONDS - start))s"
	else
		echo "not ok $number - $name # $why, time=$((SECONDS - start))s"
		return 1
	fi
}

main()
{
	local name number=0 bad=0
	if (($# == 0)); then
		sed -n '2,/^set -u/s/^# \{0,1\}//p' "$0"
		exit 2
	fi
	ulimit -l unlimited
	echo "TAP version 13"
	echo "1..$#"
	for name; do
		number=$((number + 1))
		one_test "$name" "$number" || bad=$((bad + 1))
	done
	rig_down > /dev/null 2>&1
	((bad == 0))
}

main "$@"; exit
