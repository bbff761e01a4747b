#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Passes, but the kernel says something bad meanwhile.
# shellcheck source=selftests/lib/all.sh
. "${HERE:?start this by selftests/run.sh}/lib/all.sh"
ktap_plan 1
ktap_run good true
echo '<4>WARNING: CPU: 0 PID: 1 at selfcheck' > /dev/kmsg
ktap_finish
