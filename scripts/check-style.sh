#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check-style.sh: everything that can be said about the sources without
# compiling the module. Prints TAP, one result per rule.
set -u
# shellcheck source=scripts/build/common.sh
. "$(dirname "$0")/build/common.sh"
cd "$TOP" || exit 1

need git git
git -c safe.directory='*' rev-parse --git-dir >/dev/null 2>&1 ||
	die "not a git work tree: the rules apply to the files that git knows"
lsrc=$(scripts/build/linux-source.sh) || exit 1

# files GLOB...: the project's files, tracked or about to be, that exist.
files()
{
	git -c safe.directory='*' ls-files -co --exclude-standard -- "$@" |
		sort -u | while read -r f; do
			[ -f "$f" ] && echo "$f"
		done
}

mapfile -t c_files < <(files 'drivers/*.c' 'drivers/*.h' 'include/*.h')
mapfile -t driver_files < <(printf '%s\n' "${c_files[@]}" | grep -v '/compat/compat\.h$')
mapfile -t h_files < <(files 'drivers/*.h' 'include/*.h')
mapfile -t prog_files < <(files 'tools/*.c' 'tools/*.h' 'selftests/*.c' 'selftests/*.h')
mapfile -t sh_files < <(
	files '*.sh'
	files 'scripts/*' 'selftests/*' 'tools/*' '.ci/*' |
		while read -r f; do
			case $f in *.sh) continue ;; esac
			head -n 1 "$f" | grep -qaE '^#!.*\b(bash|sh)$' && echo "$f"
		done
)
mapfile -t py_files < <(files '*.py')

n=0
fails=0
# rule NAME COMMAND [ARGUMENT...]: a rule holds when the command prints
# nothing and succeeds.
rule()
{
	local name=$1 text rc

	shift
	n=$((n + 1))
	text=$("$@" 2>&1)
	rc=$?
	if [ $rc -eq 0 ] && [ -z "$text" ]; then
		echo "ok $n - style.$name"
	else
		head -n 200 <<<"$text" | sed 's/^/# /'
		echo "not ok $n - style.$name"
		fails=$((fails + 1))
	fi
}

# remembered COMMAND [ARGUMENT...] -- FILE...: the command on those of the files
# that it has not yet found clean. What it found clean is kept in the cache by
# the content of file, command and tool ($tools).
remembered()
{
	local cmd=() kept=$CACHE/style about f key todo=() keys=() text rc

	while [ "$1" != -- ]; do
		cmd+=("$1")
		shift
	done
	shift
	[ $# -gt 0 ] || { echo "no files found"; return 1; }
	mkdir -p "$kept" && find "$kept" -type f -mtime +30 -delete
	about="${cmd[*]} $(declare -f "${cmd[0]}") $tools"
	# A script is read together with those that it sources.
	[ "${cmd[0]}" != shell ] || about+=$(cat "${sh_files[@]}" | sha256sum)
	for f; do
		key=$(hash_of "$about" "$f" "$(sha256sum <"$f")")
		[ ! -e "$kept/$key" ] || continue
		todo+=("$f")
		keys+=("$key")
	done
	[ ${#todo[@]} -gt 0 ] || return 0
	text=$("${cmd[@]}" "${todo[@]}" 2>&1)
	rc=$?
	if [ $rc -eq 0 ] && [ -z "$text" ]; then
		(cd "$kept" && touch "${keys[@]}")
	else
		echo "$text"
	fi
	return $rc
}
tools=$(sha256sum "$lsrc"/scripts/{checkpatch.pl,kernel-doc} "$(command -v shellcheck)")

# Not asked, because it is about patches and the kernel's MAINTAINERS.
cp_ignore=FILE_PATH_CHANGES
# Not asked of compat.h: its macros stand in for functions and declarations of
# other kernels, under those names, and may not include what a function needs.
cp_ignore_compat=$cp_ignore,MACRO_WITH_FLOW_CONTROL,MACRO_ARG_PRECEDENCE,MACRO_ARG_REUSE
# Not asked of programs: the kernel's own type and attribute names.
cp_ignore_programs=$cp_ignore,PREFER_KERNEL_TYPES,PREFER_DEFINED_ATTRIBUTE_MACRO

# Not asked of crc_x86.c: its macros put together assembler text.
cp_ignore_asm=$cp_ignore,MACRO_ARG_REUSE,STRING_FRAGMENTS,COMPLEX_MACRO
# Not asked of trace.h: its macros are laid out like the structs and functions
# that they make.
cp_ignore_trace=$cp_ignore,PARENTHESIS_ALIGNMENT,OPEN_ENDED_LINE

checkpatch()
{
	local ignore=$1

	shift
	[ $# -gt 0 ] || { echo "no C files found"; return 1; }
	"$lsrc/scripts/checkpatch.pl" --no-tree --strict --terse --show-types \
		--no-summary --ignore "$ignore" --file "$@"
}

kernel_doc()
{
	[ $# -gt 0 ] || { echo "no headers found"; return 1; }
	"$lsrc/scripts/kernel-doc" -none -Werror "$@"
}

no_version_code()
{
	grep -nE 'LINUX_VERSION_CODE|KERNEL_VERSION|RHEL_RELEASE' "${c_files[@]}"
	return 0
}

# A misspelt RDMA_SOFT_HAVE_ name would silently choose the old interface.
compat_names()
{
	comm -13 \
		<(grep -oE 'rsoft-probe,[A-Z0-9_]+' \
			drivers/rdma_soft/compat/Kbuild.include |
			sed 's/.*,/RDMA_SOFT_HAVE_/' | sort -u) \
		<(grep -hoE 'RDMA_SOFT_HAVE_[A-Z0-9_]+' "${c_files[@]}" | sort -u) |
		sed 's/$/: no probe in compat\/Kbuild.include/'
}

# A function is what starts with '{' and ends with '}' in the first column.
function_length()
{
	awk -v cap=100 '
		FNR == 1 { start = 0 }
		/^[a-zA-Z_].*\(/ { head = $0 }
		/^{/ { start = FNR }
		/^}/ && start {
			if (FNR - start - 1 > cap)
				printf "%s:%d: %d lines: %s\n", FILENAME, start,
					FNR - start - 1, head
			start = 0
		}' "$@"
}

spdx()
{
	local f

	for f; do
		case $f in
		*.md | COPYING | *.txt | *.json | *.png | *.svg | *.rst) continue ;;
		esac
		[ -s "$f" ] || { echo "$f: empty file"; continue; }
		head -n 2 "$f" | grep -qa 'SPDX-License-Identifier: GPL-2.0' ||
			echo "$f: no SPDX-License-Identifier in the first lines"
	done
}

# What silences a check must say why, on the line or right above it.
silencers()
{
	awk '
		FNR == 1 { prev = "" }
		/__force|#[ \t]*pragma|-Wno-|-w / && FILENAME !~ /scripts\/check-style.sh/ {
			if ($0 !~ /\/[*\/]|#[^p]*[a-z]+ [a-z]+/ && prev !~ /\*\/$|^[ \t]*#|\/\//)
				printf "%s:%d: %s without a comment\n", FILENAME, FNR, $0
		}
		{ prev = $0 }' "$@"
}

# proto/ holds pure code: each file must compile for user space too.
proto_userspace()
{
	local f

	set -- drivers/rdma_soft/proto/*.[ch]
	[ -f "$1" ] || { echo "no files in drivers/rdma_soft/proto"; return 1; }
	for f; do
		gcc -std=gnu11 -Wall -Wextra -Wno-unused-parameter -fsyntax-only \
			-x c -Idrivers/rdma_soft -Iinclude/uapi -Iinclude "$f"
	done
}

uapi_userspace()
{
	local f rc=0

	for f in include/uapi/rdma/*.h; do
		[ -f "$f" ] || { echo "no header in include/uapi/rdma"; return 1; }
		gcc -std=gnu11 -Wall -Wextra -fsyntax-only -x c \
			-Iinclude/uapi "$f" || rc=1
		grep -q 'GPL-2.0 WITH Linux-syscall-note' "$f" ||
			echo "$f: the uapi licence note is missing"
	done
	return $rc
}

# A sourced file (no interpreter line) sets variables for its user, which the
# tool does not see, so "unused variable" is not asked of it.
shell()
{
	local f rc=0

	need shellcheck shellcheck
	for f; do
		if head -n 1 "$f" | grep -q '^#!'; then
			shellcheck -x -S warning "$f" || rc=1
		else
			shellcheck -x -S warning -s bash -e SC2034 "$f" || rc=1
		fi
	done
	return $rc
}

shell_strict()
{
	local f

	for f; do
		head -n 1 "$f" | grep -q '^#!.*bash$' || continue
		# the selftests' library sets it for the tests that source it
		grep -qE '^(set -[a-z]*u|\. .*/lib/all\.sh")' "$f" ||
			echo "$f: no 'set -u'"
	done
}

python()
{
	local f

	for f; do
		python3 - "$f" <<-'PY'
			import ast, sys
			ast.parse(open(sys.argv[1]).read(), sys.argv[1])
		PY
	done
}

whitespace()
{
	git -c safe.directory='*' grep -nIE --untracked '[[:blank:]]+$' -- ':!COPYING' ':!*.md' ':!*.patch'
	return 0
}

mapfile -t plain_files < <(printf '%s\n' "${driver_files[@]}" | grep -vE '/(crc_x86\.c|trace\.h)$')
rule checkpatch remembered checkpatch "$cp_ignore" -- "${plain_files[@]}"
rule checkpatch_asm checkpatch "$cp_ignore_asm" drivers/rdma_soft/crc_x86.c
rule checkpatch_trace checkpatch "$cp_ignore_trace" drivers/rdma_soft/trace.h
rule checkpatch_compat checkpatch "$cp_ignore_compat" drivers/rdma_soft/compat/compat.h
rule kernel_doc remembered kernel_doc -- "${h_files[@]}"
rule no_version_code no_version_code
rule compat_names compat_names
rule function_length function_length "${c_files[@]}"
[ ${#prog_files[@]} -eq 0 ] ||
	rule checkpatch_programs remembered checkpatch "$cp_ignore_programs" -- \
		"${prog_files[@]}"
mapfile -t all < <(files)
rule spdx spdx "${all[@]}"
mapfile -t build_files < <(files '*Makefile' '*Kbuild*' '*.mk')
rule silencers_commented silencers "${c_files[@]}" "${build_files[@]}"
rule proto_userspace proto_userspace
rule uapi_userspace uapi_userspace
rule shellcheck remembered shell -- "${sh_files[@]}"
rule shell_strict shell_strict "${sh_files[@]}"
[ ${#py_files[@]} -eq 0 ] || rule python_syntax python "${py_files[@]}"
rule features_have_tests scripts/check-features.py
# scapy is a package of Debian's own Python
rule icrc_vectors /usr/bin/python3 selftests/vectors/gen_icrc.py --check
rule whitespace whitespace
echo "1..$n"
exit $((fails > 0))
