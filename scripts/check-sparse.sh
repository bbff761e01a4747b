#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check-sparse.sh: sparse with endian checking over every source file of the
# module (make C=2). One TAP result per file; any message about a file of ours
# fails it, and so does a file that sparse never saw.
set -u
# shellcheck source=scripts/build/common.sh
. "$(dirname "$0")/build/common.sh"

need sparse sparse
kdir=$("$TOP/scripts/build/headers.sh" 6.1) || exit 1
out=$TOP/build/sparse
log=$out.log
mkdir -p "$TOP/build" && rm -rf "$out"
if ! "$TOP/scripts/build/module.sh" "$kdir" "$out" C=2 CF=-D__CHECK_ENDIAN__ \
	KCFLAGS=-g0 -j"$JOBS" >"$log" 2>&1; then
	grep -E 'error|Error|\*\*\*' "$log" | head -n 20 | sed 's/^/# /'
	echo "not ok 1 - sparse.build"
	echo "1..1"
	exit 1
fi

n=0
fails=0
for obj in $(cd "$out" && find . -name '*.o' ! -name '*.mod.o' \
	! -name '.module-common.o' | sed 's,^\./,,' | sort); do
	src=${obj%.o}.c
	[ -f "$TOP/$src" ] || continue
	n=$((n + 1))
	if ! grep -qE "^ +CHECK +.*/?$src\$" "$log"; then
		echo "# sparse did not run on $src"
		echo "not ok $n - sparse.$src"
		fails=$((fails + 1))
	elif grep -E "(^|/)$src:[0-9]+" "$log" | sort -u | sed 's/^/# /' | grep .; then
		echo "not ok $n - sparse.$src"
		fails=$((fails + 1))
	else
		echo "ok $n - sparse.$src"
	fi
done
# Headers are reported under their own name, once for each includer.
n=$((n + 1))
if grep -E '(drivers/rdma_soft|include/uapi)/[^ ]*\.h:[0-9]+:[0-9]+: ' "$log" |
	grep -v '/linux-headers-' | sort -u | sed 's/^/# /' | grep .; then
	echo "not ok $n - sparse.headers"
	fails=$((fails + 1))
else
	echo "ok $n - sparse.headers"
fi
[ $n -gt 1 ] || { echo "# no object was built"; fails=1; }
echo "1..$n"
exit $((fails > 0))
