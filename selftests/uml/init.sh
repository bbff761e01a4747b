#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Process 1 of a UML guest started by run-uml.sh. The root file system is the
# host's, read-only; what tests write goes to memory, or to $UML_OUT, a folder
# of the host mounted at /run/out. The variables come from the kernel command
# line (the kernel hands parameters it does not know to init).
set -u
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run LC_ALL=C.UTF-8
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts
ln -s /proc/self/fd /dev/fd
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs run /run
mount -t tmpfs vtmp /var/tmp
mount -t debugfs debugfs /sys/kernel/debug
mkdir -p /run/out /run/netns
if [ -n "${UML_OUT:-}" ]; then
	mount -t hostfs -o "$UML_OUT" none /run/out
fi
export TMPDIR=/var/tmp
ulimit -l unlimited
ip link set lo up
cd /run || exit 1
echo UML_BEGIN
"$UML_SCRIPT"
echo "UML_STATUS=$?"
exec "$UML_BUILD/poweroff"
