#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# kdir.sh: print the kernel build folder to build against when none was given:
# that of the running kernel, else the newest installed Debian headers.
set -u

try()
{
	[ -f "$1/Makefile" ] && [ -f "$1/.config" ] || return 1
	echo "$1"
	exit 0
}

try "/lib/modules/$(uname -r)/build"
for d in $(find /lib/modules -mindepth 2 -maxdepth 2 -name build 2>/dev/null |
	sort -rV); do
	try "$d"
done
for d in $(find /usr/src -mindepth 1 -maxdepth 1 -name 'linux-headers-*' \
	2>/dev/null | sort -rV); do
	try "$d"
done
echo "error: no kernel headers found; run: apt-get install linux-headers-amd64 (or pass KDIR=DIR)" >&2
exit 1
