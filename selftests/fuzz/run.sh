#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [ITERATIONS [SEED]]: build the protocol code in user space with the
# address and undefined-behaviour sanitizers and feed the fuzzers with random
# input (default 1000000, seed 1). Prints the counts; exit status 0 only if
# every fuzzer ran to its end without a finding.
#
# FUZZ_SECONDS=N also runs each under libFuzzer for N seconds, if clang has it.
# CC chooses the compiler (default gcc).
set -u
here=$(cd "$(dirname "$0")" && pwd)
proto=$here/../../drivers/rdma_soft/proto
iterations=${1:-1000000}
seed=${2:-1}
seconds=${FUZZ_SECONDS:-0}
cc=${CC:-gcc}

command -v "$cc" >/dev/null || {
	echo "error: no $cc here; run: apt-get install gcc" >&2
	exit 1
}
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT

# The kernel's dialect of C; its aliasing rules as well.
flags=(-std=gnu11 -O1 -g -Wall -Wextra -Werror -fno-strict-aliasing
	-fno-omit-frame-pointer)
sanitize=address,undefined
export ASAN_OPTIONS=abort_on_error=0:detect_leaks=1
export UBSAN_OPTIONS=print_stacktrace=1

status=0
for src in "$here"/*_fuzz.c; do
	name=$(basename "$src" .c)
	if ! "$cc" "${flags[@]}" "-fsanitize=$sanitize" \
		-fno-sanitize-recover=all -o "$out/$name" \
		"$src" "$proto"/*.c -lpthread; then
		echo "error: $name does not build" >&2
		status=1
		continue
	fi
	if ! timeout -k 5 600 "$out/$name" "$iterations" "$seed"; then
		echo "error: $name failed; again with: $0 $iterations $seed" >&2
		status=1
	fi

	# two threads on one packet take no input
	grep -q LLVMFuzzer "$src" || continue
	[ "$seconds" -gt 0 ] || continue
	# One-argument static_assert is an extension to clang's C11.
	if ! clang "${flags[@]}" -Wno-c2x-extensions -DUSE_LIBFUZZER \
		"-fsanitize=fuzzer,$sanitize" -o "$out/$name-lf" \
		"$src" "$proto"/*.c; then
		echo "error: no libFuzzer; run: apt-get install clang" >&2
		status=1
		continue
	fi
	mkdir -p "$out/corpus-$name"
	if ! (cd "$out" && timeout -k 5 $((seconds + 60)) "./$name-lf" \
		-max_total_time="$seconds" -max_len=600 -seed="$seed" \
		-print_final_stats=1 "corpus-$name") >"$out/log" 2>&1; then
		tail -n 40 "$out/log" >&2
		echo "error: $name failed under libFuzzer" >&2
		status=1
	fi
	echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' \
		"$out/log") inputs under libFuzzer, seed $seed"
done
exit $status
