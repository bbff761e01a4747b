#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Do the runners notice? Runs tests that fail in every way there is (suite
# 'selfcheck' of tests.list) and compares what run-vm-tests.sh makes of them.
set -u

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LOG=$(mktemp)
trap 'rm -f "$LOG"' EXIT
NUM=0
BAD=0

# expect NAME PATTERN: one line of the run must match.
expect()
{
	NUM=$((NUM + 1))
	if grep -qE -- "$2" "$LOG"; then
		echo "ok $NUM - $1"
	else
		echo "not ok $NUM - $1"
		BAD=$((BAD + 1))
	fi
}

if "$HERE/run-vm-tests.sh" --suite selfcheck --out "${LOGDIR:-$HERE/../build/selftests/selfcheck}" > "$LOG" 2>&1; then
	echo "# a run full of failures ended with status 0"
	BAD=1
fi
expect good_passes '^ok [0-9]+ - selfcheck/good '
expect failure '^not ok [0-9]+ - selfcheck/fails # '
expect kernel_log '^not ok [0-9]+ - selfcheck/dmesg # .*kernel log'
expect short_plan '^not ok [0-9]+ - selfcheck/short # .*plan'
expect no_tests '^not ok [0-9]+ - selfcheck/empty # .*plan'
expect unlisted_skip "skip of 'selfcheck/skips: unlisted' is not in"
expect time_limit '^not ok [0-9]+ - selfcheck/hangs # '
expect stuck '^# selfcheck/stuck: no end of the test and its cleaning up'
expect stuck_counts '^not ok - selfcheck/stuck # the VM died'
expect dead_vm '^not ok - selfcheck/panics # the VM died'
expect goes_on_after_death '^ok [0-9]+ - selfcheck/last # '
# good 1, fails 1 of 2, short 1, stuck 1, last 1 pass; fails, dmesg, short, empty,
# skip, hangs, stuck and panics fail
expect counts '^# totals pass:6 fail:8 skip:0$'
# a guest that is slow is not given up, one that says nothing is
UML_SILENCE=6 "$HERE/uml/run-uml.sh" plain "$HERE/selfcheck/silent-guest.sh" 300 \
	>> "$LOG" 2>&1
(($? == 124)) && echo "silent guest: 124" >> "$LOG"
expect slow_guest_is_heard '^word 4$'
expect silent_guest '^error: the guest said nothing for 6 s and was killed$'
expect silent_guest_status '^silent guest: 124$'
echo "1..$NUM"
if ((BAD)); then
	sed 's/^/# /' "$LOG"
	exit 1
fi
