#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every line of matrix.txt.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
# shellcheck source=selftests/perftest/lib.sh
. "$HERE/perftest/lib.sh"

run_matrix ""
