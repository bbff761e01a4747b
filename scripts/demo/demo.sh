#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make demo: RDMA traffic through rdma_soft in a test VM, beside in-tree rxe.
#
#   demo.sh [--parts "pair soft rxe"] [--rounds N] [--smp]
#
# Installs missing tools with apt, builds the module, boots Debian's 6.1 kernel
# in QEMU and there runs guest-demo.sh: part "pair" is rdma_soft in two network
# namespaces, "soft" and "rxe" are both drivers in one namespace, N rounds taking
# turns, best of them counts. Prints a table. Status 0: all of it worked.
#
# With KVM the VM has 2 CPUs and N is 2. Without, the CPU is emulated in instruction
# mode (run-vm.sh --icount): figures count instructions and repeat within 1 %, so N
# is 1; --smp asks for 2 emulated CPUs on the real clock instead. Logs: build/demo.

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "$here/../.." && pwd)
vm=$tree/selftests/vm
out=$tree/build/demo
parts='pair soft rxe' rounds='' smp=''

while [ $# -gt 0 ]; do
	case $1 in
	--parts) parts=${2:?--parts needs a list}; shift ;;
	--rounds) rounds=${2:?--rounds needs a number}; shift ;;
	--smp) smp=y ;;
	-h|--help) sed -n '4,16s/^# \{0,1\}//p' "$0"; exit 0 ;;
	*) echo "demo.sh: unknown option $1, see --help" >&2; exit 2 ;;
	esac
	shift
done

started=$SECONDS
step()
{
	echo "[$((SECONDS - started)) s] $*"
}
fail()
{
	echo "demo failed: $*" >&2
	exit 1
}

step "tools and kernel headers"
"$tree/scripts/deps.sh" build vm rdma || fail "missing packages, see above"

# shellcheck source=selftests/vm/host-lib.sh
. "$vm/host-lib.sh"
kver=$(default_kver) || exit 1
mkdir -p "$out" || fail "cannot create $out"
rm -rf "${out:?}"/*

case " $parts " in
*" pair "* | *" soft "*)
	step "building rdma_soft.ko for $kver"
	make -C "$tree" -j"$(nproc)" modules "KDIR=/usr/src/linux-headers-$kver" >"$out/build.log" 2>&1 || {
		grep -E 'error|Error|No such' "$out/build.log" | head -n 10 >&2
		fail "the module did not build, see $out/build.log"
	}
	;;
esac

step "test VM"
accel=$("$vm/run-vm.sh" --quiet --kernel "$kver" --prepare) || fail "no test VM, see above"
mode=()
if [ "$accel" = kvm ]; then
	how="KVM, 2 CPUs" rounds=${rounds:-2}
elif [ -n "$smp" ]; then
	how="emulated, 2 CPUs on the real clock" rounds=${rounds:-2}
else
	how="emulated, instruction mode" rounds=${rounds:-1} mode=(--icount)
fi
step "booting Debian's $kver in QEMU ($how)"
"$vm/run-vm.sh" --quiet --kernel "$kver" ${mode[@]+"${mode[@]}"} --timeout 900 --out "$out" --check-dmesg \
	--script "$here/guest-demo.sh" "$rounds" "$parts" 2> >(tee "$out/errors.txt" >&2) |
	while IFS= read -r line; do step "$line"; done
rc=${PIPESTATUS[0]}

echo
[ -s "$out/results.tsv" ] && awk -v how="$how" -f "$here/table.awk" "$out/results.tsv"
echo
if [ "$rc" -ne 0 ]; then
	fail "status $rc; output of every program is in $out/log, the kernel's in $out/dmesg.txt"
fi
step "demo passed"
