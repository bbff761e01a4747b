#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# chroot-7.sh [COMMAND [ARGUMENT...]]: a Debian 13 tree in the cache with the
# compiler and kernel headers of the newest 7.x in trixie-backports (Debian
# 12's C library is too old for the build tools of 7.x).
#
# Without a command, prints the tree's path. With one, runs it in there, with
# this project at /src (read-only) and the folder $CHROOT_OUT at /out.
# Needs root.
set -u
here=$(dirname "$0")
# shellcheck source=scripts/build/common.sh
. "$here/common.sh"
# shellcheck source=scripts/build/debian-suite.sh
. "$here/debian-suite.sh"

[ "$(id -u)" = 0 ] || die "the 7.x build needs a chroot; run as root"

newest_cached()
{
	find "$CACHE" -maxdepth 2 -path '*/trixie-7-ccache_*/.complete' "$@" \
		-printf '%h\n' 2>/dev/null | sort -V | tail -n 1
}

# prepare: set $root to a finished tree, building it when needed.
prepare()
{
	local headers ver

	cache_lock trixie-7
	root=$(newest_cached -mtime -1)
	[ -n "$root" ] && return 0

	need mmdebstrap mmdebstrap
	suite_apt "$CACHE/apt-trixie" trixie trixie-backports
	info "looking for 7.x headers in trixie-backports"
	if ! apt-get -q "${SUITE_APT[@]}" update >&2; then
		root=$(newest_cached)
		[ -n "$root" ] || die "cannot read the package lists of trixie"
		info "no network: using $root"
		return 0
	fi
	headers=$(apt-cache "${SUITE_APT[@]}" pkgnames linux-headers-7 |
		grep -E '^linux-headers-7\.[0-9.]+\+deb13-amd64$' |
		sort -V | tail -n 1)
	[ -n "$headers" ] || die "trixie-backports has no linux-headers-7.*-amd64"
	ver=$(candidate_version "$headers" "${SUITE_APT[@]}")
	root=$CACHE/trixie-7-ccache_${ver//[:~]/-}
	if [ -e "$root/.complete" ]; then
		touch "$root/.complete"
		return 0
	fi
	info "creating a Debian 13 tree with $headers (about 1 minute)"
	rm -rf --one-file-system "$root" "$root.tmp"
	mmdebstrap --mode=root --variant=apt \
		--include="ccache,gcc,make,libc6-dev,kmod,$headers" \
		trixie "$root.tmp" "$CACHE/apt-trixie/etc/sources.list" \
		>"$CACHE/trixie-7.log" 2>&1 || {
		tail -n 20 "$CACHE/trixie-7.log" >&2
		die "mmdebstrap failed, see $CACHE/trixie-7.log"
	}
	touch "$root.tmp/.complete"
	mv "$root.tmp" "$root" || die "cannot create $root"
}

root=
prepare
if [ $# -eq 0 ]; then
	echo "$root"
	exit 0
fi

exec {CACHE_LOCK_FD}>&-
out=${CHROOT_OUT:?set CHROOT_OUT to a folder for the results}
mkdir -p "$out" "$root/src" "$root/out" "$root/ccache" || die "cannot create $out"
# Private mounts: gone with the last process, nothing to clean up. Propagation
# cannot be changed where / is itself only a chroot.
propagation=private
unshare --mount --propagation private true 2>/dev/null || propagation=unchanged
export root out TOP
# shellcheck disable=SC2016 # expanded by the inner shell
exec unshare --mount --propagation "$propagation" bash -c '
	mount -t proc proc "$root/proc" &&
	mount --bind -o ro "$TOP" "$root/src" &&
	mount -o remount,bind,ro "$root/src" &&
	mount --bind "$out" "$root/out" || exit 125
	exec chroot "$root" /usr/bin/env -i PATH=/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin \
		LC_ALL=C.UTF-8 HOME=/root \
		CCACHE_DIR=/ccache CCACHE_MAXSIZE=1G "$@"' bash "$@"
