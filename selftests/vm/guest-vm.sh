#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Guest side of make vm: set up what VM_SETUP asks for, then run CMD or a shell.

set -u
# shellcheck source=selftests/vm/guest-lib.sh
. "$VM_LIB"

# ip netns exec gives the command a new /sys without what is mounted below it.
inside='mount -t debugfs debugfs /sys/kernel/debug; mount -t tracefs tracefs /sys/kernel/tracing'
enter=()
hint=
case $VM_SETUP in
pair)
	load_rdma_soft || exit 1
	setup_pair "${VM_MTU:-1500}" || exit 1
	enter=(ip netns exec a)
	hint='netns a, soft0 10.77.0.1 fd77::1; "in_b COMMAND" runs in netns b, soft1 10.77.0.2 fd77::2'
	;;
rxe)
	load_rxe || exit 1
	setup_one_ns rxe rxe0 rxe1 "${VM_MTU:-1500}" || exit 1
	inside=:
	hint='in-tree rxe: rxe0 10.88.0.1, rxe1 10.88.0.2'
	;;
load)
	load_rdma_soft || exit 1
	inside=:
	;;
none)	inside=: ;;
*)
	echo "VM_SETUP=$VM_SETUP: pair, rxe, load or none" >&2
	exit 1
	;;
esac

if [ -n "$CMD" ]; then
	exec "${enter[@]}" bash -c "$inside; . \$VM_LIB; eval \"\$CMD\""
fi
cat >/run/bashrc <<RC
[ ! -r /etc/bash.bashrc ] || . /etc/bash.bashrc
. "\$VM_LIB"
$inside
printf '%s\n' $(printf %q "Debian kernel $(uname -r) in QEMU. $hint")
echo "Ctrl-D ends the VM, Ctrl-A X kills it."
RC
exec "${enter[@]}" bash --rcfile /run/bashrc -i
