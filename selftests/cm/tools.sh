#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The programs of rdmacm-utils between the two ends.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"

# source_of ADDRESS: the end A address to talk to it from. In the rig of one
# namespace both are local: without a source the packets would stay on vb.
source_of()
{
	if [ "$1" = $B4 ]; then
		echo $A4
	else
		echo $A6
	fi
}

# rping ADDRESS SIZE COUNT: data is validated by both ends (-V).
t_rping()
{
	local lines
	run_both cm_listening 7174 rping -s -a "$1" -V -S "$2" -C "$3" -- \
		rping -c -a "$1" -I "$(source_of "$1")" -v -V -S "$2" -C "$3"
	lines=$(grep -c '^ping data' "$OUT_C")
	((lines == $3)) || fail "$lines of $3 pings"
}

# rping many times in a row: connect, little data, disconnect.
t_rping_again()
{
	local i
	for i in 1 2 3 4; do
		t_rping "$1" 64 3
	done
}

t_ucmatose()
{
	run_both cm_listening 7471 ucmatose -b "$1" -c "$2" -C 20 -S 2000 -- \
		ucmatose -s "$1" -b "$(source_of "$1")" -c "$2" -C 20 -S 2000
	grep -q 'return status 0' "$OUT_C" || fail "$(tail -n 3 "$OUT_C")"
	grep -q 'return status 0' "$OUT_S" || fail "$(tail -n 3 "$OUT_S")"
}

t_udaddy()
{
	run_both cm_listening 7174 udaddy -b "$1" -c "$2" -C 20 -S 900 -- \
		udaddy -s "$1" -b "$(source_of "$1")" -c "$2" -C 20 -S 900
	grep -q 'return status 0' "$OUT_C" || fail "$(tail -n 3 "$OUT_C")"
	grep -q 'return status 0' "$OUT_S" || fail "$(tail -n 3 "$OUT_S")"
}

t_cmtime()
{
	SERVER_STAYS=1 run_both cm_listening 7471 cmtime -b "$1" -c "$2" -- \
		cmtime -s "$1" -b "$(source_of "$1")" -c "$2"
	grep -E '^(create|connect|disconnect|destroy)' "$OUT_C" | sed 's/^/# /'
	grep -q '^connect' "$OUT_C" || fail "no times: $(tail -n 3 "$OUT_C")"
}

# A port nobody listens on: refused at once, not timed out.
t_refused()
{
	local start=$SECONDS
	if in_a timeout 30 rping -c -a "$B4" -p 9999 -C 1 > /dev/null 2>&1; then
		fail "rping to a closed port succeeded"
	fi
	((SECONDS - start < 15)) || fail "took $((SECONDS - start)) s"
}

ktap_plan 12
rig_up 1500
ktap_run rping_v4 crossed t_rping $B4 1000 50
ktap_run rping_v6 crossed t_rping $B6 1000 50
ktap_run rping_64k crossed t_rping $B4 60000 10
ktap_run rping_again t_rping_again $B4
ktap_run ucmatose_v4 crossed t_ucmatose $B4 1
ktap_run ucmatose_v6 crossed t_ucmatose $B6 10
ktap_run ucmatose_100 crossed t_ucmatose $B4 100
ktap_run udaddy_v4 crossed t_udaddy $B4 1
ktap_run udaddy_v6 crossed t_udaddy $B6 10
ktap_run cmtime_v4 crossed t_cmtime $B4 50
ktap_run cmtime_v6 crossed t_cmtime $B6 20
ktap_run closed_port_is_refused t_refused
ktap_finish
