#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Several QPs on two CPUs under a kernel with lock statistics: which locks had
# somebody wait for them on the data path, and are they the driver's? Needs
# /proc/lock_stat and the kernel parameter no_hash_pointers (check.sh lockstat).
#
# A lock is the driver's if its class was made by the driver: then the class's
# key lies in the memory of the module, or is one of its locks itself.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
# shellcheck source=selftests/scale/load.sh
. "$HERE/scale/load.sh"

STAT=/run/lock_stat
CLASSES=/run/lock_classes
JUDGED=/run/lock_judged

statistics_on()
{
	[ -w /proc/lock_stat ] || fail "this kernel has no lock statistics"
	echo 1 > /proc/sys/kernel/lock_stat || fail "they cannot be switched on"
}

# classes: a line "ours NAME SHOWN" or "kernel NAME SHOWN" for each lock class.
# SHOWN is what lock_stat makes of the name: 38 characters at most, and one digit
# only of the number of a class whose name others have, too.
classes()
{
	local name size state from to
	while read -r name size _ _ state from _; do
		[ "$name" != "$(driver_module)" ] || break
	done < /proc/modules
	[ "$state $name" = "Live $(driver_module)" ] || fail "no module"
	printf -v to '%x' $((from + size))
	awk -v from="${from#0x}" -v to="$to" '
	match($0, /^[0-9a-f]+ *: /) {
		key = substr($0, 1, 16)
		name = base = substr($0, RLENGTH + 1)
		version = sub_class = ""
		if (match(base, /\/[0-9]+$/)) {
			sub_class = substr(base, RSTART, 2)
			base = substr(base, 1, RSTART - 1)
		}
		if (match(base, /#[0-9]+$/)) {
			version = substr(base, RSTART, 2)
			base = substr(base, 1, RSTART - 1)
		}
		room = 37 - length(version) - length(sub_class)
		gsub(/ /, "_", base)
		gsub(/ /, "_", name)
		print ("x" key >= "x" from && "x" key < "x" to ? "ours" : "kernel"),
			name, substr(base, 1, room) version sub_class
	}' /proc/lockdep > $CLASSES
	grep -q '^ours ' $CLASSES || fail "no lock class is the driver's: no_hash_pointers?"
}

# judge: of what lock_stat says, "WHOSE NAME CONTENTIONS ACQUISITIONS WAITED", the
# last in us, a line for each class that was taken. WHOSE is "both" if lock_stat's
# name does not tell: this counts as the driver's, but for the lock in a completion
# ("sleeper"), which only they use who sleep: nobody does so on the data path.
judge()
{
	awk '
	FNR == NR {
		whose[$3] = whose[$3] && whose[$3] != $1 ? "both" : $1
		next
	}
	match($0, /: +[0-9]+ +[0-9]+ +[0-9]+\.[0-9]+ /) {
		name = substr($0, 1, RSTART - 1)
		sub(/^ +/, "", name)
		gsub(/ /, "_", name)
		split(substr($0, RSTART + 1), v)
		key = name
		if (!(key in whose))
			sub(/-[WR]$/, "", key)
		who = key in whose ? whose[key] : "unknown"
		if (who == "both" && key ~ /^&x->wait(#|$)/)
			who = "sleeper"
		print who, name, v[2], v[8], v[5]
	}' $CLASSES $STAT
}

# contended ARGUMENTS-OF-FLOWS: the load with statistics of its data path; judge's
# lines are in $JUDGED. Statistics end with the first complaint of lockdep.
contended()
{
	rm -f $STAT
	FLOWS_BEFORE="echo 0 > /proc/lock_stat" FLOWS_AFTER="cat /proc/lock_stat > $STAT" \
		flows "$@"
	grep -q '^lock_stat version' $STAT || fail "no statistics"
	! grep -q 'debugging disabled' $STAT || fail "lockdep has switched itself off"
	classes
	judge > $JUDGED
	[ -z "${OUT:-}" ] || cp $STAT $CLASSES $JUDGED "$OUT"
}

# report WHAT BYTES: each class with contentions; sets OURS (how often contended),
# TAKEN (how often the driver's were taken) and CQ (contentions of a CQ's lock)
report()
{
	local what=$1 bytes=$2 whose name n taken waited kernel=0 list=
	OURS=0 TAKEN=0 CQ=0
	while read -r whose name n taken waited; do
		case $whose in
		kernel | sleeper)
			kernel=$((kernel + n)) ;;
		*)
			OURS=$((OURS + n))
			TAKEN=$((TAKEN + taken))
			[ "$whose $name" != 'ours &cq->lock' ] || CQ=$n ;;
		esac
		((n == 0)) ||
			list+="# scale: lock_stat,   $whose $name: contended $n of $taken times, waited $waited us"$'\n'
	done < $JUDGED
	note "scale: lock_stat, WRITE $bytes B, $what: $MESSAGES messages; the driver's locks" \
		"taken $TAKEN times, contended $OURS times; the kernel's contended $kernel times"
	printf '%s' "$list"
}

t_own_cq()
{
	local bytes
	two_cpus
	statistics_on
	for bytes in 65536 64; do
		contended 4 2 $SECONDS_EACH $bytes
		report "four QPs" $bytes
		((MESSAGES >= 100 && TAKEN >= MESSAGES)) || fail "nothing was counted"
		((OURS == 0)) || fail "the driver's locks are contended"
	done
}

# What cannot be seen is no proof: QPs that share a CQ must wait for its lock. On a
# host whose CPUs take turns they seldom do, so there is more than one try.
t_shared_cq()
{
	local i
	two_cpus
	statistics_on
	for i in 1 2 3 4 5; do
		contended 4 2 $SECONDS_EACH 64 shared
		report "four QPs that share a CQ, try $i" 64
		((CQ == 0)) || return 0
	done
	fail "no contention seen where there must be some"
}

rig_up 1500
ktap_plan 2
ktap_run locks_without_contention t_own_cq
ktap_run locks_are_seen t_shared_cq
rm -f $JUDGED $STAT $CLASSES
ktap_finish
