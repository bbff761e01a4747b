#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make vm: a shell in the test VM, or one command (CMD).
#
# Before the command runs, the module is loaded and two namespaces are set up:
#
#   netns a: va 10.77.0.1/24 fd77::1/64, link soft0 --veth-- netns b: vb 10.77.0.2/24 fd77::2/64, link soft1
#
# CMD runs in a; "in_b COMMAND" runs something in b. Environment:
#
#   CMD        the command; without it an interactive shell in a
#   VM_SETUP   pair (default), rxe (in-tree driver, rxe0 10.88.0.1 and rxe1 10.88.0.2 in the
#              initial namespace), load (module only, initial namespace), none (nothing)
#   VM_MTU     MTU of the veth pair (1500)
#   ICOUNT     1: instruction mode (see run-vm.sh --help)
# and those of run-vm.sh.

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
case ${1:-} in
-h|--help) sed -n '4,18s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
opts=(--env "VM_SETUP=${VM_SETUP:-pair}" --env "CMD=${CMD:-}" --env "VM_MTU=${VM_MTU:-1500}")
[ -z "${ICOUNT:-}" ] || [ "$ICOUNT" = 0 ] || opts+=(--icount)

if [ -n "${CMD:-}" ]; then
	exec "$here/run-vm.sh" "${opts[@]}" --script "$here/guest-vm.sh"
fi
exec "$here/run-vm.sh" "${opts[@]}" --env "VM_SHELL=$here/guest-vm.sh" --shell
