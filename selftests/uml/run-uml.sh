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
# UML_MEM (default 1G) is the guest's memory. UML_SILENCE=S kills a guest that
# prints nothing for S seconds (default: only TIMEOUT counts), so that a busy host
# is no mistake. Exit status 124 when it took too long or was silent for too long,
# 125 when the guest died (panic) before the script ended.
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
trap 'rm -f "$log" "$log.silent"' EXIT

# listen PID: end the guest, whose timeout is PID, when it says nothing any more.
listen()
{
	local size=0 now since=$SECONDS

	while kill -0 "$1" 2>/dev/null; do
		now=$(stat -c %s "$log" 2>/dev/null) || return
		((now == size)) || since=$SECONDS
		size=$now
		if ((SECONDS - since >= UML_SILENCE)); then
			: >"$log.silent"
			kill "$1"
			return
		fi
		sleep 1
	done
}

# guest KEY=VALUE...: becomes the guest. In the foreground: it dies with whoever
# is told to end this script.
guest()
{
	local pid=$BASHPID

	if [ -n "${UML_SILENCE:-}" ]; then
		listen "$pid" >/dev/null 2>&1 &
	fi
	exec timeout --foreground -k 5 "$limit" "$build/linux" \
		mem="${UML_MEM:-1G}" root=none rootfstype=hostfs rootflags=/ ro \
		init="$here/init.sh" con0=null,fd:1 con1=null \
		loglevel="${UML_LOGLEVEL:-4}" panic=-1 kasan_multi_shot \
		UML_SCRIPT="$script" UML_BUILD="$build" "$@"
}

guest "$@" </dev/null 2>&1 |
	sed -u 's/\r$//' | tee "$log" |
	sed -u -e '1,/^UML_BEGIN$/d' -e '/^UML_STATUS=/d' -e '/reboot: System halted/d'
rc=${PIPESTATUS[0]}
status=$(sed -n 's/^UML_STATUS=//p' "$log" | tail -n 1)
if [ -e "$log.silent" ]; then
	echo "error: the guest said nothing for $UML_SILENCE s and was killed" >&2
	exit 124
fi
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
