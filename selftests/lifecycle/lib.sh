# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Sourced by the tests of lifecycle/.

WORST_FILE=/run/lifecycle-worst
STEPS_FILE=/run/lifecycle-steps
: > $WORST_FILE
: > $STEPS_FILE

# step NAME COMMAND...: below 1 s of guest time, noted.
step()
{
	local name=$1
	shift
	timed 1000 "$@"
	echo "$LAST_MS $name" >> $WORST_FILE
	echo >> $STEPS_FILE
}

# objects_start [PAIRS]: every kind of object, in use.
objects_start()
{
	OBJECTS_OUT=$(mktemp)
	"$BUILD/lifecycle/objects" "${1:-4}" > "$OBJECTS_OUT" 2>&1 &
	OBJECTS_PID=$!
	wait_for 30 grep -q ready "$OBJECTS_OUT" ||
		fail "objects: $(cat "$OBJECTS_OUT")"
}

# objects_end: the process noticed by itself that its device went.
objects_end()
{
	wait_for 15 proc_gone "$OBJECTS_PID" ||
		fail "the process hangs: $(cat /proc/$OBJECTS_PID/stack)"
	wait "$OBJECTS_PID" || fail "objects: $? $(cat "$OBJECTS_OUT")"
	tail -n 1 "$OBJECTS_OUT" | sed 's/^/# /'
	grep -q 'fatal=[1-9]' "$OBJECTS_OUT" || fail "no DEVICE_FATAL"
	grep -q 'flushed=[1-9]' "$OBJECTS_OUT" || fail "no flush completions"
	grep -q 'woken=1' "$OBJECTS_OUT" || fail "a blocked reader sleeps on"
}

no_objects()
{
	! rdma resource show qp 2> /dev/null | grep -q 'comm objects'
}

objects_kill()
{
	kill -9 "$OBJECTS_PID"
	wait "$OBJECTS_PID" 2> /dev/null
	wait_for 5 no_objects || fail "left: $(rdma resource show qp)"
}

both_gone()
{
	link_gone "$DEVA" && link_gone "$DEVB"
}

# left_nothing: the module can go, and no socket of it is left.
left_nothing()
{
	driver_load || fail "the module does not load"
	rig_down > /dev/null 2>&1
	wait_for 10 both_gone || fail "links: $(links_all)"
	ss -lunH sport = :4791 | grep . && fail "a socket is left"
	wait_for 5 unused || fail "module in use: $(grep ^rdma_soft /proc/modules)"
	timed 1000 driver_unload
	driver_load || fail "the module does not load again"
}

unused()
{
	[ "$(awk '$1 == "rdma_soft" { print $3 }' /proc/modules)" = 0 ]
}

# leaks: under a kernel with kmemleak.
leaks()
{
	local k=/sys/kernel/debug/kmemleak
	[ -w $k ] || return 0
	for _ in 1 2; do
		sleep 6
		echo scan > $k
	done
	note "lifecycle: $(grep -c '^unreferenced object' $k) leaks"
	[ ! -s $k ] || { head -n 40 $k; fail "leaked memory"; }
}
