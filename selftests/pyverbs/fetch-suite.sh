#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# fetch-suite.sh: print the folder with rdma-core's pyverbs tests, as Debian
# ships them with the installed version (package rdma-core, as documentation,
# partly compressed). They are unpacked once into the cache; where this machine
# leaves documentation out, the package is downloaded for that.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=selftests/vm/host-lib.sh
. "$here/../vm/host-lib.sh"

case ${1:-} in
'') ;;
*) sed -n '4,7s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac

version=$(dpkg-query -W -f '${Version}' python3-pyverbs 2>/dev/null) ||
	die "python3-pyverbs is missing: run scripts/deps.sh check"
dir=$CACHE/pyverbs/$version
if [ -e "$dir/base.py" ]; then
	echo "$dir"
	exit 0
fi

mkdir -p "$CACHE/pyverbs" || die "cannot create $CACHE/pyverbs"
tmp=$(mktemp -d "$CACHE/pyverbs/.tmp.XXXXXX") || die "cannot write to $CACHE/pyverbs"
trap 'rm -rf "$tmp"' EXIT

from=/usr/share/doc/rdma-core/tests
if [ ! -e "$from/base.py.gz" ] && [ ! -e "$from/base.py" ] ||
	[ "$(dpkg-query -W -f '${Version}' rdma-core 2>/dev/null)" != "$version" ]; then
	say "pyverbs: downloading rdma-core $version for its tests"
	(cd "$tmp" && apt-get -qq -o APT::Sandbox::User=root download \
		"rdma-core=$version" >apt.log 2>&1) || {
		cat "$tmp/apt.log" >&2
		die "apt-get download rdma-core=$version failed: run 'apt-get update'"
	}
	dpkg -x "$tmp"/rdma-core_*.deb "$tmp/root" || die "cannot unpack rdma-core"
	from=$tmp/root$from
fi
cp -r "$from" "$tmp/tests" && gunzip -q "$tmp"/tests/*.gz ||
	die "cannot unpack the tests of $from"
[ -e "$tmp/tests/base.py" ] || die "no base.py among the tests of $from"
# Someone else may have been faster.
mv -T "$tmp/tests" "$dir" 2>/dev/null
[ -e "$dir/base.py" ] || die "cannot create $dir"
echo "$dir"
