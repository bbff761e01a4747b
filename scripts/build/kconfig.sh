# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced, after common.sh, by those who build a kernel of a tinyconfig and
# fragments. They define fragments, an array of files. Functions only; nothing
# happens at source time.

# wanted_symbols: what the fragments ask for, a later one overriding.
wanted_symbols()
{
	# shellcheck disable=SC2154  # the caller's
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

# kernel_key SOURCE: changes with source version, configuration and compiler.
kernel_key()
{
	hash_of "$(basename "$(dirname "$1")")" "$(wanted_symbols)" \
		"$(gcc -dumpfullversion)" "$(sha256sum <"$1/Makefile")"
}

# kernel_or_folder NAME ARCH RESULT: if the cache has that kernel, with the executable
# RESULT, prints its folder and ends the script; else sets src, arch, out, an empty
# folder for it, and log.
kernel_or_folder()
{
	arch=$2
	src=$("$TOP/scripts/build/linux-source.sh") || exit 1
	out=$CACHE/$1-$(kernel_key "$src")
	log=$out/build.log

	cache_lock "${out##*/}"
	if [ -e "$out/.complete" ] && [ -x "$out/$3" ]; then
		echo "$out"
		exit 0
	fi
	rm -rf "$out"
	mkdir -p "$out" || die "cannot create $out; set RDMA_SOFT_CACHE"
}

kmake()
{
	nice make -C "$src" ARCH="$arch" O="$out" "$@" >>"$log" 2>&1
}

# configure: the folder's .config, as wanted
configure()
{
	kmake tinyconfig || die "tinyconfig failed, see $log"
	wanted_symbols >"$out/wanted.config"
	(cd "$src" && ARCH=$arch scripts/kconfig/merge_config.sh -m -O "$out" \
		"$out/.config" "$out/wanted.config") >>"$log" 2>&1 ||
		die "merge_config.sh failed, see $log"
	kmake olddefconfig || die "olddefconfig failed, see $log"
	verify_config "$out/.config" ||
		die "the configuration above is not possible with this source"
}

# kernel_make ARGUMENTS: make them, or say what did not compile
kernel_make()
{
	kmake "$@" && return
	grep -E 'error:|Error ' "$log" | tail -n 20 >&2
	die "the kernel does not build, see $log"
}

# kernel_built: it is whole; print its folder
kernel_built()
{
	touch "$out/.complete"
	echo "$out"
}
