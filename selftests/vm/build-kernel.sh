#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# build-kernel.sh VARIANT: build (or find in the cache) a kernel of the test VM
# from Debian's linux-source-6.1 and print its build folder.
#
#   VARIANT  lockstat   SMP, with lock statistics (configs/lockstat.config)
#
# The folder is what modules are built against (make -C FOLDER M=...); in it, vm is
# what run-vm.sh --kernel takes: vmlinuz and lib/modules. It is keyed by source
# version, configuration and compiler, so a change of any of them builds a new one,
# of 1,400 files. JOBS: compilers at once (one per CPU).
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/build/common.sh
. "$here/../../scripts/build/common.sh"
# shellcheck source=scripts/build/kconfig.sh
. "$here/../../scripts/build/kconfig.sh"

variant=${1:-}
case $variant in
lockstat) ;;
-h | --help) sed -n '4,/^set -u/s/^# \{0,1\}//p' "$0" | sed '$d'; exit 0 ;;
*) die "usage: build-kernel.sh lockstat, see --help" ;;
esac
# shellcheck disable=SC2034  # for kconfig.sh
fragments=("$here/configs/$variant.config")

for c in gcc:gcc make:make flex:flex bison:bison bc:bc depmod:kmod; do
	need "${c%%:*}" "${c#*:}"
done

src=$("$TOP/scripts/build/linux-source.sh") || exit 1
key=$(kernel_key "$src")
out=$CACHE/vm-$variant-$key

cache_lock "vm-$variant-$key"
if [ -e "$out/.complete" ]; then
	echo "$out"
	exit 0
fi

log=$out/build.log
rm -rf "$out"
mkdir -p "$out/vm" || die "cannot create $out; set RDMA_SOFT_CACHE"
info "building the VM's kernel '$variant' in $out (1,400 files to compile)"
use_ccache
kmake()
{
	nice -n 10 make -C "$src" ARCH=x86_64 O="$out" "$@" >>"$log" 2>&1
}

configure "$src" x86_64 "$out" "$log"
if ! kmake -j"$JOBS" bzImage modules ||
	! kmake INSTALL_MOD_PATH="$out/vm" INSTALL_MOD_STRIP=1 modules_install; then
	grep -E 'error:|Error ' "$log" | tail -n 20 >&2
	die "the kernel does not build, see $log"
fi
cp "$out/arch/x86/boot/bzImage" "$out/vm/vmlinuz" || die "no bzImage, see $log"
touch "$out/.complete"
echo "$out"
