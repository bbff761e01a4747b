#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Process 1 of the test VM after initramfs-init. $1 is the control folder on the
# writable share; it holds what run-vm.sh wants done:
#
#   env       shell assignments for the command (VM_* and what --env passed)
#   job       the command, a bash script
#   status    written here: exit status of the job
#   dmesg     written here: the kernel log
#
# Few processes on purpose: each costs up to 0.2 s on a busy emulated CPU.

set -u
ctl=$1
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LANG=C.UTF-8 TERM=linux

# shellcheck disable=SC1091  # written by run-vm.sh
. "$ctl/env"
echo "$VM_NAME" >/proc/sys/kernel/hostname
ulimit -l unlimited
ulimit -c 0

# The virtio ports carry the job's output; QEMU announces them one by one. They
# can be opened only once, so the job gets pipes: writing to /dev/stderr works.
find_ports()
{
	local p n
	for p in /sys/class/virtio-ports/*; do
		n=
		read -r n 2>/dev/null <"$p/name"
		case $n in
		vm.out) out=/dev/${p##*/} ;;
		vm.err) err=/dev/${p##*/} ;;
		esac
	done
	[ -c "$out" ] && [ -c "$err" ]
}
have_terminal() { [ -c /dev/hvc0 ]; }

out='' err=''
ready=find_ports
[ "$VM_MODE" != shell ] || ready=have_terminal
for ((i = 0; i < 3000; i++)); do
	$ready && break
	read -r -t 0.02 <>/dev/console	# a pause without a process
done

# What the job left running would keep the pipes open.
kill_leftovers()
{
	local p c
	for p in /proc/[0-9]*; do
		p=${p#/proc/}
		case " 1 $outpump $errpump " in *" $p "*) continue ;; esac
		c=
		read -r -d '' c 2>/dev/null <"/proc/$p/cmdline"
		[ -n "$c" ] && kill -9 "$p" 2>/dev/null
	done
}

cd "$VM_CWD" || cd /
if [ "$VM_MODE" = shell ]; then
	setsid -c -w bash "$ctl/job" </dev/hvc0 >/dev/hvc0 2>&1
	rc=$?
else
	"$VM_BUSYBOX" mkfifo /run/vm-out /run/vm-err
	"$VM_BUSYBOX" cat /run/vm-out >"$out" &
	outpump=$!
	"$VM_BUSYBOX" cat /run/vm-err >"$err" &
	errpump=$!
	set -m
	bash "$ctl/job" </dev/null >/run/vm-out 2>/run/vm-err &
	wait $!
	rc=$?
	set +m
	kill_leftovers
	wait "$outpump" "$errpump"
fi
"$VM_BUSYBOX" dmesg >"$ctl/dmesg"
echo "$rc" >"$ctl/status"
"$VM_BUSYBOX" sync
echo o >/proc/sysrq-trigger
while :; do read -r -t 5 <>/dev/console; done
