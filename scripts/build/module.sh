#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# module.sh KDIR OUTDIR [make argument...]: build the modules against KDIR in
# OUTDIR, which gets a tree of links to the sources. Several kernels can so be
# built side by side, and the source tree stays clean.
#
# MODULE_TARGET=drivers/.../name.ko builds only that module.
#
# An unchanged tree rebuilds in a second: links stay, kbuild sees time stamps.
set -u
# shellcheck source=scripts/build/common.sh
. "$(dirname "$0")/common.sh"

[ $# -ge 2 ] || die "usage: module.sh KDIR OUTDIR [make argument...]"
kdir=$1
out=$2
shift 2
[ -f "$kdir/Makefile" ] || die "$kdir is not a kernel build folder"
mkdir -p "$out" || die "cannot create $out"
out=$(cd "$out" && pwd)

# Source files only: what a build in the tree itself left behind stays there.
list_sources()
{
	cd "$TOP" || exit 1
	echo Kbuild
	find drivers include selftests/kverbs -type f \( -name '*.[chS]' -o -name 'Kbuild*' \
		-o -name Makefile \) ! -name '*.mod.c' | sort
}

list_sources >"$out/.sources.new"
if ! cmp -s "$out/.sources.new" "$out/.sources"; then
	# A file that went away must not be found by its old link.
	find "$out" -type l -lname "$TOP/*" -delete
	while read -r f; do
		mkdir -p "$out/$(dirname "$f")"
		ln -sfn "$TOP/$f" "$out/$f"
	done <"$out/.sources.new"
	mv "$out/.sources.new" "$out/.sources"
else
	rm -f "$out/.sources.new"
fi

use_ccache
exec make -C "$kdir" M="$out" KVERBS=1 "$@" "${MODULE_TARGET:-modules}"
