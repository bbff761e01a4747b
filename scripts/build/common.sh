# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# Sourced by the build and check scripts: where things are cached, how a
# package is fetched without installing it, how two runs keep out of each
# other's way. Functions only; nothing happens at source time.

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
CACHE=${RDMA_SOFT_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/rdma_soft}
JOBS=${JOBS:-$(nproc)}

# Messages go to stderr: stdout of these scripts is their result (a path).
info()
{
	echo "# $*" >&2
}

die()
{
	echo "error: $*" >&2
	exit 1
}

# help_or FILE [ARGUMENT]: the comment at FILE's head for -h; ends the script then
help_or()
{
	case ${2:-} in
	-h | --help) sed -n '4,/^set -u/s/^# \{0,1\}//p' "$1" | sed '$d'; exit 0 ;;
	esac
}

# need COMMAND PACKAGE: the error names what to install.
need()
{
	command -v "$1" >/dev/null 2>&1 ||
		die "'$1' is missing; run: apt-get install $2"
}

# cache_lock NAME: only one process at a time builds one cached thing. The
# lock lives as long as this shell and is not inherited past exec on purpose.
cache_lock()
{
	mkdir -p "$CACHE/lock" || die "cannot create $CACHE; set RDMA_SOFT_CACHE"
	exec {CACHE_LOCK_FD}>"$CACHE/lock/$1" || die "cannot open lock $1"
	flock -n "$CACHE_LOCK_FD" && return 0
	info "waiting for another build of $1"
	flock -w "${CACHE_LOCK_WAIT:-3600}" "$CACHE_LOCK_FD" ||
		die "another build of $1 still holds $CACHE/lock/$1"
}

# hash_of STRING...: short content hash for cache folder names.
hash_of()
{
	printf '%s\n' "$@" | sha256sum | cut -c1-12
}

# candidate_version PACKAGE [apt option...]: what apt would install.
candidate_version()
{
	local pkg=$1

	shift
	apt-cache "$@" policy "$pkg" 2>/dev/null |
		sed -n 's/^  Candidate: //p' | grep -v '^(none)$'
}

# use_ccache: what this shell compiles is kept in the cache by ccache, if that is
# installed: a clone at the same path, or the same tree after 'make clean',
# compiles in a tenth of the time. Messages of the compiler are kept with it.
use_ccache()
{
	[ -x /usr/lib/ccache/gcc ] || return 0
	mkdir -p "$CACHE/ccache" || die "cannot create $CACHE; set RDMA_SOFT_CACHE"
	export CCACHE_DIR=${CCACHE_DIR:-$CACHE/ccache}
	export CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-3G}
	case :$PATH: in
	*:/usr/lib/ccache:*) ;;
	*) export PATH=/usr/lib/ccache:$PATH ;;
	esac
}

# fetch_deb FOLDER PACKAGE [apt option...]: download one .deb into FOLDER.
# Refreshes the package lists once when the first attempt fails (a fresh
# machine has none, an old list names files that are gone).
fetch_deb()
{
	local dir=$1 pkg=$2 try

	shift 2
	need apt-get apt
	mkdir -p "$dir"
	for try in 1 2 3; do
		if (cd "$dir" && apt-get -q "$@" -o APT::Sandbox::User=root \
			-o Acquire::Retries=3 download "$pkg") >&2; then
			return 0
		fi
		info "download of $pkg failed (attempt $try), refreshing package lists"
		apt-get -q "$@" -o APT::Sandbox::User=root update >&2 ||
			sleep "$try"
	done
	die "cannot download $pkg; check the network and the apt sources, then repeat"
}
