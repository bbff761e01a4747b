#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs in VM 1 of two-vms.sh: this end is soft0, 10.77.0.1 and fd77::1; the
# other end soft1, 10.77.0.2 and fd77::2, where vm2 'COMMAND' runs things.
set -u
# shellcheck source=selftests/vm/guest-lib.sh
. "$VM_LIB"

COMPARED=0
N=0
BAD=0
A4=10.77.0.1 B4=10.77.0.2 A6=fd77::1 B6=fd77::2

# client_ok STATUS: rping's threads race at the end: one closes the event channel
# that the other still reads, which then ends the program. Its data was compared.
client_ok()
{
	(($1 == 0)) && return 0
	(($1 == 255)) &&
		grep -q 'rdma_get_cm_event: Bad file descriptor' /run/client.log &&
		(($(grep -c '^ping data' /run/client.log) == 20))
}

# here_serves, there_serves: SERVER-COMMAND | CLIENT-COMMAND in $1 and $2.
there_serves()
{
	local rc=0
	vm2 "timeout 60 $1" > /run/server.log &
	# vm2 says nothing until the server ends
	wait_for 10 vm2 "listening_on $3" > /dev/null ||
		read -r -t 2 <> /dev/console
	eval "timeout 60 $2" > /run/client.log 2>&1 || rc=$?
	client_ok $rc && rc=0
	wait $! || rc=1
	return $rc
}

here_serves()
{
	local rc=0
	eval "timeout 60 $1" > /run/server.log 2>&1 &
	wait_for 10 listening_on "$3" || read -r -t 2 <> /dev/console
	vm2 "timeout 60 $2" > /run/client.log || rc=$?
	client_ok $rc && rc=0
	wait $! || rc=1
	return $rc
}

# note_counters: what is not 0, of our device.
note_counters()
{
	grep -H . /sys/class/infiniband/soft0/ports/1/hw_counters/* |
		sed 's,.*/,,' | grep -v ':0$' | tr '\n' ' ' | sed 's/^/# soft0: /'
	echo
}

# run NAME COUNT WHERE SERVER CLIENT PORT: COUNT operations are compared in it.
run()
{
	local name=$1 count=$2
	shift 2
	N=$((N + 1))
	if "$@"; then
		COMPARED=$((COMPARED + count))
		echo "ok $N - two_vms.$name"
	else
		BAD=$((BAD + 1))
		sed 's/^/# server: /' /run/server.log | tail -n 8
		sed 's/^/# client: /' /run/client.log | tail -n 8
		note_counters
		echo "not ok $N - two_vms.$name"
	fi
}

# both NAME COUNT PORT PROGRAM: '$D' is the device, '$G4' and '$G6' its GID
# indices; the client's command gets the server's address behind it.
both()
{
	local name=$1 count=$2 port=$3 cmd=$4 here there f a b
	for f in 4 6; do
		a=$A4 b=$B4
		[ $f = 4 ] || a=$A6 b=$B6
		here=${cmd//@DEV/soft0} there=${cmd//@DEV/soft1}
		here=${here//@GID/$(gid_index soft0 $a)}
		there=${there//@GID/$(vm2 "gid_index soft1 $b")}
		# the programs find each other over IPv4; the GIDs are of IPv$f
		run "${name}_v${f}_there" "$count" there_serves "$there" \
			"$here $B4" "$port"
		run "${name}_v${f}_here" "$count" here_serves "$here" \
			"$there $A4" "$port"
	done
}

cm_both()
{
	local name=$1 count=$2 port=$3 server=$4 client=$5 f a b
	for f in 4 6; do
		a=$A4 b=$B4
		[ $f = 4 ] || a=$A6 b=$B6
		run "${name}_v${f}_there" "$count" there_serves \
			"${server//@ADDR/$b}" "${client//@ADDR/$b}" "$port"
		run "${name}_v${f}_here" "$count" here_serves \
			"${server//@ADDR/$a}" "${client//@ADDR/$a}" "$port"
	done
}

# One line, because VM 2 takes one line at a time.
LISTENING='listening_on() { ss -tlnH "sport = :$1" | grep -q . ||'
LISTENING+=' rdma resource show cm_id | grep -q "LISTEN.*:$1\b"; }'
eval "$LISTENING"
eval "vm2_plain() $(declare -f vm2 | sed 1d)"
vm2() { vm2_plain "$LISTENING; $*"; }

echo "1..36"
for mtu in 256 512 1024; do
	both "rc_pingpong_$mtu" 40 18515 \
		"ibv_rc_pingpong -d @DEV -g @GID -m $mtu -c -e -n 20 -s 5003"
done
both uc_pingpong 0 18515 \
	"ibv_uc_pingpong -d @DEV -g @GID -m 1024 -e -n 20 -s 5003"
both ud_pingpong 0 18515 "ibv_ud_pingpong -d @DEV -g @GID -e -n 20 -s 1000"
both srq_pingpong 0 18515 "ibv_srq_pingpong -d @DEV -g @GID -e -q 4 -n 20"
cm_both rping 40 7174 "rping -s -a @ADDR -V -S 30000 -C 20" \
	"bash -o pipefail -c 'rping -c -a @ADDR -v -V -S 30000 -C 20 2>&1 | cut -c1-70'"
cm_both ucmatose 0 7471 "ucmatose -b @ADDR -c 5 -C 5 -S 2000" \
	"ucmatose -s @ADDR -c 5 -C 5 -S 2000"
cm_both udaddy 0 7174 "udaddy -b @ADDR -c 2 -C 5 -S 900" \
	"udaddy -s @ADDR -c 2 -C 5 -S 900"
echo "# interop: $COMPARED operations compared between two VMs"
((BAD == 0))
