# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by the check.sh of a folder whose tests run in several places, after
# scripts/build/common.sh. It defines:
#
#   run PLACE                            the tests there, as TAP
#   figures PLACE LOG PASS FAIL SECONDS  prints what the summary says of them

# in_places NAME PLACE...: one after the other, logs in build/NAME, and last the
# figures of all. Status 0 only if each had tests and all of them passed.
in_places()
{
	local name=$1 place log start pass fail bad=0 summary=

	shift
	mkdir -p "$TOP/build/$name" || die "cannot create build/$name"
	for place; do
		log=$TOP/build/$name/$place.log
		echo "# $name in $place"
		start=$SECONDS
		run "$place" 2>&1 | tee "$log"
		[ "${PIPESTATUS[0]}" = 0 ] || bad=1
		read -r pass fail < <(awk '
			/^ +ok [0-9]+ - / { pass++ }
			/^ +not ok / { fail++ }
			END { print pass + 0, fail + 0 }' "$log")
		((pass > 0 && fail == 0)) || bad=1
		summary+=$(figures "$place" "$log" "$pass" "$fail" \
			$((SECONDS - start)))$'\n'
	done
	printf '\n%s' "$summary"
	return $bad
}
