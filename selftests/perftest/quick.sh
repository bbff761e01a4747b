#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The lines of matrix.txt that are part of 'make check'.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
# shellcheck source=selftests/perftest/lib.sh
. "$HERE/perftest/lib.sh"

run_matrix "quick"
