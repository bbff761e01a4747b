# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by kunit.sh and san.sh after common.sh.

uml=$TOP/selftests/uml

# expected_suites: names of the KUnit suites in the sources, one a line.
expected_suites()
{
	find "$TOP/drivers/rdma_soft/tests" -name '*_kunit.c' -exec awk '
		/struct kunit_suite [a-z0-9_]+ *= *{/ { inside = 1 }
		inside && match($0, /\.name *= *"[^"]+"/) {
			name = substr($0, RSTART, RLENGTH)
			gsub(/^[^"]*"|"$/, "", name)
			print name
			inside = 0
		}' {} + | sort
}

# build_for_uml VARIANT: driver and KUnit module, sets MODULES and BUILT. When
# the driver does not compile, the unit tests still may: they need no symbol
# of it. BUILT says so and becomes a result.
build_for_uml()
{
	local build work=$TOP/build/uml-$1

	build=$("$uml/build-uml.sh" "$1") || exit 1
	# One run at a time in this folder; the guest does not inherit the lock.
	mkdir -p "$TOP/build"
	exec {WORK_LOCK}>"$work.lock"
	if ! flock -n "$WORK_LOCK"; then
		info "waiting for another run in $work"
		flock -w 1800 "$WORK_LOCK" || die "$work is still in use"
	fi
	MODULES=$work/drivers/rdma_soft
	mkdir -p "$work"
	rm -f "$MODULES"/*.ko "$MODULES"/tests/*.ko
	BUILT=0
	"$TOP/scripts/build/module.sh" "$build" "$work" ARCH=um -j"$JOBS" \
		>"$work/build.log" 2>&1 && return 0
	BUILT=1
	info "the modules do not build for UML, see $work/build.log"
	grep -E 'error|Error|undefined' "$work/build.log" | head -n 20 >&2
	MODULE_TARGET=drivers/rdma_soft/tests/rdma_soft_kunit.ko \
		"$TOP/scripts/build/module.sh" "$build" "$work" ARCH=um \
		-j"$JOBS" >"$work/build-kunit.log" 2>&1 ||
		die "nor does the KUnit module, see $work/build-kunit.log"
}

# fresh_out VARIANT: an empty folder for the guest's files, kept afterwards to
# look at; sets OUT.
fresh_out()
{
	OUT=$TOP/build/uml-$1-out
	rm -rf "$OUT"
	mkdir -p "$OUT" || die "cannot create $OUT"
}

# result STATUS NAME [NOTE]
result()
{
	if [ "$1" -eq 0 ]; then
		echo "ok - $2"
	else
		echo "not ok - $2${3:+ # $3}"
	fi
}

# suite_results FOLDER PREFIX SUITES: results of each suite that must be there.
suite_results()
{
	local s

	[ -n "$3" ] || result 1 "$2.suites" "no kunit_suite found in drivers/rdma_soft/tests/*_kunit.c"
	for s in $3; do
		if [ -f "$1/$s.ktap" ]; then
			awk -v suite="$s" -v prefix="$2" -f "$uml/ktap.awk" "$1/$s.ktap"
		else
			result 1 "$2.$s.results" "the suite did not run"
		fi
	done
}

# log_result FOLDER NAME: is the guest's kernel log there and clean?
log_result()
{
	"$uml/scan-dmesg.sh" "$1/dmesg.txt"
	result $? "$2" "see the lines above"
}

# number_results FILE: number the result lines, add plan and totals; the
# status is that of the whole. A skip must be listed in selftests/skips.txt as
# "uml: NAME<tab>reason", otherwise it counts as a failure.
number_results()
{
	awk -v skips="$TOP/selftests/skips.txt" '
		BEGIN {
			print "TAP version 13"
			while ((getline line < skips) > 0)
				if (split(line, f, "\t") == 2 && f[1] ~ /^uml: /)
					listed[substr(f[1], 6)] = 1
		}
		/^(not )?ok - / {
			n++
			if (/^ok - .*# SKIP/) {
				name = $0
				sub(/^ok - /, "", name)
				sub(/ *# SKIP.*/, "", name)
				if (!(name in listed)) {
					sub(/^ok/, "not ok")
					sub(/# SKIP/, "# skip not listed in selftests/skips.txt:")
				}
			}
			if (/^not ok/) fail++
			else if (/# SKIP/) skip++
			else pass++
			sub(/ok -/, "ok " n " -")
			print
			next
		}
		/^#/ { print; next }
		{ print "# " $0 }
		END {
			print "1.." n
			printf "# totals pass:%d fail:%d skip:%d\n", pass, fail, skip
			exit (fail > 0 || pass == 0)
		}' "$1"
}
