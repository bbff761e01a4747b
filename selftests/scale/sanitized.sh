#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connections in a row under a kernel with kmemleak, which finds each object that
# nobody points to any more. SCALE_ROUNDS (300): how many.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
# shellcheck source=selftests/lib/traffic.sh
. "$HERE/lib/traffic.sh"
# shellcheck source=selftests/lifecycle/lib.sh
. "$HERE/lifecycle/lib.sh"

export SCALE_ROUNDS=${SCALE_ROUNDS:-300}

t_sequence()
{
	[ -w /sys/kernel/debug/kmemleak ] || fail "this kernel has no kmemleak"
	rig_up 1500
	# what the first ones allocate for good, under the sanitizers, is not 1 MB
	SCALE_GROWN_KB=65536 "$BUILD/scale/sequence" sequence | sed 's/^\(not \)\?ok/# &/; /^1\.\./d'
	((PIPESTATUS[0] == 0)) || fail "the connections failed"
}

ktap_plan 3
ktap_run sequence t_sequence
ktap_run nothing_is_left left_nothing
ktap_run no_leaks leaks
ktap_finish
