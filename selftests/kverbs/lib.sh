# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Sourced by quick.sh and full.sh, after lib/all.sh: the kernel's side of the
# tests is a module, built with the driver (make modules KVERBS=1).

KVERBS_MODULE=${MODULE%drivers/rdma_soft/*}selftests/kverbs/rdma_soft_kverbs.ko
# A driver that lies elsewhere: ours is where the guest's kernel was built for.
if ! [ -f "$KVERBS_MODULE" ] && [[ ${UML_BUILD:-} == */uml-* ]]; then
	KVERBS_MODULE=${UML_BUILD##*/uml-}
	KVERBS_MODULE=$TREE/build/uml-${KVERBS_MODULE%-*}/selftests/kverbs/rdma_soft_kverbs.ko
elif ! [ -f "$KVERBS_MODULE" ]; then
	KVERBS_MODULE=$TREE/selftests/kverbs/rdma_soft_kverbs.ko
fi

# kverbs_run ARGUMENT...: load it, which runs the tests; print what they found.
kverbs_run()
{
	local results=/sys/kernel/debug/rdma_soft_kverbs/results bad=1

	[ -f "$KVERBS_MODULE" ] ||
		fail "no $KVERBS_MODULE: run 'make modules KVERBS=1'"
	[ -d /sys/kernel/debug/rdma_soft ] ||
		mount -t debugfs debugfs /sys/kernel/debug
	rig_up "$1"
	shift
	insmod "$KVERBS_MODULE" dev0="$DEVA" dev1="$DEVB" "$@" \
		filter="$KTAP_PATTERN" || fail 'the module does not load'
	# the runner reads results and plan, not the version line
	grep -v '^TAP version' "$results"
	grep -q '^not ok' "$results" || bad=0
	rmmod rdma_soft_kverbs || bad=1
	return $bad
}
