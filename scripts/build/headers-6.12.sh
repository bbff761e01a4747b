#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# headers-6.12.sh: print a build folder (KDIR) of the newest 6.12 kernel of
# bookworm-backports. The header packages are unpacked into the cache, not
# installed, and their absolute paths changed to point there.
set -u
here=$(dirname "$0")
# shellcheck source=scripts/build/common.sh
. "$here/common.sh"
# shellcheck source=scripts/build/debian-suite.sh
. "$here/debian-suite.sh"

# The newest finished one is good for a day: no need to ask the archive.
newest_cached()
{
	find "$CACHE" -maxdepth 2 -path '*/headers-6.12_*/.complete' "$@" \
		-printf '%h\n' 2>/dev/null | sort -V | tail -n 1
}

print_kdir()
{
	set -- "$1"/usr/src/linux-headers-6.12.*-amd64
	[ -f "$1/.config" ] || die "no build folder in $(dirname "$1")"
	echo "$1"
	exit 0
}

cache_lock headers-6.12
dir=$(newest_cached -mtime -1)
[ -n "$dir" ] && print_kdir "$dir"

# 6.12 headers carry a vmlinux, so kbuild makes BTF and needs pahole.
need pahole dwarves
suite_apt "$CACHE/apt-bookworm-backports" bookworm-backports
info "looking for 6.12 headers in bookworm-backports"
if ! apt-get -q "${SUITE_APT[@]}" update >&2; then
	dir=$(newest_cached)
	[ -n "$dir" ] && info "no network: using $dir" && print_kdir "$dir"
	die "cannot read the package lists of bookworm-backports"
fi
headers=$(apt-cache "${SUITE_APT[@]}" pkgnames linux-headers-6.12 |
	grep -E '^linux-headers-6\.12\.[0-9.]+\+deb12-amd64$' | sort -V |
	tail -n 1)
[ -n "$headers" ] || die "bookworm-backports has no linux-headers-6.12.*-amd64"
ver=$(candidate_version "$headers" "${SUITE_APT[@]}")
dir=$CACHE/headers-6.12_${ver//[:~]/-}
if [ -e "$dir/.complete" ]; then
	touch "$dir/.complete"
	print_kdir "$dir"
fi

tmp=$dir.tmp
rm -rf "$tmp" "$dir"
release=${headers#linux-headers-}
for pkg in "$headers" "${headers%-amd64}-common" "linux-kbuild-${release%-amd64}"; do
	fetch_deb "$tmp/deb" "$pkg" "${SUITE_APT[@]}"
done
for deb in "$tmp"/deb/*.deb; do
	dpkg-deb -x "$deb" "$tmp" || die "cannot unpack $deb"
done
rm -rf "$tmp/deb"
mv "$tmp" "$dir" || die "cannot create $dir"

# Absolute references of the package to itself now go into the cache.
grep -rlIE '(^|[^[:alnum:]./_-])/usr/(src|lib)/linux-' "$dir/usr/src" --include=Makefile \
	--include='*.mk' --include=Kbuild | while read -r f; do
	sed -i -E "s,(^|[^[:alnum:]./_-])(/usr/(src|lib)/linux-),\1$dir\2,g" "$f"
done
find "$dir/usr/src" -type l -lname '/usr/*' -printf '%p %l\n' |
	while read -r link target; do
		ln -sfn "$dir$target" "$link"
	done
touch "$dir/.complete"
print_kdir "$dir"
