#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make vm2: two test VMs joined by a virtual wire (virtio-net).
#
#   VM 1: eth0 10.77.0.1/24 fd77::1/64, link soft0    VM 2: eth0 10.77.0.2/24 fd77::2/64, link soft1
#
# Environment: CMD runs in VM 1 once VM 2 is ready (without it: a shell in VM 1),
# CMD2 in VM 2 before that, e.g. a server. In VM 1, "vm2 'COMMAND'" runs something
# in VM 2, with its output and status. VM2_TYPE and VM1_TYPE: rdma_soft (default), rxe or
# none. VM1_KERNEL, VM2_KERNEL: as run-vm.sh --kernel. VM_TIMEOUT as there.
# Exit status: VM 1's, else that of CMD2. VM 2's output is prefixed "[vm2]".

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=selftests/vm/host-lib.sh
. "$here/host-lib.sh"

case ${1:-} in
-h|--help) sed -n '4,14s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
# Socket paths are limited to 107 characters.
wire=$(mktemp -d "${TMPDIR:-/tmp}/rdma-soft-wire.XXXXXX") || die "cannot create a folder for the wire"
two=''
# shellcheck disable=SC2317  # called by trap
cleanup()
{
	if [ -n "$two" ]; then
		kill "$two" 2>/dev/null
		wait "$two"
	fi
	rm -rf "$wire"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

"$here/run-vm.sh" --prepare >/dev/null || exit
dgram()
{
	echo "dgram,local.type=unix,local.path=$wire/$1,remote.type=unix,remote.path=$wire/$2"
}
timeout=${VM_TIMEOUT:-300}
rm -f "$wire/status2"
(
	"$here/run-vm.sh" --quiet --name vm2 --netdev "$(dgram 2 1)" --timeout "$([ -n "${CMD:-}" ] && echo "$timeout" || echo 86400)" \
		${VM2_KERNEL:+--kernel "$VM2_KERNEL"} --out "$wire/vm2" --env "CMD=${CMD2:-}" \
		--env "VM_TYPE=${VM2_TYPE:-rdma_soft}" --script "$here/guest-vm2.sh" 2 \
		> >(sed -u 's/^/[vm2] /') 2> >(sed -u 's/^/[vm2] /' >&2) &
	child=$!
	trap 'kill $child; wait $child' TERM
	wait $child
	echo $? >"$wire/status2"
) &
two=$!

opts=(--name vm1 --netdev "$(dgram 1 2)" ${VM1_KERNEL:+--kernel "$VM1_KERNEL"} --env "CMD=${CMD:-}" --env "VM_TYPE=${VM1_TYPE:-rdma_soft}")
if [ -n "${CMD:-}" ]; then
	"$here/run-vm.sh" "${opts[@]}" --timeout "$timeout" --script "$here/guest-vm2.sh" 1
else
	"$here/run-vm.sh" "${opts[@]}" --env "VM_SHELL=$here/guest-vm2.sh" --shell
fi
rc=$?

# VM 1 told VM 2 to end; give it 20 s, its CMD2 may still be finishing.
for ((i = 0; i < 200; i++)); do
	[ -e "$wire/status2" ] && break
	read -r -t 0.1 <> <(:)
done
if [ -e "$wire/status2" ]; then
	two=''
	rc2=$(cat "$wire/status2")
else
	echo "vm2: VM 2 did not end within 20 s, killed" >&2
	rc2=$RC_TIMEOUT
fi
[ "$rc2" -eq 0 ] || say "vm2: VM 2 ended with status $rc2"
[ "$rc" -ne 0 ] || rc=$rc2
exit "$rc"
