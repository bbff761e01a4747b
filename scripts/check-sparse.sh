#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check-sparse.sh [--built]: sparse with endian checking over every source file
# of the module. One TAP result per file; any message about a file of ours fails
# it, and so does a file that sparse never saw.
#
# The build for 6.1 runs sparse too. --built judges what it left, instead of
# building.
set -u
# shellcheck source=scripts/build/common.sh
. "$(dirname "$0")/build/common.sh"

need sparse sparse
out=$TOP/build/6.1
log=$out.log
if [ "${1:-}" != --built ] && ! "$TOP/scripts/check-build.sh" 6.1 >"$out.tap" &&
	! grep -q '^ok 1 ' "$out.tap"; then
	grep '^#' "$out.tap"
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
