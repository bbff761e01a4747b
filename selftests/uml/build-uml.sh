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

variant=${1:-}
case $variant in
plain) fragments=("$here/configs/base.config") ;;
san) fragments=("$here/configs/base.config" "$here/configs/san.config") ;;
*) die "usage: build-uml.sh plain|san" ;;
esac

for c in gcc:gcc make:make flex:flex bison:bison bc:bc; do
	need "${c%%:*}" "${c#*:}"
done

# wanted_symbols: what the fragments ask for, a later one overriding.
wanted_symbols()
{
	cat "${fragments[@]}" | awk '
		/^CONFIG_/ { name = $0; sub(/=.*/, "", name); want[name] = $0; next }
		/^# CONFIG_.* is not set$/ { want[$2] = $0 }
		END { for (name in want) print want[name] }' | sort
}

# verify_config FILE: each wanted symbol took, or say which did not.
verify_config()
{
	local line bad=0

	while read -r line; do
		grep -qxF -- "$line" "$1" && continue
		# "is not set" is also true when the symbol does not exist.
		case $line in
		"# "*)
			line=${line#\# }
			grep -q "^${line%% *}=" "$1" || continue
			;;
		esac
		info "did not take: $line"
		bad=1
	done < <(wanted_symbols)
	return $bad
}

src=$("$TOP/scripts/build/linux-source.sh") || exit 1
key=$(hash_of "$(basename "$(dirname "$src")")" "$(wanted_symbols)" \
	"$(gcc -dumpfullversion)" "$(sha256sum <"$src/Makefile")")
out=$CACHE/uml-$variant-$key

cache_lock "uml-$variant-$key"
if [ -e "$out/.complete" ] && [ -x "$out/linux" ]; then
	echo "$out"
	exit 0
fi

log=$out/build.log
rm -rf "$out"
mkdir -p "$out"
info "building UML kernel '$variant' in $out (some minutes)"
kmake()
{
	nice make -C "$src" ARCH=um O="$out" "$@" >>"$log" 2>&1
}

kmake tinyconfig || die "tinyconfig failed, see $log"
wanted_symbols >"$out/wanted.config"
(cd "$src" && ARCH=um scripts/kconfig/merge_config.sh -m -O "$out" \
	"$out/.config" "$out/wanted.config") >>"$log" 2>&1 ||
	die "merge_config.sh failed, see $log"
kmake olddefconfig || die "olddefconfig failed, see $log"
verify_config "$out/.config" ||
	die "the configuration above is not possible with this source"
if ! kmake -j"$JOBS"; then
	grep -E 'error:|Error ' "$log" | tail -n 20 >&2
	die "UML kernel build failed, see $log"
fi
[ -x "$out/linux" ] || die "no $out/linux was built, see $log"
touch "$out/.complete"
echo "$out"
