# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Sourced by the tests of scale/ that put load on several QPs and CPUs.

# shellcheck disable=SC2034  # for those who source this
SECONDS_EACH=4
RATE=
MESSAGES=

# flows ARGUMENTS: sets RATE (KB/s) and MESSAGES
flows()
{
	local out us
	out=$("$BUILD/scale/flows" "$@") || fail "flows $*: $out"
	MESSAGES=$(sed -n 's/^flows: \([0-9]*\) in .*/\1/p' <<< "$out")
	us=$(sed -n 's/.* in \([0-9]*\) us/\1/p' <<< "$out")
	[ -n "$us" ] || fail "flows $*: $out"
	# shellcheck disable=SC2034  # for those who source this
	RATE=$((MESSAGES * $4 * 1000 / us * 1000 / 1024))
}

two_cpus()
{
	[ "$(nproc)" -ge 2 ] || fail "this machine has one CPU"
}
