#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# two-vms.sh [VM1_TYPE VM2_TYPE]: the programs of rdma-core and perftest between
# two machines, rdma_soft in VM 1, in-tree rxe in VM 2 (or as told: rdma_soft or
# rxe). Each goes both ways; what compares bytes is counted. Prints TAP.
#
# Environment: VM_TIMEOUT in seconds (default 900).
set -u
here=$(cd "$(dirname "$0")" && pwd)

case ${1:-} in
-h | --help) sed -n '4,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
log=$(mktemp)
trap 'rm -f "$log"' EXIT
VM1_TYPE=${1:-rdma_soft} VM2_TYPE=${2:-rxe} VM_TIMEOUT=${VM_TIMEOUT:-900} \
	CMD="bash $here/guest-two-vms.sh" "$here/../vm/vm2.sh" 2> >(sed 's/^/# /' >&2) |
	tee "$log"
rc=${PIPESTATUS[0]}
awk -v rc="$rc" '
	/^ok / { pass++ }
	/^not ok / { fail++ }
	/^1\.\./ { plan = substr($0, 4) }
	END {
		if (rc != 0 && !fail || plan != pass + fail || !plan)
			fail++
		printf "# totals pass:%d fail:%d skip:0\n", pass, fail
		exit fail > 0
	}' "$log"
