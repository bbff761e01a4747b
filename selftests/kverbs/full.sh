#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Kernel consumer: all of its tests, with another path MTU.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
# shellcheck source=selftests/kverbs/lib.sh
. "$HERE/kverbs/lib.sh"

kverbs_run 1500 slow=1
exit
