# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# The driver under test: load, links, GIDs, counters, the kernel log.
# DRIVER=rdma_soft (default) or rxe; both are driven by the same commands.

DRIVER=${DRIVER:-rdma_soft}
DEVA=soft0
DEVB=soft1
MODULE=${MODULE:-${RDMA_SOFT_KO:-$TREE/drivers/rdma_soft/rdma_soft.ko}}
BUILD=${SELFTESTS_BUILD:-$TREE/build/selftests}

# What makes a test fail when the kernel prints it.
DMESG_BAD='WARNING:|BUG:|Oops|KASAN|KCSAN|UBSAN|general protection'
DMESG_BAD+='|possible circular|possible recursive|inconsistent lock state'
DMESG_BAD+='|suspicious RCU|sleeping function|leak|refcount_t'
DMESG_BAD+='|unregister_netdevice: waiting|blocked for more than'
DMESG_BAD+='|detected stall|soft lockup|Call Trace'

# pause SECONDS: sleep without starting a process (the guest is slow at that).
exec {PAUSE_FD}<> <(:)
pause()
{
	local unused
	read -r -t "$1" -u "$PAUSE_FD" unused
	return 0
}

# wait_for SECONDS CMD...: poll until CMD succeeds.
wait_for()
{
	local end=$((SECONDS + $1 + 1))
	shift
	until "$@"; do
		((SECONDS < end)) || return 1
		pause 0.05
	done
}

# Milliseconds of the monotonic clock.
now_ms()
{
	local up
	read -r up _ < /proc/uptime
	up=${up/./}
	printf '%d0\n' "$((10#$up))"
}

driver_module()
{
	if [ "$DRIVER" = rxe ]; then
		echo rdma_rxe
	else
		echo rdma_soft
	fi
}

driver_loaded()
{
	grep -q "^$(driver_module) " /proc/modules
}

# dep_load MODULE: a part of the kernel; in a UML guest it is built in.
dep_load()
{
	local ko
	grep -q "^$1 " /proc/modules && return 0
	if [ -n "${UML_BUILD:-}" ]; then
		grep -q "/$1\.ko$" "$UML_BUILD/modules.builtin" && return 0
		ko=$(find "$UML_BUILD" -name "$1.ko")
		insmod "${ko:?no module $1 for UML}"
		return
	fi
	modprobe "$1" || { note "modprobe $1 failed"; return 1; }
}

driver_load()
{
	local dep
	driver_loaded && return 0
	for dep in ib_uverbs rdma_ucm ib_umad; do
		dep_load $dep || return 1
	done
	if [ "$DRIVER" = rxe ]; then
		dep_load rdma_rxe
		return
	fi
	if ! [ -f "$MODULE" ]; then
		note "$MODULE is missing: run 'make modules' on the host first"
		return 1
	fi
	for dep in $(modinfo -F depends "$MODULE" | tr , ' '); do
		dep_load "$dep"
	done
	insmod "$MODULE"
}

driver_unload()
{
	rmmod "$(driver_module)"
}

# link_add NS DEV IF ('' = the current namespace)
link_add()
{
	if [ -n "$1" ]; then
		ip netns exec "$1" rdma link add "$2" type "$DRIVER" netdev "$3"
	else
		rdma link add "$2" type "$DRIVER" netdev "$3"
	fi
}

link_del()
{
	rdma link del "$1"
}

links_all()
{
	local dev
	for dev in /sys/class/infiniband/*; do
		[ ! -e "$dev" ] || echo "${dev##*/}"
	done
}

link_exists()
{
	[ -e "/sys/class/infiniband/$1" ]
}

link_gone()
{
	! link_exists "$1"
}

# gid_of ADDRESS: the GID as sysfs prints it.
gid_of()
{
	local a=$1 head tail n i out=
	local -a h t
	if [[ $a != *:* ]]; then
		IFS=. read -ra h <<< "$a"
		printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n' "${h[@]}"
		return
	fi
	head=${a%%::*}
	tail=
	[[ $a != *::* ]] || tail=${a#*::}
	IFS=: read -ra h <<< "$head"
	IFS=: read -ra t <<< "$tail"
	n=$((8 - ${#h[@]} - ${#t[@]}))
	for i in "${h[@]}"; do
		out+=$(printf ':%04x' "0x$i")
	done
	for ((i = 0; i < n; i++)); do
		out+=:0000
	done
	for i in "${t[@]}"; do
		out+=$(printf ':%04x' "0x$i")
	done
	printf '%s\n' "${out#:}"
}

# gid_index DEV ADDRESS: index of the RoCE v2 GID, fails if there is none.
# Tests make few addresses: the first entries are enough.
gid_index()
{
	local port=/sys/class/infiniband/$1/ports/1 want gid type i
	want=$(gid_of "$2")
	for ((i = 0; i < 32; i++)); do
		{ read -r gid < "$port/gids/$i"; } 2> /dev/null || continue
		[ "$gid" = "$want" ] || continue
		{ read -r type < "$port/gid_attrs/types/$i"; } 2> /dev/null
		if [ "${type:-}" = 'RoCE v2' ]; then
			echo "$i"
			return 0
		fi
	done
	return 1
}

# counter DEV NAME: what 'rdma statistic' prints, read without a process; 0 if
# there is no such counter.
counter()
{
	local v=0
	{ read -r v < "/sys/class/infiniband/$1/ports/1/hw_counters/$2"; } 2> /dev/null
	echo "${v:-0}"
}

# note_counters DEV: the ones that are not 0, for the log of a failure.
note_counters()
{
	local f v line=
	for f in "/sys/class/infiniband/$1/ports/1/hw_counters"/*; do
		{ read -r v < "$f"; } 2> /dev/null || continue
		[ "$v" = 0 ] || line+=" ${f##*/}=$v"
	done
	note "$1:$line"
}

# assert_grew WHAT BEFORE AFTER [MINIMUM]
assert_grew()
{
	(($3 - $2 >= ${4:-1})) ||
		fail "$1 went from $2 to $3, expected at least ${4:-1} more"
}

# dmesg_bad: the lines since the last 'dmesg -C' that no test may cause.
dmesg_bad()
{
	dmesg --color=never | grep -E "$DMESG_BAD"
}

# listening PID PORT: does a TCP socket listen there in that process' netns?
listening()
{
	local hex
	hex=$(printf ':%04X 0' "$2")
	cat "/proc/$1/net/tcp" "/proc/$1/net/tcp6" 2> /dev/null |
		grep -qE "${hex}[^ ]*:0000 0A"
}

# proc_gone PID
proc_gone()
{
	local stat
	# A zombie is gone: bash may not have seen yet that its child ended, and
	# in a loop without other children never sees it.
	{ read -r stat < "/proc/$1/stat"; } 2> /dev/null || return 0
	[[ ${stat##*) } == [ZX]* ]]
}
