#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check-build.sh 6.1|6.12|7.x: compile the modules for Debian's kernel of that
# series, from scratch and with W=1. Any warning fails. Prints TAP.
set -u
# shellcheck source=scripts/build/common.sh
. "$(dirname "$0")/build/common.sh"

series=${1:-}
out=$TOP/build/$series
log=$out.log
mkdir -p "$TOP/build" && rm -rf "$out"

build()
{
	local kdir

	case $series in
	6.1 | 6.12)
		kdir=$("$TOP/scripts/build/headers.sh" "$series") || return 1
		"$TOP/scripts/build/module.sh" "$kdir" "$out" W=1 -j"$JOBS"
		;;
	7.x)
		# /src and /out are this project and $out inside the chroot.
		# shellcheck disable=SC2016 # expanded by the inner shell
		CHROOT_OUT=$out "$TOP/scripts/build/chroot-7.sh" sh -c '
			set -- /lib/modules/7.*/build
			exec /src/scripts/build/module.sh "$1" /out W=1 -j"$0"' \
			"$JOBS"
		;;
	*) die "usage: check-build.sh 6.1|6.12|7.x" ;;
	esac
}

fails=0
result()
{
	[ "$1" = ok ] || fails=$((fails + 1))
	echo "$1 $2 - build.$series.$3"
}

if build >"$log" 2>&1 && [ -f "$out/drivers/rdma_soft/rdma_soft.ko" ]; then
	result ok 1 rdma_soft.ko
else
	grep -E 'error|Error|undefined|\*\*\*' "$log" | head -n 20 | sed 's/^/# /'
	result "not ok" 1 rdma_soft.ko
fi
# The 6.1 headers have no vmlinux to make BTF from: a notice of kbuild.
if grep -E '[Ww]arning|WARNING' "$log" |
	grep -v 'Skipping BTF generation' | sort -u | sed 's/^/# /' | grep .; then
	result "not ok" 2 no_warnings
else
	result ok 2 no_warnings
fi
echo "1..2"
exit $((fails > 0))
