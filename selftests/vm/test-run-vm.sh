#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Test of the test VM itself: run-vm.sh must report what happened in the guest.
# TAP on stdout; about a minute.

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0 bad=0

# expect NAME STATUS OPTIONS...: status of run-vm.sh; output is left in $tmp/out, $tmp/err.
expect()
{
	local name=$1 want=$2 rc
	shift 2
	"$here/run-vm.sh" --quiet --out "$tmp/share" "$@" >"$tmp/out" 2>"$tmp/err"
	rc=$?
	check "$name" [ "$rc" -eq "$want" ]
}

check()
{
	local name=$1
	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		sed 's/^/# /' "$tmp/err"
		bad=1
	fi
}

echo 1..10
expect status_of_the_command_comes_back 7 \
	--cmd 'echo to stdout; echo to stderr >/dev/stderr; echo kept >/out/file; nproc >/out/cpus; exit 7'
check stdout_is_separate [ "$(cat "$tmp/out")" = "to stdout" ]
check stderr_is_separate [ "$(cat "$tmp/err")" = "to stderr" ]
check files_come_back [ "$(cat "$tmp/share/file")" = kept ]
check kernel_log_is_saved grep -q 'Linux version' "$tmp/share/dmesg.txt"
printf 'printf "%%s|" "$@"\n' >"$tmp/script"
expect script_gets_its_arguments 0 --script "$tmp/script" 'a b' "c'd"
check arguments_are_intact [ "$(cat "$tmp/out")" = "a b|c'd|" ]
expect panic_is_told_apart 200 --cmd 'echo c >/proc/sysrq-trigger; sleep 60'
expect timeout_is_told_apart 201 --timeout 20 --cmd 'sleep 1000'
expect warning_fails_when_asked 204 --check-dmesg --cmd 'echo "WARNING: not a real one" >/dev/kmsg'
exit $bad
