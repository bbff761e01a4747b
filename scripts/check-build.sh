#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check-build.sh 6.1|6.12|7.x: compile the modules for Debian's kernel of that
# series, from scratch and with W=1, for 6.1 with sparse. Any warning fails.
# Prints TAP.
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
		# Without debug information it is faster, but newer headers
		# have a vmlinux, for which BTF is made of it.
		set -- W=1 -j"$JOBS"
		[ -f "$kdir/vmlinux" ] || set -- "$@" KCFLAGS=-g0
		[ "$series" != 6.1 ] || set -- "$@" C=1 CF=-D__CHECK_ENDIAN__
		"$TOP/scripts/build/module.sh" "$kdir" "$out" "$@"
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
	{
		grep -E 'error|Error|undefined|\*\*\*' "$log" | head -n 20
		tail -n 3 "$log"
	} | sed 's/^/# /'
	result "not ok" 1 rdma_soft.ko
fi
# The 6.1 headers have no vmlinux to make BTF from: a notice of kbuild.
if grep -E '[Ww]arning|WARNING' "$log" |
	grep -v 'Skipping BTF generation' | sort -u | sed 's/^/# /' | grep .; then
	result "not ok" 2 no_warnings
else
	result ok 2 no_warnings
fi
n=2
# Only the newest kernel has everything the driver is written for.
if [ "$series" = 7.x ] && [ -f "$out/drivers/rdma_soft/.main.o.cmd" ]; then
	n=3
	probes=$TOP/drivers/rdma_soft/compat/Kbuild.include
	# Asks for an argument that newer kernels do not have.
	gone='^(PIN_USER_PAGES_VMAS)$'
	missing=$(comm -23 \
		<(grep -oE 'rsoft-probe,[A-Z0-9_]+' "$probes" | cut -d, -f2 |
			grep -vE "$gone" | sort -u) \
		<(grep -ohE 'RDMA_SOFT_HAVE_[A-Z0-9_]+' "$out/drivers/rdma_soft/.main.o.cmd" |
			sed 's/RDMA_SOFT_HAVE_//' | sort -u))
	if [ -z "$missing" ]; then
		result ok 3 probes
	else
		echo "# not found in the newest kernel's headers: ${missing//$'\n'/ }"
		result "not ok" 3 probes
	fi
fi
echo "1..$n"
exit $((fails > 0))
