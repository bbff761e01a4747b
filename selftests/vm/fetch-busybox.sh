#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Print the path of a static busybox: the installed one if it is static, else one
# unpacked into the cache (installing busybox-static would replace the busybox
# that the machine's own initramfs is made with).

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=selftests/vm/host-lib.sh
. "$here/host-lib.sh"

is_static() { ! ldd "$1" >/dev/null 2>&1; }

b=$(command -v busybox) && is_static "$b" && echo "$b" && exit 0
b=$CACHE/vm/busybox
[ -x "$b" ] && echo "$b" && exit 0
mkdir -p "$CACHE/vm" || die "cannot create $CACHE/vm; set RDMA_SOFT_CACHE to a writable folder"
tmp=$(mktemp -d "$CACHE/vm/.tmp.XXXXXX") || die "cannot write to $CACHE/vm"
trap 'rm -rf "$tmp"' EXIT
say "vm: downloading busybox-static (unpacked into $CACHE/vm, not installed)"
(cd "$tmp" && apt-get -qq -o APT::Sandbox::User=root download busybox-static >apt.log 2>&1 &&
	dpkg -x busybox-static_*.deb tree) || {
	cat "$tmp/apt.log" >&2
	die "apt-get download busybox-static failed: run 'apt-get update'"
}
for f in "$tmp"/tree/bin/busybox "$tmp"/tree/usr/bin/busybox; do
	[ -x "$f" ] && mv "$f" "$b" && break
done
[ -x "$b" ] || die "busybox-static contains no bin/busybox"
echo "$b"
