#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Takes the kernel down.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
ktap_plan 1
echo c > /proc/sysrq-trigger
pause 30
