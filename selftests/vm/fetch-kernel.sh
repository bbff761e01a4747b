#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Provide a stock Debian kernel for the test VM without installing it.
#
#   fetch-kernel.sh [KVER]       KVER as in /lib/modules, e.g. 6.1.0-57-amd64
#
# (of Debian 12, its backports, or Debian 13's: 6.12.*+deb12-amd64, 7.*+deb13-amd64)
#
# Downloads the package linux-image-KVER (and what newer Debian splits off from
# it), unpacks it in the cache and prints one line: DIR KVER. DIR/vmlinuz is the
# kernel, DIR/lib/modules/KVER its modules with modules.dep. The machine's own
# boot setup, /boot and /lib/modules are not touched.

# shellcheck disable=SC2031  # other_suite sources a file that sets CACHE, in a subshell on purpose
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=selftests/vm/host-lib.sh
. "$here/host-lib.sh"

# other_suite FOLDER SUITES: print apt options, one a line, to use these suites.
other_suite()
(
	. "$TREE/scripts/build/common.sh"
	. "$TREE/scripts/build/debian-suite.sh"
	# shellcheck disable=SC2086  # a list
	suite_apt "$1" $2
	printf '%s\n' "${SUITE_APT[@]}"
)

kver=${1:-}
case $kver in
-h|--help) sed -n '4,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
esac
[ -n "$kver" ] || kver=$(default_kver) || exit 1

dir=$CACHE/kernel/$kver
if [ ! -e "$dir/ready" ]; then
	mkdir -p "$CACHE/kernel" || die "cannot create $CACHE/kernel; set RDMA_SOFT_CACHE to a writable folder"
	exec 8>"$CACHE/kernel/.lock"
	flock -w 300 8 || die "another download holds $CACHE/kernel/.lock for 5 minutes"
fi
if [ ! -e "$dir/ready" ]; then
	say "kernel: downloading linux-image-$kver (unpacked into $dir, not installed)"
	tmp=$(mktemp -d "$CACHE/kernel/.tmp.XXXXXX") || die "cannot write to $CACHE/kernel"
	trap 'rm -rf "$tmp"' EXIT
	todo="linux-image-$kver"
	seen=' '
	apt=(-o APT::Sandbox::User=root)
	if ! apt-cache show "linux-image-$kver" >/dev/null 2>&1; then
		# Not a kernel of the machine's own sources: a private apt state for the other suite.
		case $kver in
		*+deb13-*) suites='trixie-backports trixie' ;;
		*+deb12-*) suites='bookworm-backports' ;;
		*) suites= ;;
		esac
		if [ -n "$suites" ]; then
			mapfile -t apt < <(other_suite "$CACHE/apt-vm-${suites%% *}" "$suites")
			apt-get -qq "${apt[@]}" update || die "cannot read the package lists of $suites"
		fi
	fi
	while [ -n "$todo" ]; do
		pkg=${todo%% *}
		todo=${todo#"$pkg"}; todo=${todo# }
		seen="$seen$pkg "
		(cd "$tmp" && apt-get -qq "${apt[@]}" download "$pkg" >apt.log 2>&1) || {
			cat "$tmp/apt.log" >&2
			die "apt-get download $pkg failed: run 'apt-get update'; if this version has left the archive, upgrade linux-headers-amd64 or pass --kernel"
		}
		deb=$(echo "$tmp/$pkg"_*.deb)
		dpkg -x "$deb" "$tmp/root" || die "cannot unpack $deb: is the disk full?"
		for dep in $(dpkg-deb -f "$deb" Depends | grep -oE "linux-(modules|binary|base)-[0-9][^ ,]+" | sort -u); do
			case "$seen$todo " in *" $dep "*) ;; *) todo="$todo${todo:+ }$dep" ;; esac
		done
		rm -f "$deb"
	done
	cd "$tmp/root" || die "the package was empty"
	# One layout for all releases: lib/modules, and vmlinuz on top.
	if [ ! -d lib/modules ] && [ -d usr/lib/modules ]; then
		mkdir -p lib && ln -s ../usr/lib/modules lib/modules
	fi
	for f in "boot/vmlinuz-$kver" "lib/modules/$kver/vmlinuz"; do
		[ -e "$f" ] && ln -sf "$f" vmlinuz && break
	done
	[ -e vmlinuz ] || die "linux-image-$kver contains no vmlinuz"
	depmod -b "$tmp/root" "$kver" || die "depmod failed for $kver"
	touch ready
	cd / || exit
	rm -rf "$dir"
	mv "$tmp/root" "$dir" || die "cannot move the kernel to $dir"
fi
echo "$dir $kver"
