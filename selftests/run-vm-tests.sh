#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Host side of the selftests: boots the test VM, runs selftests/run.sh in it,
# prints TAP and judges what came back against the host's own list.
#
#   run-vm-tests.sh              every test of the suite 'check'
#   run-vm-tests.sh PATTERN...   tests whose name contains a PATTERN, any suite;
#                                a single PATTERN may be TEST:SUBTEST
#   run-vm-tests.sh --list       the names
#   --suite NAME                 check (default), perftest or all
#   --driver rxe                 the same tests on in-tree rxe (to judge a test)
#   --rig 1ns|2ns                topology, see lib/net.sh
#   --append ARGS                more kernel command line for the VM
#   --out DIR                    logs (default build/selftests/log)
#   --icount                     instruction mode: one CPU, and times that do not
#                                depend on how busy the host is
#   --uml                        in a User Mode Linux guest, native and on one CPU;
#                                every test of the suite 'uml' if none is named
#
# Fails if: a test failed; a test of the list has no result (the VM died: it is
# booted again for the rest); the guest's plan is not the host's; a suite ran
# nothing; something was skipped that selftests/skips.txt does not list.
# Last line: # totals pass:N fail:N skip:N
set -u

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TREE=$(dirname "$HERE")
SUITE=check
DRIVER=rdma_soft
RIG=
VM_ARGS=()
PATTERNS=()
UML=0
LOGDIR=
MAX_BOOTS=4

die()
{
	echo "run-vm-tests.sh: $*" >&2
	exit 2
}

usage()
{
	sed -n '2,/^set -u/s/^# \{0,1\}//p' "$0"
}

# list_tests SUITE [PATTERN...]: names of tests.list, in its order. A pattern
# that is a whole name means only that test.
list_tests()
{
	local suite=$1
	shift
	awk -v s="$suite" -v p="$*" '
		/^#/ || NF == 0 { next }
		{ name[++n] = $1; suite[n] = $4; whole[$1] = 1 }
		END {
			np = split(p, pat, " ")
			for (i = 1; i <= n; i++) {
				hit = !np && (s == "all" || suite[i] == s)
				for (j = 1; j <= np; j++)
					if (pat[j] in whole)
						hit = hit || name[i] == pat[j]
					else
						hit = hit || index(name[i], pat[j])
				if (hit)
					print name[i]
			}
		}' "$HERE/tests.list"
}

declare -A RESULT=()
PASS=0 FAIL=0 SKIP=0
CURRENT=
VM_PID=

# skip_listed TEST SUBTEST: skips.txt has 'TEST: SUBTEST<tab>reason'.
skip_listed()
{
	awk -F '\t' -v n="$1: $2" '
		$1 == n && $2 != "" { found = 1 } END { exit !found }
	' "$HERE/skips.txt"
}

# A line of a test's own results: counted one by one.
subtest_line()
{
	local line=$1 name
	case $line in
	'not ok '*)
		FAIL=$((FAIL + 1))
		SUBBAD=$((SUBBAD + 1)) ;;
	'ok '*'# SKIP'*)
		name=${line#ok * - }
		name=${name%% # SKIP*}
		if [ "$DRIVER" = rxe ] || skip_listed "$CURRENT" "$name"; then
			SKIP=$((SKIP + 1))
		else
			echo "    # skip of '$CURRENT: $name' is not in selftests/skips.txt"
			FAIL=$((FAIL + 1))
			SUBBAD=$((SUBBAD + 1))
		fi ;;
	'ok '*)
		PASS=$((PASS + 1)) ;;
	esac
}

# A test's final line. A failure no subtest accounts for counts as one.
test_line()
{
	local line=$1 name
	name=${line#*ok * - }
	name=${name%% # *}
	if [ -n "${RESULT[$name]:-}" ]; then
		echo "# $name reported twice"
		FAIL=$((FAIL + 1))
	fi
	RESULT[$name]=ok
	if [[ $line == 'not ok '* ]]; then
		RESULT[$name]=bad
		((SUBBAD)) || FAIL=$((FAIL + 1))
	fi
	CURRENT=
}

# silence_limit: seconds without a word after which a guest is given up. A guest
# that still lives says before that what hangs (watch_over in run.sh).
silence_limit()
{
	awk -v n="$CURRENT" '$1 == n { s = $2 } END { print s + 300 }' "$HERE/tests.list"
}

# Everything the guest prints passes here. PLANNED: what this boot should plan.
consume()
{
	local line limit rc
	limit=$(silence_limit)
	while true; do
		IFS= read -r -t "$limit" line || {
			rc=$?
			((rc > 128)) || break
			echo "# nothing from the guest for $limit s, it is stopped"
			stop_vm
			break
		}
		printf '%s\n' "$line"
		case $line in
		'# begin '*)
			CURRENT=${line#\# begin }
			limit=$(silence_limit)
			SUBBAD=0 ;;
		'1..'*)
			GUEST_PLAN=${line#1..} ;;
		'    ok '* | '    not ok '*)
			subtest_line "${line#    }" ;;
		'ok '* | 'not ok '*)
			test_line "$line" ;;
		esac
	done
}

# No VM outlives this script.
stop_vm()
{
	[ -z "$VM_PID" ] || kill -- "-$VM_PID" 2> /dev/null
}

# guest SECONDS TEST...: becomes the machine that runs these tests.
guest()
{
	local limit=$1
	shift
	if ((UML)); then
		exec "$HERE/uml/tests.sh" --timeout "$limit" --out "$LOGDIR/guest" \
			"${@/%/${SUBTEST:+:$SUBTEST}}"
	fi
	exec "$HERE/vm/run-vm.sh" --timeout "$limit" --out "$LOGDIR" \
		--netdev hubport,hubid=0 "${VM_ARGS[@]}" \
		--env "DRIVER=$DRIVER" --env "RIG=$RIG" --env OUT=/out \
		--env "KTAP_PATTERN=$SUBTEST" --script "$HERE/run.sh" "$@"
}

# boot TEST...: one VM for these tests.
boot()
{
	local fifo rc limit
	limit=$(awk -v names=" $* " '
		index(names, " " $1 " ") { s += $2 + 5 } END { print s + 120 }
	' "$HERE/tests.list")
	fifo=$(mktemp -u)
	mkfifo "$fifo"
	GUEST_PLAN=
	CURRENT=
	SUBBAD=0
	set -m
	guest "$limit" "$@" > "$fifo" 2> "$LOGDIR/vm.stderr" &
	VM_PID=$!
	set +m
	consume < "$fifo"
	wait "$VM_PID"
	rc=$?
	VM_PID=
	rm -f "$fifo"
	if [ "$GUEST_PLAN" != $# ]; then
		echo "# the guest planned '$GUEST_PLAN' tests, the host $#"
		((${#GUEST_PLAN})) && FAIL=$((FAIL + 1))
	fi
	case $rc in
	0 | 1) ;;
	*)
		# a test that was running is counted by the caller
		[ -n "$CURRENT" ] || FAIL=$((FAIL + 1))
		echo "# the VM ended with status $rc: see $LOGDIR"
		tail -n 20 "$LOGDIR/vm.stderr" | sed 's/^/# vm: /' ;;
	esac
}

# What has no result yet.
missing()
{
	local t
	for t in "${TESTS[@]}"; do
		[ -n "${RESULT[$t]:-}" ] || echo "$t"
	done
}

# parse ARGUMENTS: sets the options and TESTS.
parse()
{
	while (($#)); do
		case $1 in
		--suite) SUITE=${2:?--suite needs a name}; shift ;;
		--driver) DRIVER=${2:?--driver needs a name}; shift ;;
		--rig) RIG=${2:?--rig needs 1ns or 2ns}; shift ;;
		--append) VM_ARGS+=(--append "${2:?--append needs arguments}"); shift ;;
		--out) LOGDIR=${2:?--out needs a folder}; shift ;;
		--icount) VM_ARGS+=(--icount) ;;
		--uml) UML=1 SUITE=uml ;;
		--list) list_tests all; exit 0 ;;
		-h | --help) usage; exit 0 ;;
		-*) die "unknown option $1, see --help" ;;
		*) PATTERNS+=("$1") ;;
		esac
		shift
	done

	SUBTEST=
	if ((${#PATTERNS[@]} == 1)) && [[ ${PATTERNS[0]} == *:* ]]; then
		SUBTEST=${PATTERNS[0]#*:}
		PATTERNS=("${PATTERNS[0]%%:*}")
	fi
	case $DRIVER in
	rxe) RIG=${RIG:-1ns} ;;
	*) RIG=${RIG:-2ns} ;;
	esac

	mapfile -t TESTS < <(list_tests "$SUITE" "${PATTERNS[@]}")
	((${#TESTS[@]})) ||
		die "no test matches '${PATTERNS[*]:-$SUITE}': see --list"

	make -s -f "$TREE/scripts/selftests.mk" -C "$TREE" selftests >&2 ||
		die "the test programs do not build: run 'make selftests'"
	if ((UML)); then
		[ "$DRIVER $RIG ${#VM_ARGS[@]}" = "rdma_soft 2ns 0" ] ||
			die "--uml goes with none of --driver, --rig, --append, --icount"
		LOGDIR=${LOGDIR:-$TREE/build/selftests/uml-log}
	elif [ "$DRIVER" != rxe ] && ! [ -f "$TREE/drivers/rdma_soft/rdma_soft.ko" ]; then
		die "drivers/rdma_soft/rdma_soft.ko is missing: run 'make modules'"
	fi
	LOGDIR=${LOGDIR:-$TREE/build/selftests/log}
	mkdir -p "$LOGDIR" || die "cannot create $LOGDIR"
}

# What is read so far may be edited while the tests run: all of it is functions.
main()
{
	local boots=0 t
	trap stop_vm EXIT
	trap 'exit 130' INT TERM
	local -a rest=()
	parse "$@"
	while mapfile -t rest < <(missing) && ((${#rest[@]} && boots < MAX_BOOTS)); do
		boots=$((boots + 1))
		boot "${rest[@]}"
		if [ -n "$CURRENT" ]; then
			echo "not ok - $CURRENT # the VM died in this test"
			RESULT[$CURRENT]=bad
			FAIL=$((FAIL + 1))
		elif [ -z "$GUEST_PLAN" ]; then
			break
		fi
	done
	for t in "${rest[@]}"; do
		[ -z "${RESULT[$t]:-}" ] || continue
		echo "not ok - $t # no result"
		FAIL=$((FAIL + 1))
	done
	if ((PASS + FAIL + SKIP == 0)); then
		echo "# no test ran"
		FAIL=1
	fi
	for t in "${!RESULT[@]}"; do
		[ "${RESULT[$t]}" = ok ] || echo "# failed: $t"
	done
	echo "# totals pass:$PASS fail:$FAIL skip:$SKIP"
	((FAIL == 0))
}

main "$@"; exit
