#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# tests.sh [option...] TEST[:SUBTEST]...: selftests of selftests/tests.list in
# a User Mode Linux guest. Native speed, one CPU: a verbs test takes a second.
# Prints TAP; exit status 0 only if everything that was asked for passed.
#
#   --san          the sanitizer kernel (KASAN, lock proving) instead of plain
#   --module FILE  a module that was built for this UML kernel (default: build
#                  the tree's into build/uml-plain or build/uml-san)
#   --out DIR      the guest's kernel log and console (default build/uml-tests)
#   --timeout S    seconds for the guest (default: the tests' own limits)
#   --build-only   build module and test programs, run nothing
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/build/common.sh
. "$here/../../scripts/build/common.sh"
# shellcheck source=selftests/uml/kunit-lib.sh
. "$here/kunit-lib.sh"

variant=plain
module=
out=$TOP/build/uml-tests
limit=
run=1
names=()
subtest=

parse()
{
	while (($#)); do
		case $1 in
		--san) variant=san ;;
		--module) module=$(readlink -e "$2") || die "no module $2"; shift ;;
		--out) out=$2; shift ;;
		--timeout) limit=$2; shift ;;
		--build-only) run=0 ;;
		-h | --help) help_or "$0" "$1" ;;
		-*) die "unknown option $1, see --help" ;;
		*:*) names+=("${1%%:*}"); subtest=${1#*:} ;;
		*) names+=("$1") ;;
		esac
		shift
	done
	[ -z "$subtest" ] || ((${#names[@]} == 1)) ||
		die "with a subtest, name one test only"
}

# limit_of TEST...: the sum of their limits and the boot.
limit_of()
{
	awk -v names=" $* " 'index(names, " " $1 " ") { s += $2 + 5 }
		END { print s + 30 }' "$TOP/selftests/tests.list"
}

build()
{
	make -s -f "$TOP/scripts/selftests.mk" -C "$TOP" selftests >&2 ||
		die "the test programs do not build: run 'make selftests'"
	[ -z "$module" ] || return 0
	build_for_uml "$variant"
	((BUILT == 0)) || exit 1
	module=$MODULES/rdma_soft.ko
}

parse "$@"
build
((run)) || exit 0
((${#names[@]})) || die "which test? see selftests/tests.list"
rm -rf "$out"
mkdir -p "$out" || die "cannot create $out"
out=$(cd "$out" && pwd)
list=$(IFS=,; echo "${names[*]}")
"$here/run-uml.sh" "$variant" "$here/guest-tests.sh" \
	"${limit:-$(limit_of "${names[@]}")}" UML_OUT="$out" MODULE="$module" \
	TESTS="$list" SUBTEST="$subtest" \
	${VT_WANT_MS:+VT_WANT_MS="$VT_WANT_MS"} ${ROUNDS:+ROUNDS="$ROUNDS"} | tee "$out/console.txt"
status=${PIPESTATUS[0]}
grep -q '^ok ' "$out/console.txt" || status=1
exit "$status"
