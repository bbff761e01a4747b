#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run-uml.sh VARIANT SCRIPT [TIMEOUT [KEY=VALUE...]]: run one script in a User
# Mode Linux guest and exit with its status.
#
#   VARIANT    plain or san, see build-uml.sh; built when not cached
#   SCRIPT     executable, run as root's process in the guest
#   TIMEOUT    seconds before the guest is killed (default 60)
#   KEY=VALUE  environment of the script (no blanks); UML_OUT=DIR gives it a
#              writable folder of the host at /run/out
#
# UML_MEM (default 1G) is the guest's memory. Exit status 124 when it took too
# long, 125 when the guest died (panic) before the script ended.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/build/common.sh
. "$here/../../scripts/build/common.sh"

[ $# -ge 2 ] || die "usage: run-uml.sh plain|san SCRIPT [TIMEOUT [KEY=VALUE...]]"
variant=$1
script=$(readlink -e "$2") || die "no script $2"
[ -x "$script" ] || die "$script is not executable"
limit=${3:-60}
shift $(($# > 2 ? 3 : 2))

build=$("$here/build-uml.sh" "$variant") || exit 1
if [ ! -x "$build/poweroff" ] || [ "$here/poweroff.c" -nt "$build/poweroff" ]; then
	gcc -static -O2 -o "$build/poweroff.$$" "$here/poweroff.c" ||
		die "cannot build poweroff.c; run: apt-get install gcc libc6-dev"
	mv "$build/poweroff.$$" "$build/poweroff" || die "cannot write to $build"
fi

# The guest's memory is a file in TMPDIR; without exec rights there, no guest.
[ -d /dev/shm ] && export TMPDIR=/dev/shm
log=$(mktemp) || die "mktemp failed"
trap 'rm -f "$log"' EXIT
# In the foreground: the guest dies with whoever is told to end this script.
timeout --foreground -k 5 "$limit" "$build/linux" mem="${UML_MEM:-1G}" \
	root=none rootfstype=hostfs rootflags=/ ro init="$here/init.sh" \
	con0=null,fd:1 con1=null loglevel="${UML_LOGLEVEL:-4}" panic=-1 \
	kasan_multi_shot \
	UML_SCRIPT="$script" UML_BUILD="$build" "$@" </dev/null 2>&1 |
	sed -u 's/\r$//' | tee "$log" |
	sed -u -e '1,/^UML_BEGIN$/d' -e '/^UML_STATUS=/d' -e '/reboot: System halted/d'
rc=${PIPESTATUS[0]}
status=$(sed -n 's/^UML_STATUS=//p' "$log" | tail -n 1)
if [ "$rc" = 124 ] || [ "$rc" = 137 ]; then
	echo "error: the guest ran for more than $limit s and was killed" >&2
	exit 124
fi
if [ -z "$status" ]; then
	grep -q '^UML_BEGIN$' "$log" || tail -n 30 "$log" >&2
	echo "error: the guest died before $(basename "$script") ended (status $rc)" >&2
	exit 125
fi
exit "$status"
