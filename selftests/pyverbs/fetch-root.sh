#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# fetch-root.sh: print the path of a Debian 13 tree in the cache with its
# rdma-core (56): libraries, pyverbs and their tests. It is made once, in about
# a minute, and taken as it is from then on. Needs root.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/build/common.sh
. "$here/../../scripts/build/common.sh"
# shellcheck source=scripts/build/debian-suite.sh
. "$here/../../scripts/build/debian-suite.sh"

case ${1:-} in
'') ;;
*) sed -n '4,6s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
[ "$(id -u)" = 0 ] || die "the Debian 13 tree needs a chroot; run as root"

root=$CACHE/trixie-rdma
cache_lock trixie-rdma
if [ ! -e "$root/.complete" ]; then
	need mmdebstrap mmdebstrap
	suite_apt "$CACHE/apt-trixie" trixie trixie-backports
	info "creating a Debian 13 tree with rdma-core (about 1 minute)"
	rm -rf --one-file-system "$root" "$root.tmp"
	mmdebstrap --mode=root --variant=apt \
		--include=ibverbs-providers,iproute2,python3,python3-pyverbs,rdma-core \
		trixie "$root.tmp" "$CACHE/apt-trixie/etc/sources.list" \
		>"$CACHE/trixie-rdma.log" 2>&1 || {
		tail -n 20 "$CACHE/trixie-rdma.log" >&2
		die "mmdebstrap failed, see $CACHE/trixie-rdma.log"
	}
	gunzip -q "$root.tmp"/usr/share/doc/rdma-core/tests/*.gz
	[ -e "$root.tmp/usr/share/doc/rdma-core/tests/base.py" ] ||
		die "Debian 13's rdma-core brings no tests"
	mkdir -p "$root.tmp/src" "$root.tmp/out"
	touch "$root.tmp/.complete"
	mv "$root.tmp" "$root" || die "cannot create $root"
fi
echo "$root"
