# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by the host side of the test VM: cache folder, messages, kernel choice.

# shellcheck disable=SC2034  # used by those who source this file
CACHE=${RDMA_SOFT_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/rdma_soft}
# shellcheck disable=SC2034
TREE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# Exit status for failures of the harness itself, see run-vm.sh --help.
# shellcheck disable=SC2034
RC_PANIC=200 RC_TIMEOUT=201 RC_HARNESS=202 RC_NOSTATUS=203 RC_DMESG=204

say()
{
	[ -n "${VM_QUIET:-}" ] || echo "$*" >&2
}

die()
{
	echo "${0##*/}: $*" >&2
	exit "$RC_HARNESS"
}

need()
{
	local cmd
	for cmd; do
		command -v "$cmd" >/dev/null || die "$cmd is missing: run scripts/deps.sh vm"
	done
}

# Newest 6.1 headers installed here, else what the archive's 6.1 image is now.
default_kver()
{
	local k

	k=$(find /usr/src -maxdepth 1 -name 'linux-headers-6.1.*-amd64' -printf '%f\n' 2>/dev/null |
		sed 's/^linux-headers-//' | sort -V | tail -n 1)
	[ -n "$k" ] || k=$(apt-cache depends linux-image-amd64 2>/dev/null |
		sed -n 's/.*Depends: linux-image-\(6\.1\..*-amd64\)$/\1/p' | head -n 1)
	if [ -z "$k" ]; then
		echo "no Debian 6.1 kernel headers found: run scripts/deps.sh vm, or pass --kernel KVER" >&2
		return 1
	fi
	echo "$k"
}
