#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# build-uml.sh VARIANT: build (or find in the cache) a User Mode Linux kernel
# from Debian's linux-source-6.1 and print its build folder.
#
#   VARIANT  plain  for KUnit and quick verbs tests
#            san    with KASAN, lock proving, kmemleak, object debugging
#
# The folder holds ./linux and everything needed to build modules against it
# (make ARCH=um -C FOLDER M=...). It is keyed by source version, configuration
# and compiler, so a change of any of them builds a new one.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/build/common.sh
. "$here/../../scripts/build/common.sh"
# shellcheck source=scripts/build/kconfig.sh
. "$here/../../scripts/build/kconfig.sh"

variant=${1:-}
case $variant in
plain) fragments=("$here/configs/base.config") ;;
san) fragments=("$here/configs/base.config" "$here/configs/san.config") ;;
*) die "usage: build-uml.sh plain|san" ;;
esac

for c in gcc:gcc make:make flex:flex bison:bison bc:bc; do
	need "${c%%:*}" "${c#*:}"
done

kernel_or_folder "uml-$variant" um linux
info "building UML kernel '$variant' in $out (some minutes)"
configure
kernel_make -j"$JOBS"
[ -x "$out/linux" ] || die "no $out/linux was built, see $log"
kernel_built
