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

help_or "$0" "$@"
variant=${1:-}
case $variant in
lockstat) ;;
*) die "usage: build-kernel.sh lockstat, see --help" ;;
esac
# shellcheck disable=SC2034  # for kconfig.sh
fragments=("$here/configs/$variant.config")

for c in gcc:gcc make:make flex:flex bison:bison bc:bc depmod:kmod; do
	need "${c%%:*}" "${c#*:}"
done

kernel_or_folder "vm-$variant" x86_64 vm/vmlinuz
mkdir "$out/vm" || die "cannot create $out/vm"
info "building the VM's kernel '$variant' in $out (1,400 files to compile)"
use_ccache
configure
kernel_make -j"$JOBS" bzImage modules
kernel_make INSTALL_MOD_PATH="$out/vm" INSTALL_MOD_STRIP=1 modules_install
install -m 755 "$out/arch/x86/boot/bzImage" "$out/vm/vmlinuz" ||
	die "no bzImage, see $log"
kernel_built
