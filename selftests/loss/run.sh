#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [uml|vm]: the recovery tests of this folder, in a User Mode Linux guest
# (native speed) and in the test VM (stock kernel, two CPUs), or in one of them.
# Prints the TAP of both, then the sum of their cases. In the VM the matrix is
# the short one unless CPUs are virtual, not emulated (KVM).
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/build/common.sh
. "$here/../../scripts/build/common.sh"

where=${1:-both}
case $where in uml | vm | both) ;; *) die "usage: run.sh [uml|vm]" ;; esac
log=$TOP/build/check-loss.log
mkdir -p "$TOP/build"
: >"$log" || die "cannot write $log"
rc=0

run()
{
	"$@" 2>&1 | tee -a "$log"
	[ "${PIPESTATUS[0]}" = 0 ] || rc=1
}

if [ "$where" != vm ]; then
	run "$here/../uml/tests.sh" --out "$TOP/build/uml-loss" loss/matrix loss/inject loss/recover loss/held
fi
if [ "$where" != uml ]; then
	kdir=$("$TOP/scripts/build/headers.sh" 6.1) || die "no headers"
	make -s -C "$TOP" modules KDIR="$kdir" -j"$JOBS" >&2 || die "no module"
	tests=(loss/short loss/inject loss/recover loss/held)
	[ ! -w /dev/kvm ] || tests+=(loss/matrix)
	run "$here/../run-vm-tests.sh" --out "$TOP/build/selftests/log-loss" \
		"${tests[@]}"
fi
awk '/cases, .* mismatches$/ {
		sub(/^.*# /, "")
		split($0, n, /[^0-9]+/)
		c += n[1]; f += n[2]; m += n[3]
	}
	/^ *ok [0-9]+ - / { if (/^ /) ok++ }
	/^ *not ok / { if (/^ /) bad++ }
	END {
		printf "# %d tests passed, %d failed; %d cases, %d faults, %d mismatches\n",
			ok, bad, c, f, m
		exit !(ok && !bad && c && !m)
	}' "$log" || rc=1
exit $rc
