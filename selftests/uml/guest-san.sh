#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Guest side of san.sh: exercises the driver in a kernel with KASAN, lock
# proving, object debugging and kmemleak. Prints one TAP result line per test
# (san.sh numbers them); the kernel log and the KUnit results go to /run/out.
# $MODULES is the folder of the modules, $TOP the project.
set -u

# result STATUS NAME [NOTE]
result()
{
	if [ "$1" -eq 0 ]; then
		echo "ok - $2 # ${SECONDS}s"
	else
		echo "not ok - $2${3:+ # $3}"
	fi
}

note()
{
	echo "# $*"
}

# wait_for SECONDS COMMAND...: poll until the command succeeds.
wait_for()
{
	local end=$((SECONDS + $1))

	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

in_ns()
{
	ip netns exec "$@"
}

tx_bytes()
{
	in_ns "$1" cat "/sys/class/net/$2/statistics/tx_bytes"
}

# bytes_moved NS DEV BASE AMOUNT: traffic since BASE reached AMOUNT.
bytes_moved()
{
	[ $(($(tx_bytes "$1" "$2") - $3)) -ge "$4" ]
}

# gid_index NS DEV ADDRESS: index of the RoCEv2 GID of an IPv4 address.
gid_index()
{
	local hex ip dir=/sys/class/infiniband/$2/ports/1

	IFS=. read -ra ip <<<"$3"
	hex=$(printf '%02x%02x:%02x%02x' "${ip[@]}")
	hex=0000:0000:0000:0000:0000:ffff:$hex
	# shellcheck disable=SC2016 # expanded by the inner shell
	in_ns "$1" bash -c '
		for g in "$1"/gids/*; do
			[ "$(cat "$g")" = "$2" ] || continue
			i=${g##*/}
			grep -q v2 "$1/gid_attrs/types/$i" 2>/dev/null || continue
			echo "$i"
			exit 0
		done
		exit 1' bash "$dir" "$hex"
}

# user_qps: number of QPs that belong to processes.
user_qps()
{
	rdma res show qp 2>/dev/null | grep -c ' pid '
}

no_user_qps()
{
	[ "$(user_qps)" -eq 0 ]
}

add_links()
{
	in_ns a rdma link add soft0 type rdma_soft netdev v0 &&
		in_ns b rdma link add soft1 type rdma_soft netdev v1 &&
		wait_for 5 gid_index a soft0 10.9.0.1 &&
		wait_for 5 gid_index b soft1 10.9.0.2
}

del_links()
{
	in_ns a rdma link del soft0 && in_ns b rdma link del soft1
}

setup()
{
	local ns

	ip netns add a && ip netns add b || return 1
	ip link add v0 netns a mtu 4200 type veth peer name v1 netns b mtu 4200 ||
		return 1
	ip -n a addr add 10.9.0.1/24 dev v0
	ip -n b addr add 10.9.0.2/24 dev v1
	for ns in a b; do
		ip -n $ns link set lo up
	done
	ip -n a link set v0 up && ip -n b link set v1 up
}

listening()
{
	in_ns a ss -ltn | grep -q ':18515 '
}

# pair PROGRAM ARGUMENT...: server in a, client in b, both must succeed.
pair()
{
	local prog=$1 ga gb server rc=0

	shift
	ga=$(gid_index a soft0 10.9.0.1) && gb=$(gid_index b soft1 10.9.0.2) ||
		return 1
	in_ns a timeout 60 "$prog" -d soft0 -g "$ga" "$@" >a.log 2>&1 &
	server=$!
	wait_for 10 listening
	in_ns b timeout 60 "$prog" -d soft1 -g "$gb" "$@" 10.9.0.1 >b.log 2>&1 || rc=1
	wait $server || rc=1
	[ $rc -eq 0 ] || sed 's/^/# /' a.log b.log
	return $rc
}

pairs()
{
	local base

	base=$(tx_bytes a v0)
	pair ibv_rc_pingpong -e -c -n 100 -s 4096
	result $? "rc_pingpong_4096"
	pair ibv_rc_pingpong -e -c -n 20 -s 262144
	result $? "rc_pingpong_262144"
	bytes_moved a v0 "$base" $((20 * 262144))
	result $? "packets_crossed_the_veth"
	pair ibv_rc_pingpong -e -n 100 -s 1 -m 256
	result $? "rc_pingpong_1"
	pair ibv_uc_pingpong -e -n 100 -s 16384
	result $? "uc_pingpong_16384"
	pair ibv_ud_pingpong -e -n 100 -s 1024
	result $? "ud_pingpong_1024"
	pair ibv_srq_pingpong -e -n 50 -q 4 -s 4096
	result $? "srq_pingpong_4_qps"
}

# start_traffic: an endless ping-pong, returns once it moves bytes. The
# processes are then in $traffic.
start_traffic()
{
	local ga gb base

	ga=$(gid_index a soft0 10.9.0.1) && gb=$(gid_index b soft1 10.9.0.2) ||
		return 1
	base=$(tx_bytes a v0)
	# Not by in_ns: the process to kill is the program itself.
	ip netns exec a ibv_rc_pingpong -e -d soft0 -g "$ga" -n 100000000 -s 65536 \
		>a.log 2>&1 &
	traffic=($!)
	wait_for 10 listening
	ip netns exec b ibv_rc_pingpong -e -d soft1 -g "$gb" -n 100000000 -s 65536 \
		10.9.0.1 >b.log 2>&1 &
	traffic+=($!)
	wait_for 30 bytes_moved a v0 "$base" 1000000 && return 0
	note "no traffic within 30 s"
	sed 's/^/# /' a.log b.log
	return 1
}

stop_traffic()
{
	kill -9 "${traffic[@]}" 2>/dev/null
	wait "${traffic[@]}" 2>/dev/null
}

killed_processes()
{
	local i rc=0

	for i in 1 2 3; do
		start_traffic || rc=1
		# Objects are in flight: QPs exist now and must be gone after.
		no_user_qps && note "no QP of a process before kill -9" && rc=1
		stop_traffic
		wait_for 10 no_user_qps && continue
		note "QPs of killed processes remain"
		rc=1
	done
	result $rc kill_9_during_traffic
	pair ibv_rc_pingpong -e -c -n 20 -s 4096
	result $? "rc_pingpong_after_kill_9"
}

# deleted_links: links go away under running traffic, from either end.
deleted_links()
{
	local i rc=0

	for i in 1 2 3; do
		start_traffic || rc=1
		if [ $((i % 2)) = 1 ]; then
			in_ns a timeout 20 rdma link del soft0 || rc=1
			in_ns b timeout 20 rdma link del soft1 || rc=1
		else
			in_ns b timeout 20 rdma link del soft1 || rc=1
			in_ns a timeout 20 rdma link del soft0 || rc=1
		fi
		stop_traffic
		add_links || rc=1
	done
	result $rc link_del_during_traffic
}

link_cycles()
{
	local i rc=0

	for i in $(seq 5); do
		del_links && add_links || rc=1
	done
	result $rc link_add_del_5_times
}

netdev_and_netns_gone()
{
	local rc=0

	start_traffic || rc=1
	# Takes both ends of the veth, and so both links, with it.
	ip -n a link del v0 || rc=1
	wait_for 20 no_links || rc=1
	stop_traffic
	result $rc netdev_removed_during_traffic
	ip netns del a
	ip netns del b
	setup && add_links
	result $? links_again
	start_traffic || rc=1
	stop_traffic
	ip netns del a
	ip netns del b
	wait_for 20 no_links
	result $? netns_removed_with_links
}

# Allocations of link creation fail, one in each attempt. Not in the "rdma"
# program: only the request itself is to meet the failure.
failing_allocations()
{
	# Sleeping allocations too, and one line each is enough.
	echo N >/sys/kernel/debug/failslab/ignore-gfp-wait
	echo 0 >/sys/kernel/debug/failslab/verbose
	in_ns a rdma link del soft0
	# Hundreds of reports of failed allocations belong into the log only.
	dmesg -n 1
	in_ns a timeout 300 "$TOP/selftests/uml/fail_alloc.py" soft0 v0
	result $? link_add_with_failing_allocations
	in_ns a rdma link add soft0 type rdma_soft netdev v0
	result $? link_add_afterwards
}

no_links()
{
	! rdma link show | grep -q soft
}

unload_with_links()
{
	local rc=0

	setup && add_links && start_traffic || rc=1
	# A process holds the device; removal must not wait for it.
	in_ns a rdma link del soft0 && in_ns b rdma link del soft1 || rc=1
	timeout 30 rmmod rdma_soft 2>rmmod.log || {
		# References of open files are allowed to refuse, not to hang.
		grep -q 'in use' rmmod.log || rc=1
		stop_traffic
		wait_for 20 rmmod rdma_soft || rc=1
	}
	stop_traffic
	[ ! -d /sys/module/rdma_soft ] || rc=1
	result $rc rmmod
}

kmemleak=/sys/kernel/debug/kmemleak
leaks()
{
	local i

	# An object must be five seconds old to be reported, and a second scan
	# removes what the first saw by accident.
	for i in 1 2; do
		sleep 6
		echo scan >$kmemleak
	done
	cat $kmemleak >/run/out/kmemleak.txt
	if [ -s /run/out/kmemleak.txt ]; then
		head -n 60 /run/out/kmemleak.txt | sed 's/^/# /'
		result 1 no_leaked_memory
	else
		result 0 no_leaked_memory
	fi
}

kunit()
{
	local r suite

	insmod "$MODULES/tests/rdma_soft_kunit.ko"
	result $? kunit_module_loads
	for r in /sys/kernel/debug/kunit/*/results; do
		[ -e "$r" ] || continue
		suite=${r%/results}
		cat "$r" >"/run/out/${suite##*/}.ktap"
	done
	rmmod rdma_soft_kunit
	result $? kunit_module_unloads
}

[ -w $kmemleak ] || { echo "not ok - kmemleak_available"; exit 1; }
echo 20 >/proc/sys/kernel/hung_task_timeout_secs
echo scan >$kmemleak
echo clear >$kmemleak
dmesg -C

insmod "$MODULES/rdma_soft.ko"
result $? insmod
setup && add_links
result $? link_add
rdma link show | sed 's/^/# /'
# ONLY=NAME,... runs some of the tests, to look at one.
for t in kunit pairs killed_processes deleted_links link_cycles \
	failing_allocations netdev_and_netns_gone unload_with_links; do
	case ,${ONLY:-$t}, in *,$t,*) $t ;; esac
done
leaks
grep -q '^ *debug_locks: *1' /proc/lockdep_stats
result $? lockdep_still_on
dmesg --color=never >/run/out/dmesg.txt
exit 0
