#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# linux-source.sh: print the path of an unpacked linux-source-6.1 tree.
#
# Downloads the Debian package (not installed) and unpacks it into the cache,
# once per package version. Used for UML kernels and for checkpatch and
# kernel-doc. LINUX_SOURCE=DIR uses a tree of your own instead.
set -u
# shellcheck source=scripts/build/common.sh
. "$(dirname "$0")/common.sh"

PKG=linux-source-6.1

if [ -n "${LINUX_SOURCE:-}" ]; then
	[ -x "$LINUX_SOURCE/scripts/checkpatch.pl" ] ||
		die "LINUX_SOURCE=$LINUX_SOURCE is not a kernel source tree"
	echo "$LINUX_SOURCE"
	exit 0
fi

newest_cached()
{
	find "$CACHE" -maxdepth 2 -path "*/${PKG}_*/.complete" -printf '%h\n' \
		2>/dev/null | sort -V | tail -n 1
}

cache_lock "$PKG"
ver=$(candidate_version "$PKG")
if [ -z "$ver" ]; then
	dir=$(newest_cached)
	if [ -n "$dir" ]; then
		echo "$dir/$PKG"
		exit 0
	fi
	info "apt knows no $PKG yet, refreshing package lists"
	apt-get -q update >&2 || die "apt-get update failed; is the network up?"
	ver=$(candidate_version "$PKG")
	[ -n "$ver" ] || die "no package $PKG; add the bookworm main archive to apt"
fi

dir=$CACHE/${PKG}_${ver//[:~]/-}
if [ -e "$dir/.complete" ]; then
	echo "$dir/$PKG"
	exit 0
fi

need xz xz-utils
need dpkg-deb dpkg
info "fetching $PKG $ver (about 150 MB)"
tmp=$dir.tmp
rm -rf "$tmp" "$dir"
fetch_deb "$tmp/deb" "$PKG"
set -- "$tmp"/deb/*.deb
dpkg-deb --fsys-tarfile "$1" |
	tar -x -O --wildcards "./usr/src/$PKG.tar.xz" |
	xz -dc -T0 | tar -x -C "$tmp" || die "cannot unpack $1"
rm -rf "$tmp/deb"
[ -x "$tmp/$PKG/scripts/checkpatch.pl" ] ||
	die "the package does not have the expected layout: $tmp"
touch "$tmp/.complete"
mv "$tmp" "$dir" || die "cannot create $dir"
echo "$dir/$PKG"
