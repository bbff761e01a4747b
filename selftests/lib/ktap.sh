# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# TAP for shell tests. A test file names its tests first (the plan), runs each
# by 'ktap_run NAME FUNCTION', and ends with ktap_finish. A function passes by
# returning 0, skips by 'skip REASON' and fails by any other status or by
# 'fail MESSAGE'; it runs in a subshell, so it may exit and set traps freely.

KTAP_NUM=0
KTAP_BAD=0
KTAP_PLANNED=0
KTAP_EXIT_SKIP=4
KTAP_PATTERN=${KTAP_PATTERN:-}

note()
{
	printf '# %s\n' "$*"
}

fail()
{
	printf '# %s:%s: %s\n' "${BASH_SOURCE[1]##*/}" "${BASH_LINENO[0]}" "$*"
	exit 1
}

skip()
{
	printf '%s\n' "$*" > "${KTAP_SKIP_FILE:?skip outside of ktap_run}"
	exit "$KTAP_EXIT_SKIP"
}

# ktap_plan N: how many ktap_run calls follow. With KTAP_PATTERN set only names
# that contain it run, and the plan comes last.
ktap_plan()
{
	KTAP_PLANNED=$1
	KTAP_SKIP_FILE=$(mktemp)
	[ -n "$KTAP_PATTERN" ] || printf '1..%d\n' "$KTAP_PLANNED"
}

# ktap_wanted NAME: does it contain a part of the comma-separated KTAP_PATTERN?
ktap_wanted()
{
	local part
	[ -n "$KTAP_PATTERN" ] || return 0
	for part in ${KTAP_PATTERN//,/ }; do
		[[ $1 != *"$part"* ]] || return 0
	done
	return 1
}

# ktap_run NAME COMMAND [ARG...]
ktap_run()
{
	local name=$1 rc start=$SECONDS
	shift
	ktap_wanted "$name" || return 0
	KTAP_NUM=$((KTAP_NUM + 1))
	( "$@" )
	rc=$?
	((SECONDS - start < 10)) || note "$name took $((SECONDS - start)) s"
	case $rc in
	0)
		printf 'ok %d - %s\n' "$KTAP_NUM" "$name" ;;
	"$KTAP_EXIT_SKIP")
		printf 'ok %d - %s # SKIP %s\n' "$KTAP_NUM" "$name" \
			"$(cat "$KTAP_SKIP_FILE")" ;;
	*)
		KTAP_BAD=$((KTAP_BAD + 1))
		printf 'not ok %d - %s\n' "$KTAP_NUM" "$name" ;;
	esac
	return 0
}

ktap_finish()
{
	rm -f "$KTAP_SKIP_FILE"
	if [ -n "$KTAP_PATTERN" ]; then
		printf '1..%d\n' "$KTAP_NUM"
	elif ((KTAP_NUM != KTAP_PLANNED)); then
		note "planned $KTAP_PLANNED tests but ran $KTAP_NUM"
		exit 1
	fi
	((KTAP_BAD == 0)) || exit 1
	exit 0
}
