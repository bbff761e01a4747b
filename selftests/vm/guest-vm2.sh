#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Guest side of make vm2: $1 is 1 or 2, the VM's number. VM 2 serves commands of
# VM 1 on TCP port 4700: one line in, output and "status N" back; "END" ends it.

set -u
# shellcheck source=selftests/vm/guest-lib.sh
. "$VM_LIB"
me=$1
other=$((3 - me))
agent=4700

modprobe virtio_net || exit 1
"$VM_BUSYBOX" sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0
wait_for 10 test -e /sys/class/net/eth0 || { err "no eth0"; exit 1; }
ip -b - <<-IP || exit 1
addr add 10.77.0.$me/24 dev eth0
addr add fd77::$me/64 dev eth0
link set eth0 up
IP
dev=soft$((me - 1))
case $VM_TYPE in
rdma_soft) load_rdma_soft || exit 1 ;;
rxe) load_rxe || exit 1 ;;
esac
if [ "$VM_TYPE" != none ]; then
	rdma link add $dev type "$VM_TYPE" netdev eth0 || { err "link $dev failed"; exit 1; }
	links_ready "$dev" "10.77.0.$me" "fd77::$me" || exit 1
fi

if [ "$me" = 2 ]; then
	rc=0 pid=
	if [ -n "$CMD" ]; then
		(eval "$CMD") &
		pid=$!
		# Serve only when the command listens, if it ever does.
		wait_for 3 listening
	fi
	cat >/run/agent <<-'AGENT'
	#!/bin/bash
	read -r line
	[ "$line" != END ] || { touch /run/end; exit; }
	. "$VM_LIB"
	eval "$line" 2>&1
	echo "status $?"
	AGENT
	chmod +x /run/agent
	"$VM_BUSYBOX" nc -ll -p $agent -e /run/agent &
	while [ ! -e /run/end ]; do read -r -t 0.2 <>/dev/console; done
	if [ -n "$pid" ]; then
		wait_for 10 gone "$pid" || { err "CMD2 still runs, killed"; kill -9 "$pid"; }
		wait "$pid"
		rc=$?
	fi
	exit $rc
fi

# vm2 'COMMAND': run it in the other VM. CMD and the shell call it.
# shellcheck disable=SC2317
vm2()
{
	local line last='status 1'
	while IFS= read -r line; do
		case $line in
		'status '[0-9]*) last=$line ;;
		*) printf '%s\n' "$line" ;;
		esac
	done < <(printf '%s\n' "$*" | "$VM_BUSYBOX" nc "10.77.0.$other" "$agent")
	return "${last#status }"
}
export -f vm2
export other agent

wait_for 120 vm2 true || { err "VM 2 does not answer"; exit 1; }
if [ -n "$CMD" ]; then
	(eval "$CMD")
	rc=$?
else
	cat >/run/bashrc <<-RC
	. "\$VM_LIB"
	echo "VM 1, $dev 10.77.0.1 fd77::1. vm2 'COMMAND' runs in VM 2, 10.77.0.2 fd77::2. Ctrl-D ends both."
	RC
	bash --rcfile /run/bashrc -i
	rc=$?
fi
printf 'END\n' | "$VM_BUSYBOX" nc "10.77.0.$other" "$agent"
exit $rc
