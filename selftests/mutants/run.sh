#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [option...] [PATTERN...]: would the tests notice a broken driver?
#
# Each NAME.patch here breaks one rule of the driver and names the test that
# must notice. The driver is built for a User Mode Linux guest without and with
# each patch, in a copy of the tree; the named test must pass without and fail
# with it. Only mutants whose name contains a PATTERN run (default: all).
#
#   --list     names, files and tests
#   --fresh    forget what earlier runs found (a verdict is kept as long as
#              driver, patch, test program and the guest's kernel do not change)
#   --jobs N   guests at the same time (default: CPUs)
#
# Prints TAP: one line per mutant. Logs: build/mutants/log/. Exit status 0 only
# if every mutant is noticed. See README.rst here.
# shellcheck disable=SC2317  # functions that start() calls
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/build/common.sh
. "$here/../../scripts/build/common.sh"

work=$TOP/build/mutants
tree=$work/tree
guests=$JOBS
fresh=
list=
patterns=()

parse()
{
	while (($#)); do
		case $1 in
		--list) list=1 ;;
		--fresh) fresh=1 ;;
		--jobs) guests=${2:?--jobs needs a number}; shift ;;
		-h | --help) help_or "$0" "$1" ;;
		-*) die "unknown option $1, see --help" ;;
		*) patterns+=("$1") ;;
		esac
		shift
	done
}

# head_of PATCH KEY: a line 'KEY: value' before the diff.
head_of()
{
	sed -n "/^--- /q; s/^$2: //p" "$1"
}

mutants()
{
	local f p name

	for f in "$here"/*.patch; do
		name=$(basename "$f" .patch)
		((${#patterns[@]})) || { echo "$name"; continue; }
		for p in "${patterns[@]}"; do
			[[ $name != *"$p"* ]] || { echo "$name"; break; }
		done
	done
}

# check_heads NAME...: each patch says what it breaks and which test notices.
check_heads()
{
	local name f t

	for name; do
		f=$here/$name.patch
		t=$(head_of "$f" test)
		[[ $t == */*:* ]] || die "$name.patch: no line 'test: PROGRAM:SUBTEST'"
		awk -v n="${t%%:*}" '$1 == n { f = 1 } END { exit !f }' \
			"$TOP/selftests/tests.list" ||
			die "$name.patch: no test ${t%%:*} in selftests/tests.list"
		[ -n "$(head_of "$f" breaks)" ] || die "$name.patch: no line 'breaks: ...'"
	done
}

sources()
{
	cd "$TOP" || exit 1
	echo Kbuild
	find drivers include -type f \( -name '*.[chS]' -o -name 'Kbuild*' \
		-o -name Makefile \) ! -name '*.mod.c' | sort
}

# sync_tree: make the copy equal to the tree; unchanged files keep their time.
sync_tree()
{
	local f

	mkdir -p "$tree"
	sources >"$work/sources"
	(cd "$tree" && find Kbuild drivers include -type f \( -name '*.[chS]' \
		-o -name 'Kbuild*' -o -name Makefile \) ! -name '*.mod.c' \
		2>/dev/null | sort) | comm -13 "$work/sources" - |
		(cd "$tree" && xargs -r rm -f)
	while read -r f; do
		cmp -s "$TOP/$f" "$tree/$f" && continue
		mkdir -p "$(dirname "$tree/$f")"
		cp "$TOP/$f" "$tree/$f" || die "cannot copy $f"
	done <"$work/sources"
}

# build KO LOG: the module from the copy as it is now.
build()
{
	make -C "$kernel" ARCH=um M="$tree" -j"$JOBS" \
		drivers/rdma_soft/rdma_soft.ko >"$2" 2>&1 &&
		cp "$tree/drivers/rdma_soft/rdma_soft.ko" "$1"
}

# run_guest LOG MODULE TEST SUBTESTS: a guest of its own for one program.
run_guest()
{
	"$TOP/selftests/uml/tests.sh" --module "$2" --out "$1.d" \
		--timeout 400 "$3:$4" >"$1" 2>&1
}

# subtest_is LOG 'ok'|'not ok' NAME
subtest_is()
{
	awk -v want="$2" -v name="$3" '
		{ sub(/^ +/, "") }
		/^(not )?ok [0-9]+ - / {
			is = /^not/ ? "not ok" : "ok"
			skipped = / # SKIP/
			sub(/^(not )?ok [0-9]+ - /, "")
			sub(/ # .*/, "")
			if ($0 == name && is == want && !skipped)
				found = 1
		}
		END { exit !found }' "$1"
}

# sub_of NAME: the subtest that must notice it.
sub_of()
{
	head_of "$here/$1.patch" test | sed 's/^[^:]*://'
}

# baseline PROGRAM NAME...: the named tests of a script on the unchanged driver.
baseline()
{
	local prog=$1 name subs state

	shift
	subs=$(for name; do sub_of "$name"; done | sort -u | paste -sd,)
	base_log "$prog"
	state="$(state_of_test "$prog") $subs"
	[ "$(cat "$log.of" 2>/dev/null)" != "$state" ] || return 0
	info "unchanged driver: $prog"
	run_guest "$log" "$work/base.ko" "$prog" "$subs"
	echo "$state" >"$log.of"
}

# base_log PROGRAM: sets log to the file of its run on the unchanged driver.
base_log()
{
	log=$results/base-${1//\//-}.log
}

# mutate NAME: module with the patch in $results/NAME.ko; the copy is restored.
mutate()
{
	local f rc

	f=$(sed -n 's|^+++ b/||p' "$here/$1.patch" | sed 's/[ \t].*//')
	rm -rf "$work/saved"
	mkdir -p "$work/saved"
	# shellcheck disable=SC2086
	(cd "$tree" && cp --parents $f "$work/saved")
	if ! patch -d "$tree" -p1 -s -F2 --no-backup-if-mismatch -r - \
		<"$here/$1.patch" >"$results/$1.build" 2>&1; then
		cp -r "$work/saved/." "$tree"
		verdict "$1" bad "the patch does not apply"
		return 1
	fi
	build "$results/$1.ko" "$results/$1.build"
	rc=$?
	cp -r "$work/saved/." "$tree"
	((rc == 0)) || verdict "$1" bad "it does not compile"
	return $rc
}

# verdict NAME good|bad [WHY]
verdict()
{
	echo "$2" >"$results/$1.is"
	echo "${3:-}" >"$results/$1.why"
	[ "$2" = bad ] || rm -f "$results/$1.ko"
	info "$1: $2"
}

# noticed NAME LOG: the named test failed, or the guest died in it.
noticed()
{
	local sub

	sub=$(sub_of "$1")
	subtest_is "$2" 'not ok' "$sub" ||
		{ grep -q '^# begin ' "$2" && ! subtest_is "$2" ok "$sub" &&
		  grep -q '^error: the guest' "$2"; }
}

# judge NAME LOG
judge()
{
	if noticed "$1" "$2"; then
		verdict "$1" good
	else
		verdict "$1" bad "$(head_of "$here/$1.patch" test) does not notice"
	fi
}

# passes_unchanged NAME: the named test, on the unchanged driver.
passes_unchanged()
{
	local test

	test=$(head_of "$here/$1.patch" test)
	base_log "${test%%:*}"
	subtest_is "$log" ok "${test#*:}" && return 0
	verdict "$1" bad "$test does not pass on the unchanged driver"
	return 1
}

# judge_script NAME: a test that is a script, in a guest of its own.
judge_script()
{
	local test

	passes_unchanged "$1" || return
	test=$(head_of "$here/$1.patch" test)
	run_guest "$results/$1.log" "$results/$1.ko" "${test%%:*}" "${test#*:}"
	judge "$1" "$results/$1.log"
}

# batch_guest PROGRAM LOG LIST: guest.sh with this list; ended when it says
# nothing for as long as no test may take.
batch_guest()
{
	local pid size last=-1 quiet=0

	set -m
	"$TOP/selftests/uml/run-uml.sh" plain "$here/guest.sh" 7200 \
		PROG="$1" LIST="$3" VT_WANT_MS="$VT_WANT_MS" >"$2" 2>&1 &
	pid=$!
	set +m
	# shellcheck disable=SC2064  # this one
	trap "kill -- -$pid 2>/dev/null" EXIT
	trap 'exit 143' TERM
	while kill -0 "$pid" 2>/dev/null; do
		sleep 1
		size=$(stat -c %s "$2")
		((size == last)) || quiet=0
		last=$size
		quiet=$((quiet + 1))
		((quiet < 300)) && continue
		kill -- "-$pid"
		wait "$pid"
		echo "error: the guest said nothing for 300 s" >>"$2"
	done
	trap - EXIT TERM
}

# pieces LOG: of each module that was run, its part; what the guest said last
# belongs to the last one. Files: $results/NAME.log.
pieces()
{
	awk -v dir="$results" '
		/^# mutant / { if (file) close(file)
			       file = dir "/" $3 ".log"; printf "" >file }
		file { print >file }' "$1"
}

# batch PROGRAM NAME...: a C program, all its mutants in one guest; one more
# after each that breaks the guest. The unchanged driver comes first and last.
batch()
{
	local prog=$1 list=$results/list-${1//\//-} subs name
	local all=$results/batch-${1//\//-}.log todo left

	shift
	todo=("$@")
	subs=$(for name; do sub_of "$name"; done | sort -u | paste -sd,)
	while ((${#todo[@]})); do
		base_log "$prog"
		rm -f "$log" "${log%.log}-again.log"
		{
			echo "$(basename "$log" .log) $work/base.ko $subs"
			for name in "${todo[@]}"; do
				rm -f "$results/$name.log"
				echo "$name $results/$name.ko $(sub_of "$name")"
			done
			echo "$(basename "$log" .log)-again $work/base.ko $subs"
		} >"$list"
		batch_guest "$prog" "$all" "$list"
		pieces "$all"
		left=()
		for name in "${todo[@]}"; do
			if [ -f "$results/$name.log" ]; then
				! passes_unchanged "$name" ||
					judge "$name" "$results/$name.log"
			else
				left+=("$name")
			fi
		done
		unharmed "${log%.log}-again.log" "${todo[@]}"
		((${#left[@]} < ${#todo[@]})) || {
			for name in "${left[@]}"; do
				verdict "$name" bad "no guest, see ${all#"$TOP/"}"
			done
			return
		}
		todo=("${left[@]}")
	done
}

# unharmed LOG NAME...: the guest that judged them still passes what it passed
# at first. (No log: it ended early, with a mutant.)
unharmed()
{
	local file=$1 name

	shift
	[ -f "$file" ] || return
	for name; do
		subtest_is "$file" ok "$(sub_of "$name")" || [ ! -f "$results/$name.log" ] ||
			verdict "$name" bad "the guest was broken afterwards"
	done
}

# state_of_test PROGRAM: hash of everything its result depends on.
state_of_test()
{
	local script=

	# a script may run what C files beside it make, as kverbs does
	[ ! -f "$TOP/selftests/$1.sh" ] || script=1
	hash_of "$driver_state" "$(cd "$TOP/selftests" &&
		cat "$1".* ${script:+"${1%/*}"/*.[ch]} lib/* uml/*.sh run.sh tests.list \
		../Documentation/transport.rst 2>/dev/null | sha256sum)"
}

# state_of NAME: the same with the patch; an earlier verdict counts if equal.
state_of()
{
	local test

	test=$(head_of "$here/$1.patch" test)
	hash_of "$(state_of_test "${test%%:*}")" "$(sha256sum <"$here/$1.patch")"
}

known()
{
	[ "$(cat "$results/$1.is" 2>/dev/null)" = good ] &&
		[ "$(cat "$results/$1.of" 2>/dev/null)" = "$(state_of "$1")" ]
}

stop_guests()
{
	local p

	for p in $(jobs -rp); do
		kill -- "-$p" 2>/dev/null
	done
}

report()
{
	local n=0 bad=0 name

	echo "TAP version 13"
	echo "1..$#"
	for name; do
		n=$((n + 1))
		if known "$name"; then
			echo "ok $n - $name # $(head_of "$here/$name.patch" test)"
		else
			bad=$((bad + 1))
			echo "not ok $n - $name # $(cat "$results/$name.why" 2>/dev/null)"
		fi
	done
	echo "# mutants: $# run, $((n - bad)) noticed, $bad not; $SECONDS s"
	echo "# totals pass:$((n - bad)) fail:$bad skip:0"
	((n > 0 && bad == 0))
}

# start CMD...: in the background, in a group of its own, so that it can be ended
# with its guest; waits until fewer than $guests run.
start()
{
	while (($(jobs -rp | wc -l) >= guests)); do
		wait -n
	done
	set -m
	"$@" {lock}>&- &
	set +m
}

# run_program PROGRAM NAME...: those of the mutants that PROGRAM must notice.
run_program()
{
	local prog=$1 name built=()

	shift
	for name; do
		[[ $(head_of "$here/$name.patch" test) == "$prog:"* ]] || continue
		known "$name" && continue
		rm -rf "$results/$name".*
		state_of "$name" >"$results/$name.of"
		! mutate "$name" || built+=("$name")
	done
	((${#built[@]})) || return 0
	if ! [ -f "$TOP/selftests/$prog.sh" ]; then
		start batch "$prog" "${built[@]}"
		return
	fi
	baseline "$prog" "${built[@]}"
	for name in "${built[@]}"; do
		start judge_script "$name"
	done
}

main()
{
	local name names prog

	parse "$@"
	mapfile -t names < <(mutants)
	((${#names[@]})) || die "no mutant matches '${patterns[*]}', see --list"
	if [ -n "$list" ]; then
		for name in "${names[@]}"; do
			printf '%-32s %-36s %s\n' "$name" \
				"$(head_of "$here/$name.patch" test)" \
				"$(head_of "$here/$name.patch" breaks)"
		done
		exit 0
	fi
	need patch patch
	check_heads "${names[@]}"
	mkdir -p "$work"
	exec {lock}>"$work/lock"
	flock -n "$lock" || die "another run is using $work"
	kernel=$("$TOP/selftests/uml/build-uml.sh" plain) || exit 1
	"$TOP/selftests/uml/tests.sh" --module /dev/null --build-only || exit 1
	# The kernel's side of kverbs needs no symbol of the driver: built once.
	if [[ "$(for name in "${names[@]}"; do
		head_of "$here/$name.patch" test
	done)" == *kverbs/* ]]; then
		"$TOP/selftests/uml/tests.sh" --build-only || exit 1
	fi
	sync_tree
	build "$work/base.ko" "$work/base.build" ||
		{ tail -n 20 "$work/base.build" >&2; die "the driver does not build"; }
	driver_state=$(hash_of "$kernel" \
		"$(cd "$tree" && xargs sha256sum <"$work/sources")")
	results=$work/log
	[ -z "$fresh" ] || rm -rf "$results"
	mkdir -p "$results"
	export VT_WANT_MS=5000
	trap stop_guests EXIT
	trap 'exit 130' INT TERM
	for prog in $(for name in "${names[@]}"; do
		head_of "$here/$name.patch" test
	done | sed 's/:.*//' | sort -u); do
		run_program "$prog" "${names[@]}"
	done
	wait
	report "${names[@]}"
}

main "$@"; exit
