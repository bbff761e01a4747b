#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# headers.sh 6.1|6.12: print a build folder (KDIR) of that kernel series.
#
# 6.1 is taken from the installed packages if there. Otherwise, and always for
# 6.12 (bookworm-backports), the newest header packages are unpacked into the
# cache, not installed, and their absolute paths changed to point there.
set -u
here=$(dirname "$0")
# shellcheck source=scripts/build/common.sh
. "$here/common.sh"
# shellcheck source=scripts/build/debian-suite.sh
. "$here/debian-suite.sh"

series=${1:-}
case $series in
6.1)
	suite=bookworm
	pattern='^linux-headers-6\.1\.[0-9]+-[0-9]+-amd64$'
	for d in $(find /usr/src -maxdepth 1 -name 'linux-headers-6.1.*-amd64' |
		sort -rV); do
		[ -f "$d/.config" ] || continue
		echo "$d"
		exit 0
	done
	;;
6.12)
	suite=bookworm-backports
	pattern='^linux-headers-6\.12\.[0-9.]+\+deb12-amd64$'
	;;
*) die "usage: headers.sh 6.1|6.12" ;;
esac

# The newest finished one is good for a day: no need to ask the archive.
newest_cached()
{
	find "$CACHE" -maxdepth 2 -path "*/headers-${series}_*/.complete" "$@" \
		-printf '%h\n' 2>/dev/null | sort -V | tail -n 1
}

print_kdir()
{
	set -- "$1"/usr/src/linux-headers-"$series".*-amd64
	[ -f "$1/.config" ] || die "no build folder in $(dirname "$1")"
	echo "$1"
	exit 0
}

cache_lock "headers-$series"
dir=$(newest_cached -mtime -1)
[ -n "$dir" ] && print_kdir "$dir"

# 6.12 headers carry a vmlinux, so kbuild makes BTF and needs pahole.
need pahole dwarves
suite_apt "$CACHE/apt-$suite" "$suite"
info "looking for $series headers in $suite"
if ! apt-get -q "${SUITE_APT[@]}" update >&2; then
	dir=$(newest_cached)
	[ -n "$dir" ] && info "no network: using $dir" && print_kdir "$dir"
	die "cannot read the package lists of $suite"
fi
headers=$(apt-cache "${SUITE_APT[@]}" pkgnames "linux-headers-$series" |
	grep -E "$pattern" | sort -V | tail -n 1)
[ -n "$headers" ] || die "$suite has no linux-headers-$series.*-amd64"
ver=$(candidate_version "$headers" "${SUITE_APT[@]}")
dir=$CACHE/headers-${series}_${ver//[:~]/-}
if [ -e "$dir/.complete" ]; then
	touch "$dir/.complete"
	print_kdir "$dir"
fi

tmp=$dir.tmp
rm -rf "$tmp" "$dir"
release=${headers#linux-headers-}
case $series in
6.1) kbuild=linux-kbuild-6.1 ;;
*) kbuild=linux-kbuild-${release%-amd64} ;;
esac
for pkg in "$headers" "${headers%-amd64}-common" "$kbuild"; do
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
